"""How a span ended: control flow is no error, a cut is no error, words count only where they are known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from building import span

from otel_aml.conventions import Contract, incidents, marks, read
from otel_aml.conventions.incidents import how_it_failed, message_of, technical_detail
from otel_aml.conventions.values import without_fence
from otel_aml.core.steps import About, Kind, Sort
from otel_aml.core.taxonomy import FailureClass
from otel_aml.spans import attributes as names
from otel_aml.spans.model import Event

AGENT = {names.GEN_AI_OPERATION: "invoke_agent"}
CHAT = {names.GEN_AI_OPERATION: "chat"}
TOOL = {names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_TOOL: "search"}
RETRIEVAL = {names.GEN_AI_OPERATION: "retrieval"}


def ended(attributes=None, **more):
    """Read the step of one span."""
    return read(span(attributes=attributes or TOOL, **more)).step


def said(result, **more):
    """Read the incident in what a tool returned."""
    return ended({**TOOL, names.GEN_AI_RESULT: result}, **more).incident


FLOW = [pytest.param(name, flow, id=name) for name, flow in marks.CONTROL_FLOW.items()]


@pytest.mark.parametrize(("name", "flow"), FLOW)
@pytest.mark.parametrize("status", [None, "went that way"])
def test_control_flow_is_no_error(name, flow, status):
    """Whatever the status: pausing, handing over and asking again are how agents work."""
    for step in (
        ended(exception=(name, "go"), error=status),
        ended({**TOOL, names.ERROR_TYPE: name}, error=status),
    ):
        assert step.incident is None
        assert step.paused is (flow is marks.Flow.PAUSED)
        assert step.asked_again is (flow is marks.Flow.ASKED_AGAIN)


@pytest.mark.parametrize(
    "name",
    [
        "GraphInterrupt",
        "my.errors.GraphInterrupt",
        "app.ModelRetry",
        "app.StopIteration",
        "agents.errors.ApprovalRequired",
    ],
)
def test_an_app_s_own_error_of_that_name_is_an_error(name):
    """Matched by the full name."""
    step = ended(exception=(name, "stop"), error="stop")
    assert step.incident.sort is Sort.FAILED
    assert not step.paused


CUTS = [pytest.param(name, sort, id=name) for name, sort in marks.CANCELLATIONS.items()]


@pytest.mark.parametrize(("name", "sort"), CUTS)
def test_a_cut_is_no_error(name, sort):
    """Recorded as an exception, or seen on its way through the span."""
    assert ended(exception=(name, ""), error="").incident.sort is sort
    assert ended({**TOOL, names.ERROR_TYPE: name}, error="").incident.sort is sort
    seen = read(span(attributes=TOOL), in_flight=name).step.incident
    assert (seen.sort, seen.type, seen.error_type) == (sort, name, "cancelled")


def test_an_error_in_flight_is_left_to_the_status():
    """Only what no status shows is read from it."""
    assert read(span(attributes=TOOL), in_flight="ValueError").step.incident is None


STATUSES = [
    pytest.param({}, {"error": "boom"}, ("failed", "", "boom", "error"), id="only a status"),
    pytest.param(
        {names.ERROR_TYPE: "app.Down"}, {"error": "boom"}, ("failed", "app.Down", "boom", "Down"), id="a type"
    ),
    pytest.param({names.ERROR_TYPE: "_OTHER"}, {"error": "boom"}, ("failed", "", "boom", "error"), id="no type"),
    pytest.param(
        {},
        {"error": "Down: boom", "exception": ("app.Down", "boom")},
        ("failed", "app.Down", "boom", "Down"),
        id="both",
    ),
    pytest.param(
        {names.ERROR_TYPE: "Down"}, {"error": "Down: boom"}, ("failed", "Down", "boom", "Down"), id="type in the words"
    ),
    pytest.param(
        {names.ERROR_TYPE: "a.Down"}, {"error": "a.Down: x"}, ("failed", "a.Down", "x", "Down"), id="the full type"
    ),
    pytest.param(
        {}, {"error": "boom", "exception": ("", "")}, ("failed", "", "boom", "error"), id="an exception without a word"
    ),
    pytest.param({names.ERROR_TYPE: "two words"}, {"error": ""}, ("failed", "two words", "", "error"), id="no name"),
]


@pytest.mark.parametrize(("attributes", "recorded", "incident"), STATUSES)
def test_an_error_is_read_from_where_it_stands(attributes, recorded, incident):
    """Exception event first, then error.type, then the status; never a text that could be content as the type."""
    found = ended({**TOOL, **attributes}, **recorded).incident
    assert (found.sort, found.type, found.message, found.error_type) == incident


def test_an_exception_on_a_span_that_went_on_is_no_error():
    """Recorded and handled."""
    assert ended(exception=("ValueError", "boom")).incident is None


def test_the_last_exception_counts():
    """Earlier ones were handled."""
    events = [span(exception=(name, "x")).events[0] for name in ("app.First", "app.Last")]
    both = replace(span(attributes=TOOL, error="x"), events=(*events, Event("retry")))
    assert read(both).step.incident.type == "app.Last"


HOW = [
    pytest.param("openai.RateLimitError", "", ("rate_limited", True), id="a provider's rate limit"),
    pytest.param("APITimeoutError", "", ("timeout", True), id="a provider's timeout"),
    pytest.param("pydantic_ai.exceptions.ModelHTTPError", "status_code: 503", ("unavailable", True), id="by its code"),
    pytest.param("ModelHTTPError", "odd", ("ModelHTTPError", True), id="a provider, no more known"),
    pytest.param("httpx.ReadTimeout", "", ("timeout", False), id="a client's timeout"),
    pytest.param("builtins.TimeoutError", "", ("timeout", False), id="Python's own"),
    pytest.param("ConnectionResetError", "", ("unavailable", False), id="a connection reset"),
    pytest.param("HTTPStatusError", "Server error '500 Internal'", ("unavailable", False), id="a 500 in its words"),
    pytest.param("HTTPError", "http 404 for url", ("not_found", False), id="a 404"),
    pytest.param("", "Error code: 429", ("rate_limited", True), id="a bare 429 is a provider's"),
    pytest.param("", "Error code: 500", ("unavailable", False), id="a bare 500 could be anyone's"),
    pytest.param(
        "",
        "{'message': 'Error in agent run', 'data': {'error': 'Error code: 503 - no'}}",
        ("unavailable", True),
        id="but not as the clients of models word it",
    ),
    pytest.param("ValueError", "order 500 is gone", ("ValueError", False), id="a number that is no code"),
    pytest.param("ValueError", "code: 418", ("ValueError", False), id="a code that says nothing"),
    pytest.param("503", "", ("unavailable", False), id="a code in the place of a name, as HTTP clients write it"),
    pytest.param("418", "", ("error", False), id="such a code that says nothing"),
    pytest.param("9" * 5000, "", ("error", False), id="a number that is no code at all"),
    pytest.param("", "", ("error", False), id="nothing"),
    pytest.param("what went wrong?", "", ("error", False), id="content in the place of a name"),
]


@pytest.mark.parametrize(("type_", "message", "how"), HOW)
def test_how_a_call_failed_is_one_word(type_, message, how):
    """And only known words, or a name."""
    assert how_it_failed(type_, message) == how


@pytest.mark.parametrize(
    ("type_", "is_retriable"),
    [
        ("TimeoutError", True),
        ("RateLimitError", True),
        ("ConnectError", True),
        ("AuthenticationError", False),
        ("X", False),
    ],
)
def test_only_what_may_pass_by_itself_is_retriable(type_, is_retriable):
    """Unknown errors are not."""
    assert ended(exception=(type_, ""), error="").incident.retriable is is_retriable


@pytest.mark.parametrize(("name", "word"), [*marks.PROVIDER_ERRORS.items()])
def test_every_provider_error_is_known(name, word):
    """With how it failed, or else under its own name."""
    assert how_it_failed(f"client.{name}", "") == (word or name, True)


@pytest.mark.parametrize(("name", "word"), [*marks.ERROR_TYPES.items()])
def test_every_common_error_is_known(name, word):
    """None of them is a model provider's."""
    assert how_it_failed(name, "") == (word, False)


