"""What is handed to a person: a failed investigation, or a finished draft, frozen with all that was done right."""

from __future__ import annotations

import re
import uuid
from dataclasses import InitVar, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from otel_aml.core.messages import user_message
from otel_aml.core.taxonomy import FailureClass, RecoveryPath
from otel_aml.errors import InvalidTask
from otel_aml.recover.takeover.jsontext import json_text
from otel_aml.recover.takeover.moments import microseconds
from otel_aml.recover.takeover.responses import checked_schema
from otel_aml.recover.takeover.texts import checked_name, checked_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from otel_aml.core.recovery import StepError

_E = TypeVar("_E", bound=StrEnum)


class TaskKind(StrEnum):
    """Why a person is asked."""

    SAR_APPROVAL = "sar_approval"
    ERROR_REVIEW = "error_review"


class Choice(StrEnum):
    """What a person can decide."""

    APPROVE = "approve"
    EDIT = "edit"
    RETURNED = "returned"
    REJECT = "reject"
    RETRY = "retry"


CHOICES: Final[Mapping[TaskKind, tuple[Choice, ...]]] = MappingProxyType(
    {
        TaskKind.SAR_APPROVAL: (Choice.APPROVE, Choice.EDIT, Choice.RETURNED, Choice.REJECT),
        TaskKind.ERROR_REVIEW: (Choice.RETRY, Choice.EDIT, Choice.APPROVE, Choice.RETURNED, Choice.REJECT),
    }
)
"""What can be decided, unless the task says otherwise."""

