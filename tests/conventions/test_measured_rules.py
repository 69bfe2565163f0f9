"""Rules that were measured on real labelled traces: which signs name a class, and which are too weak to.

Source:
    139 traces of agents with people's labels (TRAIL, arXiv 2505.08638); after each sign how often a label agreed with
    it, and how many of the labels it found.
"""

from __future__ import annotations

import json

import pytest
from building import span

from otel_aml.conventions import Contract, Declared, facts, read
from otel_aml.core.taxonomy import FailureClass
from otel_aml.core.tree import classify
from otel_aml.spans import attributes as names

AGENT = {names.GEN_AI_OPERATION: "invoke_agent"}
CHAT = {names.GEN_AI_OPERATION: "chat"}
STEP = {names.OPENINFERENCE_KIND: "CHAIN"}
RETRIEVAL = {names.GEN_AI_OPERATION: "retrieval"}


def tool(number, *, name="search", arguments='{"q": "a"}', result=None, at=(1, 2), parent="r", **more):
    """Build a call of a tool."""
    said = {names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_TOOL: name, names.GEN_AI_ARGUMENTS: arguments}
    said |= {} if result is None else {names.GEN_AI_RESULT: result}
    return span(f"t{number}", parent, said, started_at=at[0], ended_at=at[1], **more)


def root(answer="The account is quiet.", **more):
    """Build the root of a run, with its answer."""
    return span("r", attributes={**AGENT, names.OPENINFERENCE_OUTPUT: answer}, ended_at=100, **more)


def verdict(*spans, **more):
    return classify(facts([read(each, more.get("contract") or Contract()) for each in spans], "r", **more))


BAD_ARGUMENTS = [
    ("TypeError", "search() got an unexpected keyword argument 'query'"),
    ("TypeError", "search() got multiple values for argument 'q'"),
    ("TypeError", "search() missing 1 required positional argument: 'q'"),
    ("TypeError", "search() missing 3 required positional arguments: 'q', 'k', and 'after'"),
    ("TypeError", "search() takes 1 positional argument but 2 were given"),
    ("pydantic_core._pydantic_core.ValidationError", "1 validation error for search"),
    ("jsonschema.exceptions.ValidationError", "'q' is a required property"),
    ("json.decoder.JSONDecodeError", "Expecting value: line 1 column 1 (char 0)"),
    ("httpx.HTTPStatusError", "Client error '400 Bad Request' for url 'https://example.com'"),
    ("httpx.HTTPStatusError", "Client error '422 Unprocessable Entity' for url 'https://example.com'"),
    ("requests.exceptions.HTTPError", "422 Client Error: Unprocessable Entity for url: https://example.com"),
    ("aiohttp.client_exceptions.ClientResponseError", "400, message='Bad Request', url='https://example.com'"),
    ("urllib.error.HTTPError", "HTTP Error 400: Bad Request"),
    ("422", "Unprocessable Content"),
]
OTHER_ERRORS = [
    ("builtins.TimeoutError", "timed out"),
    ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'"),
    ("httpx.HTTPStatusError", "Server error '503 Service Unavailable' for url 'https://example.com'"),
    ("requests.exceptions.HTTPError", "404 Client Error: Not Found for url: https://example.com/400"),
    ("app.Missing", "account 400 not found"),
    ("app.Missing", "Error: account 422 not found"),
    ("openai.BadRequestError", "Error code: 400 - {'error': {'message': 'context length exceeded'}}"),
    ("", "Error code: 400 - {'error': {'message': 'context length exceeded'}}"),
    ("pydantic_ai.exceptions.ModelHTTPError", "status_code: 400, model_name: scripted"),
    ("requests.exceptions.JSONDecodeError", "Expecting value: line 1 column 1 (char 0)"),
]


@pytest.mark.parametrize(("kind", "said"), BAD_ARGUMENTS)
def test_arguments_that_break_the_schema_are_a_format_violation(kind, said):
    """84 of 135 failed calls: people called none of them a failure of the system, and 57 one of format."""
    found = verdict(tool(1, exception=(kind, said), error=said), root())
    assert found.failure_class is FailureClass.FORMAT_VIOLATION
    assert FailureClass.TOOL_FAILURE not in found.findings


