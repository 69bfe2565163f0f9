"""Each vocabulary's words for the same things: kind, name, arguments, documents, answer, conversation."""

from __future__ import annotations

import json

import pytest
from building import span

from otel_aml.conventions import (
    NOTHING_DECLARED,
    Contract,
    Declared,
    conversation,
    gen_ai,
    openinference,
    pydantic_ai,
    read,
    says_agent,
    values,
)
from otel_aml.conventions.aml import declared, each_needed
from otel_aml.core.steps import About, Kind, Sort
from otel_aml.spans import attributes as names


def operation(name, **more):
    """Build the attributes of a GenAI operation."""
    return {names.GEN_AI_OPERATION: name, **more}


def openinference_kind(name, **more):
    """Build the attributes of an OpenInference kind."""
    return {names.OPENINFERENCE_KIND: name, **more}


KINDS = [
    pytest.param(operation("invoke_agent"), False, Kind.AGENT, id="gen_ai: an agent"),
    pytest.param(operation("chat"), False, Kind.MODEL, id="gen_ai: a chat"),
    pytest.param(operation("generate_content"), True, Kind.MODEL, id="gen_ai: content, over the wire"),
    pytest.param(operation("text_completion"), False, Kind.MODEL, id="gen_ai: a completion"),
    pytest.param(operation("execute_tool"), False, Kind.TOOL, id="gen_ai: a tool"),
    pytest.param(operation("retrieval"), False, Kind.RETRIEVER, id="gen_ai: a retrieval"),
    pytest.param(operation("embeddings"), True, Kind.STEP, id="gen_ai: an embedding is a plain step"),
    pytest.param(operation("create_agent"), False, Kind.STEP, id="gen_ai: so is the creation of an agent"),
    pytest.param(operation(7), False, Kind.STEP, id="gen_ai: no operation"),
    pytest.param(openinference_kind("AGENT"), False, Kind.AGENT, id="openinference: an agent"),
    pytest.param(openinference_kind("LLM"), False, Kind.MODEL, id="openinference: a model"),
    pytest.param(openinference_kind("TOOL"), False, Kind.TOOL, id="openinference: a tool"),
    pytest.param(openinference_kind("RETRIEVER"), False, Kind.RETRIEVER, id="openinference: a retriever"),
    pytest.param(openinference_kind("CHAIN"), True, Kind.STEP, id="openinference: a chain is a plain step"),
    pytest.param(openinference_kind(7), False, Kind.STEP, id="openinference: no kind"),
    pytest.param({names.PYDANTIC_AI_ATTEMPT: 1}, False, Kind.MODEL, id="pydantic_ai: an attempt at a request"),
    pytest.param(operation("vector_db_retrieve"), False, Kind.RETRIEVER, id="openllmetry: a retrieval"),
    pytest.param(
        operation("vector_db_retrieve", **{names.TRACELOOP_KIND: "task"}), False, Kind.RETRIEVER, id="whatever its kind"
    ),
    pytest.param(operation("execute_task"), False, Kind.STEP, id="openllmetry: a task"),
    pytest.param({names.TRACELOOP_KIND: "agent"}, False, Kind.AGENT, id="openllmetry: an agent"),
    pytest.param({names.TRACELOOP_KIND: "tool"}, True, Kind.TOOL, id="openllmetry: a tool"),
    pytest.param({names.TRACELOOP_KIND: "workflow"}, True, Kind.STEP, id="openllmetry: a workflow is a plain step"),
    pytest.param({names.TRACELOOP_KIND: 7}, False, Kind.STEP, id="openllmetry: no kind"),
    pytest.param({names.TRACELOOP_REQUEST: "chat"}, True, Kind.MODEL, id="openllmetry: a request"),
    pytest.param({names.TRACELOOP_REQUEST: "rerank"}, True, Kind.STEP, id="openllmetry: another request"),
    pytest.param({names.MCP_METHOD: "tools/call"}, True, Kind.TOOL, id="mcp: a call"),
    pytest.param({names.MCP_METHOD: "initialize"}, True, Kind.STEP, id="mcp: another method"),
    pytest.param({}, True, Kind.CLIENT, id="a call out of the process"),
    pytest.param({}, False, Kind.STEP, id="anything else"),
]


