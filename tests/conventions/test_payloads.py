"""What a recorded output holds once unwrapped: messages and states of graphs, responses of models, events."""

from __future__ import annotations

import json

import pytest
from building import span
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.conventions import Contract, langchain, marks, numbered, payloads, read, schemas
from otel_aml.conventions.reading import Turn
from otel_aml.core.steps import About, Sort
from otel_aml.errors import ConfigurationError
from otel_aml.spans import attributes as names


def data(type_, content, **more):
    """Write a message as OpenInference records it."""
    return {"type": type_, "data": {"content": content, **more}}


def constructor(class_, content, **more):
    """Write a message as OpenLLMetry records it."""
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", class_],
        "kwargs": {"content": content, **more},
    }


def asks(name, **args):
    """Write a call."""
    return {"tool_calls": [{"name": name, "args": args}]}


HUMAN, ACCEPTED = data("human", "go"), data("tool", "Returning structured response: a=1", name="Draft")
GHOST = "Error: ghost is not a valid tool, try one of [search]."
REFUSED = "Error: Failed to parse structured output for tool 'Draft': no."
TURNS = [
    pytest.param({"messages": [HUMAN, data("ai", "done")]}, Turn("done"), id="a state"),
    pytest.param({"messages": [HUMAN, data("ai", "", **asks("search"))]}, Turn(None, ("search",)), id="a call"),
    pytest.param({"messages": [HUMAN, data("ai", "", **asks("final_answer", a=1))]}, Turn({"a": 1}), id="handed over"),
    pytest.param({"messages": [HUMAN]}, Turn(None), id="only what was asked"),
    pytest.param(
        {"messages": [data("ai", ""), data("tool", "9 hits")]}, Turn("9 hits"), id="a tool's word is the last"
    ),
    pytest.param({"messages": [HUMAN], "structured_response": {"a": 1}}, Turn({"a": 1}), id="a structured answer"),
    pytest.param(
        {"messages": [data("ai", "", **asks("Draft", a=1)), ACCEPTED], "structured_response": {"lc": 1, "repr": "D()"}},
        Turn({"a": 1}),
        id="one that could not be written, by its call",
    ),
    pytest.param({"messages": [ACCEPTED]}, Turn(None), id="and the call is lost"),
    pytest.param({"messages": [1, HUMAN]}, None, id="not only messages"),
    pytest.param({"messages": []}, None, id="no messages"),
    pytest.param([{"graph": None, "update": {"messages": [data("ai", "done")]}}], Turn("done"), id="a command"),
    pytest.param([{"update": {"messages": [data("ai", "done")]}}], None, id="no command"),
    pytest.param([{"graph": None, "update": None}], None, id="a command without an update"),
    pytest.param([], None, id="an empty list"),
    pytest.param(
        {"outputs": {"messages": [constructor("AIMessage", "done")]}, "kwargs": {}}, Turn("done"), id="a callback"
    ),
    pytest.param({"outputs": "done", "kwargs": {}}, Turn("done"), id="its text"),
    pytest.param(constructor("AIMessageChunk", "done"), Turn("done"), id="a chunk"),
    pytest.param(constructor("Document", "done"), None, id="another class"),
    pytest.param({"lc": 1, "id": ["AIMessage"], "kwargs": None}, None, id="a class without fields"),
    pytest.param(data("ai", [{"type": "text", "text": "a"}, "b", {"type": "image"}, 7]), Turn("ab"), id="blocks"),
    pytest.param(data("ai", 7), Turn(None), id="no content"),
    pytest.param(data(["ai"], "x"), None, id="no type"),
    pytest.param(
        {"generations": [[{"text": "a", "message": constructor("AIMessage", "b")}]]}, Turn("b"), id="a result"
    ),
    pytest.param({"generations": [[{"text": "a"}]]}, Turn("a"), id="of a plain model"),
    pytest.param({"generations": [[]]}, None, id="without any"),
    pytest.param({"generations": []}, None, id="or empty"),
    pytest.param({"choices": [{"message": {"content": "a"}}]}, Turn("a"), id="a chat completion"),
    pytest.param({"choices": [{"message": {"content": None}}]}, Turn(None), id="without words"),
    pytest.param(
        {"choices": [{"message": {"tool_calls": [{"function": {"name": "f"}}, 1]}}]},
        Turn(None, ("f", "")),
        id="a call's",
    ),
    pytest.param({"choices": [1]}, None, id="other choices"),
    pytest.param(
        {
            "object": "response",
            "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "a"}, {"type": "refusal"}]},
                {"type": "message", "content": None},
                {"type": "reasoning"},
            ],
        },
        Turn("a"),
        id="a response",
    ),
    pytest.param(
        {"object": "response", "output": [{"type": "function_call", "name": "f"}]}, Turn(None, ("f",)), id="that calls"
    ),
    pytest.param({"object": "response", "output": "a"}, None, id="another response"),
    pytest.param({"content": {"parts": [{"text": "hm", "thought": True}, {"text": "a"}, 1]}}, Turn("a"), id="an event"),
    pytest.param(
        {"content": {"parts": [{"function_call": {"name": "f"}}]}}, Turn(None, ("f",)), id="that calls a tool"
    ),
    pytest.param(
        {"content": {"parts": [{"function_call": {"name": "set_model_response", "args": {"a": 1}}}]}},
        Turn({"a": 1}),
        id="that hands over",
    ),
    pytest.param({"content": {"parts": []}}, Turn(None), id="an empty event"),
    pytest.param({"content": "a"}, None, id="the app's own object"),
    pytest.param({"a": 1}, None, id="an answer"),
    pytest.param("done", None, id="a text"),
]


