"""The demo's verdicts equal the truth of its generator, run by run, once labels and the judge's words are merged in."""

from collections import defaultdict

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_aml.core.taxonomy import FailureClass
from otel_aml.demo import DEFAULT_CASES, DEFAULT_SEED, run_demo, truth, write_demo
from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed

DECIDED_WITHOUT_CONTENT = {
    "tool_failure",
    "tool_failure:recovered",
    "format_violation",
    "format_violation:recovered",
    "hallucination",
    "hallucination:superseded",
    "retrieval_miss",
}


def demo_of(seed, cases, **options):
    """Run the demo; give its result and its spans by case id."""
    exporter = InMemorySpanExporter()
    result = run_demo(seed, cases, exporter=exporter, **options)
    by_trace = defaultdict(list)
    for span in exporter.get_finished_spans():
        by_trace[span.context.trace_id].append(span)
    return result, {root_of(spans).attributes["aml.case.id"]: spans for spans in by_trace.values()}


def root_of(spans):
    (root,) = [span for span in spans if span.attributes.get("failure.verdict")]
    return root


def reported(folder, seed, cases):
    """Run the demo into files, and read them back as an analyst would; give its result and the runs by case id."""
    result = write_demo(folder, seed=seed, cases=cases)
    given = Given(files=[str(folder / "traces.jsonl")], gold=folder / "gold.jsonl", judged=folder / "judged.jsonl")
    with analysed(given) as analysis:
        return result, {run.case_id: run for run in reports.runs(analysis)}


def disagreements(folder, seed, cases):
    result, runs = reported(folder, seed, cases)
    assert len(runs) == len(result.runs)
    for case in result.runs:
        expected, run = truth(case.demo_case), runs[case.demo_case.case_id]
        found = (run.failure_class, tuple(run.findings), run.paused, bool(run.recovered))
        if found != (expected.failure_class, expected.findings, expected.paused, expected.recovered):
            yield case.demo_case.case_id, case.demo_case.plan, found, expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1_000, 1_050))
def test_verdicts_equal_the_truth_for_unseen_seeds(tmp_path, seed):
    """Fifty seeds that no one has looked at: not one run may be named wrongly."""
    assert list(disagreements(tmp_path, seed, 60)) == []


def test_verdicts_equal_the_truth_in_the_default_demo(tmp_path):
    """What `otel-aml demo` shows is right."""
    assert list(disagreements(tmp_path, DEFAULT_SEED, DEFAULT_CASES)) == []


def test_the_default_demo_shows_all_there_is(tmp_path):
    """All nine values, a paused run and recovered errors."""
    _, runs = reported(tmp_path, DEFAULT_SEED, DEFAULT_CASES)
    assert {run.failure_class for run in runs.values()} == set(FailureClass)
    assert any(run.paused for run in runs.values())
    assert any(run.recovered for run in runs.values())


@pytest.mark.slow
@pytest.mark.parametrize("cases", [1, 2, 5])
def test_verdicts_equal_the_truth_in_a_tiny_demo(tmp_path, cases):
    """Where every fault meets every other."""
    assert not [found for seed in range(6) for found in disagreements(tmp_path, seed, cases)]


@pytest.mark.parametrize("seed", [7, 8])
def test_without_content_the_online_verdict_decides_what_code_can_decide(seed):
    """A bank that captures no content still learns of failed tools, broken forms, inventions and missed notes."""
    result, spans = demo_of(seed, 200, capture_content=False, declare_notes=True)
    for run in result.runs:
        online = root_of(spans[run.demo_case.case_id]).attributes
        found = DECIDED_WITHOUT_CONTENT & set(online["failure.findings"])
        assert found == DECIDED_WITHOUT_CONTENT & set(truth(run.demo_case).findings), run.demo_case.plan


def test_without_content_what_needs_a_label_is_unchecked():
    """Unchecked is never a pass."""
    result, spans = demo_of(7, 30, capture_content=False, declare_notes=True)
    for run in result.runs:
        unchecked = root_of(spans[run.demo_case.case_id]).attributes["failure.unchecked"]
        assert {"context_pollution", "typology_misjudge"} <= set(unchecked)