@pytest.mark.parametrize(("attributes", "is_client", "kind"), KINDS)
def test_a_span_says_what_it_did(attributes, is_client, kind):
    """In whichever vocabulary; the span's own kind only where none is spoken."""
    assert read(span(attributes=attributes, client=is_client)).step.kind is kind


NAMES = [
    pytest.param(operation("invoke_agent", **{names.GEN_AI_AGENT: "copilot"}), "copilot", id="an agent"),
    pytest.param(operation("chat", **{names.GEN_AI_MODEL: "m-1"}), "m-1", id="a model"),
    pytest.param(operation("execute_tool", **{names.GEN_AI_TOOL: "search"}), "search", id="a tool"),
    pytest.param(operation("retrieval", **{names.GEN_AI_DATA_SOURCE: "notes"}), "notes", id="a retriever"),
    pytest.param(
        openinference_kind("TOOL", **{names.OPENINFERENCE_TOOL: "search"}), "search", id="openinference, a tool"
    ),
    pytest.param(openinference_kind("LLM", **{names.OPENINFERENCE_MODEL: "m-1"}), "m-1", id="openinference, a model"),
    pytest.param(openinference_kind("AGENT"), "span", id="openinference, an agent"),
    pytest.param(openinference_kind("AGENT", **{names.OPENINFERENCE_AGENT: "a"}), "a", id="openinference, named"),
    pytest.param({names.TRACELOOP_KIND: "tool", names.TRACELOOP_NAME: "search"}, "search", id="openllmetry, a tool"),
    pytest.param(operation("chat", **{names.TRACELOOP_NAME: "x"}), "span", id="openllmetry, a model"),
    pytest.param({names.MCP_METHOD: "tools/call"}, "span", id="mcp, its span's name"),
    pytest.param(operation("execute_tool"), "span", id="a tool without a name"),
    pytest.param({names.GEN_AI_TOOL: "search"}, "span", id="a plain step"),
]


@pytest.mark.parametrize(("attributes", "name"), NAMES)
def test_a_dependency_is_named(attributes, name):
    """Else by the span's name."""
    assert read(span(attributes=attributes)).step.name == name


ARGUMENTS = [
    pytest.param(operation("execute_tool", **{names.GEN_AI_ARGUMENTS: '{"a": 1}'}), False, '{"a": 1}', id="gen_ai"),
    pytest.param(openinference_kind("TOOL", **{names.OPENINFERENCE_INPUT: "x"}), False, "x", id="openinference"),
    pytest.param(operation("retrieval", **{names.GEN_AI_QUERY: "q"}), False, "q", id="a query"),
    pytest.param(openinference_kind("TOOL", **{names.OPENINFERENCE_INPUT: "__REDACTED__"}), False, None, id="hidden"),
    pytest.param(operation("chat", **{names.OPENINFERENCE_INPUT: "x"}), False, None, id="a model gets the whole talk"),
    pytest.param(
        {names.TRACELOOP_KIND: "tool", names.TRACELOOP_INPUT: '{"input_str": "x", "tags": ["seq:step:1"]}'},
        False,
        "x",
        id="openllmetry, without the run's own marks",
    ),
    pytest.param(
        operation("execute_tool", **{names.GEN_AI_ARGUMENTS: '{"input_str": "x", "tags": [], "inputs": {"q": 1}}'}),
        False,
        '{"q": 1}',
        id="openllmetry, under a GenAI name",
    ),
    pytest.param(
        operation("execute_tool", **{names.GEN_AI_ARGUMENTS: '{"query": "x"}'}),
        False,
        '{"query": "x"}',
        id="a query's own",
    ),
    pytest.param({names.URL: "https://a/b"}, True, "https://a/b", id="a request"),
    pytest.param({names.OLD_URL: "https://a/b"}, True, "https://a/b", id="a request, the older name"),
    pytest.param({names.DB_QUERY: "select 1"}, True, "select 1", id="a query of a database"),
    pytest.param({names.SERVER_ADDRESS: "a"}, True, "a", id="a server"),
    pytest.param({names.URL: "https://a/b"}, False, None, id="a plain step"),
]