@pytest.mark.parametrize(("code", "word"), [*marks.STATUS_CODES.items()])
def test_every_status_code_is_read(code, word):
    """Where the words say that it is one."""
    for words in (f"status {code}", f"HTTP {code}", f"error code: {code} x", f"status_code={code}"):
        assert how_it_failed("app.Odd", words) == (word, False)
    assert how_it_failed("app.Odd", f"about {code} orders") == ("Odd", False)


@pytest.mark.parametrize("name", sorted(marks.REJECTED_ANSWER | marks.ARGUMENT_ERRORS))
def test_every_refusal_is_known(name):
    """Wherever it stands."""
    found = ended(AGENT, exception=(f"lib.{name}", "x"), error="x").incident
    assert found.about is (About.ANSWER if name in marks.REJECTED_ANSWER else About.ARGUMENTS)


def _search(q, k, *, after):
    """Stand for a tool."""


CALLS_THAT_DO_NOT_FIT = [
    pytest.param((), {"q": 1, "k": 2, "after": 3, "x": 4}, id="an unknown argument"),
    pytest.param((1,), {"q": 1, "k": 2, "after": 3}, id="an argument twice"),
    pytest.param((), {"after": 3}, id="two are missing"),
    pytest.param((1,), {"after": 3}, id="one is missing"),
    pytest.param((1, 2), {}, id="one by keyword is missing"),
    pytest.param((1, 2, 3), {"after": 3}, id="one too many"),
]


