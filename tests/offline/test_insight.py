from dataclasses import replace

import pytest

from otel_aml.offline.frames import Rows
from otel_aml.offline.insight import headline, never_clear, passing
from otel_aml.offline.reports import CascadeRow, CoverageRow, Inflation, PassRate, RepairRow, Report, TaxonomyRow


def first(name, runs, *, severity="medium"):
    return TaxonomyRow(name, runs, 10, runs / 10, runs / 20, severity, 2, runs, 0)


def pair(cause, effect, *, q=0.001, order=0.001, grain="class"):
    numbers = {"support": 0.1, "confidence": 0.5, "lift": 3.0, "max_lift": 4.0, "leverage": 0.1, "conviction": None}
    counts = {"runs": 20, "n_cause": 6, "n_effect": 5, "n_both": 5, "before": 5, "after": 0, "ties": 0, "cases": 5}
    tests = {"p_value": q, "q_value": q, "p_order": order, "q_order": order, "median_lag_ms": 1.0}
    return CascadeRow(grain=grain, cause=cause, effect=effect, **numbers, **counts, **tests)


def report(classes, pairs=(), repair=None):
    return Report(
        taxonomy=Rows(TaxonomyRow, tuple(classes)),
        cascades=Rows(CascadeRow, tuple(pairs)),
        repair_order=Rows(RepairRow, () if repair is None else (RepairRow(repair, "critical", 1),)),
        inflation=Inflation(0, 0),
        min_both=5,
        synthetic=0,
    )


ALONE = "a fails most, no cascade is significant; repair a first"
SENTENCES = [
    pytest.param([first("a", 0)], [], None, "No run failed in one of the six ways", id="nothing failed"),
    pytest.param(
        [first("a", 3), first("b", 1)], [], "b", "a fails most, no cascade is significant; repair b first", id="alone"
    ),
    pytest.param([first("a", 3)], [pair("a", "b")], "a", "a fails most and drags b along; repair a first", id="drags"),
    pytest.param(
        [first("a", 3)],
        [pair("a", "b"), pair("a", "c")],
        "a",
        "a fails most and drags b and c along; repair a first",
        id="drags two",
    ),
    pytest.param([first("a", 3)], [pair("b", "a")], "a", "a fails most and follows b; repair a first", id="follows"),
    pytest.param(
        [first("a", 3)], [pair("b", "a", order=None)], "a", "a fails most and meets b; repair a first", id="no order"
    ),
    pytest.param([first("a", 3)], [pair("a", "b", q=0.05)], "a", ALONE, id="perhaps chance"),
    pytest.param([first("a", 3)], [pair("b", "c")], "a", ALONE, id="of others"),
    pytest.param([first("a", 3)], [pair("a", "x", grain="symptom")], "a", ALONE, id="symptom"),
    pytest.param(
        [first("a", 3), first("b", 3)],
        [pair("a", "b"), pair("a", "c")],
        "a",
        "a and b fail most and drag c along; repair a first",
        id="a draw",
    ),
]


@pytest.mark.parametrize(("classes", "pairs", "repair", "sentence"), SENTENCES)
def test_the_first_sentence_answers_three_questions(classes, pairs, repair, sentence):
    """Which class fails most, what it drags along, what to repair first; no order is claimed that was not found."""
    assert headline(report(classes, pairs, repair)).sentence == sentence


REASONS = [
    pytest.param([pair("a", "b")], "", id="it drags"),
    pytest.param([], "because no other class was seen together with it in 5 runs or more.", id="seen with none"),
    pytest.param([pair("a", "b", q=0.4)], "may be chance: most of all b, in 5 runs (q 0.40).", id="perhaps chance"),
    pytest.param([pair("b", "a", q=0.4)], "may be chance: most of all b, in 5 runs (q 0.40).", id="the other way"),
    pytest.param([pair("b", "a")], "It is seen after b, not before it.", id="it follows"),
    pytest.param([pair("a", "b", order=None)], "with b, but neither is seen first more often.", id="no order"),
]


@pytest.mark.parametrize(("pairs", "reason"), REASONS)
def test_where_nothing_is_dragged_along_it_says_why(pairs, reason):
    """An empty answer is no answer."""
    found = headline(report([first("a", 3)], pairs, "a")).why_no_cascade
    assert found.endswith(reason)
    assert bool(found) is bool(reason)


def queue(*rows):
    return replace(report([first("a", 3)]), repair_order=Rows(RepairRow, tuple(RepairRow(*row) for row in rows)))


ORDERS = [
    pytest.param([], "", id="nothing to repair"),
    pytest.param([("a", "high", 3)], "no other class was found", id="one"),
    pytest.param([("a", "critical", 1), ("b", "high", 9)], "no other class that was found is as grave", id="gravest"),
    pytest.param([("a", "high", 3), ("b", "high", 2)], "the first failure of most runs (a 3, b 2)", id="more frequent"),
    pytest.param([("a", "high", 2), ("b", "high", 2)], "none is the first failure of more runs (a 2, b 2)", id="draw"),
]


@pytest.mark.parametrize(("rows", "reason"), ORDERS)
def test_what_is_repaired_first_has_a_reason(rows, reason):
    """Severity, then frequency: with the numbers that decided."""
    found = headline(queue(*rows)).why_repair
    assert reason in found
    assert bool(found) is bool(rows)


def others(**runs):
    rows = tuple(TaxonomyRow(name, count, None, None, None, None, None, None, None) for name, count in runs.items())
    return Report(taxonomy=Rows(TaxonomyRow, rows), inflation=Inflation(0, 0), min_both=5, synthetic=0)


def test_the_pass_rate_says_of_which_runs_it_is():
    """Three numbers of runs are near each other; a reader must not take one for another."""
    found = replace(others(cancelled=3, paused=2), pass_rate=PassRate(26, 24, 12, 0.5))
    assert passing(found) == (
        "12 of the 24 runs that ended and were checked passed: 50.0%.",
        "In 2 runs more nothing failed, but nothing could be checked either: no pass.",
        "Runs that have not ended enter no rate: 3 cancelled and 2 paused.",
    )


def test_where_nothing_was_checked_there_is_no_pass_rate():
    """Unchecked is no pass."""
    assert passing(replace(others(), pass_rate=PassRate(1, 0, 0, None))) == (
        "In 1 run nothing failed, but nothing could be checked either: no pass.",
    )


def test_a_check_that_is_never_clear_is_named():
    """Its rate is 100%, and says nothing of the runs that were not checked."""
    rows = (
        CoverageRow("a", 5, 0, 26),
        CoverageRow("b", 5, 1, 25),
        CoverageRow("c", 5, 0, 0),
        CoverageRow("d", 0, 0, 31),
    )
    found = replace(report([first(name, 5) for name in "abcd"]), coverage=Rows(CoverageRow, rows))
    assert [row.failure_class for row in never_clear(found)] == ["a"]
