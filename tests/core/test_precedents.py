"""The boundary precedents hold: the tree decides each as it is written down."""

from __future__ import annotations

from itertools import combinations

import pytest

from otel_aml.core.precedents import BOUNDARIES, between
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.core.tree import classify

PAIRS = list(combinations(FAILURES, 2))
PRECEDENTS = [
    pytest.param(precedent, id=f"{' / '.join(boundary.classes)}: {precedent.failure_class}")
    for boundary in BOUNDARIES.values()
    for precedent in boundary.precedents
]


@pytest.mark.parametrize("precedent", PRECEDENTS)
def test_the_tree_decides_as_the_precedent_does(precedent):
    """A change of the tree that overturns one is a change of the taxonomy."""
    assert classify(precedent.facts).failure_class is precedent.failure_class


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_each_pair_has_a_precedent_on_either_side(first, second):
    """A rule with one example is a rule one can read both ways."""
    boundary = between(first, second)
    assert boundary.classes == (first, second)
    assert tuple(precedent.failure_class for precedent in boundary.precedents) == (first, second)


def test_there_are_fifteen():
    """Six classes make fifteen pairs, and there is none besides."""
    assert set(BOUNDARIES) == {frozenset(pair) for pair in PAIRS}


@pytest.mark.parametrize("boundary", BOUNDARIES.values(), ids=lambda boundary: " / ".join(boundary.classes))
def test_rules_and_stories_are_sentences(boundary):
    """They are printed for people: no jargon, no repeated story, one sentence a story."""
    assert boundary.rule.endswith(".")
    assert all(str(failure_class) in boundary.rule for failure_class in boundary.classes)
    stories = [precedent.story for precedent in boundary.precedents]
    assert len(set(stories)) == 2
    for story in stories:
        assert story[0].isupper()
        assert story.endswith(".")
        assert ". " not in story
        assert not any(word in story for word in ("schema_valid", "None", "frozenset", "span"))


KEPT_FINDINGS = [
    pytest.param("tool_failure", "hallucination", "hallucination", id="a tool failed, then an id was invented"),
    pytest.param("tool_failure", "typology_misjudge", "typology_misjudge", id="a tool failed, then misjudged"),
    pytest.param("retrieval_miss", "typology_misjudge", "typology_misjudge", id="a note was missed, then misjudged"),
    pytest.param("context_pollution", "typology_misjudge", "typology_misjudge", id="a note was ignored, misjudged"),
    pytest.param("format_violation", "retrieval_miss", "retrieval_miss", id="a draft cut off, and a note missed"),
]


@pytest.mark.parametrize(("first", "second", "finding"), KEPT_FINDINGS)
def test_the_second_failure_is_kept_as_a_finding(first, second, finding):
    """The first names the run; what followed is not lost."""
    precedent = between(FailureClass(first), FailureClass(second)).precedents[0]
    assert finding in classify(precedent.facts).findings


def test_the_order_of_the_two_does_not_matter():
    """A person asks for them in any order."""
    assert between(FAILURES[3], FAILURES[0]) is between(FAILURES[0], FAILURES[3])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(FAILURES[0], FAILURES[0], id="the same class twice"),
        pytest.param(FAILURES[0], FailureClass.PASS, id="no failure"),
    ],
)
def test_what_has_no_boundary_is_refused(one, other):
    """The message says what to give instead."""
    with pytest.raises(ValueError, match=f"^no boundary between {one} and {other}; give two different classes"):
        between(one, other)