@pytest.mark.parametrize(("given", "by_name"), CALLS_THAT_DO_NOT_FIT)
def test_every_misfit_of_a_signature_is_known(given, by_name):
    """By Python's own words."""
    with pytest.raises(TypeError) as caught:
        _search(*given, **by_name)
    assert ended(exception=("TypeError", str(caught.value)), error="x").incident.about is About.ARGUMENTS


@pytest.mark.parametrize("sentence", [*marks.STATUSES, *marks.RESULTS], ids=lambda sentence: sentence.starts)
def test_every_sentence_is_known_at_the_very_start(sentence):
    """And has a source; further on in a text it means nothing."""
    words = f"{sentence.starts}x{sentence.holds}9"
    scope = (*sentence.scopes, "")[0]
    if sentence in marks.STATUSES:
        assert ended(AGENT, error=words, scope=scope).incident.sort is sentence.sort
        later = ended(AGENT, error=f"so: {words}", scope=scope).incident
        assert (later.sort, later.about) == (Sort.FAILED, None)
    else:
        assert said(words, scope=scope).sort is sentence.sort
        assert said(f"so: {words}", scope=scope) is None
    assert sentence.source


REJECTIONS = [
    pytest.param(TOOL, "pydantic_core._pydantic_core.ValidationError", "", About.ARGUMENTS, id="a tool's schema"),
    pytest.param(TOOL, "json.decoder.JSONDecodeError", "", About.ARGUMENTS, id="arguments that are no JSON"),
    pytest.param(CHAT, "ValidationError", "", About.ANSWER, id="a model's answer"),
    pytest.param(AGENT, "ValidationError", "", About.ANSWER, id="an agent's answer"),
    pytest.param(RETRIEVAL, "ValidationError", "", None, id="a retriever's own trouble"),
    pytest.param(TOOL, "TypeError", "f() got an unexpected keyword argument 'x'", About.ARGUMENTS, id="does not fit"),
    pytest.param(TOOL, "TypeError", "unsupported operand", None, id="a fault inside the tool"),
    pytest.param(CHAT, "TypeError", "f() got an unexpected keyword argument 'x'", None, id="not of a tool"),
    pytest.param(TOOL, "ToolInvocationError", "", About.ARGUMENTS, id="langgraph"),
    pytest.param(AGENT, "smolagents.AgentParsingError", "", About.ANSWER, id="smolagents"),
    pytest.param(CHAT, "LengthFinishReasonError", "", About.ANSWER, id="cut off by length"),
    pytest.param(
        AGENT, "UnexpectedModelBehavior", "Exceeded maximum output retries (1)", About.ANSWER, id="pydantic-ai"
    ),
    pytest.param(
        TOOL, "ModelBehaviorError", "Invalid JSON input for tool x", About.ARGUMENTS, id="openai-agents, a call"
    ),
    pytest.param(AGENT, "ModelBehaviorError", "Invalid JSON provided", About.ANSWER, id="openai-agents, an answer"),
    pytest.param({**TOOL, names.GEN_AI_ARGUMENTS: '{"a": '}, "E", "", About.ARGUMENTS, id="broken arguments, recorded"),
    pytest.param({**TOOL, names.GEN_AI_ARGUMENTS: '{"a": 1}'}, "E", "", None, id="sound arguments, recorded"),
]


