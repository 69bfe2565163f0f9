"""What names and sentences mean by their shape: of frameworks that nobody has looked at, and never of a look-alike."""

from __future__ import annotations

import json
import string

import pytest
from building import span
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.conventions import Frameworks, marks, read, says_agent, shapes
from otel_aml.conventions.glance import Glance, glance
from otel_aml.core.steps import About, Kind, Sort
from otel_aml.spans import attributes as names

AGENT = {names.GEN_AI_OPERATION: "invoke_agent"}
CHAT = {names.GEN_AI_OPERATION: "chat"}
TOOL = {names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_TOOL: "search"}
STEP = {names.OPENINFERENCE_KIND: "CHAIN"}


def ended(attributes, **more):
    """Read the step of one span."""
    return read(span(attributes=attributes, **more)).step


FLOWS = [
    ("langgraph.errors.GraphInterrupt", marks.Flow.PAUSED),
    ("agno.exceptions.ToolConfirmationRequired", marks.Flow.PAUSED),
    ("strands.interrupt.AgentInterrupt", marks.Flow.PAUSED),
    ("crewai.flow.HumanInputRequiredError", marks.Flow.PAUSED),
    ("pydantic_ai.exceptions.ToolCallDeferred", marks.Flow.PAUSED),
    ("pydantic_ai.exceptions.ModelRetry", marks.Flow.ASKED_AGAIN),
    ("agno.exceptions.RetryAgentRun", marks.Flow.ASKED_AGAIN),
    ("haystack.errors.ToolRetryError", marks.Flow.ASKED_AGAIN),
    ("autogen_core.exceptions.AgentHandoff", marks.Flow.PASSED_ON),
    ("langgraph.errors.ParentCommand", marks.Flow.PASSED_ON),
    ("agno.exceptions.StopAgentRun", marks.Flow.PASSED_ON),
]


@pytest.mark.parametrize(("name", "flow"), FLOWS)
def test_control_flow_of_an_agent_framework_is_known_by_its_name(name, flow):
    """Pauses, hand-overs and requests to try again are called alike everywhere."""
    assert shapes.control_flow(name) is flow
    step = ended(TOOL, exception=(name, "x"), error="x")
    assert (step.incident, step.paused, step.asked_again) == (
        None,
        flow is marks.Flow.PAUSED,
        flow is marks.Flow.ASKED_AGAIN,
    )


ERRORS = [
    "GraphInterrupt",
    "app.errors.GraphInterrupt",
    "agents.errors.ApprovalRequired",
    "tenacity.RetryError",
    "requests.exceptions.RetryError",
    "google.api_core.exceptions.RetryError",
    "pydantic_ai.exceptions.RetryError",
    "pydantic_ai.exceptions.UnexpectedModelBehavior",
    "langgraph.errors.GraphRecursionError",
    "langgraph.errors.InterruptHandlingError",
    "autogen_core.exceptions.HandoffError",
    "autogen_core.exceptions.HandoffTargetMissing",
    "agno.exceptions.ToolRetriesExhausted",
    "smolagents.utils.AgentMaxStepsError",
    "crewai.errors.ApprovalRejected",
    "langgraph.",
    "langgraph",
    "",
]


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_that_merely_sounds_like_it_is_an_error(name):
    """The app's own, a client's that gave up trying, a framework's that failed at it."""
    assert shapes.control_flow(name) is None


@given(
    package=st.text(string.ascii_lowercase + "_", min_size=1).filter(lambda name: name not in marks.AGENT_PACKAGES),
    name=st.sampled_from([name for name, _ in FLOWS]),
)
def test_no_exception_of_another_package_is_control_flow(package, name):
    """Whatever it is called: a class of the app's own with the same short name is an error."""
    assert shapes.control_flow(f"{package}.{name.rpartition('.')[2]}") is None
    assert shapes.control_flow(name.rpartition(".")[2]) is None


REFUSALS = [
    ("StructuredOutputException", About.ANSWER),
    ("StructuredOutputValidationError", About.ANSWER),
    ("OutputParserException", About.ANSWER),
    ("OutputParsingError", About.ANSWER),
    ("AgentParsingError", About.ANSWER),
    ("AdapterParseError", About.ANSWER),
    ("IncompleteOutputException", About.ANSWER),
    ("InvalidModelOutputError", About.ANSWER),
    ("NoSuchToolError", About.TOOL_NAME),
    ("ToolNotFoundError", About.TOOL_NAME),
    ("ToolArgumentsValidationError", About.ARGUMENTS),
    ("AI_InvalidToolArgumentsError", About.ARGUMENTS),
]


