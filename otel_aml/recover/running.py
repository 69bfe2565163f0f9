"""One run of a guarded step, over all its attempts: what is noted, planned and handed over, and what became of it."""

from __future__ import annotations

import contextlib
import logging
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

from otel_aml.core.circuit import Cancel, Success
from otel_aml.core.recovery import plan_recovery, without_budget
from otel_aml.core.taxonomy import RecoveryPath
from otel_aml.core.tree import Outcome
from otel_aml.recover.budget import budget_of
from otel_aml.recover.classifying import error_of, is_passed_on, read
from otel_aml.recover.steps import note
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from opentelemetry.trace import Span, TracerProvider

    from otel_aml.core.circuit import Circuit, Report
    from otel_aml.core.recovery import RecoveryPlan, RetryPolicy, StepError
    from otel_aml.core.taxonomy import FailureClass
    from otel_aml.recover.breaker import CircuitBreaker
    from otel_aml.recover.takeover.task import ApprovalTask

_LOG: Final = logging.getLogger("otel_aml")
_SCOPE: Final = "otel_aml.recover"
"""The instrumentation scope of the spans of guarded steps; `otel_aml` itself is that of cases."""
_TEXT: Final = 120


class TakesTasks(Protocol):
    """Where a step goes that a person must take over: the takeover queue, or whatever the app has in its place."""

    def submit(self, task: ApprovalTask) -> str:
        """Keep a task, and give its id. May raise; the app's own error goes on all the same."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailure:
    """What became of a step that failed for good.

    Args:
        error: The last error as data.
        plan: What should be done about it.
        raised: What was raised, or the refusal of an open circuit.
        outcome: `exhausted`, `handed_over` or `none`.
        attempts: Tries made after the first.
        task_id: The task of the person who takes over; None where nobody was asked.
    """

    error: StepError
    plan: RecoveryPlan
    raised: Exception
    outcome: Outcome
    attempts: int
    task_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a step is guarded; see `guarded`."""

    step_id: str
    execute: str
    idempotent: bool | None
    policy: RetryPolicy
    breaker: CircuitBreaker | None
    dependency: str
    takeover: TakesTasks | None
    freeze: Callable[[], Mapping[str, Any]] | None
    classify: Callable[[Exception], FailureClass | None] | None
    fallback: Callable[[StepFailure], Any] | None
    passes_on: tuple[type[BaseException], ...]
    locale: str
    attempt: int
    tracer_provider: TracerProvider | None


