"""A glance at a healthy span never overlooks what reading it would have told."""

from __future__ import annotations

import json

import pytest
from building import span
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.conventions import NOTHING_DECLARED, facts, is_run, read
from otel_aml.conventions.glance import Glance, glance, glance_at_root
from otel_aml.core.facts import Facts
from otel_aml.core.steps import MAKES_A_RUN
from otel_aml.core.tree import classify
from otel_aml.spans import attributes as names

MESSAGES = [
    [{"parts": [{"type": "text", "content": "done"}]}],
    [{"parts": [{"type": "tool_call", "name": "search"}]}],
    [{"parts": [{"type": "tool_call", "name": "ghost"}]}],
    [{"parts": [{"type": "tool_call", "name": "final_result", "arguments": "{}"}]}],
]
RESULTS = [
    "fine",
    '{"error": "x"}',
    '{"isError": true}',
    '{"response_type": "ERROR_HANDLED_BY_X"}',
    "An error occurred while running the tool",
    "Error executing tool search: down",
    "Tool 'search' timed out after 3 s",
    '{"data": 1}',
    "{" + " " * 40_000,
]
REFUSED = {
    "type": "tool",
    "data": {"content": "Error: ghost is not a valid tool, try one of [search].", "name": "ghost"},
}
FAILED = {"type": "tool", "data": {"content": "down", "name": "search", "status": "error"}}
FAILED_TO_PARSE = {
    "type": "tool",
    "data": {"content": "Error: Unable to parse structured output for tool 'Draft'.", "name": "Draft"},
}
UNKNOWN = {"type": "tool", "data": {"content": "Unknown tool: ghost", "name": "ghost", "status": "error"}}
UPDATES = [
    json.dumps({"messages": [REFUSED]}),
    json.dumps({"outputs": {"messages": [REFUSED]}}),
    json.dumps([{"graph": None, "update": {"messages": [REFUSED]}}]),
    json.dumps({"messages": [FAILED_TO_PARSE]}),
    json.dumps({"messages": [UNKNOWN]}),
    json.dumps(FAILED),
    json.dumps({"output": FAILED}),
]
POOL = {
    names.GEN_AI_OPERATION: [
        "chat",
        "execute_tool",
        "execute_task",
        "retrieval",
        "vector_db_retrieve",
        "invoke_agent",
        "embeddings",
        "create_agent",
        7,
    ],
    names.OPENINFERENCE_KIND: ["LLM", "TOOL", "RETRIEVER", "AGENT", "CHAIN"],
    names.ERROR_TYPE: ["langgraph.errors.GraphInterrupt", "500"],
    names.GEN_AI_TOOL: ["search"],
    names.GEN_AI_RESULT: [*RESULTS, {"ok": False}],
    names.OPENINFERENCE_OUTPUT: [*RESULTS, *UPDATES],
    names.OPENINFERENCE_INPUT: ['{"q": 1}', "__REDACTED__"],
    "llm.output_messages.0.message.content": ["done"],
    "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": ["ghost", "search"],
    "llm.tools.0.tool.json_schema": ['{"name": "search"}'],
    names.TRACELOOP_KIND: ["workflow", "agent", "task", "tool", 7],
    names.TRACELOOP_INPUT: ['{"input_str": "x", "tags": []}'],
    names.TRACELOOP_OUTPUT: [*RESULTS, *UPDATES, '{"documents": []}', '"done"'],
    names.TRACELOOP_REQUEST: ["chat", "rerank"],
    "gen_ai.completion.0.content": ["done"],
    names.MCP_METHOD: ["tools/call", "initialize"],
    names.GEN_AI_OUTPUT: [*MESSAGES, *map(json.dumps, MESSAGES)],
    names.GEN_AI_TOOLS_OFFERED: ['[{"name": "search"}]', [{"name": "search"}], "[]"],
    names.GEN_AI_DOCUMENTS: ['[{"id": "n"}]'],
    names.PYDANTIC_AI_FINAL: ["done", '{"calls": [], "approvals": []}'],
    names.PYDANTIC_AI_ATTEMPT: [1],
    names.PYDANTIC_AI_DEFERRAL: ["x"],
    names.PYDANTIC_AI_MESSAGES: ['[{"content": "x"}]'],
    names.STEP_CLASS: ["tool_failure", "hallucination"],
    names.CASE_ID: ["C"],
    names.ANSWER_VALID: [False],
    "http.route": ["/health"],
}


