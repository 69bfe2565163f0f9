"""An error that the app catches itself, at a step, as data; noted on the step's span where there is one."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Final, TypeVar

from opentelemetry import trace

from otel_aml.conventions import incidents
from otel_aml.conventions.marks import RETRIABLE
from otel_aml.core.messages import user_message
from otel_aml.core.recovery import StepError, path_of
from otel_aml.core.steps import Sort
from otel_aml.core.taxonomy import FAILURES, FailureClass, RecoveryPath
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_aml.core.steps import Incident

T = TypeVar("T", int, str)
_LOG: Final = logging.getLogger("otel_aml")


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
    incident = _incident(error)
    found = next((each for each in FAILURES if each == failure_class), None) or _class_of(incident)
    is_retriable = found is FailureClass.TOOL_FAILURE and incident.error_type in RETRIABLE
    retries_made = max(_of_type(int, attempt, 0), 0)
    path = path_of(found, retriable=is_retriable, attempt=retries_made)
    data = StepError(
        step_id=_of_type(str, step_id, type(step_id).__name__),
        failure_class=found,
        user_message=user_message(found, path, _of_type(str, locale, "en")),
        technical_detail=incident.detail,
        retriable=is_retriable,
        attempt=retries_made,
    )
    try:
        _note(data, incident, path)
    except Exception as fault:  # noqa: BLE001 - nothing of ours raises into the app
        _LOG.warning("otel_aml: %s in step_error; the step's span is not marked", type(fault).__name__)
    return data


def _of_type(kind: type[T], value: object, otherwise: T) -> T:
    """Take a value that is of its type; this runs inside an `except` of the app, where nothing may raise."""
    return value if isinstance(value, kind) else otherwise


def _incident(error: object) -> Incident:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    stack = "".join(traceback.format_tb(error.__traceback__ if isinstance(error, BaseException) else None))
    return incidents.of_exception(name, incidents.message_of(error), stack)


def _class_of(incident: Incident) -> FailureClass:
    return FailureClass.FORMAT_VIOLATION if incident.sort is Sort.REJECTED else FailureClass.TOOL_FAILURE


def _note(data: StepError, incident: Incident, path: RecoveryPath) -> None:
    span = trace.get_current_span()
    if not span.is_recording():
        return
    present: Mapping[str, object] = getattr(span, "attributes", None) or {}
    noted: dict[str, str | bool | int] = {
        names.STEP_CLASS: str(data.failure_class),
        names.STEP_FAILED_ID: data.step_id,
        names.STEP_RETRIABLE: data.retriable,
        names.STEP_ATTEMPT: data.attempt,
        names.STEP_MESSAGE: data.user_message,
        names.TECHNICAL_DETAIL: data.technical_detail,
        names.PATH: str(path),
    }
    if names.ERROR_TYPE not in present:
        noted[names.ERROR_TYPE] = incident.error_type
    span.set_attributes(noted)
    span.add_event("recovery", {names.PATH: str(path), names.STEP_ATTEMPT: data.attempt})