@pytest.mark.parametrize(("short", "about"), REFUSALS)
@pytest.mark.parametrize("attributes", [AGENT, CHAT, STEP], ids=["agent", "model", "step"])
def test_an_exception_says_what_it_refuses(short, about, attributes):
    """Where a model's words are read."""
    found = ended(attributes, exception=(f"lib.{short}", "x"), error="x").incident
    assert (found.sort, found.about) == (Sort.REJECTED, about)


TROUBLE = [
    "ResponseParserError",
    "ResponseValidationError",
    "StructuredOutputTimeoutError",
    "OutputSchemaConnectionError",
    "ToolCallError",
    "ToolInvocationFailed",
    "ToolError",
    "ParserError",
    "OutputDirectoryMissing",
    "OutOfMemoryError",
    "ModelNotFoundError",
    "x" * 1_000 + "OutputParserException",
]


@pytest.mark.parametrize("short", TROUBLE)
@pytest.mark.parametrize("attributes", [AGENT, STEP, TOOL], ids=["agent", "step", "tool"])
def test_an_exception_that_refuses_nothing_is_a_failure(short, attributes):
    """A service's answer, a timeout, a call that failed."""
    assert ended(attributes, exception=(f"lib.{short}", "x"), error="x").incident.sort is Sort.FAILED


@pytest.mark.parametrize("short", ["OutputParsingError", "ToolNotFoundError", "StructuredOutputException"])
def test_what_a_tool_parses_or_misses_is_its_own_trouble(short):
    """A tool that runs a linter may not find it."""
    assert ended(TOOL, exception=(f"lib.{short}", "x"), error="x").incident.sort is Sort.FAILED


NAMED = [
    ("ghost is not a valid tool, try one of [search].", About.TOOL_NAME, "ghost"),
    ("Error: ghost is not a valid tool", About.TOOL_NAME, "ghost"),
    ("Unknown tool: ghost", About.TOOL_NAME, "ghost"),
    ("Unknown tool name: 'ghost'. Available tools: search", About.TOOL_NAME, "ghost"),
    ("No tool named 'ghost' is registered", About.TOOL_NAME, "ghost"),
    ("Tool ghost not found", About.TOOL_NAME, "ghost"),
    ("Tool with name ghost not found", About.TOOL_NAME, "ghost"),
    ("Tool `ghost` does not exist.", About.TOOL_NAME, "ghost"),
    ("Error executing tool search: 2 validation errors for searchArguments", About.ARGUMENTS, "search"),
    ("Error invoking tool 'search' with kwargs {'q': 1} with error: x", About.ARGUMENTS, "search"),
    ("Invalid arguments for tool search: q is missing", About.ARGUMENTS, "search"),
    ("Input validation error: 'q' is a required property", About.ARGUMENTS, ""),
    ("Arguments validation failed: q", About.ARGUMENTS, ""),
    ("Failed to parse structured output for tool 'Draft': x", About.ANSWER, "Draft"),
    ("Failed to convert text into a Pydantic model due to error: x", About.ANSWER, ""),
    ("Could not parse the final answer: x", About.ANSWER, ""),
]


@pytest.mark.parametrize(("words", "about", "tool"), NAMED)
def test_a_refusal_is_known_by_its_words(words, about, tool):
    """In a message or an envelope that says it is an error, and in an agent's own error."""
    said = shapes.refusal(words)
    assert (said.about, said.subject(words)) == (about, tool)
    in_agent = ended(AGENT, error=words).incident
    assert (in_agent.sort, in_agent.about) == (Sort.REJECTED, about)
    of_that_tool = {**TOOL, names.GEN_AI_TOOL: tool or "search"}
    message = {"type": "tool", "data": {"content": words, "name": tool, "status": "error"}}
    for result in ({"isError": True, "content": [{"type": "text", "text": words}]}, {"error": words}, message):
        found = ended({**of_that_tool, names.GEN_AI_RESULT: json.dumps(result)}).incident
        assert (found.sort, found.about) == (Sort.REJECTED, about)


PLAIN = [
    "This is not a valid tool for the job",
    "the search found: ghost is not a valid tool",
    "Unknown toolbox: ghost",
    "Tools not found",
    "Tool prices not found in any shop",
    "The input validation error was mended",
    "Failed to parse the invoice",
    "Could not convert the amount",
    "No tools were used",
    "2 validation errors for Invoice",
]


@pytest.mark.parametrize("words", PLAIN)
def test_words_that_sound_like_a_refusal_are_none(words):
    """Further on in a text, or of something else."""
    assert shapes.refusal(words) is None


def test_a_refusal_that_names_another_tool_is_the_tool_s_own_trouble():
    """A tool that runs a linter may not find it."""
    result = json.dumps({"error": "Tool shellcheck not found"})
    assert ended({**TOOL, names.GEN_AI_RESULT: result}).incident.sort is Sort.FAILED
    assert ended(TOOL, error="Tool shellcheck not found").incident.sort is Sort.FAILED
    assert ended({**STEP}, error="Failed to convert text into a Pydantic model").incident.sort is Sort.FAILED


