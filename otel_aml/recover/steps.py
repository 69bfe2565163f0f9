"""An error that the app catches itself, at a step, as data; noted on the step's span where there is one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from opentelemetry import trace

from otel_aml.core.recovery import plan_recovery
from otel_aml.core.redaction import redact_start
from otel_aml.recover.classifying import error_of, read
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import Span

    from otel_aml.core.recovery import RecoveryPlan, StepError
    from otel_aml.core.taxonomy import FailureClass

_LOG: Final = logging.getLogger("otel_aml")
_DETAIL: Final = 2_048
_TEXT: Final = 120
_DETAIL_FROM: Final = 8_192
_NAME_FROM: Final = 1_024


def step_error(
    error: BaseException,
    *,
    step_id: str,
    attempt: int = 0,
    failure_class: FailureClass | None = None,
    locale: str = "en",
) -> StepError:
    """Turn an error that the app caught at a step into data, and note it on the current span.

    The span gets `failure.step.class` and what belongs to it, never `failure.class`; its status is not changed. Where
    no span is recording, only the data are made.

    Args:
        error: What the app caught.
        step_id: The step, in the app's own words.
        attempt: Retries already made, from 0.
        failure_class: One of the six, where the app knows better; by default a rejected schema is a
            `format_violation` and anything else a `tool_failure`.
        locale: Language of the user's message.

    Returns:
        The error as data: what the user may see in `user_message`, the rest in `technical_detail`. Only a transient
        `tool_failure` is retriable; an unknown error is not.
    """
    data = error_of(read(error), step_id, attempt=attempt, failure_class=failure_class, locale=locale)
    note(trace.get_current_span(), data, plan_recovery(data))
    return data


def note(span: Span, error: StepError, plan: RecoveryPlan, *, is_ours: bool = False) -> None:
    """Write an error and its plan on the step's span, and an event `recovery`; it never raises.

    Args:
        span: That of the step.
        error: What happened.
        plan: What should be done about it.
        is_ours: The span is that of a guard, whose `error.type` is the last error's; any other keeps its own.
    """
    try:
        if span.is_recording():
            _note(span, error, plan, is_ours=is_ours)
    except Exception as fault:  # noqa: BLE001 - nothing of ours raises into the app
        _LOG.warning("otel_aml: %s while a step's span was marked; it is left as it is", type(fault).__name__)


def _note(span: Span, error: StepError, plan: RecoveryPlan, *, is_ours: bool) -> None:
    present: Mapping[str, object] = getattr(span, "attributes", None) or {}
    tried: dict[str, str | bool | int] = {
        names.PATH: str(plan.path),
        names.STEP_ATTEMPT: error.attempt,
        names.STEP_BACKOFF: plan.wait_ms,
    }
    noted: dict[str, str | bool | int] = {
        names.STEP_CLASS: str(error.failure_class),
        names.STEP_FAILED_ID: redact_start(error.step_id, _NAME_FROM)[:_TEXT],
        names.STEP_RETRIABLE: error.retriable,
        names.STEP_MESSAGE: error.user_message,
        names.TECHNICAL_DETAIL: redact_start(error.technical_detail, _DETAIL_FROM)[:_DETAIL],
        **tried,
    }
    if is_ours or names.ERROR_TYPE not in present:
        noted[names.ERROR_TYPE] = redact_start(error.error_type, _NAME_FROM)[:_TEXT]
    if plan.circuit_state is not None:
        noted[names.CIRCUIT_STATE] = str(plan.circuit_state)
    span.set_attributes(noted)
    span.add_event("recovery", tried)