@pytest.mark.parametrize(("attributes", "type_", "message", "about"), REJECTIONS)
def test_what_the_model_wrote_is_told_from_what_failed(attributes, type_, message, about):
    """Rejected before it ran, or ran and failed."""
    found = ended(attributes, exception=(type_, message), error=message).incident
    assert found.about is about
    assert found.sort is (Sort.FAILED if about is None else Sort.REJECTED)
    assert not (about and found.retriable)


SENTENCES = [
    pytest.param("abandoned stream", Sort.ABANDONED, id="a stream nobody read"),
    pytest.param("Agent interrupted.", Sort.CANCELLED, id="smolagents, by a person"),
    pytest.param("The agent was interrupted", Sort.FAILED, id="other words"),
]


@pytest.mark.parametrize(("message", "sort"), SENTENCES)
def test_a_framework_s_sentence_in_the_status(message, sort):
    """At its very start."""
    assert ended(AGENT, error=message).incident.sort is sort


FAILED_RESULTS = [
    pytest.param({"isError": True}, "error", id="MCP"),
    pytest.param({"is_error": True, "content": "x"}, "error", id="MCP in snake case"),
    pytest.param({"error": "no access"}, "error", id="an envelope"),
    pytest.param({"error": {"message": "gone", "code": 1}, "code": 404}, "not_found", id="an envelope with a code"),
    pytest.param({"status": "error", "message": "down", "status_code": 503}, "unavailable", id="a status"),
    pytest.param({"status": "ERROR"}, "error", id="a status in capitals"),
    pytest.param({"success": False, "message": "x"}, "error", id="no success"),
    pytest.param({"ok": False, "data": [1]}, "error", id="not ok, whatever else"),
    pytest.param({"error": "x", "error_type": "TimeoutError"}, "timeout", id="a type"),
    pytest.param({"error": "x", "data": []}, "error", id="an error, and empty data"),
    pytest.param({"response_type": "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"}, "error", id="ADK's plugin"),
    pytest.param("An error occurred while running the tool. Please try again.", "error", id="openai-agents"),
    pytest.param("Tool 'slow' timed out after 1 seconds.", "timeout", id="openai-agents, a timeout"),
]


@pytest.mark.parametrize(("result", "error_type"), FAILED_RESULTS)
def test_a_structured_mark_is_a_failure(result, error_type):
    """Live as a map, from a file as text."""
    for form in (result, json.dumps(result) if isinstance(result, dict) else result):
        found = said(form)
        assert (found.sort, found.error_type) == (Sort.FAILED, error_type)
        assert found.retriable is (error_type in marks.RETRIABLE)


GOOD_RESULTS = [
    pytest.param("Error: no such account", id="a text that starts with the word"),
    pytest.param("The order is not delivered; it cannot be exchanged.", id="a business refusal"),
    pytest.param("Note: An error occurred while running the tool", id="a sentence further on"),
    pytest.param("Tool 'x' is ready", id="half a sentence"),
    pytest.param({"error": None, "data": [1]}, id="no error"),
    pytest.param({"error": "partial", "data": [1]}, id="an error beside data"),
    pytest.param({"status": "ok"}, id="a good status"),
    pytest.param({"status": 500}, id="a number is no word"),
    pytest.param({"success": True}, id="success"),
    pytest.param({"isError": False}, id="no MCP error"),
    pytest.param({"isError": "true"}, id="a text is no yes"),
    pytest.param({"error": "This tool call requires confirmation, please approve"}, id="a person is asked"),
    pytest.param({"result": {"error": "deep"}}, id="deeper than the envelope"),
    pytest.param(["error"], id="a list"),
    pytest.param("[1, 2]", id="a list as text"),
    pytest.param("{broken", id="a text that looks like one"),
    pytest.param("", id="nothing"),
    pytest.param(7, id="a number"),
]