@pytest.mark.parametrize(("attributes", "is_client", "arguments"), ARGUMENTS)
def test_arguments_tell_two_calls_apart(attributes, is_client, arguments):
    """A retry is a call with the same ones."""
    assert read(span(attributes=attributes, client=is_client)).step.arguments == arguments


def documents(*found):
    """Build GenAI documents."""
    return operation("retrieval", **{names.GEN_AI_DOCUMENTS: json.dumps(found)})


def numbered(*found):
    """Build OpenInference documents, flattened."""
    pairs = {f"retrieval.documents.{number}.document.id": each for number, each in enumerate(found)}
    return openinference_kind("RETRIEVER", **pairs)


DOCUMENTS = [
    pytest.param(documents({"id": "n1", "score": 0.5}, {"id": 2}), {"n1", "2"}, id="gen_ai"),
    pytest.param(documents(), set(), id="gen_ai: none were found"),
    pytest.param(documents({"id": "n1"}, {"score": 1}), None, id="gen_ai: one has no id"),
    pytest.param(documents("n1"), None, id="gen_ai: not documents"),
    pytest.param(documents({"id": True}), None, id="gen_ai: yes is no id"),
    pytest.param(operation("retrieval"), None, id="gen_ai: not recorded"),
    pytest.param(numbered("n1", "n2"), {"n1", "n2"}, id="openinference"),
    pytest.param(
        openinference_kind("RETRIEVER", **{"retrieval.documents.0.document.content": "x"}),
        None,
        id="openinference: no id",
    ),
    pytest.param(
        openinference_kind("RETRIEVER", **{"retrieval.documents": "[]"}), set(), id="openinference: none found"
    ),
    pytest.param(openinference_kind("RETRIEVER", **{"retrieval.documents": "[1]"}), None, id="openinference: odd"),
    pytest.param(openinference_kind("RETRIEVER"), None, id="openinference: not recorded"),
    pytest.param(
        openinference_kind("RETRIEVER", **{"retrieval.documents.0.document.metadata": '{"id": "n1", "page": 2}'}),
        {"n1"},
        id="openinference: an id in the metadata",
    ),
    pytest.param(
        openinference_kind("RETRIEVER", **{"retrieval.documents.0.document.metadata": "__REDACTED__"}),
        None,
        id="openinference: hidden",
    ),
    pytest.param(
        openinference_kind(
            "RETRIEVER",
            **{
                "retrieval.documents.0.document.content": "text",
                names.OPENINFERENCE_OUTPUT: '{"documents": [{"id": "n1", "metadata": {"doc_id": "N-1"}}]}',
            },
        ),
        {"n1", "N-1"},
        id="openinference: ids in the output, all names that a document goes by",
    ),
    pytest.param(
        {**operation("vector_db_retrieve"), names.TRACELOOP_OUTPUT: '{"documents": [{"metadata": {"id": "n1"}}]}'},
        {"n1"},
        id="openllmetry",
    ),
    pytest.param(
        {**operation("vector_db_retrieve"), names.TRACELOOP_OUTPUT: '{"documents": [], "count": 0}'},
        set(),
        id="openllmetry: none were found",
    ),
    pytest.param(
        {**operation("vector_db_retrieve"), names.TRACELOOP_OUTPUT: '{"documents": [{"page_content": "x"}, 1]}'},
        None,
        id="openllmetry: one has no id",
    ),
    pytest.param(operation("chat", **{names.GEN_AI_DOCUMENTS: '[{"id": "n1"}]'}), None, id="no retriever"),
]