class RunningStep:
    """One run of a guarded step, over all its attempts. Nothing of its own ever leaves it."""

    def __init__(self, settings: Settings, key: str = "", *, can_repeat: bool = True) -> None:
        self.settings = settings
        self.attempt = settings.attempt
        self.begun = 0
        self.wait_ms = 0
        self.is_over = False
        self.failure: StepFailure | None = None
        self.span: Span = trace.INVALID_SPAN
        self.is_span_ours = False
        self._key = key
        self._can_repeat = can_repeat
        self._has_failed = False

    def begin(self) -> None:
        """Begin an attempt; the first opens the step's span and pays into the retry budget."""
        self.begun += 1
        if self.begun > 1:
            return
        try:
            budget_of(self.settings.dependency).call()
            self._open_span()
        except Exception as fault:  # noqa: BLE001 - nothing of ours raises into the app
            _say("the span of a step could not be opened", fault)

    def report(self, error: BaseException | None) -> type[Report]:
        """Say what the end of an attempt means for the circuit."""
        breaker = self.settings.breaker
        if error is None or breaker is None:
            return Success
        return Cancel if self._is_no_failure(error) else breaker.judge(error)

    def may_block(self, error: BaseException | None) -> bool:
        """Whether an end may be handed over, to a queue that takes its time."""
        return error is not None and self.settings.takeover is not None and not self._is_no_failure(error)

    def ended(self, error: BaseException | None) -> bool:
        """Take the end of an attempt. True: what was raised is kept back, since another attempt follows."""
        if isinstance(error, Exception) and not self._is_no_failure(error):
            self._has_failed = True
            try:
                if self._failed(error):
                    return True
            except Exception as fault:  # noqa: BLE001 - the app's own error goes on
                _say("the failure of a step could not be noted", fault)
        elif error is None and self._has_failed:
            with _quietly("the end of a step could not be noted"):
                self._note_end(Outcome.RECOVERED)
        self.is_over = True
        self.end()
        return False

    def end(self) -> None:
        """End the step's span, once."""
        self.is_over = True
        span, self.span = self.span, trace.INVALID_SPAN
        if self.is_span_ours:
            with _quietly("the span of a step could not be ended"):
                span.end()

    def _open_span(self) -> None:
        settings = self.settings
        attributes = {names.STEP_ID: settings.step_id[:_TEXT]} | ({names.STEP_KEY: self._key} if self._key else {})
        tracer = trace.get_tracer(_SCOPE, tracer_provider=settings.tracer_provider)
        current, span = trace.get_current_span(), tracer.start_span(settings.step_id, attributes=attributes)
        self.is_span_ours = span.is_recording() or not current.is_recording()
        self.span = span if self.is_span_ours else current

    def _is_no_failure(self, error: BaseException) -> bool:
        return isinstance(error, self.settings.passes_on) or is_passed_on(error)

    def _failed(self, raised: Exception) -> bool:
        """Note a failure, and say whether another attempt follows."""
        settings = self.settings
        found = read(raised)
        error = error_of(
            found,
            settings.step_id,
            attempt=self.attempt,
            failure_class=self._class_of(raised),
            locale=settings.locale,
        )
        plan = plan_recovery(error, circuit=self._circuit(), policy=settings.policy, idempotent=settings.idempotent)
        is_tried = self._can_repeat and settings.execute == "transient" and plan.automatic
        if is_tried and not budget_of(settings.dependency).take():
            is_tried, plan = False, without_budget(plan)
        note(self.span, error, plan, is_ours=self.is_span_ours)
        if is_tried:
            self.attempt += 1
            self.wait_ms = plan.wait_ms_at(random.random())  # noqa: S311 - a wait, no secret
            return True
        task_id = self._hand_over(error) if plan.path is RecoveryPath.HUMAN_TAKEOVER else None
        tries = self.attempt - settings.attempt
        outcome = Outcome.HANDED_OVER if task_id is not None else Outcome.EXHAUSTED if tries else Outcome.NONE
        self.failure = StepFailure(
            error=error, plan=plan, raised=raised, outcome=outcome, attempts=tries, task_id=task_id
        )
        self._note_end(outcome)
        if self.is_span_ours and settings.fallback is None:
            self.span.set_status(Status(StatusCode.ERROR, error.error_type))
        return False

    def _class_of(self, raised: Exception) -> FailureClass | None:
        try:
            return None if self.settings.classify is None else self.settings.classify(raised)
        except Exception as fault:  # noqa: BLE001 - the app's own function
            _say("classify= raised", fault)
            return None

    def _circuit(self) -> Circuit | None:
        return None if self.settings.breaker is None else self.settings.breaker.circuit

    def _hand_over(self, error: StepError) -> str | None:
        settings = self.settings
        if settings.takeover is None:
            return None
        try:
            return settings.takeover.submit(self._task(error))
        except Exception as fault:  # noqa: BLE001 - the app's own error goes on
            _say("a step could not be handed over", fault)
            return None

    def _task(self, error: StepError) -> ApprovalTask:
        """Make the task of the person who takes over; a state that cannot be had takes no case away from them."""
        from otel_aml.recover.takeover.task import ApprovalTask

        context = self.span.get_span_context()
        kept: dict[str, Any] = {"state": {}}
        if context.is_valid:
            kept["trace_id"] = trace.format_trace_id(context.trace_id)
        if self.settings.freeze is not None:
            try:
                return ApprovalTask.of_error(error, **kept | dict(self.settings.freeze()))
            except Exception as fault:  # noqa: BLE001 - the app's own function
                _say("freeze=, called without arguments, gave nothing to keep; the step is handed over without", fault)
        return ApprovalTask.of_error(error, **kept)

    def _note_end(self, outcome: Outcome) -> None:
        """Write what became of the step. On a span that is not ours these names may be the verdict's."""
        if not self.is_span_ours:
            return
        circuit = self._circuit()
        self.span.set_attributes(
            {
                names.OUTCOME: str(outcome),
                names.ATTEMPTS: self.attempt - self.settings.attempt,
                names.DEPENDENCY: self.settings.dependency[:_TEXT],
                **({} if circuit is None else {names.CIRCUIT_STATE: str(circuit.state)}),
            }
        )


@contextlib.contextmanager
def _quietly(what: str) -> Generator[None]:
    """Log a fault of ours: what the app returns or raises goes on."""
    try:
        yield
    except Exception as fault:  # noqa: BLE001 - nothing of ours raises into the app
        _say(what, fault)


def _say(what: str, fault: Exception) -> None:
    """Log a fault by its kind alone: its text may hold content."""
    with contextlib.suppress(Exception):  # a broken log handler must not reach the app
        _LOG.warning("otel_aml: %s: %s", what, type(fault).__name__)
