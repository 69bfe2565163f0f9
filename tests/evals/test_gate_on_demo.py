"""The gate on the demo: each class gets worse once, and is named; a demo that only has another seed passes."""

import json
from dataclasses import replace
from random import Random

import pytest

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.demo import run as demo_run
from otel_aml.demo.faults import FormFault, RetrieverFault, RulesFault, deal, misleading
from otel_aml.demo.judge import JUDGE, RUBRIC_HASH
from otel_aml.evals.calibration import calibrate, is_calibrated
from otel_aml.evals.gating import gate
from otel_aml.evals.limits import GateConfig

CASES = 100
SHARE = 0.4
"""In so many of the cases a seeded regression strikes."""


def worse(failure_class, demo_case):
    """Add to a case what makes one class fire."""
    changes = {
        FailureClass.TOOL_FAILURE: {"rules": RulesFault.DOWN, "invents_when_blind": False},
        FailureClass.FORMAT_VIOLATION: {"form": FormFault.DROPS_FIELD},
        FailureClass.HALLUCINATION: {"invents": True},
        FailureClass.RETRIEVAL_MISS: {"retriever": RetrieverFault.STALE_INDEX, "follows_notes": False},
        FailureClass.CONTEXT_POLLUTION: {"retriever": RetrieverFault.POLLUTED_INDEX, "follows_notes": False},
        FailureClass.TYPOLOGY_MISJUDGE: {"misreads": True},
    }[failure_class]
    if failure_class is FailureClass.CONTEXT_POLLUTION:
        changes["readings"] = misleading(demo_case.case)[:3]
    return replace(demo_case, plan=replace(demo_case.plan, **changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gate")


@pytest.fixture(scope="module")
def made(folder):
    """Write a demo, with or without a regression; give its folder."""

    def make(seed, regression=None):
        def dealt(seed, count):
            rng = Random(seed)
            return tuple(
                worse(regression, each) if regression is not None and rng.random() < SHARE else each
                for each in deal(seed, count)
            )

        out = folder / f"{seed}-{regression}"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(demo_run, "deal", dealt)
            demo_run.write_demo(out, seed=seed, cases=CASES)
        return out

    return make


@pytest.fixture(scope="module")
def settings(made, folder):
    """Three demos as baselines, and the demo's judge, calibrated on what their plans say."""
    labels = []
    for seed in (1, 2, 3):
        out = made(seed)
        plans = {each.case_id: each.plan for each in deal(seed, CASES)}
        labels += [
            judged | {"label": plans[judged["case_id"]].retriever is not RetrieverFault.POLLUTED_INDEX}
            for judged in map(json.loads, (out / "judged.jsonl").read_text(encoding="utf-8").splitlines())
        ]
        found = gate([str(out / "traces.jsonl")], _config(out, tool_failure=CASES)).decision
        (out / "counts.json").write_text(json.dumps(found.plain()), encoding="utf-8")
    (folder / "labels.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in labels), encoding="utf-8")
    calibration = calibrate(folder / "labels.jsonl")
    assert (calibration.judge, calibration.rubric, calibration.passes) == (JUDGE, RUBRIC_HASH, True)
    (folder / "calibration.json").write_text(json.dumps(calibration.plain()), encoding="utf-8")
    return {
        "baseline": [str(folder / f"{seed}-None" / "counts.json") for seed in (1, 2, 3)],
        "calibration": str(folder / "calibration.json"),
    }


def _config(out, **more):
    files = {"gold": str(out / "gold.jsonl"), "judge": str(out / "judged.jsonl")}
    return GateConfig.model_validate(files | more)


@pytest.mark.slow
@pytest.mark.parametrize("failure_class", FAILURES)
def test_a_regression_of_a_class_is_stopped_by_its_name(made, settings, failure_class):
    """With the runs to look at."""
    out = made(11, failure_class)
    decision = gate([str(out / "traces.jsonl")], _config(out, **settings)).decision
    stopping = {row.name: row for row in decision.stopping}
    assert failure_class in stopping
    assert stopping[failure_class].runs


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_another_seed_is_no_regression(made, settings, seed):
    """All six classes are compared, also the judge's."""
    out = made(seed)
    decision = gate([str(out / "traces.jsonl")], _config(out, **settings)).decision
    assert [row.name for row in decision.rows] == list(FAILURES)
    assert decision.stopping == ()


@pytest.mark.slow
def test_the_calibration_holds_for_its_judge_only(made, settings, folder):
    """Words of another judge make the class a reference again."""
    out = made(11)
    other = (out / "judged.jsonl").read_text(encoding="utf-8").replace(JUDGE, "another-judge", 1)
    (folder / "other.jsonl").write_text(other, encoding="utf-8")
    assert is_calibrated(folder / "calibration.json", out / "judged.jsonl")
    assert not is_calibrated(folder / "calibration.json", folder / "other.jsonl")