def some_of(pool):
    """Draw spans that say much, and spans that say two or three things alone."""
    sampled = {key: st.sampled_from(each) for key, each in pool.items()}
    few = st.lists(st.sampled_from(sorted(pool)), max_size=3, unique=True)
    return st.fixed_dictionaries({}, optional=sampled) | few.flatmap(
        lambda keys: st.fixed_dictionaries({key: sampled[key] for key in keys})
    )


ELSEWHERE = [
    pytest.param({names.OPENINFERENCE_OUTPUT: "done"}, id="an output"),
    pytest.param({names.TRACELOOP_OUTPUT: '"done"'}, id="an entity's output"),
    pytest.param({"llm.output_messages.1.message.content": "done"}, id="a numbered message"),
    pytest.param({"gen_ai.completion.0.content": "done"}, id="a numbered completion"),
]


@pytest.mark.parametrize("said", ELSEWHERE)
@pytest.mark.parametrize("operation", ["chat", "generate_content", "text_completion"])
def test_an_answer_in_another_vocabulary_matters(said, operation):
    """A model that says what it is in GenAI's words may leave its answer elsewhere, where reading finds it."""
    attributes = {names.GEN_AI_OPERATION: operation, **said}
    assert read(span(attributes=attributes)).output.read() == "done"
    assert glance(attributes) is Glance.MATTERS


@given(attributes=some_of(POOL))
def test_a_glance_never_overlooks_what_reading_tells(attributes):
    """When in doubt it says that the span matters. (A plain step's output counts at a root only, always read.)"""
    reading, worth = read(span(attributes=attributes, scope="a framework")), glance(attributes)
    step = reading.step
    tells = (
        step.incident or step.paused or step.asked_again or step.cut or reading.documents or reading.answer_due,
        reading.unanswered,
        reading.declared is not NOTHING_DECLARED,
        step.kind in MAKES_A_RUN and reading.output is not None and reading.output.read() is not None,
    )
    if any(tells):
        assert worth is Glance.MATTERS
    if step.kind in MAKES_A_RUN:
        assert worth is not Glance.NOTHING


DULL = [
    pytest.param({"http.route": "/health"}, Glance.NOTHING, id="a span of the app"),
    pytest.param({names.GEN_AI_OPERATION: "embeddings"}, Glance.NOTHING, id="an embedding"),
    pytest.param({names.GEN_AI_OPERATION: "execute_tool"}, Glance.MAKES_A_RUN, id="a tool"),
    pytest.param(
        {names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_RESULT: "fine"}, Glance.MAKES_A_RUN, id="a result"
    ),
    pytest.param(
        {names.OPENINFERENCE_KIND: "TOOL", names.OPENINFERENCE_OUTPUT: '{"data": 1}'}, Glance.MAKES_A_RUN, id="data"
    ),
    pytest.param({names.GEN_AI_OPERATION: "chat"}, Glance.MAKES_A_RUN, id="a model, content off"),
    pytest.param(
        {names.GEN_AI_OPERATION: "chat", names.GEN_AI_OUTPUT: json.dumps(MESSAGES[1])},
        Glance.MAKES_A_RUN,
        id="a model that called a tool",
    ),
    pytest.param({names.GEN_AI_OPERATION: "invoke_agent"}, Glance.MATTERS, id="an agent"),
    pytest.param({names.GEN_AI_OPERATION: 7}, Glance.MATTERS, id="an operation that is none"),
    pytest.param(
        {names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_RESULT: {"ok": False}}, Glance.MATTERS, id="a live map"
    ),
    pytest.param(
        {names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_RESULT: RESULTS[4]}, Glance.MATTERS, id="a sentence"
    ),
    pytest.param({names.OPENINFERENCE_KIND: "LLM", names.OPENINFERENCE_OUTPUT: "x"}, Glance.MATTERS, id="an answer"),
    pytest.param(
        {names.GEN_AI_OPERATION: "chat", names.GEN_AI_OUTPUT: json.dumps(MESSAGES[3])}, Glance.MATTERS, id="handed over"
    ),
    pytest.param(
        {names.GEN_AI_OPERATION: "chat", names.GEN_AI_OUTPUT: json.dumps(MESSAGES[0])}, Glance.MATTERS, id="a text"
    ),
    pytest.param(
        {
            names.GEN_AI_OPERATION: "chat",
            names.GEN_AI_OUTPUT: json.dumps(MESSAGES[2]),
            names.GEN_AI_TOOLS_OFFERED: '[{"name": "search"}]',
        },
        Glance.MATTERS,
        id="a tool that was not offered",
    ),
]


