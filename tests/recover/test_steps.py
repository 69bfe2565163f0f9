"""An error caught at a step: data for the app, a note on the step's span."""

import contextlib
import json

import pytest
from opentelemetry.trace import StatusCode
from pydantic import TypeAdapter, ValidationError

from otel_aml.conventions import Contract
from otel_aml.core.taxonomy import FailureClass
from otel_aml.live.case import case
from otel_aml.recover.steps import step_error
from tests.live.agents import AGENT, TOOL


def not_a_number():
    try:
        TypeAdapter(int).validate_python("x")
    except ValidationError as error:
        return error


class RateLimitError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "failure_class", "retriable"),
    [
        pytest.param(TimeoutError("x"), "tool_failure", True, id="a timeout"),
        pytest.param(ConnectionResetError("x"), "tool_failure", True, id="a reset connection"),
        pytest.param(RateLimitError("x"), "tool_failure", True, id="a rate limit"),
        pytest.param(RuntimeError("HTTP status 503"), "tool_failure", True, id="a 503 in words"),
        pytest.param(RuntimeError("HTTP status 404"), "tool_failure", False, id="a 404 in words"),
        pytest.param(RuntimeError("x"), "tool_failure", False, id="an unknown error"),
        pytest.param(PermissionError("x"), "tool_failure", False, id="no permission"),
        pytest.param(not_a_number(), "format_violation", False, id="a schema that was broken"),
        pytest.param(json.JSONDecodeError("x", "y", 0), "format_violation", False, id="no JSON"),
    ],
)
def test_an_error_becomes_data(error, failure_class, retriable):
    data = step_error(error, step_id="typology_assessment", attempt=1)
    assert data.failure_class == failure_class
    assert data.retriable is retriable
    assert (data.step_id, data.attempt) == ("typology_assessment", 1)


def test_the_users_message_holds_nothing_of_the_error():
    data = step_error(TimeoutError("customer 4711 of SAR-9"), step_id="assess")
    for word in ("4711", "SAR", "TimeoutError", "assess"):
        assert word not in data.user_message
    assert "4711" not in repr(data)


def test_the_app_may_know_better():
    data = step_error(TimeoutError("x"), step_id="s", failure_class=FailureClass.HALLUCINATION)
    assert data.failure_class is FailureClass.HALLUCINATION
    assert not data.retriable


def test_the_step_is_noted_on_its_span_and_the_status_is_not_touched(simple):
    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        with simple.tracer.start_as_current_span("assess"):
            step_error(TimeoutError("x"), step_id="typology_assessment", attempt=2)
    step, root = simple.spans()
    assert step.attributes["failure.step.class"] == "tool_failure"
    assert step.attributes["failure.step_id"] == "typology_assessment"
    assert step.attributes["failure.attempt"] == 2
    assert step.attributes["failure.retriable"] is True
    assert step.attributes["recovery.path"] == "auto_retry"
    assert step.attributes["error.type"] == "timeout"
    assert step.status.status_code is StatusCode.UNSET
    assert [event.name for event in step.events] == ["recovery"]
    assert "failure.class" not in step.attributes
    assert root.attributes["failure.class"] == "tool_failure"
    assert root.attributes["failure.step_id"] == "typology_assessment"


def test_an_error_type_that_is_there_is_never_overwritten(simple):
    with simple.tracer.start_as_current_span("assess", attributes={"error.type": "mine"}):
        step_error(TimeoutError("x"), step_id="s")
    assert simple.spans()[0].attributes["error.type"] == "mine"


def test_a_step_that_is_retried_and_works_is_recovered(simple):
    """Two notes, then success on the same step: counted, not named."""
    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        for attempt in range(3):
            with simple.tracer.start_as_current_span("assess", attributes={"aml.step.id": "assess"}):
                if attempt < 2:
                    step_error(TimeoutError("x"), step_id="assess", attempt=attempt)
    root = simple.spans()[-1]
    assert root.attributes["failure.class"] == "pass"
    assert root.attributes["failure.recovered"] == 2
    assert root.attributes["recovery.outcome"] == "recovered"


def test_it_works_without_a_span():
    assert step_error(ValueError("x"), step_id="s").failure_class is FailureClass.TOOL_FAILURE


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no message")


def test_an_exception_that_cannot_be_printed_is_an_error_like_any(simple):
    with contextlib.suppress(Unprintable), simple.tracer.start_as_current_span("run", attributes=AGENT):
        try:
            raise Unprintable
        except Unprintable as error:
            assert step_error(error, step_id="s").failure_class is FailureClass.TOOL_FAILURE


