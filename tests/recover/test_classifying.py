"""What an exception means is told by real exceptions of real libraries, none of which is imported for it."""

import asyncio
import concurrent.futures
import email.utils
import json
import subprocess
import sys
import time
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError, field_validator

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.recover.breaker import CircuitBreaker
from otel_aml.recover.classifying import classify_error, is_passed_on, read
from otel_aml.recover.guarded import guarded
from tests.recover.raised import LIBRARIES, TRANSIENT, caught, errors, has

CANARY = "4929-CANARY-SAR"
NOT_OF_THE_DEPENDENCY = {
    "auth", "not_found", "400", "409", "422", "INVALID_ARGUMENT", "SQLSTATE_23505", "SQLSTATE_42P01", "KeyError",
    "ValueError", "ResponseError", "InvalidURL",
}  # fmt: skip


@pytest.mark.parametrize(("error", "how", "after_ms"), list(errors()))
def test_an_exception_is_read(error, how, after_ms):
    """How it failed, whether it may pass, when to come back, and whether the dependency is to blame."""
    found = read(error)
    assert found.failure_class is FailureClass.TOOL_FAILURE
    assert found.error_type == how
    assert found.retriable is (how in TRANSIENT)
    assert found.retry_after_ms == after_ms
    assert found.of_dependency is (how not in NOT_OF_THE_DEPENDENCY)