@pytest.mark.parametrize(("attributes", "worth"), DULL)
def test_a_dull_span_is_told_from_one_that_matters(attributes, worth):
    """Reading each in full would cost more than making it."""
    assert glance(attributes) is worth


def test_a_call_named_after_the_declared_answer_matters():
    """It hands the answer over."""
    said = json.dumps([{"parts": [{"type": "tool_call", "name": "Draft", "arguments": {}}]}])
    turn = {names.GEN_AI_OPERATION: "chat", names.GEN_AI_OUTPUT: said}
    assert glance(turn) is Glance.MAKES_A_RUN
    assert glance(turn, frozenset({"Draft"})) is Glance.MATTERS


ANSWERS = ["done", "", "None", " null ", "\n", "\u00a0", "None of them", 'a "" b', "\u4e2d"]
AT_ROOT = POOL | {
    names.GEN_AI_OUTPUT: [
        *POOL[names.GEN_AI_OUTPUT],
        *[json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": each}]}]) for each in ANSWERS],
        *[json.dumps([{"parts": [{"content": each, "type": "text"}]}], ensure_ascii=False) for each in ANSWERS],
        "None",
        "",
    ]
}


@given(attributes=some_of(AT_ROOT))
def test_a_glance_at_a_root_never_overlooks_what_reading_tells(attributes):
    """Of a run in which nothing else matters, and to which no contract applies."""
    root, worth = read(span(attributes=attributes, scope="a framework")), glance_at_root(attributes)
    if worth is Glance.MATTERS:
        return
    read_in_full = facts([root], root.step.span_id, thorough=False, more_calls=True)
    assert classify(read_in_full) == classify(Facts(calls_known=True))
    assert is_run([root]) is (worth is Glance.MAKES_A_RUN)


@pytest.mark.parametrize(
    ("attributes", "worth"),
    [
        ({"http.route": "/health"}, Glance.NOTHING),
        ({names.GEN_AI_OPERATION: "invoke_agent"}, Glance.MAKES_A_RUN),
        ({names.GEN_AI_OPERATION: "invoke_agent", names.GEN_AI_OUTPUT: json.dumps(MESSAGES[0])}, Glance.MAKES_A_RUN),
        ({names.GEN_AI_OPERATION: "invoke_agent", names.GEN_AI_OUTPUT: '[{"content": "None"}]'}, Glance.MATTERS),
        ({names.GEN_AI_OPERATION: "chat"}, Glance.MATTERS),
        ({names.OPENINFERENCE_KIND: "AGENT"}, Glance.MATTERS),
        ({names.CASE_ID: "C"}, Glance.MATTERS),
        ({f"key {n}": n for n in range(128)}, Glance.MATTERS),
    ],
)
def test_a_dull_root_is_told_from_one_that_matters(attributes, worth):
    assert glance_at_root(attributes) is worth