REFUSED_RESULTS = [
    '{"error": {"code": -32602, "message": "Invalid params"}}',
    '{"ok": false, "status_code": 422, "message": "q is required"}',
    '{"isError": true, "content": [{"type": "text", "text": "search() got an unexpected keyword argument \'x\'"}]}',
    "An error occurred while running the tool. Please try again. Error: Client error '422 Unprocessable Entity'",
    "Error executing tool search: search() missing 1 required positional argument: 'q'",
    '{"type": "tool", "data": {"content": "Error: HTTP Error 400: Bad Request", "status": "error"}}',
]


@pytest.mark.parametrize("result", REFUSED_RESULTS)
def test_refused_arguments_are_known_too_where_only_the_result_tells(result):
    """Frameworks swallow the exception; the words are the same."""
    found = verdict(tool(1, result=result), root())
    assert found.failure_class is FailureClass.FORMAT_VIOLATION


@pytest.mark.parametrize(("kind", "said"), OTHER_ERRORS)
def test_any_other_failed_call_that_stays_failed_is_a_tool_failure(kind, said):
    """Without the calls with bad arguments, and without those made good: precision .47 in place of .34."""
    found = verdict(tool(1, exception=(kind, said), error=said), root())
    assert found.failure_class is FailureClass.TOOL_FAILURE


def test_refused_arguments_are_made_good_by_a_call_with_others():
    """A call that failed otherwise only by one with the same."""
    said = "Client error '422 Unprocessable Entity' for url 'https://example.com'"
    refused = tool(1, exception=("httpx.HTTPStatusError", said), error=said)
    corrected = tool(2, at=(3, 4), arguments='{"q": "b"}', result="[]")
    found = verdict(refused, corrected, root())
    assert (found.failure_class, found.findings) == (FailureClass.PASS, ("format_violation:recovered",))
    down = tool(1, exception=("builtins.TimeoutError", "timed out"), error="timed out")
    assert verdict(down, corrected, root()).failure_class is FailureClass.TOOL_FAILURE


def test_a_failed_call_that_was_made_good_does_not_name_the_run():
    """Unrecovered only; that it happened is not lost."""
    failed = tool(1, exception=("builtins.TimeoutError", "timed out"), error="timed out")
    found = verdict(failed, tool(2, at=(3, 4), result="[]"), root())
    assert (found.failure_class, found.findings) == (FailureClass.PASS, ("tool_failure:recovered",))


@pytest.mark.parametrize("kind", ["app.Unheard", "builtins.RuntimeError"])
def test_a_run_that_ends_in_an_error_never_passes(kind):
    """Any span in error: 63 of 63 traces had a labelled error, whatever its kind."""
    failed = span("s", "r", STEP, started_at=1, ended_at=2, exception=(kind, "x"), error="x")
    assert verdict(failed, root("", exception=(kind, "x"), error="x")).failure_class is not FailureClass.PASS


def test_a_step_that_could_not_read_the_model_is_a_format_violation():
    """Errors of parsing: .88 of them were labelled so."""
    kind = "langchain_core.exceptions.OutputParserException"
    failed = span("s", "r", STEP, started_at=1, ended_at=2, exception=(kind, "no JSON"), error="no JSON")
    found = verdict(failed, root("", exception=(kind, "no JSON"), error="no JSON"))
    assert found.failure_class is FailureClass.FORMAT_VIOLATION


ERRORS_WITHIN = [
    pytest.param({names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_TOOL: "search"}, id="a tool"),
    pytest.param({**RETRIEVAL}, id="a retriever"),
    pytest.param({**CHAT}, id="a model"),
    pytest.param({**STEP}, id="a step"),
    pytest.param({**AGENT, names.GEN_AI_AGENT: "helper"}, id="an agent within"),
]


@pytest.mark.parametrize("attributes", ERRORS_WITHIN)
def test_an_error_within_a_run_that_went_on_is_never_passed_over(attributes):
    """Any span in error: 63 of 63. It names the run, or else the pass leaves open whether a call failed."""
    failed = span("s", "r", attributes, started_at=1, ended_at=2, exception=("app.Odd", "x"), error="x")
    found = verdict(failed, tool(1, name="rules", at=(3, 4), result="[]"), root())
    assert found.failure_class is not FailureClass.PASS or FailureClass.TOOL_FAILURE in found.unchecked


