"""An error at a step cannot be described in a way that would mislead the recovery."""

from __future__ import annotations

import dataclasses

import pytest

from otel_aml.core.recovery import StepError
from otel_aml.core.taxonomy import FAILURES, FailureClass


def step_error(failure_class=FailureClass.TOOL_FAILURE, **more):
    """Build one."""
    return StepError(step_id="screening", failure_class=failure_class, user_message="Please wait.", **more)


def test_by_default_nothing_is_promised():
    """An unknown error is not retriable, and nobody has tried again yet."""
    error = step_error()
    assert (error.technical_detail, error.retriable, error.attempt) == ("", False, 0)


def test_it_cannot_be_changed():
    """It travels between parts of an app; what one reads the other wrote."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        step_error().attempt = 1


@pytest.mark.parametrize("failure_class", FAILURES)
@pytest.mark.parametrize("attempt", [0, 3])
def test_any_of_the_six_can_be_a_step_error(failure_class, attempt):
    """Attempts count from 0."""
    assert step_error(failure_class, attempt=attempt).attempt == attempt


REFUSED = [
    pytest.param(
        {"failure_class": FailureClass.PASS},
        r"cannot fail as .*'pass'.*; give one of tool_failure, format_violation, hallucination, ",
        id="a pass",
    ),
    pytest.param({"failure_class": FailureClass.CANCELLED}, "cannot fail as", id="a cancellation"),
    pytest.param({"failure_class": FailureClass.UNCLASSIFIED}, "cannot fail as", id="not classified"),
    pytest.param({"attempt": -1}, "attempt=-1 is negative; count the retries already made, from 0", id="negative"),
    *(
        pytest.param(
            {"failure_class": failure_class, "retriable": True},
            f"^a {failure_class} is not retriable: .* only a tool_failure may be retried$",
            id=f"a retriable {failure_class}",
        )
        for failure_class in FAILURES[1:]
    ),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_what_would_mislead_is_refused(given, says):
    """The message says what was found and what to do."""
    with pytest.raises(ValueError, match=says):
        step_error(**given)


def test_a_tool_failure_may_be_retriable():
    """The one class whose cause may pass by itself; also where it was read from a file."""
    assert step_error(retriable=True).retriable
    assert step_error("tool_failure", retriable=True).retriable
