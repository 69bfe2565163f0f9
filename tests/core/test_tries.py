"""Which calls stand for each other, and how often one was tried again."""

from __future__ import annotations

import pytest
from building import failed, step

from otel_aml.core.steps import Incident, Kind, Sort
from otel_aml.core.tries import NEVER, Group, Tries, group_of

BAD = failed("ValueError")

SAME_GROUP = [
    pytest.param({}, {"parent": "elsewhere"}, True, id="a tool is the same wherever it is called"),
    pytest.param({}, {"name": "other"}, False, id="another tool"),
    pytest.param({}, {"kind": Kind.RETRIEVER, "name": "search"}, False, id="a retriever of that name"),
    pytest.param({"kind": Kind.MODEL}, {"kind": Kind.MODEL, "name": "fallback"}, True, id="another model falls in"),
    pytest.param({"kind": Kind.MODEL}, {"kind": Kind.MODEL, "parent": "elsewhere"}, False, id="a model elsewhere"),
    pytest.param({"kind": Kind.AGENT}, {"kind": Kind.AGENT}, True, id="the same agent again"),
    pytest.param({"kind": Kind.AGENT}, {"kind": Kind.AGENT, "name": "other"}, False, id="another agent"),
    pytest.param({"kind": Kind.AGENT}, {"kind": Kind.AGENT, "parent": "elsewhere"}, False, id="an agent elsewhere"),
    pytest.param({"kind": Kind.MODEL, "parent": None}, {"kind": Kind.MODEL, "parent": None}, True, id="at the top"),
]


@pytest.mark.parametrize(("one", "other", "is_same"), SAME_GROUP)
def test_calls_stand_for_each_other_by_what_they_do(one, other, is_same):
    """Tools by name, models by whom they work for, agents by both."""
    assert (group_of(step("a", 0, 1, **one)) == group_of(step("b", 2, 3, **other))) is is_same


def test_a_group_says_what_its_calls_do():
    """Others look groups up by it."""
    assert group_of(step("a", 0, 1, parent="p")) == Group(Kind.TOOL, "search")
    assert group_of(step("a", 0, 1, Kind.MODEL, parent="p")) == Group(Kind.MODEL, "", "p")
    assert group_of(step("a", 0, 1, Kind.AGENT, parent="p")) == Group(Kind.AGENT, "agent", "p")


CALLS = [
    step("a", 0, 1, arguments="x"),
    step("b", 4, 5, arguments="y"),
    step("c", 8, 9, incident=BAD, arguments="x"),
    step("d", 12, 13),
    step("e", 2, 3, name="other"),
]
GOOD_AT = [
    pytest.param("x", 0, 0, id="at that very moment"),
    pytest.param("x", 1, 12, id="those with other arguments are passed over, those without any are not"),
    pytest.param("y", 1, 4, id="the same arguments"),
    pytest.param(None, 1, 4, id="any arguments"),
    pytest.param("z", 1, 12, id="arguments that never came"),
    pytest.param(None, 5, 12, id="a failed call is not good"),
    pytest.param(None, 13, NEVER, id="none after that"),
]


@pytest.mark.parametrize(("arguments", "after", "good_at"), GOOD_AT)
def test_a_good_call_is_found(arguments, after, good_at):
    """The first one that began no earlier."""
    tries = Tries(CALLS)
    assert tries.good_at(Group(Kind.TOOL, "search"), arguments=arguments, after=after) == good_at
    assert tries.good_at(Group(Kind.TOOL, "search"), arguments=arguments, after=after) == good_at


def test_a_group_without_calls_has_none():
    """A tool that never ran."""
    assert Tries(CALLS).good_at(Group(Kind.TOOL, "ghost"), arguments=None, after=0) == NEVER


@pytest.mark.parametrize("kind", [Kind.TOOL, Kind.RETRIEVER, Kind.MODEL, Kind.CLIENT, Kind.AGENT])
def test_calls_are_known_by_kind(kind):
    """All that can be called again."""
    call = step("a", 1, 2, kind)
    assert Tries([call]).good_at(group_of(call), arguments=None, after=0) == 1


def test_a_plain_step_is_no_call():
    """A graph node of the same name does not make another good."""
    call = step("a", 1, 2, Kind.STEP)
    assert Tries([call]).good_at(group_of(call), arguments=None, after=0) == NEVER


NOT_GOOD = [
    pytest.param({"incident": BAD}, id="it failed"),
    pytest.param({"asked_again": True}, id="it asked for other arguments"),
    pytest.param({"paused": True}, id="it waits for a person"),
    pytest.param({"open": True}, id="it never ended"),
]