@pytest.mark.parametrize("kind", ["builtins.RuntimeError", "app.Odd"])
def test_a_step_in_error_names_no_class_by_itself(kind):
    """.79 of them were of format: too weak without the exception's own word, and no call is known to have failed."""
    failed = span("s", "r", STEP, started_at=1, ended_at=2, exception=(kind, "x"), error="x")
    found = verdict(failed, tool(1, at=(3, 4), result="[]"), root())
    assert found.failure_class is FailureClass.PASS
    assert {FailureClass.TOOL_FAILURE, FailureClass.FORMAT_VIOLATION} <= set(found.unchecked)


def test_a_failure_is_named_where_it_was_seen():
    """27 of 135 failed calls were what people pointed at, 90 with what stands beside them: a model wrote them."""
    model = span("m", "r", CHAT, started_at=1, ended_at=2)
    said = "search() got an unexpected keyword argument 'query'"
    refused = tool(1, at=(3, 4), exception=("TypeError", said), error=said)
    found = verdict(model, refused, root())
    assert found.first is not None
    assert (found.first.span_id, found.first.dependency) == ("t1", "search")


def test_an_answer_before_which_no_evidence_was_looked_up_is_not_called_invented():
    """.63: too weak. What is cited decides, where it is known what there was to cite; else it is unchecked."""
    answer = json.dumps({"typology": "structuring", "cited_tx_ids": ["TX-1"]})
    contract = Contract(cited_ids="cited_tx_ids")
    unknown = verdict(span("m", "r", CHAT), root(answer), contract=contract)
    assert FailureClass.HALLUCINATION in unknown.unchecked
    known = Declared(evidence_ids=frozenset({"TX-2"}))
    invented = verdict(span("m", "r", CHAT), root(answer), contract=contract, told=known)
    assert invented.failure_class is FailureClass.HALLUCINATION


@pytest.mark.parametrize("result", ["No results found.", "Page not found", "[]"])
def test_words_of_having_found_nothing_do_not_name_a_retrieval_miss(result):
    """.42: too weak. The notes that the case needs decide, where they are known; else it is unchecked."""
    found = verdict(tool(1, result=result), root())
    assert found.failure_class is FailureClass.PASS
    assert FailureClass.RETRIEVAL_MISS in found.unchecked
    documents = {**RETRIEVAL, names.GEN_AI_DOCUMENTS: "[]"}
    told = Declared(needed_notes=(frozenset({"structuring"}),))
    missed = verdict(span("s", "r", documents, started_at=1, ended_at=2), root(), told=told)
    assert missed.failure_class is FailureClass.RETRIEVAL_MISS


def test_the_same_call_again_and_again_is_none_of_the_six():
    """A sign of waste (.82), which the taxonomy does not name: nothing fires."""
    calls = [tool(number, at=(number, number + 1), result="[]") for number in range(1, 6)]
    assert verdict(*calls, root()).findings == ()


def test_words_that_an_app_expects_in_an_answer_are_the_contracts_matter():
    """A missing tag: .44. Without a declared form it is unchecked, with one it is broken or kept."""
    assert FailureClass.FORMAT_VIOLATION in verdict(span("m", "r", CHAT), root("no tag")).unchecked
    contract = Contract(answer={"type": "string", "pattern": "<end_plan>"})
    assert verdict(span("m", "r", CHAT), root("no tag"), contract=contract).failure_class == "format_violation"
    assert verdict(span("m", "r", CHAT), root("a <end_plan>"), contract=contract).failure_class == "pass"


def test_the_first_failure_is_a_leaf_and_the_one_that_ended_first():
    """A parent shows its child's error earlier by its start, later by its end; it is an echo."""
    timed_out = {"exception": ("builtins.TimeoutError", "x"), "error": "x"}
    outer = span("s", "r", STEP, started_at=1, ended_at=30, **timed_out)
    late = tool(1, parent="s", at=(2, 29), **timed_out)
    soon = tool(2, name="rules", at=(5, 9), exception=("builtins.ConnectionError", "y"), error="y")
    found = verdict(outer, late, soon, root())
    assert found.first is not None
    assert found.first.span_id == "t2"