def test_no_library_is_imported_for_it():
    """An agent that does not use one does not pay for it."""
    code = (
        "import sys\nfrom otel_aml.recover.classifying import classify_error\n"
        "classify_error(TimeoutError('x'), 's')\nprint(sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in LIBRARIES if f"'{name}'" in done.stdout}
    assert loaded == {"builtins"} | ({"asyncio"} & loaded)


# --- what is data already -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "how"),
    [
        pytest.param(503, "unavailable", id="a status"),
        pytest.param(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", id="a status of the standard library"),
        pytest.param(404, "not_found", id="one that does not pass"),
        pytest.param(200, "error", id="no error at all"),
        pytest.param(True, "error", id="no status"),
        pytest.param("HTTP status 503", "unavailable", id="words that say so"),
        pytest.param("gone", "error", id="words that say nothing"),
        pytest.param(None, "error", id="nothing"),
        pytest.param(ValueError, "error", id="a class"),
    ],
)
def test_what_is_no_exception_is_read_as_far_as_it_goes(raw, how):
    """An unknown thing is an error that is not retried."""
    found = classify_error(raw, "s")
    assert (found.error_type, found.retriable) == (how, how in TRANSIENT)
    assert found.technical_detail == ""


@pytest.mark.skipif(not has("httpx"), reason="needs httpx: pip install -e '.[clients]'")
def test_a_response_is_read():
    """Where the app looks at the status itself."""
    import httpx

    found = classify_error(httpx.Response(429, headers={"Retry-After": "3"}), "s")
    assert (found.error_type, found.retry_after_ms) == ("rate_limited", 3_000)


# --- when to come back ----------------------------------------------------------------------------------------------


class Headers:
    """An error of a client that nobody knows."""

    def __init__(self, **headers):
        self.status_code = 503
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


TEN = "Mon, 30 Nov 2026 10:00:00 GMT"
WAITS = [
    pytest.param({"Retry_After": "0"}, 0, id="at once"),
    pytest.param({"Retry_After": "120"}, 120_000, id="seconds"),
    pytest.param({"Retry_After": " 1.5 "}, 1_500, id="a part of one"),
    pytest.param({"Retry_After": "999999999999999"}, 366 * 86_400_000, id="longer than anybody lives is a year"),
    pytest.param({"retry_after_ms": "250", "Retry_After": "1"}, 250, id="milliseconds go first"),
    pytest.param({"Retry_After": "Mon, 30 Nov 2026 10:00:10 GMT", "Date": TEN}, 10_000, id="a date"),
    pytest.param({"Retry_After": "Mon, 30 Nov 2026 09:59:00 GMT", "Date": TEN}, 0, id="a date that is over"),
    pytest.param({"Retry_After": "-5"}, None, id="a negative number"),
    pytest.param({"Retry_After": "1e9"}, None, id="a number in another spelling"),
    pytest.param({"Retry_After": "soon"}, None, id="a word"),
    pytest.param({"Retry_After": "٣"}, None, id="a digit of another script"),
    pytest.param({"Retry_After": ""}, None, id="nothing"),
    pytest.param({"Retry_After": "Mon, 99 Foo 2026 10:00:10 GMT"}, None, id="a date that is none"),
    pytest.param({}, None, id="no word"),
]


@pytest.mark.parametrize(("headers", "after_ms"), WAITS)
def test_the_wait_is_read_in_each_of_its_forms(headers, after_ms):
    """Seconds or a date; what is neither is ignored."""
    assert read(Headers(**headers)).retry_after_ms == after_ms


def test_a_date_is_counted_from_now_where_the_server_does_not_tell_its_time():
    """By the wall clock then, which is all there is."""
    found = read(Headers(Retry_After=email.utils.formatdate(time.time() + 3_600, usegmt=True))).retry_after_ms
    assert 3_500_000 < found <= 3_600_000


def test_what_does_not_pass_has_no_time_to_come_back():
    """A wait would promise something."""
    error = Headers(Retry_After="5")
    error.status_code = 404
    assert read(error).retry_after_ms is None


@given(st.text(max_size=60))
def test_no_header_breaks_it(text):
    """Whatever a server sends."""
    found = read(Headers(Retry_After=text, Date=text))
    assert found.retry_after_ms is None or 0 <= found.retry_after_ms <= 366 * 86_400_000


# --- causes and groups ----------------------------------------------------------------------------------------------


def wrapped(error, *causes):
    """Raise errors, each from the next."""
    for upper, lower in zip((error, *causes), causes, strict=False):
        upper.__cause__ = lower
    return error


CHAINS = [
    pytest.param(wrapped(RuntimeError("x"), TimeoutError("x")), "timeout", id="raised from a timeout"),
    pytest.param(
        wrapped(RuntimeError("x"), OSError("x"), ConnectionResetError("x")), "unavailable", id="from further down"
    ),
    pytest.param(wrapped(PermissionError("x"), TimeoutError("x")), "auth", id="what is known itself needs no cause"),
    pytest.param(wrapped(RuntimeError("x"), KeyError("x")), "RuntimeError", id="a cause that says nothing"),
]


@pytest.mark.parametrize(("error", "how"), CHAINS)
def test_an_unknown_error_is_what_it_was_raised_from(error, how):
    """Tools wrap; the cause is what failed."""
    found = read(error)
    assert (found.error_type, found.retriable) == (how, how in TRANSIENT)


def test_what_merely_happened_before_is_no_cause():
    """A bug in the handler of a timeout is a bug."""
    try:
        try:
            raise TimeoutError("x")
        except TimeoutError:
            {}["missing"]
    except KeyError as error:
        assert not read(error).retriable


def test_a_chain_that_bites_its_tail_ends():
    """Some libraries build them."""
    first, second = RuntimeError("x"), RuntimeError("y")
    first.__cause__, second.__cause__ = second, first
    assert read(first).error_type == "RuntimeError"


def test_a_certificate_further_down_is_no_outage():
    """A client says that it could not connect; asking again does not help."""
    import ssl

    assert read(wrapped(ConnectionError("x"), ssl.SSLCertVerificationError("x"))).retriable is False


def schema_error():
    return caught(TypeAdapter(int).validate_python, "x")


GROUPS = [
    pytest.param([TimeoutError("x"), ConnectionResetError("x")], "timeout", True, id="all may pass"),
    pytest.param([TimeoutError("x"), KeyError("x")], "KeyError", False, id="one may not"),
    pytest.param([TimeoutError("x"), schema_error()], "ValidationError", False, id="one broke a schema"),
    pytest.param([schema_error(), RuntimeError("x")], "RuntimeError", False, id="one is not repaired"),
    pytest.param([ExceptionGroup("g", [KeyError("x")]), TimeoutError("x")], "KeyError", False, id="a group within"),
]


@pytest.mark.parametrize(("members", "how", "retriable"), GROUPS)
def test_of_a_group_the_one_that_is_hardest_to_recover_from_counts(members, how, retriable):
    """A retry of all would fail with it."""
    found = read(ExceptionGroup("several", members))
    assert (found.error_type, found.retriable) == (how, retriable)


def test_a_group_waits_for_the_last_of_its_members():
    """Each said when."""

    def busy(seconds):
        return type("Busy", (Exception,), {"status_code": 429, "headers": {"Retry-After": seconds}})()

    assert read(ExceptionGroup("g", [busy("2"), busy("9"), TimeoutError("x")])).retry_after_ms == 9_000


def test_a_group_without_end_is_read():
    """Deep or wide; where not all of its members are looked at, nobody knows whether all of it may pass."""
    deep = KeyError("x")
    for _ in range(200):
        deep = ExceptionGroup("g", [deep])
    assert not read(deep).retriable
    assert read(ExceptionGroup("g", [TimeoutError("x")] * 256)).retriable
    wide = read(ExceptionGroup("g", [TimeoutError("x"), *[RateLimited("x")] * 99_999]))
    assert not wide.retriable
    assert wide.of_dependency
    assert wide.retry_after_ms is None
    cut = BaseExceptionGroup("g", [asyncio.CancelledError()] * 64)
    for _ in range(6):
        cut = BaseExceptionGroup("g", [cut] * 64)
    assert is_passed_on(cut)


class RateLimited(Exception):
    status_code = 429
    headers = {"retry-after": "2"}  # noqa: RUF012 - as a client's exception has them


class Unreadable(type):
    @property
    def __mro__(cls):
        raise RuntimeError


class LyingGroup(Exception):
    __class__ = BaseExceptionGroup


class LyingStatus(Exception):
    class Status:
        __class__ = int

    status_code = Status()


class NoCause(Exception):
    @property
    def __cause__(self):
        raise RuntimeError


class EmptyGroup(ExceptionGroup):
    exceptions = ()


class NoGroup(ExceptionGroup):
    @property
    def exceptions(self):
        raise RuntimeError


HOSTILE = [
    LyingGroup("x"),
    LyingStatus("x"),
    NoCause("x"),
    EmptyGroup("x", [ValueError()]),
    NoGroup("x", [ValueError()]),
    Unreadable("Unreadable", (Exception,), {})("x"),
]


@pytest.mark.parametrize("error", HOSTILE, ids=lambda error: type(error).__name__)
def test_an_error_that_cannot_be_looked_at_is_an_unknown_one(error):
    """It never raises, and the app's own error is what leaves a guard and a breaker."""
    found = classify_error(error, "s")
    assert (found.failure_class, found.retriable) == ("tool_failure", False)
    for guard in (guarded("s"), CircuitBreaker("s").call()):
        with pytest.raises(type(error)) as caught, guard:
            raise error
        assert caught.value is error


def test_the_text_of_an_exception_is_read_so_far(monkeypatch):
    """Fifty million characters took seconds; its beginning tells as much."""
    long = "HTTP status 503 " + "x" * 200_000
    asked = []
    monkeypatch.setattr(
        "otel_aml.conventions.incidents.how_it_failed", lambda _, said: asked.append(len(said)) or ("error", False)
    )
    classify_error(RuntimeError(long), "s")
    assert asked
    assert max(asked) <= 65_536


# --- what is no failure ---------------------------------------------------------------------------------------------


class GraphInterrupt(Exception):
    """As in LangGraph."""


GraphInterrupt.__module__ = "langgraph.errors"

PASSED_ON = [
    pytest.param(KeyboardInterrupt(), True, id="an interrupt"),
    pytest.param(GeneratorExit(), True, id="an abandoned stream"),
    pytest.param(concurrent.futures.CancelledError(), True, id="a cancelled future"),
    pytest.param(GraphInterrupt("x"), True, id="a pause"),
    pytest.param(type("Mine", (GraphInterrupt,), {})("x"), True, id="a child of one"),
    pytest.param(StopIteration(), True, id="an end"),
    pytest.param(ExceptionGroup("g", [GraphInterrupt("x")]), True, id="a group of them"),
    pytest.param(BaseExceptionGroup("g", [KeyboardInterrupt(), TimeoutError("x")]), False, id="a group with a failure"),
    pytest.param(TimeoutError("x"), False, id="a failure"),
    pytest.param(type("GraphInterrupt", (Exception,), {})("x"), False, id="an app's own of the same short name"),
]


@pytest.mark.parametrize(("error", "passed_on"), PASSED_ON)
def test_cuts_and_control_flow_are_no_failures(error, passed_on):
    """They go through a guard untouched."""
    assert is_passed_on(error) is passed_on


# --- what broke a schema --------------------------------------------------------------------------------------------


class Draft(BaseModel):
    typology: str
    cited_tx_ids: list[str]
    score: float = 0

    @field_validator("typology")
    @classmethod
    def known(cls, value):
        if "CANARY" in value:
            raise ValueError(f"unknown typology {value}")
        return value


HINTS = [
    pytest.param({"cited_tx_ids": []}, "- typology: Field required", id="a field that is missing"),
    pytest.param(
        {"typology": "a", "cited_tx_ids": ["a", 7]},
        "- cited_tx_ids.1: Input should be a valid string",
        id="a place in a list",
    ),
    pytest.param({"typology": CANARY, "cited_tx_ids": []}, "- typology: value_error", id="words of a validator"),
]


@pytest.mark.parametrize(("draft", "hint"), HINTS)
def test_the_model_is_told_which_place_broke_which_rule(draft, hint):
    """And never the value."""
    found = classify_error(caught(Draft.model_validate, draft), "draft")
    assert found.failure_class is FailureClass.FORMAT_VIOLATION
    assert found.hint == hint


def test_a_key_that_could_be_a_value_is_not_shown():
    """A model writes what it likes as a key."""
    error = caught(TypeAdapter(dict[str, int]).validate_python, {f"{CANARY} 12": "x"})
    assert classify_error(error, "s").hint.startswith("- *: Input should be a valid integer")


def test_only_so_many_places_are_told():
    """A model that got everything wrong needs no list of thousands."""
    error = caught(TypeAdapter(list[int]).validate_python, ["x"] * 5_000)
    assert len(classify_error(error, "s").hint.splitlines()) == 20


def test_broken_json_is_told_by_its_place():
    """Line and column."""
    assert classify_error(caught(json.loads, '{"a": '), "s").hint == "- line 1, column 7: not valid JSON"


@pytest.mark.skipif(not has("jsonschema"), reason="needs jsonschema")
def test_a_json_schema_is_told_by_place_and_rule():
    """Its own message quotes the value."""
    import jsonschema

    schema = {"properties": {"ids": {"items": {"type": "string"}}}, "required": ["typology"]}
    wrong = caught(jsonschema.validate, {"ids": [12345], "typology": "a"}, schema)
    missing = caught(jsonschema.validate, {"ids": []}, schema)
    assert classify_error(wrong, "s").hint == "- ids.0: type string"
    assert classify_error(missing, "s").hint == "- the output: required ['typology']"


def test_a_rejected_answer_is_told_by_its_cause():
    """Frameworks wrap the validator's error."""
    error = wrapped(
        type("OutputParserException", (ValueError,), {})("x"), caught(Draft.model_validate, {"typology": "a"})
    )
    found = classify_error(error, "s")
    assert (found.failure_class, found.hint) == ("format_violation", "- cited_tx_ids: Field required")


def test_a_schema_below_an_unknown_error_is_what_failed():
    """As with calls."""
    assert classify_error(wrapped(RuntimeError("x"), schema_error()), "s").failure_class == "format_violation"


def test_the_app_knows_better_than_the_exception():
    """Then what the exception said to the model is of no use."""
    found = classify_error(schema_error(), "s", failure_class=FailureClass.HALLUCINATION)
    assert (found.failure_class, found.hint, found.retriable) == ("hallucination", "", False)


# --- nothing raises, nothing leaks ----------------------------------------------------------------------------------


class Hostile(Exception):
    """Raises wherever it is touched."""

    def __str__(self):
        raise RuntimeError("no")

    def __getattr__(self, name):
        raise RuntimeError(name)


class Lying(Exception):
    """Has everything that a client's error has, and nothing of it fits."""

    status_code = "503"
    code = property(lambda self: 1 / 0)
    response = property(lambda self: self)
    headers = 7
    sqlstate = b"40001"
    exceptions = ("x",)

    def trailing_metadata(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("kind", [Hostile, Lying])
def test_no_exception_breaks_it(kind):
    """It runs inside an `except` of the app."""
    found = classify_error(caught(exec, "raise kind", {"kind": kind}), "s")
    assert (found.error_type, found.retriable) == (kind.__name__, False)


def test_an_error_that_only_looks_like_a_validators_has_no_hint():
    """Its parts are missing."""
    kind = type("ValidationError", (Exception,), {"errors": lambda self: 1 / 0})
    kind.__module__ = "pydantic_core._pydantic_core"
    assert classify_error(kind("x"), "s").hint == ""


@given(
    text=st.text(max_size=80),
    kind=st.sampled_from([TimeoutError, ValueError, RuntimeError, KeyError, OSError, ConnectionError, Exception]),
    failure_class=st.sampled_from([None, *FAILURES, "nonsense"]),
    attempt=st.sampled_from([0, 3, -1, None, "x"]),
    step_id=st.sampled_from(["s", None, 7]),
    locale=st.sampled_from(["en", "zh", None, "tlh"]),
)
def test_whatever_is_given_there_is_an_answer(text, kind, failure_class, attempt, step_id, locale):
    """And what it prints as holds nothing of the text."""
    error = kind(f"{CANARY}{text}")
    found = classify_error(error, step_id, attempt=attempt, failure_class=failure_class, locale=locale)
    assert found.retriable is False or found.failure_class is FailureClass.TOOL_FAILURE
    assert CANARY not in f"{found}"


def test_the_detail_says_what_was_raised_and_where():
    """Of a dependency's error, its words too, without the secrets in them."""
    try:
        raise RuntimeError("no login with password=hunter2 for 4929")
    except RuntimeError as error:
        detail = classify_error(error, "s").technical_detail
    assert detail.startswith(
        "RuntimeError: no login with password=[redacted:secret] for 4929 at recover/test_classifying.py:"
    )


@pytest.mark.parametrize("failure_class", [each for each in FAILURES if each is not FailureClass.TOOL_FAILURE])
def test_the_detail_of_what_the_model_wrote_holds_no_message(failure_class):
    """There the message quotes the answer: content, which no rule can know."""
    detail = classify_error(ValueError(CANARY), "s", failure_class=failure_class).technical_detail
    assert detail == "ValueError"


def test_a_validators_error_is_told_without_its_input():
    """Its own text quotes what it was given."""
    found = classify_error(caught(Draft.model_validate, {"typology": 7, "cited_tx_ids": CANARY}), "s")
    assert isinstance(caught(Draft.model_validate, {}), ValidationError)
    assert CANARY not in f"{found}"
