import math

import pytest
from emptied import emptied
from pairs import SIX, Run, Symptom, fill, random_runs, recount

from otel_aml import demo
from otel_aml.core.taxonomy import FailureClass
from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed

TOOL, FORM, INVENTED = SIX[:3]


def cascades(runs, *, grain="class", min_both=5):
    with emptied() as store:
        fill(store, runs)
        return [row for row in store.rows("reports/cascades", {"min_both": min_both}) if row["grain"] == grain]


def fired(*classes, **more):
    """A run in which checks fired, one after the other."""
    return Run(tuple(Symptom(name, at) for at, name in enumerate(classes, start=1)), **more)


@pytest.mark.slow
@pytest.mark.parametrize("grain", ["class", "symptom"])
@pytest.mark.parametrize("seed", range(20))
def test_every_number_is_what_plain_loops_and_exact_fractions_say(seed, grain):
    """Fisher's test, both corrections, the sign test and all measures, on random runs with undecided checks."""
    runs = random_runs(seed)
    for min_both in (1, 5):
        rows = cascades(runs, grain=grain, min_both=min_both)
        expected = recount(runs, grain, min_both)
        found = {
            tuple((SIX.index(row[f"{side}_class"]), row[side]) for side in ("cause", "effect")): row for row in rows
        }
        assert found.keys() == expected.keys()
        for key, row in expected.items():
            for name, value in row.items():
                shown = found[key][name]
                assert (shown is None) == (value is None), (key, name)
                assert value is None or math.isclose(shown, value, rel_tol=1e-9, abs_tol=1e-12), (key, name)


def test_the_runs_are_those_in_which_both_checks_were_decided():
    """Ten runs of a hundred say nothing of one of the two: counted in, they would make lift out of nothing."""
    decided = [fired(TOOL, FORM)] * 10 + [fired(TOOL)] * 10 + [fired(FORM)] * 10 + [fired()] * 10
    undecided = [fired(unchecked=frozenset({FORM}))] * 60
    (row,) = cascades(decided + undecided)
    assert (row["run_count"], row["lift"], row["leverage"]) == (40, 1, 0)


def test_what_does_not_exist_is_null():
    """Each run that has the first has the second: conviction is infinite; with it everywhere it is 0/0."""
    (row,) = cascades([fired(TOOL, FORM)] * 5 + [fired()] * 5)
    assert (row["conviction"], row["confidence"], row["lift"]) == (None, 1, row["max_lift"])
    (row,) = cascades([fired(TOOL, FORM)] * 10)
    assert (row["conviction"], row["lift"], row["p_value"]) == (None, 1, 1)


def test_what_is_seen_first_more_often_stands_as_cause():
    """Whatever the order of the tree; those against it are counted."""
    (row,) = cascades([fired(FORM, TOOL)] * 6 + [fired(TOOL, FORM)] * 2 + [fired()] * 9)
    assert (row["cause"], row["effect"]) == (FORM, TOOL)
    assert (row["before_count"], row["after_count"], row["tie_count"]) == (6, 2, 0)
    assert row["median_lag_ms"] == pytest.approx(0.001)


def test_no_order_is_claimed_where_none_is_seen():
    """Two findings on one answer are seen at once."""
    both = Run((Symptom(FORM, 7), Symptom(TOOL, 7)))
    unknown = Run((Symptom(FORM, 7), Symptom(TOOL, None)))
    (row,) = cascades([both] * 4 + [unknown] * 4 + [fired()] * 9)
    assert (row["cause"], row["effect"], row["tie_count"]) == (TOOL, FORM, 8)
    assert (row["p_order"], row["q_order"], row["median_lag_ms"]) == (None, None, 0)


def test_a_recovered_failure_is_a_symptom_and_no_finding():
    """A rule engine that is down may bring a fallback to its limits, though both are made good."""
    slow = Symptom(TOOL, 1, "timeout", "rule_engine", recovered=True)
    limited = Symptom(TOOL, 2, "rate_limited", "model", recovered=True)
    replaced = Symptom(INVENTED, None, superseded=True)
    runs = [Run((slow, limited, replaced))] * 6 + [fired()] * 30
    assert cascades(runs) == []
    (row,) = cascades(runs, grain="symptom")
    assert (row["cause"], row["effect"], row["before_count"]) == ("timeout rule_engine", "rate_limited model", 6)
    assert row["q_order"] < 0.05


def test_cases_are_counted_once():
    """Twenty runs of one case are one story."""
    (row,) = cascades([fired(TOOL, FORM, case="C-1")] * 20 + [fired()] * 9)
    assert (row["n_both"], row["case_count"]) == (20, 1)


def test_a_pair_is_tested_by_what_it_could_show_and_not_by_what_it_shows():
    """Else chance picks which pairs are corrected for: of three classes that are there, all three pairs are tested."""
    runs = [fired(TOOL, FORM)] * 6 + [fired(INVENTED)] * 6 + [fired()] * 20
    (row,) = cascades(runs)
    assert row["test_count"] == 3
    assert row["q_value"] == pytest.approx(3 * row["p_value"])


def test_many_runs_are_no_burden():
    """The tail is summed where it weighs anything."""
    counts = {(TOOL, FORM): 400, (TOOL,): 3_600, (FORM,): 3_600, (): 12_400}
    (row,) = cascades([fired(*classes) for classes, count in counts.items() for _ in range(count)])
    assert (row["run_count"], row["n_both"]) == (20_000, 400)
    assert row["p_value"] == pytest.approx(1)


@pytest.mark.slow
def test_independent_failures_make_no_pairs_where_most_checks_are_undecided():
    """Counted over all runs they would make pairs everywhere; benchmarks/cascades.py takes 500 seeds."""
    with_pairs = sum(any(row["q_value"] < 0.05 for row in cascades(undecided(seed))) for seed in range(25))
    assert with_pairs <= 2


def undecided(seed):
    """Failures that know nothing of each other, four of five checks undecided."""
    import random

    rng = random.Random(seed)
    return [
        Run(
            tuple(Symptom(name, rng.randrange(9)) for name in SIX if rng.random() < 0.3),
            frozenset(name for name in SIX if rng.random() < 0.8),
        )
        for _ in range(600)
    ]


@pytest.mark.slow
def test_what_drags_what_along_in_the_demo_is_found_again(tmp_path):
    """Exactly the seeded cascades in 9 of 10 seeds; a hundred seeds are in benchmarks/cascades.py."""
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    exact = sum(demo_pairs(tmp_path / str(seed), seed) == set(demo.SEEDED_CASCADES) for seed in range(1, 11))
    assert exact >= 9


def demo_pairs(folder, seed):
    demo.write_demo(folder, seed=seed, cases=200)
    given = Given(files=[str(folder / "traces.jsonl")], gold=folder / "gold.jsonl", judged=folder / "judged.jsonl")
    with analysed(given) as analysis:
        rows = reports.report(analysis).cascades
    return {
        (FailureClass(row.cause), FailureClass(row.effect)) for row in rows if row.grain == "class" and row.co_occurs
    }
