import pytest

from otel_aml.offline.frames import Rows
from otel_aml.offline.insight import headline
from otel_aml.offline.reports import CascadeRow, Inflation, RepairRow, Report, TaxonomyRow


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


SENTENCES = [
    pytest.param([first("a", 0)], [], None, "No run failed in one of the six ways", id="nothing failed"),
    pytest.param([first("a", 3), first("b", 1)], [], "b", "a fails most; repair b first", id="alone"),
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
    pytest.param([first("a", 3)], [pair("a", "b", q=0.05)], "a", "a fails most; repair a first", id="perhaps chance"),
    pytest.param([first("a", 3)], [pair("b", "c")], "a", "a fails most; repair a first", id="of others"),
    pytest.param([first("a", 3)], [pair("a", "x", grain="symptom")], "a", "a fails most; repair a first", id="symptom"),
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