def test_a_negative_attempt_is_the_first():
    assert step_error(ValueError("x"), step_id="s", attempt=-3).attempt == 0


def notes(made, *attempts, give_up=False):
    """Run a case whose own loop notes each failed try, and then goes on."""
    with case("C-1", evidence_ids=["TXN-1"], tracer_provider=made.provider) as told:
        for attempt in attempts:
            step_error(TimeoutError("x"), step_id="assess", attempt=attempt)
        told.answer({"cited_tx_ids": ["TXN-1"]})
    return made.verdict()


def test_a_loop_of_the_app_that_was_about_to_try_again_did(simple):
    """Had the try failed too, it would have been noted once more."""
    verdict = notes(simple, 0, 1)
    assert (verdict["failure.class"], verdict["failure.recovered"]) == ("pass", 1)


def test_a_loop_of_the_app_that_gave_up_failed(simple):
    assert notes(simple, 0, 1, 2, 3)["failure.class"] == "tool_failure"


def test_a_note_on_the_root_only_repeats_what_the_call_below_says(simple):
    """The call raises, the loop around it notes it, and the second try works."""
    with case("C-1", evidence_ids=["TXN-1"], tracer_provider=simple.provider):
        for attempt in range(2):
            try:
                with simple.tracer.start_as_current_span("tool", attributes=TOOL):
                    if attempt == 0:
                        raise TimeoutError
            except TimeoutError as error:
                step_error(error, step_id="s", attempt=attempt)
    verdict = simple.verdict()
    assert verdict["failure.class"] == "pass"
    assert verdict["failure.findings"] == ("tool_failure:recovered",)
    assert verdict["failure.recovered"] == 1


def test_a_note_of_another_class_hides_no_real_error(simple):
    """The app's word that its step hallucinated is not the verdict; the checks have that."""
    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        with contextlib.suppress(TimeoutError), simple.tracer.start_as_current_span("tool", attributes=TOOL):
            step_error(TimeoutError("x"), step_id="s", failure_class=FailureClass.HALLUCINATION)
            raise TimeoutError
    assert simple.verdict()["failure.class"] == "tool_failure"


@pytest.mark.parametrize("where", ["root", "step", "tool"])
@pytest.mark.parametrize("failure_class", ["hallucination", "typology_misjudge"])
def test_a_critical_class_that_the_app_noted_brings_a_person(simple, failure_class, where):
    """The app told its user that a colleague needs to look; the run's root says the same, though no check fired."""
    with simple.tracer.start_as_current_span("run", attributes=AGENT) as root:
        attributes = TOOL if where == "tool" else None
        inner = (
            contextlib.nullcontext(root)
            if where == "root"
            else simple.tracer.start_as_current_span("draft", attributes=attributes)
        )
        with inner:
            step_error(ValueError("x"), step_id="draft", failure_class=FailureClass(failure_class))
    verdict = simple.verdict()
    assert verdict["failure.class"] == "pass"
    assert verdict["failure.findings"] == (f"{failure_class}:superseded",)
    assert verdict["failure.severity"] == "critical"
    assert verdict["recovery.path"] == "human_takeover"
    assert failure_class in verdict["failure.unchecked"]


def test_a_critical_class_that_a_check_finds_too_counts_once(simple):
    """The check has the verdict; the app's own word adds nothing to it."""
    with case(
        "C-1", evidence_ids=["TXN-1"], contract=Contract(cited_ids="ids"), tracer_provider=simple.provider
    ) as run:
        step_error(ValueError("x"), step_id="draft", failure_class=FailureClass.HALLUCINATION)
        with simple.tracer.start_as_current_span("agent", attributes=AGENT):
            run.answer({"ids": ["TXN-9"]})
    assert simple.verdict()["failure.findings"] == ("hallucination",)


@pytest.mark.parametrize(
    "odd", [{"attempt": None}, {"locale": None}, {"failure_class": []}, {"step_id": object()}, {"locale": "tlh"}]
)
def test_odd_arguments_never_raise(odd):
    assert step_error(ValueError("x"), **({"step_id": "s"} | odd)).user_message


@pytest.mark.parametrize("odd", ["text", None, 7, ValueError])
def test_what_is_no_exception_is_an_error_like_any(odd):
    assert step_error(odd, step_id="s").failure_class is FailureClass.TOOL_FAILURE
