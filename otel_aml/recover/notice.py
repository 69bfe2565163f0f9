"""All that a person gets to see of a failed step: what happened, what is kept, what they can do.

Every text is picked from a closed catalogue by class, path and language. Nothing that an exception, a tool, a case or a
model said can enter it: the functions that pick take none of it.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Literal

from opentelemetry import trace
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otel_aml.core.messages import Action, action_label, code, language, user_message
from otel_aml.core.recovery import Reason
from otel_aml.core.taxonomy import FailureClass, RecoveryPath

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_aml.core.recovery import RecoveryPlan, StepError

_LOG: Final = logging.getLogger("otel_aml")
_CLOSED: Final = ConfigDict(frozen=True, extra="forbid")
_SECOND_MS: Final = 1_000
_REFERENCE: Final = 8
_MANY: Final = 10**9


class Saved(BaseModel):
    """What is kept, as counts that the app passes. Checked wherever it is taken, also if it was made unchecked."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, revalidate_instances="always")

    confirmed_evidence: int = Field(default=0, ge=0, le=_MANY)
    edited_fields: int = Field(default=0, ge=0, le=_MANY)


class Option(BaseModel):
    """One thing that the person can do. None is done before they choose it."""

    model_config = _CLOSED

    action: Action
    label: str
    recommended: bool = False


class UserNotice(BaseModel):
    """All that a user interface needs to show of a failed step.

    Args:
        code: Stable and opaque, like `E-214`: a person quotes it, an operator looks it up.
        message: What happened, what is kept, what can be done; plain text.
        saved: Counts of what is kept; None where the app gave none.
        tone: `amber`; `red` only where a person must look before anything else happens.
        options: Two or three; exactly one is recommended, none is executed.
        retry_after_s: Before that, in seconds, trying again is of no use; None where nobody knows.
        reference: The first eight hex digits of the trace; None where there is no trace.
        locale: The language that it is written in: `en` or `zh`.
    """

    model_config = _CLOSED

    code: str
    message: str
    saved: Saved | None = None
    tone: Literal["amber", "red"] = "amber"
    options: tuple[Option, ...]
    retry_after_s: int | None = None
    reference: str | None = None
    locale: Literal["en", "zh"] = "en"

    def to_html(  # noqa: PLR0913 - all go by keyword, and have a default
        self,
        *,
        action: str = "",
        fields: Mapping[str, str] | None = None,
        handed_over: bool = False,
        style: bool = True,
        nonce: str | None = None,
        level: int = 2,
    ) -> str:
        """Draw the notice as a piece of HTML that any page can hold: escaped, no script, nothing from elsewhere.

        A button sends the form's field `action` with the value of an option (`retry`, `fix_and_run_again`,
        `hand_over`); what it does is the app's. The look follows the page's `color-scheme`, and the CSS variables
        `--notice-*` change it.

        Args:
            action: Where the buttons send their choice by POST; by default to the page's own address.
            fields: Further fields to send along, as hidden inputs: the app's token against forged requests, a step.
            handed_over: A colleague has been asked: say so, in the place of the buttons.
            style: Whether to put the style sheet in as well. Without it: `otel_aml.recover.fragment.style_sheet()`.
            nonce: That of the page's Content-Security-Policy, for the style sheet.
            level: Of the heading, 1 to 6.

        Raises:
            ValueError: The level is none, or `action` is no address of the web.
        """
        from otel_aml.recover.fragment import drawn

        return drawn(
            self, action=action, fields=fields or {}, handed_over=handed_over, style=style, nonce=nonce, level=level
        )

    def to_problem(self, *, type_base: str | None = None) -> dict[str, Any]:
        """Give the notice as an `application/problem+json` object.

        Args:
            type_base: Where the app documents its problems, ending in `/`: the `type` is that and the code. Without it
                the type is `about:blank`, and the code alone tells what happened.

        Source:
            RFC 9457.
        """
        is_temporary = any(option.recommended and option.action is Action.RETRY for option in self.options)
        status = HTTPStatus.SERVICE_UNAVAILABLE if is_temporary else HTTPStatus.INTERNAL_SERVER_ERROR
        return {
            "type": "about:blank" if type_base is None else f"{type_base}{self.code}",
            "title": status.phrase,
            "status": int(status),
            "detail": self.message,
            **self.model_dump(mode="json", exclude={"message", "locale"}, exclude_none=True),
        }


_OFFERED: Final[Mapping[RecoveryPath, tuple[Action, ...]]] = {
    RecoveryPath.AUTO_RETRY: (Action.RETRY, Action.HAND_OVER),
    RecoveryPath.FIX_AND_RETRY: (Action.FIX, Action.HAND_OVER),
}


def user_notice(
    error: StepError,
    plan: RecoveryPlan,
    *,
    locale: str = "en",
    saved: Saved | Mapping[str, int] | None = None,
) -> UserNotice:
    """Make the notice of a failed step. It never raises: it is made where something else just failed.

    Args:
        error: What happened; only its class is read.
        plan: What should be done; only its path and its wait are read.
        locale: `en` or `zh`, also with a region; any other reads as `en`.
        saved: `Saved`, or its fields as a mapping; what is no count is left out.
    """
    actions = _OFFERED.get(plan.path, _in_a_persons_hands(error.failure_class))
    return UserNotice(
        code=code(error.failure_class, plan.path),
        message=user_message(error.failure_class, plan.path, locale),
        saved=_counts(saved),
        tone="red" if plan.reason is Reason.CRITICAL else "amber",
        options=tuple(
            Option(action=action, label=action_label(action, locale), recommended=place == 0)
            for place, action in enumerate(actions)
        ),
        retry_after_s=None if plan.retry_after_ms is None else -(-plan.retry_after_ms // _SECOND_MS),
        reference=_reference(),
        locale="zh" if language(locale) == "zh" else "en",
    )


def _in_a_persons_hands(failure_class: FailureClass) -> tuple[Action, ...]:
    again = Action.RETRY if failure_class is FailureClass.TOOL_FAILURE else Action.FIX
    return (Action.HAND_OVER, again)


def _counts(saved: Saved | Mapping[str, int] | None) -> Saved | None:
    if saved is None:
        return None
    try:
        return Saved.model_validate(saved)
    except ValidationError:
        _LOG.warning(
            "otel_aml: saved= holds something else than counts; give otel_aml.recover.notice.Saved "
            "(confirmed_evidence, edited_fields); the notice is made without"
        )
        return None


def _reference() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id)[:_REFERENCE] if context.is_valid else None