DETAIL_BYTES: Final = 64 * 1024
_IDS: Final = re.compile(r"[A-Za-z0-9._:@/+-]{1,200}")
_TRACE_ID: Final = re.compile(r"[0-9a-fA-F]{32}")
_NO_FAILURES: Final = frozenset({FailureClass.PASS, FailureClass.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePlan:
    """How an investigation goes on from where it stopped.

    Args:
        done: The steps that are done and will not run again, in order, as the app names them.
        left: The steps that are left, in order.
        enter_at: Where to enter: one of those left; the first of them unless said.

    Raises:
        InvalidTask: A step is named twice, or the entry is none of those left.
    """

    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    enter_at: str | None = None

    def __post_init__(self) -> None:
        for name in ("done", "left"):
            _set(self, name, tuple(checked_name(step, "a step") for step in _several(getattr(self, name), name)))
        steps = (*self.done, *self.left)
        if len(set(steps)) < len(steps):
            raise InvalidTask("a step of the plan is named twice; a step is either done or left")
        if self.enter_at is None:
            _set(self, "enter_at", self.left[0] if self.left else None)
        elif self.enter_at not in self.left:
            raise InvalidTask(f"the plan enters at {self.enter_at!r}, which is none of the steps left: {self.left}")

    def plain(self) -> dict[str, Any]:
        """Give it as a JSON object."""
        return {"done": list(self.done), "left": list(self.left), "enter_at": self.enter_at}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalTask:
    """One thing that a person is to decide. Checked as it is made, so that a queue takes it whole or not at all.

    Args:
        kind: `sar_approval` (a finished draft) or `error_review` (an investigation that stopped).
        state: The work as it stands: any JSON value, or `bytes`, which are a JSON document and are kept byte for byte.
            At most 5 MiB as JSON.
        id: 1 to 200 letters, digits and `._:@/+-`. Give one that the app can make again (a thread and a step), and a
            submission that is repeated after a crash is the same task; unless given it is drawn.
        case_id: The case.
        trace_id: 32 hex: the run, which the labels of a decision belong to.
        failure_class: What failed; needed for an `error_review`.
        step_id: Where, as the app names the step.
        user_message: What the user was told; from the catalogue in `core.messages` unless given.
        plan: What is done, what is left, where to enter.
        choices: What can be decided; `CHOICES` of the kind unless given.
        response_schema: A flat JSON Schema of further answers: an object whose properties are texts, numbers or
            booleans.
        author: Who made what is to be decided: a person, or the agent. They cannot decide it. Needed for a
            `sar_approval`.
        typology: What the draft concludes; an approval makes it a label.
        due_at: When the work must be done, from the app (of a SAR 30 days after detection).
        expires_at: When a decision is missed. Passing it escalates; nothing is ever closed by time.
        follows: The id of the task that was `returned` and that this one answers.
        technical_detail: For operators only. No view of a task holds it; each look at it is logged.

    Raises:
        InvalidTask: Something given cannot be taken; the sentence says what.
    """

    kind: TaskKind
    state: InitVar[Any]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    case_id: str | None = None
    trace_id: str | None = None
    failure_class: FailureClass | None = None
    step_id: str | None = None
    user_message: str = ""
    plan: ResumePlan = field(default_factory=ResumePlan)
    choices: tuple[Choice, ...] = ()
    response_schema: Mapping[str, Any] | None = None
    author: str | None = None
    typology: str | None = None
    due_at: datetime | None = None
    expires_at: datetime | None = None
    follows: str | None = None
    technical_detail: str = field(default="", repr=False)
    state_json: str = field(init=False, repr=False)

    def __post_init__(self, state: Any) -> None:
        _set(self, "kind", member(TaskKind, self.kind, "kind"))
        _set(self, "id", checked_id(self.id))
        if self.follows is not None:
            checked_id(self.follows)
        _set(self, "state_json", json_text(state, "the state"))
        for name in ("case_id", "step_id", "author", "typology"):
            if getattr(self, name) is not None:
                checked_name(getattr(self, name), name)
        if self.trace_id is not None:
            _set(self, "trace_id", _checked_trace_id(self.trace_id))
        checked_text(self.user_message, "user_message")
        checked_text(self.technical_detail, "technical_detail", DETAIL_BYTES)
        if self.response_schema is not None:
            _set(self, "response_schema", checked_schema(self.response_schema))
        for name in ("due_at", "expires_at"):
            if getattr(self, name) is not None:
                microseconds(getattr(self, name), name)
        self._check_failure()
        self._check_choices()

    @classmethod
    def of_error(cls, error: StepError, *, state: Any, **more: Any) -> ApprovalTask:
        """Freeze an investigation at the step that failed.

        Args:
            error: What failed; its message, its step and its detail are taken over.
            state: The work as it stands.
            more: Any other argument of a task.
        """
        taken: dict[str, Any] = {
            "failure_class": error.failure_class,
            "step_id": error.step_id,
            "technical_detail": error.technical_detail,
        }
        return cls(kind=TaskKind.ERROR_REVIEW, state=state, **(taken | more))

    def _check_failure(self) -> None:
        if self.failure_class is not None:
            _set(self, "failure_class", member(FailureClass, self.failure_class, "failure_class"))
        if self.kind is TaskKind.SAR_APPROVAL:
            if self.author is None:
                raise InvalidTask("a sar_approval names no author; say who made the draft, who then cannot approve it")
            return
        if self.failure_class is None or self.failure_class in _NO_FAILURES:
            raise InvalidTask(f"an error_review has the failure_class {self.failure_class}; say what failed")
        if not self.user_message:
            _set(self, "user_message", user_message(self.failure_class, RecoveryPath.HUMAN_TAKEOVER))

    def _check_choices(self) -> None:
        given = _several(self.choices, "choices") or CHOICES[self.kind]
        _set(self, "choices", tuple(dict.fromkeys(member(Choice, each, "choice") for each in given)))


def member(kind: type[_E], value: object, what: str) -> _E:
    """Take one of a closed set.

    Raises:
        InvalidTask: It is none of them.
    """
    found = next((each for each in kind if each == value), None)
    if found is None:
        raise InvalidTask(f"{what} is {value!r:.60}; give one of {', '.join(kind)}")
    return found


def checked_id(value: object) -> str:
    """Take the id of a task.

    Raises:
        InvalidTask: It is none.
    """
    if not isinstance(value, str) or not _IDS.fullmatch(value):
        raise InvalidTask(f"{value!r:.60} is no id of a task; give 1 to 200 letters, digits and ._:@/+-")
    return value


def is_beginning(text: str) -> bool:
    """Whether the id of a task may begin so; an empty text begins every one."""
    return not text or _IDS.fullmatch(text) is not None


def _checked_trace_id(value: object) -> str:
    if not isinstance(value, str) or not _TRACE_ID.fullmatch(value):
        raise InvalidTask(f"trace_id is {value!r:.60}; give 32 hex digits, as OTLP prints it")
    return value.lower()


def _several(value: Iterable[Any], what: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        raise InvalidTask(f"{what} is one text; give a list of them")
    return tuple(value)


def _set(owner: object, name: str, value: object) -> None:
    object.__setattr__(owner, name, value)