@pytest.mark.parametrize(("value", "turn"), TURNS)
def test_an_output_is_unwrapped_where_its_shape_is_known(value, turn):
    """What is no object of a framework is the answer itself."""
    assert payloads.turn(json.dumps(value) if not isinstance(value, str) else value) == turn


def state(*messages):
    """Write what a node added."""
    return json.dumps({"messages": list(messages)})


REFUSALS = [
    pytest.param(state(data("tool", GHOST, name="ghost")), (About.TOOL_NAME, "ghost"), id="an unknown tool"),
    pytest.param(
        state(data("tool", "Error invoking tool 'search' with kwargs {} with error:")),
        (About.ARGUMENTS, "search"),
        id="arguments",
    ),
    pytest.param(state(data("ai", ""), data("tool", REFUSED)), (About.ANSWER, ""), id="an answer"),
    pytest.param(
        json.dumps([{"graph": None, "update": {"messages": [data("tool", REFUSED)]}}]),
        (About.ANSWER, ""),
        id="a command",
    ),
    pytest.param(
        json.dumps({"outputs": {"messages": [constructor("ToolMessage", GHOST)]}, "kwargs": {}}),
        (About.TOOL_NAME, "ghost"),
        id="openllmetry",
    ),
    pytest.param(
        state(data("ai", "", invalid_tool_calls=[{"name": "search", "args": "{bad"}])),
        (About.ARGUMENTS, "search"),
        id="a call whose arguments are no JSON",
    ),
    pytest.param(state(data("ai", "", invalid_tool_calls=[{"args": "{"}])), (About.ARGUMENTS, ""), id="without a name"),
    pytest.param(state(data("ai", "", invalid_tool_calls=[])), None, id="no such call"),
    pytest.param(state(HUMAN, data("tool", GHOST)), None, id="the whole state repeats it"),
    pytest.param(state(data("ai", GHOST)), None, id="the model's own words"),
    pytest.param(state(data("tool", f"so: {GHOST}")), None, id="further on"),
    pytest.param(state(data("tool", "fine"), 1) + GHOST, None, id="no JSON"),
    pytest.param(json.dumps([GHOST]), None, id="no state"),
    pytest.param("[]", None, id="nothing"),
    pytest.param(GHOST, None, id="a text"),
    pytest.param(7, None, id="a number"),
]


@pytest.mark.parametrize("key", [names.OPENINFERENCE_OUTPUT, names.TRACELOOP_OUTPUT])
@pytest.mark.parametrize(("value", "refusal"), REFUSALS)
def test_a_node_tells_what_it_refused(key, value, refusal):
    """No tool span shows it: the tool never ran."""
    incident = read(span(attributes={names.OPENINFERENCE_KIND: "CHAIN", key: value})).step.incident
    found = None if incident is None else (incident.about, incident.subject)
    assert found == refusal
    assert incident is None or incident.sort is Sort.REJECTED