@pytest.mark.parametrize(("attributes", "found"), DOCUMENTS)
def test_a_retrieval_says_what_it_found(attributes, found):
    """Unknown is not empty."""
    assert read(span(attributes=attributes)).documents == found


def test_an_app_can_pick_the_ids_out_itself():
    """Where no convention tells them; where one does, it is not asked."""
    contract = Contract(document_ids=lambda recorded: recorded.split(","))
    plain = openinference_kind("RETRIEVER", **{names.OPENINFERENCE_OUTPUT: "n1,n2"})
    assert read(span(attributes=plain), contract).documents == {"n1", "n2"}
    assert read(span(attributes=openinference_kind("RETRIEVER")), contract).documents is None
    assert read(span(attributes=numbered("n9")), contract).documents == {"n9"}


def message(*parts, role="assistant"):
    """Build one GenAI message."""
    return {"role": role, "parts": list(parts)}


def text(content):
    """Build a part."""
    return {"type": "text", "content": content}


def call(name, **more):
    """Build a part."""
    return {"type": "tool_call", "name": name, **more}


FINALS = [
    pytest.param([message(text("a"), text("b"))], "ab", id="texts of one message"),
    pytest.param([message(text("a")), message(text("b"))], "b", id="the last message"),
    pytest.param([message(text("thinking"), call("search"))], None, id="it calls a tool"),
    pytest.param([message(call("final_result", arguments='{"a": 1}'))], '{"a": 1}', id="it hands the answer over"),
    pytest.param([message(call("final_answer", arguments={"a": 1}))], {"a": 1}, id="smolagents hands it over"),
    pytest.param([message({"type": "reasoning", "content": "x"})], None, id="no text"),
    pytest.param([message({"type": "text"})], None, id="a text that is not there"),
    pytest.param([{"role": "assistant"}], None, id="no parts"),
    pytest.param(
        [
            message(call("Draft", id="c1", arguments={"a": 1})),
            message({"type": "tool_call_response", "id": "c1", "response": "Returning structured response: a=1"}),
        ],
        {"a": 1},
        id="the framework took a call for the answer",
    ),
    pytest.param([message({"type": "tool_call_response", "id": "c1", "response": "a"})], None, id="a tool's result"),
    pytest.param([message("odd", text("a"))], "a", id="odd parts are passed over"),
    pytest.param(["odd"], None, id="no message"),
    pytest.param([], None, id="none"),
]


@pytest.mark.parametrize(("messages", "final"), FINALS)
def test_the_final_answer_is_in_the_last_message(messages, final):
    """Live as values, from a file as text."""
    assert gen_ai.final_text(messages) == final
    assert gen_ai.final_text(json.dumps(messages)) == final


