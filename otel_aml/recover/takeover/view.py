"""What the queue shows of a task. None of it has a place for the technical detail."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from otel_aml.core.taxonomy import FailureClass
from otel_aml.recover.takeover.decision import Decision, decision_of
from otel_aml.recover.takeover.jsontext import parsed
from otel_aml.recover.takeover.moments import moment, moment_or_none
from otel_aml.recover.takeover.task import Choice, ResumePlan, TaskKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from otel_aml.recover.takeover.database import Row


class TaskStatus(StrEnum):
    """How far a task is. Time alone never ends one."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    DECIDED = "decided"


class ReviewState(StrEnum):
    """The state of the review step that a page draws."""

    WAITING = "waiting"
    IN_REVIEW = "in_review"
    ERROR = "error"
    RETURNED = "returned"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETRYING = "retrying"


_AFTER = {
    Choice.APPROVE: ReviewState.APPROVED,
    Choice.EDIT: ReviewState.APPROVED,
    Choice.RETURNED: ReviewState.RETURNED,
    Choice.REJECT: ReviewState.REJECTED,
    Choice.RETRY: ReviewState.RETRYING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """A task as a list shows it.

    Args:
        status: `waiting` (nobody holds it), `claimed`, `decided`.
        age_seconds: Since it was submitted; of a decided one, until the decision.
        is_overdue: Whether it is undecided though `expires_at` or `due_at` has passed.
        escalation: How often passing one of them has been escalated: 0, 1 or 2.
        state_bytes: How long the state is.
        has_technical_detail: Whether there is one, which `technical_detail` gives and logs.
        on_hold: Whether a legal hold keeps it beyond its time.
    """

    id: str
    kind: TaskKind
    status: TaskStatus
    case_id: str | None
    trace_id: str | None
    failure_class: FailureClass | None
    step_id: str | None
    user_message: str
    plan: ResumePlan
    choices: tuple[Choice, ...]
    author: str | None
    typology: str | None
    follows: str | None
    created_at: datetime
    due_at: datetime | None
    expires_at: datetime | None
    age_seconds: float
    is_overdue: bool
    escalation: int
    claimed_by: str | None
    claimed_at: datetime | None
    lease_ends_at: datetime | None
    state_bytes: int
    has_technical_detail: bool
    on_hold: bool
    decision: Decision | None

    @property
    def review(self) -> ReviewState:
        """The state of the review step."""
        if self.decision is not None:
            return _AFTER[self.decision.choice]
        if self.kind is TaskKind.ERROR_REVIEW:
            return ReviewState.ERROR
        return ReviewState.IN_REVIEW if self.status is TaskStatus.CLAIMED else ReviewState.WAITING

    def plain(self) -> dict[str, Any]:
        """Give it as a JSON object; moments as ISO 8601 in UTC."""
        found: dict[str, Any] = {name: getattr(self, name) for name in TaskSummary.__slots__}
        found |= {name: value.isoformat() for name, value in found.items() if hasattr(value, "isoformat")}
        found["review"] = str(self.review)
        found["plan"] = self.plan.plain()
        found["choices"] = list(self.choices)
        found["decision"] = None if self.decision is None else self.decision.plain()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedTask(TaskSummary):
    """A task as its own page shows it: the summary, the state, and what is asked.

    Args:
        state_json: The state as it was given, byte for byte.
        response_schema: The flat schema of the further answers, if any are asked for.
    """

    state_json: str = field(repr=False)
    response_schema: Mapping[str, Any] | None

    @property
    def state(self) -> Any:
        """The state as a value, made anew each time."""
        return parsed(self.state_json, "the state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """How an investigation goes on after the decision.

    Args:
        task_id: The task.
        decision: What was decided.
        plan: What is done, what is left, where to enter.
        goes_on: Whether there is something left to run: not after `returned` or `reject`.
        state_json: The work to go on with: the corrected one of an `edit`, else as it was frozen.
    """

    task_id: str
    decision: Decision
    plan: ResumePlan
    goes_on: bool
    state_json: str = field(repr=False)

    @property
    def state(self) -> Any:
        """The work as a value, made anew each time."""
        return parsed(self.state_json, "the state")


def summary_of(row: Row, now_us: int) -> TaskSummary:
    """Show a row of the table as it stands at a moment."""
    return TaskSummary(**_shown(row, now_us))


def task_of(row: Row, now_us: int) -> QueuedTask:
    """Show a row of the table with its state."""
    schema = row["response_schema"]
    return QueuedTask(
        **_shown(row, now_us),
        state_json=row["state"],
        response_schema=None if schema is None else parsed(schema, "the schema"),
    )


def resumption_of(row: Row) -> Resumption | None:
    """Say how it goes on; None while it is undecided."""
    decision = decision_of(row)
    if decision is None:
        return None
    plan = _plan(row)
    return Resumption(
        task_id=row["id"],
        decision=decision,
        plan=plan,
        goes_on=bool(plan.left) and decision.choice not in {Choice.RETURNED, Choice.REJECT},
        state_json=row["state"] if decision.edited_json is None else decision.edited_json,
    )


def _shown(row: Row, now_us: int) -> dict[str, Any]:
    decision = decision_of(row)
    is_claimed = decision is None and row["lease_us"] > now_us
    urgent = [each for each in (row["due_us"], row["expires_us"]) if each is not None]
    until = now_us if decision is None else row["decided_us"]
    undecided = TaskStatus.CLAIMED if is_claimed else TaskStatus.WAITING
    return {
        **{name: row[name] for name in ("id", "case_id", "trace_id", "step_id", "user_message", "author", "typology")},
        **{name: row[name] for name in ("follows", "escalation", "state_bytes")},
        "kind": TaskKind(row["kind"]),
        "status": undecided if decision is None else TaskStatus.DECIDED,
        "failure_class": None if row["failure_class"] is None else FailureClass(row["failure_class"]),
        "plan": _plan(row),
        "choices": tuple(map(Choice, parsed(row["choices"], "the choices"))),
        "created_at": moment(row["created_us"]),
        "due_at": moment_or_none(row["due_us"]),
        "expires_at": moment_or_none(row["expires_us"]),
        "age_seconds": max(until - row["created_us"], 0) / 1_000_000,
        "is_overdue": decision is None and any(each <= now_us for each in urgent),
        "claimed_by": row["claimed_by"] if is_claimed else None,
        "claimed_at": moment(row["claimed_us"]) if is_claimed else None,
        "lease_ends_at": moment(row["lease_us"]) if is_claimed else None,
        "has_technical_detail": row["detail_length"] > 0,
        "on_hold": row["holds"] > 0,
        "decision": decision,
    }


def _plan(row: Row) -> ResumePlan:
    return ResumePlan(**parsed(row["plan"], "the plan"))