@pytest.mark.parametrize("ended", NOT_GOOD)
def test_only_a_call_that_went_well_is_good(ended):
    """The others gave nothing."""
    assert Tries([step("a", 1, 2, **ended)]).good_at(Group(Kind.TOOL, "search"), arguments=None, after=0) == NEVER


def good(span_id, started_at, ended_at, **more):
    """Build a call that went well."""
    return step(span_id, started_at, ended_at, **more)


def bad(span_id, started_at, ended_at, **more):
    """Build a call that failed."""
    return step(span_id, started_at, ended_at, incident=BAD, **more)


ATTEMPTS = [
    pytest.param([bad("a", 0, 1)], {"a": 0}, id="never again"),
    pytest.param([bad("a", 0, 1), good("b", 2, 3)], {"a": 1}, id="good at the second try"),
    pytest.param([bad("a", 0, 1), bad("b", 2, 3), good("c", 4, 5)], {"a": 2, "b": 2}, id="good at the third"),
    pytest.param([bad("a", 0, 1), bad("b", 2, 3), bad("c", 4, 5)], {"a": 2, "b": 2, "c": 2}, id="three failures"),
    pytest.param([bad("a", 0, 1), good("b", 1, 2)], {"a": 1}, id="right when the first had ended"),
    pytest.param([bad("a", 0, 4), bad("b", 1, 3), good("c", 5, 6)], {"a": 1, "b": 1}, id="beside is no retry"),
    pytest.param([bad("a", 0, 9), bad("b", 1, 2), bad("c", 3, 4)], {"a": 1, "b": 1, "c": 1}, id="the first to end"),
    pytest.param([good("a", 0, 1), bad("b", 2, 3)], {"b": 0}, id="what went well before is no try"),
    pytest.param(
        [bad("a", 0, 1), good("b", 2, 3), bad("c", 4, 5), bad("d", 6, 7)],
        {"a": 1, "c": 1, "d": 1},
        id="a new round after a good call",
    ),
    pytest.param(
        [bad("a", 0, 1), good("b", 2, 3), good("c", 4, 5)], {"a": 1}, id="calls after the good one are no tries"
    ),
    pytest.param([bad("a", 0, 4), good("b", 1, 2), bad("c", 5, 6)], {"a": 1, "c": 1}, id="a good call beside it"),
    pytest.param([bad("a", 0, 1), step("b", 2, 3, asked_again=True), bad("c", 4, 5)], {"a": 2, "c": 2}, id="asked"),
    pytest.param([bad("a", 0, 1), bad("b", 2, 3, name="other")], {"a": 0, "b": 0}, id="another tool"),
]


@pytest.mark.parametrize(("calls", "attempts"), ATTEMPTS)
def test_attempts_are_calls_made_again(calls, attempts):
    """Counted after the first: two retries are two."""
    tries = Tries(calls)
    counted = {call.span_id: tries.attempts(call, arguments=None) for call in calls if call.incident is not None}
    assert counted == attempts


def test_attempts_of_other_arguments_are_others():
    """Unless the arguments are not recorded."""
    calls = [
        bad("a", 0, 1, arguments="x"),
        bad("b", 2, 3, arguments="y"),
        bad("c", 4, 5),
        bad("d", 6, 7, arguments="x"),
    ]
    tries = Tries(calls)
    assert [tries.attempts(call, arguments=call.arguments) for call in calls] == [2, 1, 3, 2]


def test_a_step_that_is_no_call_has_no_attempts():
    """A graph node may be passed often."""
    node = bad("a", 0, 1, kind=Kind.STEP)
    assert Tries([node, bad("b", 2, 3, kind=Kind.STEP)]).attempts(node, arguments=None) == 0


def test_a_plain_step_whose_error_the_app_noted_is_a_call():
    """Its later passes under the same name are tries of it, also those that went well and say nothing."""
    noted = step("a", 0, 1, Kind.STEP, incident=Incident(sort=Sort.FAILED, noted=True))
    again, other = step("b", 2, 3, Kind.STEP), step("c", 4, 5, Kind.STEP, name="other")
    tries = Tries([noted, again, other])
    assert tries.good_at(group_of(noted), arguments=None, after=1) == 2
    assert tries.attempts(noted, arguments=None) == 1
    assert tries.good_at(group_of(other), arguments=None, after=0) == NEVER


def test_an_accepted_call_ran_whatever_became_of_it():
    """Rejected arguments are replaced by arguments that were accepted, though the call was cut or failed then."""
    rejected = step("a", 0, 1, incident=Incident(sort=Sort.REJECTED))
    asked = step("b", 2, 3, asked_again=True)
    failed = bad("c", 4, 5)
    tries = Tries([rejected, asked, failed])
    assert tries.accepted_at(group_of(rejected), after=0) == 4
    assert tries.accepted_at(group_of(rejected), after=5) == NEVER
