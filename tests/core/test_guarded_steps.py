"""What a guard noted of its step is believed: whether a try worked, who has it now, how the circuit stood."""

from __future__ import annotations

import pytest

from otel_aml.core.facts import Facts, Failure
from otel_aml.core.incidents import resolve
from otel_aml.core.steps import Incident, Kind, Sort, Step
from otel_aml.core.taxonomy import RecoveryPath
from otel_aml.core.tree import Outcome, classify


def failed(**more):
    """Build an incident."""
    return Incident(sort=Sort.FAILED, type="timeout", error_type="timeout", **more)


def guard(**more):
    """Build the step of a guard that noted an error."""
    noted = failed(noted=True, **more)
    return Step(span_id="g", parent_id="r", kind=Kind.STEP, name="fetch", started_at=1, ended_at=9, incident=noted)


ROOT = Step(span_id="r", parent_id=None, kind=Kind.AGENT, name="run", started_at=0, ended_at=10)
CALL = Step(span_id="c", parent_id="g", kind=Kind.TOOL, name="bank", started_at=2, ended_at=3, incident=failed())


def test_a_step_whose_later_try_worked_is_made_good():
    """Each error that it stands for counts."""
    found = resolve([guard(made_good=True, survived=True, tries=2), ROOT], "r")
    (recovered,) = found.recovered_calls
    assert (recovered.attempts, recovered.errors, found.failed_calls) == (2, 2, ())


def test_a_step_that_was_made_good_without_a_count_stands_for_one_error():
    """Another tool's guard may not count."""
    (recovered,) = resolve([guard(made_good=True, survived=True), ROOT], "r").recovered_calls
    assert recovered.errors == 1


def test_the_call_below_is_made_good_with_its_guard():
    """And told with what the guard knows."""
    found = resolve([CALL, guard(made_good=True, survived=True, tries=1, circuit_state="closed"), ROOT], "r")
    (recovered,) = found.recovered_calls
    assert (recovered.span_id, recovered.attempts, recovered.errors) == ("c", 1, 1)
    assert recovered.circuit_state == "closed"


def test_the_call_below_is_told_with_what_its_guard_knows():
    """How often it was tried, how the circuit stood, and that a person is needed."""
    (found,) = resolve([CALL, guard(tries=3, needs_person=True, circuit_state="open"), ROOT], "r").failed_calls
    assert (found.span_id, found.attempts, found.needs_person, found.circuit_state) == ("c", 3, True, "open")


def test_an_echo_that_nobody_noted_tells_nothing():
    """A span of the app that repeats the call's error."""
    echo = Step(
        span_id="g", parent_id="r", kind=Kind.TOOL, name="x", started_at=1, ended_at=9, incident=failed(tries=3)
    )
    (found,) = resolve([CALL, echo, ROOT], "r").failed_calls
    assert (found.span_id, found.attempts) == ("c", 0)


TIMEOUT = Failure(error_type="timeout", retriable=True)


@pytest.mark.parametrize(
    ("needs_person", "path"),
    [(False, RecoveryPath.AUTO_RETRY), (True, RecoveryPath.HUMAN_TAKEOVER)],
)
def test_the_apps_word_that_a_person_is_needed_stands(needs_person, path):
    """It knows its policy, and whether the step may be done twice."""
    assert classify(Facts(failed_calls=(Failure(retriable=True, needs_person=needs_person),))).path is path


def test_a_run_with_a_step_handed_over_is_handed_over():
    """If it failed; a run that passed has nothing to hand over."""
    assert classify(Facts(failed_calls=(TIMEOUT,), handed_over=True)).outcome is Outcome.HANDED_OVER
    assert classify(Facts(handed_over=True)).outcome is Outcome.NONE


def test_the_circuit_of_the_first_failure_is_told():
    """Of what was made good, the last that has one; else none."""
    opened = Failure(circuit_state="open")
    assert classify(Facts(failed_calls=(opened, Failure(circuit_state="closed")))).circuit_state == "open"
    assert classify(Facts(recovered_calls=(opened, TIMEOUT))).circuit_state == "open"
    assert classify(Facts(recovered_calls=(TIMEOUT,))).circuit_state == ""
    assert classify(Facts(failed_calls=(TIMEOUT,), recovered_calls=(opened,))).circuit_state == ""


def test_errors_made_good_are_counted_by_what_they_stand_for():
    """Two tries of one step, and a call."""
    assert classify(Facts(recovered_calls=(Failure(errors=2), TIMEOUT))).recovered == 3
