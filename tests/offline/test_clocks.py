import pytest
from building import span
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.offline.clocks import aligned
from otel_aml.offline.store import StoredSpan


def stored(span_id, parent, started_at, ended_at, process):
    return StoredSpan(span(span_id, parent, started_at=started_at, ended_at=ended_at), process, synthetic=False)


def times(*spans):
    return {each.span_id: (each.started_at, each.ended_at) for each in aligned(spans)}


SHIFTED = [
    pytest.param((120, 150), (120, 150), id="within its parent"),
    pytest.param((50, 80), (100, 130), id="too early"),
    pytest.param((190, 220), (170, 200), id="too late"),
    pytest.param((50, 300), (100, 350), id="longer than its parent"),
    pytest.param((50, None), (100, None), id="open"),
]


@pytest.mark.parametrize(("was", "is_now"), SHIFTED)
def test_a_child_from_another_process_moves_into_its_parent(was, is_now):
    """Two machines seldom have the same time."""
    found = times(stored("a", None, 100, 200, 1), stored("b", "a", *was, 2))
    assert found == {"a": (100, 200), "b": is_now}


def test_within_a_process_nothing_moves_against_another():
    """Its own clock orders it, in each of its parts."""
    found = times(
        stored("a", None, 1000, 2000, 1),
        stored("b", "a", 100, 200, 2),
        stored("c", "b", 120, 130, 2),
        stored("d", "a", 500, 600, 2),
    )
    assert found == {"a": (1000, 2000), "b": (1000, 1100), "c": (1020, 1030), "d": (1400, 1500)}


def test_a_child_of_the_same_process_may_outlive_its_parent():
    """It happens, and says nothing about clocks."""
    found = times(stored("a", None, 100, 200, 1), stored("b", "a", 150, 400, 1))
    assert found["b"] == (150, 400)


@given(st.permutations(range(4)))
def test_the_order_of_spans_does_not_matter(order):
    """A file has none."""
    spans = [
        stored("a", None, 1000, 2000, 1),
        stored("b", "a", 100, 200, 2),
        stored("c", "b", 9000, 9010, 3),
        stored("d", "c", 9, 12, 1),
    ]
    assert times(*(spans[place] for place in order)) == times(*spans)


def test_a_circle_of_parents_ends():
    """Files hold anything."""
    assert times(stored("a", "b", 0, 1, 1), stored("b", "a", 5, 6, 2)) == {"a": (0, 1), "b": (5, 6)}