SAID = "llm.output_messages.0.message"
CALLED = f"{SAID}.tool_calls.0.tool_call.function"
OUTPUTS = [
    pytest.param(openinference_kind("LLM", **{f"{SAID}.content": "a"}), "a", id="openinference: a message"),
    pytest.param(
        openinference_kind("LLM", **{"llm.output_messages.1.message.contents.0.message_content.text": "a"}),
        "a",
        id="openinference: in blocks, numbered from one",
    ),
    pytest.param(
        openinference_kind("LLM", **{f"{SAID}.content": "a", f"{CALLED}.name": "search"}), None, id="it calls"
    ),
    pytest.param(
        openinference_kind("LLM", **{f"{CALLED}.name": "final_answer", f"{CALLED}.arguments": '{"a": 1}'}),
        '{"a": 1}',
        id="openinference: it hands the answer over",
    ),
    pytest.param(openinference_kind("LLM", **{f"{SAID}.role": "assistant"}), None, id="openinference: it says nothing"),
    pytest.param({names.TRACELOOP_REQUEST: "chat", "gen_ai.completion.0.content": "a"}, "a", id="openllmetry"),
    pytest.param(
        {names.TRACELOOP_REQUEST: "chat", "gen_ai.completion.0.tool_calls.0.name": "search"}, None, id="and calls"
    ),
    pytest.param(
        {
            names.TRACELOOP_REQUEST: "chat",
            "gen_ai.completion.0.tool_calls.0.name": "final_answer",
            "gen_ai.completion.0.tool_calls.0.arguments": "{}",
        },
        "{}",
        id="and hands over",
    ),
    pytest.param({names.TRACELOOP_KIND: "agent", names.TRACELOOP_OUTPUT: '"a"'}, "a", id="openllmetry: JSON text"),
    pytest.param({names.TRACELOOP_KIND: "agent", names.TRACELOOP_OUTPUT: '"a'}, None, id="openllmetry: cut"),
    pytest.param({names.TRACELOOP_KIND: "agent", names.TRACELOOP_OUTPUT: '{"a": '}, None, id="openllmetry: cut, too"),
    pytest.param({names.TRACELOOP_KIND: "agent", names.TRACELOOP_OUTPUT: '{"a": 1}'}, '{"a": 1}', id="the app's own"),
    pytest.param({names.TRACELOOP_KIND: "agent", names.TRACELOOP_OUTPUT: '{"outputs": "a"}'}, "a", id="a callback's"),
    pytest.param({names.TRACELOOP_KIND: "agent", names.TRACELOOP_OUTPUT: ["a"]}, ["a"], id="a live list"),
    pytest.param(
        openinference_kind(
            "CHAIN", **{names.OPENINFERENCE_OUTPUT: '{"a": ', names.OPENINFERENCE_OUTPUT_TYPE: "application/json"}
        ),
        None,
        id="openinference: JSON that was cut",
    ),
    pytest.param(
        openinference_kind(
            "CHAIN", **{names.OPENINFERENCE_OUTPUT: '{"a": 1}', names.OPENINFERENCE_OUTPUT_TYPE: "application/json"}
        ),
        '{"a": 1}',
        id="openinference: JSON of the app",
    ),
    pytest.param(
        openinference_kind("CHAIN", **{names.OPENINFERENCE_OUTPUT: '{"a": '}), '{"a": ', id="openinference: a text"
    ),
    pytest.param(
        operation("invoke_agent", **{names.PYDANTIC_AI_FINAL: "a", names.GEN_AI_OUTPUT: "b"}), "a", id="final"
    ),
    pytest.param(
        operation("chat", **{names.GEN_AI_OUTPUT: json.dumps([message(text("b"))]), names.OPENINFERENCE_OUTPUT: "c"}),
        "b",
        id="messages",
    ),
    pytest.param(openinference_kind("AGENT", **{names.OPENINFERENCE_OUTPUT: "c"}), "c", id="openinference"),
    pytest.param(openinference_kind("AGENT", **{names.OPENINFERENCE_OUTPUT: "__REDACTED__"}), None, id="hidden"),
    pytest.param({names.PYDANTIC_AI_FINAL: "[REDACTED]"}, None, id="hidden by another"),
]


@pytest.mark.parametrize(("attributes", "final"), OUTPUTS)
def test_an_output_is_read_from_the_surest_place(attributes, final):
    """The framework's own final result first."""
    assert read(span(attributes=attributes)).output.read() == final


@pytest.mark.parametrize("kind", ["execute_tool", "retrieval"])
def test_what_a_call_returned_is_no_answer(kind):
    """Only models and agents answer."""
    assert read(span(attributes=operation(kind, **{names.OPENINFERENCE_OUTPUT: "x"}))).output is None


def offering(*tools, called=()):
    """Build a model call that was offered tools and called some."""
    messages = [message(*(call(name) for name in called))]
    offered = json.dumps([{"type": "function", "name": name} for name in tools])
    return operation("chat", **{names.GEN_AI_TOOLS_OFFERED: offered, names.GEN_AI_OUTPUT: json.dumps(messages)})


def offering_numbered(schema, called):
    """Build a model that was offered one tool and called one, as OpenInference writes it."""
    return openinference_kind("LLM", **{"llm.tools.0.tool.json_schema": schema, f"{CALLED}.name": called})