@pytest.mark.parametrize(("words", "about", "tool"), NAMED)
def test_without_a_mark_of_an_error_the_same_words_are_a_result(words, about, tool):
    """A tool may speak of tools; where it says nothing of an error, none is made of it."""
    assert about
    other = {**TOOL, names.GEN_AI_TOOL: "search" if tool != "search" else "other"}
    assert ended({**other, names.GEN_AI_RESULT: words}).incident is None
    message = {"type": "tool", "data": {"content": words, "name": "other", "status": "success"}}
    assert read(
        span(attributes={**STEP, names.OPENINFERENCE_OUTPUT: json.dumps({"messages": [message]})})
    ).step.incident is (None) or words.startswith("Error")


FAILED = [
    ("Error executing tool search: no route to host", ""),
    ("Error: Error calling tool 'search': down", ""),
    ("Exception while running tool `search`: down", ""),
    ("Failed to execute tool search: down", ""),
    ("Tool search timed out after 3 seconds.", "timeout"),
    ("Tool search failed: down", ""),
    ("The tool search failed.", ""),
    ("Function search raised ValueError", ""),
    ("Error while calling function search.", ""),
]


@pytest.mark.parametrize(("words", "how"), FAILED)
def test_a_result_that_names_its_own_tool_and_says_that_it_failed_is_a_failure(words, how):
    """At the very start, of this very tool; of any other it is what the tool found."""
    found = ended({**TOOL, names.GEN_AI_RESULT: words}).incident
    assert (found.sort, found.error_type) == (Sort.FAILED, how or "error")
    assert glance({**TOOL, names.GEN_AI_RESULT: words}) is Glance.MATTERS
    assert ended({**TOOL, names.GEN_AI_TOOL: "other", names.GEN_AI_RESULT: words}).incident is None
    assert ended({**TOOL, names.GEN_AI_RESULT: f"It said: {words}"}).incident is None


@given(words=st.text(max_size=60), tool=st.sampled_from(["search", "look_up"]))
def test_a_result_without_the_tool_s_name_never_fails_by_its_shape(words, tool):
    """Whatever it says of errors."""
    for start in ("", *shapes.RESULT_STARTS, "Error: ", "Error executing tool ", "Tool "):
        if tool not in words:
            assert shapes.failure(f"{start}{words}", tool) is None


@given(st.text("Error: Tolinvadexcugsp'\"` 0129.,", max_size=2_000) | st.text(max_size=2_000))
def test_no_words_make_a_shape_raise(words):
    """And what is found is at the start."""
    found = shapes.refusal(words)
    assert found is None or (words.startswith(found.starts) and found.sort is Sort.REJECTED)
    shapes.failure(words, "search")
    shapes.control_flow(words)
    for kind in Kind:
        shapes.refused(words, kind)


@pytest.mark.parametrize(
    "text",
    [
        "StructuredOutput" * 10_000,
        "a" * 200_000,
        "Failed to parse " + "a " * 100_000,
        "Error executing tool " + "a" * 99_999,
    ],
)
def test_no_words_take_long(text):
    """Each is looked at once, and only its beginning."""
    shapes.refused(text, Kind.AGENT)
    shapes.control_flow(f"langgraph.{text}")
    shapes.refusal(text)
    shapes.failure(text, "a")


FRAMEWORKS = [
    ("openinference.instrumentation.langchain", True),
    ("openinference.instrumentation.beeai", True),
    ("openinference.instrumentation.new_framework", True),
    ("opentelemetry.instrumentation.genai.smolagents", True),
    ("opentelemetry.instrumentation.genai.new_framework", True),
    ("pydantic-ai", True),
    ("openinference.instrumentation.openai", False),
    ("openinference.instrumentation.google_genai.x", False),
    ("opentelemetry.instrumentation.genai.openai", False),
    ("opentelemetry.instrumentation.requests", False),
    ("openinference.instrumentation", False),
    ("my.openinference.instrumentation.langchain", False),
    ("app", False),
    ("", False),
]


@pytest.mark.parametrize(("scope", "is_one"), FRAMEWORKS)
def test_what_watches_agents_is_known_by_its_scope(scope, is_one):
    """All instrumentations of a family, but for those of clients."""
    assert says_agent(scope, {}) is is_one
    known = Frameworks(["mine"])
    assert known[scope] is is_one
    assert known[scope] is is_one, "remembered"
    assert known["mine"]


def test_what_is_remembered_of_scopes_is_bounded():
    """An app may make a name for each request."""
    known = Frameworks()
    assert not any(known[f"app.{number}"] for number in range(5_000))
    assert len(known) <= 1_024