def test_arguments_without_any_are_left_as_they_are():
    """The callback's surroundings may hold nothing that is known."""
    assert langchain.arguments('{"query": null, "tags": []}') == '{"query": null, "tags": []}'


def test_only_numbered_attributes_are_members():
    """What else stands below the name is not of the list."""
    found = numbered.below({"a.1.x": 2, "a.0.x": 1, "a.x": 3, "a.\u0663.x": 4, "ab.0": 5}, "a")
    assert found == ({"x": 1}, {"x": 2})


def test_an_empty_update_refuses_nothing():
    """A list without members, an update without messages."""
    assert langchain.refusal([]) is None
    assert langchain.refusal({"messages": 7}) is None


@pytest.mark.parametrize("sentence", marks.TOOL_MESSAGES, ids=lambda sentence: sentence.starts)
def test_every_refusal_is_found_by_its_words(sentence):
    """Without them nothing is parsed; each has a source."""
    words = f"{sentence.starts}x{sentence.holds}9"
    assert any(each in words for each in marks.REFUSAL_WORDS)
    assert marks.sentence_in(marks.TOOL_MESSAGES, words) is sentence
    assert sentence.source


TOOL = {names.OPENINFERENCE_KIND: "TOOL", names.OPENINFERENCE_TOOL: "search"}
RESULTS = [
    pytest.param(data("tool", "down", status="error"), (Sort.FAILED, "error"), id="its status says so"),
    pytest.param(data("tool", "ConnectionError('x')", status="error"), (Sort.FAILED, "unavailable"), id="and how"),
    pytest.param(data("tool", '{"error": "status 429"}', status="error"), (Sort.FAILED, "rate_limited"), id="in words"),
    pytest.param(
        {"output": constructor("ToolMessage", "down", status="error")}, (Sort.FAILED, "error"), id="openllmetry"
    ),
    pytest.param(data("tool", "fine", status="success"), None, id="it went well"),
    pytest.param(data("tool", '{"error": "x"}', status="success"), (Sort.FAILED, "error"), id="an envelope inside"),
    pytest.param(data("tool", "Error: no such account", status="success"), None, id="mere words"),
    pytest.param(
        data("tool", "User rejected the tool call for `a` with id 1", status="error"), None, id="a person said no"
    ),
    pytest.param(data("tool", GHOST, status="error"), (Sort.REJECTED, "unknown_tool"), id="a refusal"),
    pytest.param({"output": "fine", "kwargs": {}}, None, id="a callback's text"),
    pytest.param({"output": '{"ok": false}'}, (Sort.FAILED, "error"), id="its envelope"),
    pytest.param(
        {"id": "1", "name": "search", "response": {"status": "error", "message": "x"}}, (Sort.FAILED, "error"), id="adk"
    ),
    pytest.param(
        {
            "id": "1",
            "name": "s",
            "response": {"error": "Invoking `s()` failed as no tool with that name is available."},
        },
        (Sort.REJECTED, "unknown_tool"),
        id="adk, an unknown tool",
    ),
    pytest.param(
        {"isError": True, "content": [{"type": "text", "text": "Unknown tool: ghost"}]},
        (Sort.REJECTED, "unknown_tool"),
        id="mcp, an unknown tool",
    ),
    pytest.param({"isError": True, "content": []}, (Sort.FAILED, "error"), id="mcp, without words"),
    pytest.param({"isError": True, "content": [{"type": "image"}]}, (Sort.FAILED, "error"), id="mcp, a picture"),
]


@pytest.mark.parametrize(("result", "told"), RESULTS)
def test_a_result_tells_that_the_call_failed(result, told):
    """By a structured mark, in whichever object the framework returns."""
    incident = read(span(attributes={**TOOL, names.OPENINFERENCE_OUTPUT: json.dumps(result)})).step.incident
    assert (None if incident is None else (incident.sort, incident.error_type)) == told


def test_a_request_for_consent_is_a_pause():
    """Google ADK writes it as an error."""
    result = {"id": "1", "name": "s", "response": {"error": "This tool call requires confirmation, please approve."}}
    step = read(span(attributes={**TOOL, names.OPENINFERENCE_OUTPUT: json.dumps(result)})).step
    assert step.paused
    assert step.incident is None


