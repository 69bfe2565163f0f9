"""Steps come parents first, whatever order, gaps or circles the input has."""

from __future__ import annotations

import pytest
from building import step
from hypothesis import given
from hypothesis import strategies as st
from strategies import run_steps

from otel_aml.core.lineage import parents_first


def of(**parents):
    """Build steps from `child=parent` pairs."""
    return [step(child, 0, 1, parent=parent) for child, parent in parents.items()]


ORDERS = [
    pytest.param({}, "", id="no step"),
    pytest.param({"c": "b", "b": "a", "a": None}, "abc", id="a chain"),
    pytest.param({"d": "a", "c": "b", "b": "a", "a": None}, "abcd", id="branches, one after the other"),
    pytest.param({"b": "lost", "a": "b"}, "ba", id="a lost parent"),
    pytest.param({"b": "a", "a": "b"}, "ab", id="a circle"),
    pytest.param({"a": "a"}, "a", id="its own parent"),
    pytest.param({"c": "b", "b": "c", "z": None, "d": "c"}, "zbcd", id="a circle beside a root"),
]


@pytest.mark.parametrize(("parents", "order"), ORDERS)
def test_parents_come_first(parents, order):
    """What stands above can then be handed down in one pass."""
    assert "".join(each.span_id for each in parents_first(of(**parents))) == order


@given(steps=run_steps(), data=st.data())
def test_the_order_of_the_input_does_not_matter(steps, data):
    """Each step once, and after its parent unless they run in a circle."""
    ordered = parents_first(data.draw(st.permutations(steps)))
    assert ordered == parents_first(steps)
    assert sorted(each.span_id for each in ordered) == sorted(each.span_id for each in steps)
    position = {each.span_id: place for place, each in enumerate(ordered)}
    parents = {each.span_id: each.parent_id for each in steps}
    for each in steps:
        if _reaches_the_top(each.span_id, parents) and each.parent_id in position:
            assert position[each.parent_id] < position[each.span_id]


def _reaches_the_top(span_id, parents):
    for _ in parents:
        span_id = parents.get(span_id)
    return span_id is None
