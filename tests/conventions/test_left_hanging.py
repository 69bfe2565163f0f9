"""A run that ended with a call at work was cut, though no span says by what."""

from __future__ import annotations

import pytest
from building import span

from otel_aml.conventions import facts, read
from otel_aml.core.facts import Ending
from otel_aml.spans import attributes as names

SCOPE = "openinference.instrumentation.openai_agents"
AGENT = {names.OPENINFERENCE_KIND: "AGENT"}
TOOL = {names.OPENINFERENCE_KIND: "TOOL", names.OPENINFERENCE_INPUT: "{}"}
ANSWERED = {**TOOL, names.OPENINFERENCE_OUTPUT: "9 hits"}
SAYS = {names.OPENINFERENCE_KIND: "LLM", "llm.output_messages.0.message.content": "done"}


def tool(started_at, ended_at, attributes=TOOL, **more):
    """Build a call below the root."""
    return span(f"t{started_at}", "r", attributes, started_at=started_at, ended_at=ended_at, scope=SCOPE, **more)


RUNS = [
    pytest.param([tool(10, 100)], Ending.CANCELLED, id="it ended with the call"),
    pytest.param([tool(10, 120)], Ending.CANCELLED, id="and the call ended later"),
    pytest.param([tool(10, 90)], Ending.CANCELLED, id="or a little earlier"),
    pytest.param([tool(10, 20)], Ending.ANSWERED, id="the call returned at once: it asks for consent"),
    pytest.param([tool(10, 100, ANSWERED)], Ending.ANSWERED, id="the call has a result"),
    pytest.param([tool(10, 100, {**TOOL, names.OPENINFERENCE_INPUT: None})], Ending.ANSWERED, id="content is off"),
    pytest.param([tool(10, 60), tool(70, 90, ANSWERED)], Ending.ANSWERED, id="another call came after it"),
    pytest.param(
        [tool(10, 100), span("m", "r", SAYS, started_at=5, ended_at=9, scope=SCOPE)],
        Ending.ANSWERED,
        id="it has answered",
    ),
    pytest.param([tool(10, 100, error="down")], Ending.ANSWERED, id="the call failed, which says enough"),
    pytest.param([], Ending.ANSWERED, id="no call"),
]


@pytest.mark.parametrize(("below", "ending"), RUNS)
def test_a_run_that_ended_with_a_call_at_work_was_cut(below, ending):
    """The call has no result, and the run ended sooner after it than it had lasted."""
    root = span("r", attributes=AGENT, ended_at=100, scope=SCOPE)
    assert facts([read(each) for each in (root, *below)], "r").ending is ending


@pytest.mark.parametrize(("agent_ended_at", "ending"), [(100, Ending.CANCELLED), (900, Ending.ANSWERED)])
def test_within_a_case_it_is_the_agent_that_ended_with_the_call(agent_ended_at, ending):
    """The app may do other things before it closes the case."""
    case = span("c", ended_at=1_000, scope=names.OUR_SCOPE)
    agent = span("r", "c", AGENT, ended_at=agent_ended_at, scope=SCOPE)
    assert facts([read(each) for each in (case, agent, tool(10, 99))], "c").ending is ending


def test_a_lone_call_of_a_tool_is_no_run_that_owes_an_answer():
    """Nor one whose root is lost: nobody knows when that ended."""
    assert facts([read(tool(10, 100))], "t10").ending is Ending.ANSWERED
    assert facts([read(tool(10, 100)), read(span("a", "r", AGENT))], "r").ending is Ending.ANSWERED


REFUSED = ("smolagents.utils.AgentToolCallError", "Argument a is not in the tool's input schema")
CALLS_SEARCH = {
    names.OPENINFERENCE_KIND: "LLM",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
}


@pytest.mark.parametrize(("name", "is_made_good"), [("search", True), ("other", False)])
def test_a_refused_call_is_made_good_by_a_later_one_of_that_tool(name, is_made_good):
    """The step that refused it does not name the tool, but the model below it does."""
    found = facts(
        [
            read(span("r", attributes=AGENT, ended_at=100)),
            read(span("s", "r", {names.OPENINFERENCE_KIND: "CHAIN"}, ended_at=20, exception=REFUSED, error="x")),
            read(span("m", "s", CALLS_SEARCH, ended_at=10)),
            read(tool(30, 40, {**ANSWERED, names.OPENINFERENCE_TOOL: name})),
        ],
        "r",
    )
    assert bool(found.recovered_outputs) is is_made_good
    assert bool(found.broken_outputs) is not is_made_good


TURN = {names.OPENINFERENCE_KIND: "CHAIN"}


def turn(started_at, ended_at, scope=SCOPE, **more):
    """Build a turn below the root."""
    return span(f"s{started_at}", "r", TURN, started_at=started_at, ended_at=ended_at, scope=scope, **more)


LAST_TURNS = [
    pytest.param([turn(10, 20, error="a guardrail")], Ending.BROKEN, "s10", id="it was the last thing that happened"),
    pytest.param([turn(10, 20, error="x"), turn(30, 40)], Ending.ANSWERED, None, id="the run went on after it"),
    pytest.param([turn(10, 20)], Ending.ANSWERED, None, id="it ended well"),
    pytest.param([turn(10, 20, scope="app", error="x")], Ending.ANSWERED, None, id="it is a step of the app"),
    pytest.param(
        [turn(10, 20, error="x"), span("m", "r", SAYS, started_at=5, ended_at=9, scope=SCOPE)],
        Ending.ANSWERED,
        None,
        id="there is an answer",
    ),
    pytest.param(
        [turn(10, 20, exception=("asyncio.CancelledError", ""), error="")], Ending.ANSWERED, None, id="it was cut"
    ),
]


@pytest.mark.parametrize(("below", "ending", "broken_at"), LAST_TURNS)
def test_a_run_whose_last_turn_ended_in_an_error_gave_no_answer(below, ending, broken_at):
    """An input guardrail of OpenAI Agents stops the run so, and leaves agent and root OK."""
    root = span("r", attributes=AGENT, ended_at=100, scope=SCOPE)
    found = facts([read(each) for each in (root, *below)], "r")
    assert found.ending is ending
    assert (found.broken_at and found.broken_at.span_id) == broken_at


def test_a_call_that_went_well_later_tells_that_the_run_went_on():
    """Live, such a call is not kept, only when the last of them began."""
    spans = [span("r", attributes=AGENT, ended_at=100, scope=SCOPE), turn(10, 20, error="x")]
    assert facts([read(each) for each in spans], "r", last_call_at=30).ending is Ending.ANSWERED