def test_the_result_tells_an_error_before_the_call_from_one_in_it():
    """The status says TOOL_ERROR of both."""
    refused = {
        "id": "1",
        "name": "s",
        "response": {"error": "Invoking `s()` failed as no tool with that name is available"},
    }
    failed = {"id": "1", "name": "s", "response": {"error": "down"}}
    for result, sort in ((refused, Sort.REJECTED), (failed, Sort.FAILED)):
        attributes = {**TOOL, names.OPENINFERENCE_OUTPUT: json.dumps(result), names.ERROR_TYPE: "TOOL_ERROR"}
        assert read(span(attributes=attributes, error="TOOL_ERROR")).step.incident.sort is sort


def test_a_long_tool_message_says_at_its_end_how_it_went():
    """Beyond the bytes read a mark is unchecked, but the status stands last."""
    for status, is_cut in (("success", False), ("error", True)):
        result = json.dumps(data("tool", "x" * 40_000, status=status))
        assert read(span(attributes={**TOOL, names.OPENINFERENCE_OUTPUT: result})).step.cut is is_cut


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "n": {"type": "integer"}, "x": {"anyOf": []}, "t": {"type": ["string"]}},
    "required": ["a"],
    "additionalProperties": False,
}
MISFITS = [
    pytest.param({"a": "1"}, False, id="it fits"),
    pytest.param({"n": 1}, True, id="one is missing"),
    pytest.param({"a": "1", "b": 1}, True, id="one is not allowed"),
    pytest.param({"a": 1}, True, id="of another type"),
    pytest.param({"a": "1", "n": True}, True, id="yes is no number"),
    pytest.param({"a": "1", "x": 1, "t": 1}, False, id="what is not plain is left alone"),
    pytest.param('{"a": ', True, id="no JSON"),
    pytest.param("__REDACTED__", False, id="hidden"),
    pytest.param(7, False, id="not recorded"),
]


@pytest.mark.parametrize(("arguments", "is_misfit"), MISFITS)
def test_arguments_that_surely_break_the_schema_are_told(arguments, is_misfit):
    """Where the error itself is redacted, they tell who is to blame."""
    given = json.dumps(arguments) if isinstance(arguments, dict) else arguments
    assert schemas.misfits(json.dumps(SCHEMA), given) is is_misfit
    attributes = {**TOOL, names.OPENINFERENCE_INPUT: given, names.OPENINFERENCE_TOOL_SCHEMA: json.dumps(SCHEMA)}
    incident = read(span(attributes=attributes, error="redacted")).step.incident
    assert (incident.about is About.ARGUMENTS) is is_misfit


@pytest.mark.parametrize("schema", [{"a": 1}, {"properties": 7}, "x", {"properties": {}, "required": 7}])
def test_what_is_no_schema_is_broken_by_nothing(schema):
    """Some frameworks write the arguments in its place."""
    assert not schemas.misfits(json.dumps(schema), '{"b": 1}')


def test_an_app_names_its_own_control_flow():
    """By the full name, as the frameworks' own."""
    contract = Contract(control_flow={"app.AskHuman": "paused"})
    step = read(span(attributes=TOOL, exception=("app.AskHuman", "x"), error="x"), contract).step
    assert step.paused
    assert step.incident is None
    with pytest.raises(ConfigurationError, match="'waiting'"):
        Contract(control_flow={"app.AskHuman": "waiting"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "outputs", "content", "parts", "type", "data", "lc", "id", "kwargs", "choices"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=JSON)
def test_no_shape_of_an_output_is_too_odd(value):
    """Reading stands in the way of the app: it never raises."""
    words = json.dumps(value)
    payloads.turn(words)
    payloads.document_ids(words)
    langchain.refusal(value)
    for kind in ("LLM", "TOOL", "RETRIEVER", "CHAIN"):
        read(span(attributes={names.OPENINFERENCE_KIND: kind, names.OPENINFERENCE_OUTPUT: words}))


def test_an_answer_that_adk_refused_is_no_failed_tool():
    """Its tool for the answer gives the words of the schema's error back to the model."""
    words = "Validation Error found:\n1 validation error for Finding\nRecall the set_model_response function correctly."
    attributes = {
        names.GEN_AI_OPERATION: "execute_tool",
        names.GEN_AI_TOOL: "set_model_response",
        names.GEN_AI_RESULT: json.dumps({"error": words}),
    }
    refused = read(span(attributes=attributes)).step.incident
    assert (refused.sort, refused.about) == (Sort.REJECTED, About.ANSWER)
