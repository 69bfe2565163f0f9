"""The taxonomy as code says what the table says."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.core.taxonomy import (
    FAILURES,
    OTHER_VALUES,
    TAXONOMY,
    EvalType,
    FailureClass,
    RecoveryPath,
    Severity,
    gravest,
    prioritize,
)

TABLE = [
    pytest.param(("tool_failure", "code", "high", 3, "auto_retry", "tool success rate"), id="tool failure"),
    pytest.param(("format_violation", "code", "medium", 2, "fix_and_retry", "format compliance rate"), id="format"),
    pytest.param(("hallucination", "code", "critical", 5, "human_takeover", "citation traceability"), id="invented"),
    pytest.param(
        ("retrieval_miss", "code", "medium", 2, "fix_and_retry", "recall@k on paraphrased queries"), id="note missed"
    ),
    pytest.param(
        ("context_pollution", "judge", "medium", 2, "fix_and_retry", "judged context-use rate"), id="note ignored"
    ),
    pytest.param(
        (
            "typology_misjudge",
            "code + human sampling",
            "critical",
            5,
            "human_takeover",
            "typology recall, precision, false-positive rate",
        ),
        id="wrong typology",
    ),
]


@pytest.mark.parametrize("row", TABLE)
def test_a_class_is_what_the_table_says(row):
    """The values are public: dashboards and gates rest on them."""
    name, eval_type, severity, weight, path, metric = row
    spec = TAXONOMY[FailureClass(name)]
    assert spec.failure_class is FailureClass(name)
    assert spec.eval_type is EvalType(eval_type)
    assert (spec.severity, spec.severity.weight, spec.weight) == (Severity(severity), weight, weight)
    assert (spec.path, spec.metric) == (RecoveryPath(path), metric)


ROOT_CAUSES = [
    pytest.param("tool_failure", "dependency", id="a dependency"),
    pytest.param("format_violation", "schema", id="the output"),
    pytest.param("hallucination", "invented", id="the model"),
    pytest.param("retrieval_miss", "index or query", id="the search"),
    pytest.param("context_pollution", "noise", id="noise"),
    pytest.param("typology_misjudge", "reasoning", id="reasoning"),
]


@pytest.mark.parametrize(("name", "cause"), ROOT_CAUSES)
def test_a_class_names_its_root_cause(name, cause):
    """The fix is looked for where the cause lies."""
    assert cause in TAXONOMY[FailureClass(name)].root_cause


def test_the_six_stand_in_the_order_of_the_tree():
    """The order is the tree's: it decides which failure is first."""
    assert [str(each) for each in FAILURES] == [row.values[0][0] for row in TABLE]


def test_nine_values_and_no_more():
    """`failure.class` holds the six or one of three others."""
    assert set(FAILURES).isdisjoint(OTHER_VALUES)
    assert set(FAILURES) | set(OTHER_VALUES) == set(FailureClass)
    assert {str(each) for each in OTHER_VALUES} == {"pass", "cancelled", "unclassified"}


@pytest.mark.parametrize("spec", TAXONOMY.values(), ids=str)
def test_a_class_is_told_from_all_five_others(spec):
    """Every pair has a boundary, so every class names all others, in the order of the tree."""
    assert spec.boundary_vs == tuple(other for other in FAILURES if other is not spec.failure_class)


@pytest.mark.parametrize("spec", TAXONOMY.values(), ids=str)
def test_every_word_about_a_class_is_written(spec):
    """`explain` prints each field: none may be empty, and each reads as prose."""
    for field in dataclasses.fields(spec):
        assert getattr(spec, field.name)
    for words in (spec.definition, spec.root_cause, spec.path_note):
        assert words == words.strip()
        assert "  " not in words
        assert not words[0].isupper()


@pytest.mark.parametrize("words", OTHER_VALUES.values())
def test_the_other_values_are_glossed(words):
    """They too are explained, as prose."""
    assert len(words.split()) > 5


def test_severities_grow():
    """Heavier is graver; the weights are shown, and order the queue."""
    assert [severity.weight for severity in Severity] == sorted(severity.weight for severity in Severity)


GRAVEST = [
    pytest.param([], None, id="none of none"),
    pytest.param(["format_violation"], "format_violation", id="one"),
    pytest.param(["format_violation", "tool_failure"], "tool_failure", id="high over medium"),
    pytest.param(["tool_failure", "typology_misjudge"], "typology_misjudge", id="critical over an earlier high"),
    pytest.param(["typology_misjudge", "hallucination"], "hallucination", id="among equals the first in the tree"),
    pytest.param(["context_pollution", "retrieval_miss", "format_violation"], "format_violation", id="three equals"),
]


@pytest.mark.parametrize(("classes", "worst"), GRAVEST)
def test_the_gravest_decides(classes, worst):
    """Severity first, the order of the tree second, the order given never."""
    assert gravest(map(FailureClass, classes)) == worst
    assert gravest(map(FailureClass, reversed(classes))) == worst


QUEUES = [
    pytest.param({}, [], id="nothing to repair"),
    pytest.param({"tool_failure": 900, "hallucination": 1}, ["hallucination", "tool_failure"], id="critical leads"),
    pytest.param(
        {"hallucination": 1, "typology_misjudge": 2},
        ["typology_misjudge", "hallucination"],
        id="then the more frequent",
    ),
    pytest.param(
        {"context_pollution": 3, "format_violation": 3}, ["format_violation", "context_pollution"], id="then the tree"
    ),
    pytest.param({"retrieval_miss": 0, "tool_failure": 1}, ["tool_failure"], id="no count, no place"),
    pytest.param({"pass": 7, "cancelled": 7, "format_violation": 1}, ["format_violation"], id="only the six"),
]


@pytest.mark.parametrize(("counts", "order"), QUEUES)
def test_the_repair_queue_is_ordered(counts, order):
    """Severity first, frequency second: the count never outweighs what a failure can do."""
    assert prioritize({FailureClass(name): count for name, count in counts.items()}) == tuple(order)


@given(counts=st.dictionaries(st.sampled_from(FailureClass), st.integers(-1, 5)))
def test_the_queue_never_puts_a_lighter_class_first(counts):
    """Whatever the counts say."""
    weights = [TAXONOMY[each].weight for each in prioritize(counts)]
    assert weights == sorted(weights, reverse=True)