UNKNOWN = [
    pytest.param(offering_numbered('{"name": "search"}', "search"), None, id="openinference: one that was"),
    pytest.param(offering_numbered('{"function": {"name": "search"}}', "ghost"), "ghost", id="openinference: was not"),
    pytest.param(offering_numbered("[]", "ghost"), None, id="openinference: names hidden"),
    pytest.param(offering_numbered(7, "ghost"), None, id="openinference: no schema"),
    pytest.param(
        {
            names.TRACELOOP_REQUEST: "chat",
            "llm.request.functions.0.name": "search",
            "gen_ai.completion.0.tool_calls.0.name": "ghost",
        },
        "ghost",
        id="openllmetry",
    ),
    pytest.param(offering("search", called=["search"]), None, id="a tool that was offered"),
    pytest.param(offering("search", called=["search", "ghost"]), "ghost", id="one that was not"),
    pytest.param(offering("search", called=["final_result"]), None, id="handing the answer over"),
    pytest.param(offering(called=["ghost"]), "ghost", id="none was offered"),
    pytest.param({**offering("search", called=["ghost"]), names.GEN_AI_TOOLS_OFFERED: "[{}]"}, None, id="names hidden"),
    pytest.param({**offering("search", called=["ghost"]), names.GEN_AI_TOOLS_OFFERED: "x"}, None, id="not a list"),
    pytest.param({**offering("search", called=["ghost"]), names.GEN_AI_OUTPUT: None}, None, id="no output"),
    pytest.param({**offering("search", called=["ghost"]), names.GEN_AI_OPERATION: "invoke_agent"}, None, id="an agent"),
]


@pytest.mark.parametrize(("attributes", "ghost"), UNKNOWN)
def test_a_call_of_a_tool_that_was_not_offered_is_rejected(attributes, ghost):
    """Before anything ran."""
    incident = read(span(attributes=attributes)).step.incident
    assert (incident.subject if incident else None) == ghost
    if incident:
        assert (incident.sort, incident.about, incident.error_type) == (Sort.REJECTED, About.TOOL_NAME, "unknown_tool")


def test_offered_tools_are_read_in_either_shape():
    """The function's name may stand one level deeper."""
    live = [{"type": "function", "function": {"name": "a"}}, {"name": "b"}]
    assert read(span(attributes=operation("chat", **{names.GEN_AI_TOOLS_OFFERED: live}))).offered == {"a", "b"}
    assert read(span(attributes=operation("chat", **{names.GEN_AI_TOOLS_OFFERED: ["a"]}))).offered is None


RETRY = "pydantic_ai.exceptions.ToolRetryError"
REFUSALS = [
    pytest.param("search", "validation_error", (Sort.REJECTED, About.ARGUMENTS), id="arguments were refused"),
    pytest.param("final_result", "validation_error", (Sort.REJECTED, About.ANSWER), id="an answer was refused"),
    pytest.param("search", "model_retry", None, id="the tool asked for others"),
]


@pytest.mark.parametrize(("tool", "cause", "incident"), REFUSALS)
def test_pydantic_ai_tells_refusal_from_asking_again(tool, cause, incident):
    """Both raise the same exception."""
    attributes = operation("execute_tool", **{names.GEN_AI_TOOL: tool, names.PYDANTIC_AI_RETRY_CAUSE: cause})
    step = read(span(attributes=attributes, exception=(RETRY, "x"), error="x")).step
    assert (step.incident and (step.incident.sort, step.incident.about)) == incident
    assert step.asked_again is (incident is None)


PAUSES = [
    pytest.param({names.PYDANTIC_AI_DEFERRAL: "x"}, True, id="a call was deferred"),
    pytest.param({names.PYDANTIC_AI_FINAL: '{"calls": [], "approvals": [1], "metadata": {}}'}, True, id="a run waits"),
    pytest.param({names.PYDANTIC_AI_FINAL: '{"approvals": [1]}'}, False, id="an answer that has approvals"),
    pytest.param({names.PYDANTIC_AI_FINAL: 'about "approvals"'}, False, id="a text about them"),
    pytest.param({names.PYDANTIC_AI_FINAL: "done"}, False, id="an answer"),
    pytest.param({}, False, id="nothing"),
]