@pytest.mark.parametrize("result", GOOD_RESULTS)
def test_a_text_that_speaks_of_errors_is_a_result(result):
    """Tools talk about errors all day."""
    assert said(result) is None
    if isinstance(result, dict):
        assert said(json.dumps(result)) is None


def test_only_calls_return_results():
    """An agent that answers with an envelope says so to the user."""
    assert ended({**AGENT, names.GEN_AI_RESULT: '{"error": "x"}'}).incident is None


def test_an_error_status_wins_over_the_result():
    """It is the surer word."""
    assert said('{"error": "x"}', error="boom").message == "boom"


def test_a_mark_beyond_what_is_read_is_unchecked():
    """Never guessed."""
    step = ended({**TOOL, names.GEN_AI_RESULT: '{"data": "' + "x" * 40_000 + '"}'})
    assert (step.incident, step.cut) == (None, True)
    assert not ended({**TOOL, names.GEN_AI_RESULT: "x" * 40_000}).cut


def test_an_app_adds_its_own_marks():
    """Each gets the start of the text, and says how the call failed."""
    seen = []

    def mark(text):
        seen.append(text)
        return "no_data" if text.startswith("LEER") else None

    contract = Contract(failure_marks=[lambda _: None, mark])
    found = read(span(attributes={**TOOL, names.GEN_AI_RESULT: "LEER " + "x" * 40_000}), contract).step.incident
    assert (found.sort, found.error_type) == (Sort.FAILED, "no_data")
    assert len(seen[0]) == 32 * 1024
    assert read(span(attributes={**TOOL, names.GEN_AI_RESULT: "voll"}), contract).step.incident is None
    chatty = Contract(failure_marks=[lambda text: f"it was {text}"])
    assert read(span(attributes={**TOOL, names.GEN_AI_RESULT: "x"}), chatty).step.incident.error_type == "error"


DECLARED = [
    pytest.param("tool_failure", "true", (Sort.FAILED, None, True), id="a tool failure, retriable"),
    pytest.param("tool_failure", None, (Sort.FAILED, None, False), id="a tool failure"),
    pytest.param("format_violation", None, (Sort.REJECTED, About.ARGUMENTS, False), id="a format violation"),
]


@pytest.mark.parametrize(("failure_class", "retriable", "incident"), DECLARED)
def test_what_the_app_said_of_its_step_counts(failure_class, retriable, incident):
    """With `step_error`, on a span that ended well or not."""
    attributes = {names.STEP_CLASS: failure_class, names.STEP_RETRIABLE: retriable, names.STEP_FAILED_ID: "screening"}
    for more in ({}, {"error": "boom"}):
        step = ended({**attributes, names.ERROR_TYPE: "Down"}, **more)
        assert (step.incident.sort, step.incident.about, step.incident.retriable) == incident
        assert (step.kind, step.step_id, step.incident.error_type) == (Kind.STEP, "screening", "Down")
        assert step.incident.noted
    assert ended(attributes).incident.error_type == failure_class


def test_a_step_s_other_classes_are_left_to_the_checks():
    """The app's word that its step hallucinated is no call that failed, and hides none."""
    assert ended({names.STEP_CLASS: "hallucination"}).incident is None
    assert ended({names.STEP_CLASS: "hallucination"}, error="x").incident.sort is Sort.FAILED


@pytest.mark.parametrize("failure_class", FailureClass)
def test_only_a_critical_class_is_kept_as_the_app_noted_it(failure_class):
    is_critical = failure_class in {FailureClass.HALLUCINATION, FailureClass.TYPOLOGY_MISJUDGE}
    assert incidents.critical_class({names.STEP_CLASS: str(failure_class)}) == (failure_class if is_critical else None)
    assert incidents.critical_class({names.STEP_CLASS: ["hallucination"]}) is None
    assert incidents.critical_class({}) is None