@pytest.mark.parametrize(("attributes", "is_paused"), PAUSES)
def test_pydantic_ai_says_that_it_waits(attributes, is_paused):
    """In the final result, or on the call."""
    assert pydantic_ai.is_deferred(attributes) is is_paused
    assert read(span(attributes=attributes)).step.paused is is_paused


OWES = [
    pytest.param({names.PYDANTIC_AI_MESSAGES: '[{"parts": [{"content": "x"}]}]'}, True, id="content is recorded"),
    pytest.param({names.PYDANTIC_AI_MESSAGES: '[{"parts": [{"type": "text"}]}]'}, False, id="content is off"),
    pytest.param({}, False, id="no messages"),
]


@pytest.mark.parametrize(("attributes", "owes"), OWES)
def test_pydantic_ai_owes_an_answer_where_content_is_recorded(attributes, owes):
    """Elsewhere its absence says nothing."""
    assert read(span(attributes=operation("invoke_agent", **attributes))).answer_due is owes
    assert not read(span(attributes=operation("chat", **attributes))).answer_due


DECLARED = {
    names.CASE_ID: "C-17",
    names.EVIDENCE_IDS: ["TX-1"],
    names.GOLD_NOTES: '["n2", "n1"]',
    names.ANSWER_CITED_IDS: [],
    names.ANSWER_TYPOLOGY: "structuring",
    names.ANSWER_VALID: "false",
    names.GOLD_TYPOLOGY: "layering",
    names.JUDGE_CONTEXT_USED: False,
    names.SYNTHETIC: True,
}


def test_our_own_words_are_read():
    """Live or from a file."""
    assert declared(DECLARED) == Declared(
        case_id="C-17",
        evidence_ids=frozenset({"TX-1"}),
        needed_notes=(frozenset({"n1"}), frozenset({"n2"})),
        cited_ids=frozenset(),
        typology="structuring",
        schema_valid=False,
        gold_typology="layering",
        context_used=False,
        synthetic=True,
    )
    assert read(span(attributes=DECLARED)).declared == declared(DECLARED)


def test_without_our_words_nothing_is_declared():
    """Most spans have none."""
    assert declared({"http.method": "GET"}) is NOTHING_DECLARED
    assert each_needed(None) is None
    assert declared({names.CASE_ID: "C"}) == Declared(case_id="C")


def test_who_and_in_which_conversation():
    """An interrupted run is joined with its resumption by it."""
    reading = read(
        span(attributes=operation("invoke_agent", **{names.GEN_AI_AGENT: "a", names.GEN_AI_CONVERSATION: "c"}))
    )
    assert (reading.agent, reading.conversation) == ("a", "c")
    reading = read(span(attributes=openinference_kind("AGENT", **{names.OPENINFERENCE_SESSION: 7})))
    assert (reading.agent, reading.conversation) == ("", "7")


def test_a_span_that_never_ended_is_open():
    """It took no time, and gave nothing."""
    step = read(span(started_at=5, ended_at=None)).step
    assert (step.started_at, step.ended_at, step.open, step.went_well) == (5, 5, True, False)
    assert read(span(attributes={names.STEP_ID: "screening"})).step.step_id == "screening"


@pytest.mark.parametrize("module", [gen_ai, openinference])
def test_a_vocabulary_that_is_not_spoken_says_nothing(module):
    """The next one is asked."""
    assert module.kind({}) is None
    assert module.dependency({}, Kind.STEP) is None
    assert module.document_ids({}) is None


MERGED = {names.GEN_AI_OPERATION: "generate_content", names.OPENINFERENCE_KIND: "LLM"}


def test_the_name_tells_an_agent_onto_which_its_model_calls_were_written():
    """Google ADK under OpenInference: kind and operation are overwritten, the name is not."""
    assert read(span(attributes=MERGED, name="invoke_agent copilot")).step.kind is Kind.AGENT
    assert read(span(attributes=MERGED, name="generate_content m")).step.kind is Kind.MODEL


def test_a_tool_s_name_may_stand_in_that_of_the_span():
    """MCP names the method, then the tool."""
    assert read(span(attributes={names.MCP_METHOD: "tools/call"}, name="tools/call search")).step.name == "search"


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"llm.output_messages.7.message.content": "x"}, Kind.MODEL),
        ({names.OPENINFERENCE_MODEL: "m"}, Kind.MODEL),
        ({"retrieval.documents.9.document.content": "x"}, Kind.RETRIEVER),
        ({"app.key": "x"}, Kind.STEP),
    ],
)
def test_a_span_that_lost_its_kind_to_the_limit_is_known_by_what_it_kept(attributes, kind):
    """The SDK drops the oldest attributes, and the kind is among them; a span that lost nothing never had one."""
    assert read(span(attributes=attributes, dropped_attributes=3)).step.kind is kind
    assert read(span(attributes=attributes)).step.kind is Kind.STEP


def test_documents_that_may_be_missing_are_unchecked():
    """Numbered attributes that were lost leave no gap; the output as a whole has them all."""
    some = {"retrieval.documents.9.document.id": "n9"}
    whole = {**some, names.OPENINFERENCE_OUTPUT: '{"documents": [{"id": "n1"}, {"id": "n9"}]}'}
    assert read(span(attributes=some, dropped_attributes=1)).documents is None
    assert read(span(attributes={**whole, **openinference_kind("RETRIEVER")}, dropped_attributes=1)).documents == {
        "n1",
        "n9",
    }


def test_a_state_too_long_to_read_leaves_the_word_to_the_model():
    """It grows with the conversation; a long answer is still an answer, which nobody checks."""
    state = '{"messages": ["' + "x" * values.ANSWER_BYTES + '"]}'
    assert read(span(attributes=openinference_kind("CHAIN", **{names.OPENINFERENCE_OUTPUT: state}))).output is None
    assert read(span(attributes={names.TRACELOOP_OUTPUT: state})).output is None
    assert read(span(attributes={names.TRACELOOP_OUTPUT: state[3:]})).output.read() == state[3:]
    json_state = {names.OPENINFERENCE_OUTPUT: state[3:], names.OPENINFERENCE_OUTPUT_TYPE: "application/json"}
    assert read(span(attributes=json_state)).output.read() == state[3:]


@pytest.mark.parametrize("name", ["final_answer", "final_result"])
def test_handing_the_answer_over_calls_nothing_outside(name):
    """Unless it went wrong: an output function may do anything."""
    attributes = operation("execute_tool", **{names.GEN_AI_TOOL: name})
    assert read(span(attributes=attributes)).step.kind is Kind.STEP
    assert read(span(attributes=attributes, error="x")).step.kind is Kind.TOOL


def test_a_declared_workflow_is_a_run():
    """What the app marked as a workflow or an agent is the outermost span of one."""
    assert says_agent("traceloop.tracer", {names.TRACELOOP_KIND: "workflow"})
    assert not says_agent("traceloop.tracer", {names.TRACELOOP_KIND: "task"})


def test_a_conversation_joins_an_interrupted_run_with_its_resumption():
    """Each is a run of its own; the root's word first, else that of the span that ended first."""
    said = [
        span("a", "r", {names.TRACELOOP_THREAD: "t2"}, ended_at=5),
        span("b", "r", {names.TRACELOOP_THREAD: "t3"}, ended_at=4),
        span("r"),
    ]
    readings = [read(each) for each in said]
    assert conversation(readings, "r") == "t3"
    assert conversation([*readings, read(span("q", None, {names.OPENINFERENCE_SESSION: "t1"}))], "q") == "t1"
    assert conversation([], "r") == ""