NOTES = [
    pytest.param({}, {}, (True, False), id="it ended well"),
    pytest.param({names.PATH: "auto_retry"}, {}, (True, True), id="the app was about to try again"),
    pytest.param({names.PATH: "human_takeover"}, {}, (True, False), id="the app gave up"),
    pytest.param({names.PATH: "auto_retry"}, {"error": "x"}, (False, True), id="it ended in an error all the same"),
]


@pytest.mark.parametrize(("more", "ended_in", "says"), NOTES)
def test_a_note_says_whether_its_step_outlived_the_error(more, ended_in, says):
    incident = ended({names.STEP_CLASS: "tool_failure", **more}, **ended_in).incident
    assert (incident.survived, incident.retrying) == says


def test_what_looks_like_a_frame_in_a_message_is_none():
    """The detail never holds the message, whatever that is made to look like."""
    frame = '  File "w.py", line 3, in pay'
    hostile = (
        f"Traceback (most recent call last):\n{frame}\n    pay()\nRuntimeError: x\n{frame}(iban='DE89')\n{frame}_secret"
    )
    assert technical_detail("RuntimeError", hostile) == "RuntimeError at w.py:3 in pay"
    assert technical_detail("RuntimeError", f"RuntimeError: x\n{frame}") == "RuntimeError"
    assert technical_detail("E", frame) == "E at w.py:3 in pay"


@pytest.mark.parametrize(
    "text", ["\n" * 200_000, "  " * 200_000, '  File "' * 50_000, "```json\n" + " " * 250_000 + "x"]
)
def test_no_text_takes_long(text):
    """Endless white space is a known way for a model to fail; each text is read once."""
    technical_detail("E", text)
    without_fence(text)


def test_an_exception_that_cannot_be_printed_has_no_words():
    """Nothing of an app's exception may raise here."""

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert message_of(Mute()) == ""
    assert message_of(ValueError("boom")) == "boom"


STACK = """Traceback (most recent call last):
  File "/srv/app/copilot/run.py", line 3, in run
    load("secret account 42")
  File "C:\\app\\tools\\load.py", line 9, in load
ValueError: secret account 42
"""
DETAILS = [
    pytest.param("app.Down", "", "app.Down", id="no stack"),
    pytest.param("", "", "", id="nothing"),
    pytest.param("app.Down", STACK, "app.Down at tools/load.py:9 in load < copilot/run.py:3 in run", id="a stack"),
    pytest.param("", STACK, "at tools/load.py:9 in load < copilot/run.py:3 in run", id="a stack without a type"),
    pytest.param("secret account 42", "", "error", id="content in the place of a type"),
]


@pytest.mark.parametrize(("type_", "stack", "detail"), DETAILS)
def test_the_detail_says_where_and_never_what(type_, stack, detail):
    """Frames for operators, innermost first; no message, no source line."""
    assert technical_detail(type_, stack) == detail


def test_the_detail_tells_a_message_without_its_secrets():
    """What a dependency said is what an operator needs first; keys and customers' identifiers are not."""
    said = "cannot reach\npostgres://app:s3cr3t@db/x for jane@example.com"
    assert technical_detail("app.Down", STACK, said).startswith(
        "app.Down: cannot reach postgres://app:[redacted:url_password]@db/x for [redacted:email] at tools/load.py:9"
    )
    assert technical_detail("", "", "upstream is down") == "upstream is down"


def test_a_long_message_leaves_room_for_the_place():
    """A secret that the cut halves is no secret to any rule: it is left out whole."""
    detail = technical_detail("E", STACK, "x" * 5_000 + " " + "sk-" + "ab1" * 2_000)
    assert detail == f"E: {'x' * 1_000} at tools/load.py:9 in load < copilot/run.py:3 in run"


def test_the_detail_is_bounded():
    """Eight frames at most."""
    stack = "\n".join(f'  File "a/b{number}.py", line 1, in f' for number in range(50))
    assert technical_detail("E", stack).count("<") == 7
    assert technical_detail("E", stack).startswith("E at a/b49.py:1 in f < a/b48.py:1 in f")
