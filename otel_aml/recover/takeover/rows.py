"""A task as a row of the table, and the fingerprint of what may not change in it."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from otel_aml.recover.takeover.chain import digest
from otel_aml.recover.takeover.jsontext import compact
from otel_aml.recover.takeover.moments import microseconds
from otel_aml.recover.takeover.texts import same_person

if TYPE_CHECKING:
    from otel_aml.recover.takeover.database import Row, Value
    from otel_aml.recover.takeover.task import ApprovalTask

NEVER: Final = 2**63 - 1
"""The last microsecond that a table holds."""

_GIVEN: Final = (
    "id", "kind", "case_id", "trace_id", "failure_class", "step_id", "author", "typology", "user_message", "plan",
    "choices", "response_schema", "follows", "state", "technical_detail",
)  # fmt: skip
SUBMITTED: Final = (*_GIVEN, "due_us", "expires_us", "created_us")
"""What a submission fixes."""
DECIDED: Final = ("choice", "decided_by", "decided_us", "said", "edited")
"""What a decision fixes."""


def row_of(task: ApprovalTask) -> dict[str, Value]:
    """Write a task as the columns that a submission fills."""
    due = None if task.due_at is None else microseconds(task.due_at)
    expires = None if task.expires_at is None else microseconds(task.expires_at)
    schema = task.response_schema
    return {
        "id": task.id,
        "kind": str(task.kind),
        "case_id": task.case_id,
        "trace_id": task.trace_id,
        "failure_class": None if task.failure_class is None else str(task.failure_class),
        "step_id": task.step_id,
        "author": task.author,
        "author_key": None if task.author is None else same_person(task.author),
        "typology": task.typology,
        "user_message": task.user_message,
        "plan": compact(task.plan.plain()),
        "choices": compact(list(task.choices)),
        "response_schema": None if schema is None else compact(schema),
        "follows": task.follows,
        "state": task.state_json,
        "state_bytes": len(task.state_json.encode()),
        "technical_detail": task.technical_detail,
        "salt": secrets.token_hex(16),
        "due_us": due,
        "expires_us": expires,
        "urgent_us": min(each for each in (due, expires, NEVER) if each is not None),
    }


def is_same(row: Row, other: Row) -> bool:
    """Whether two rows say the same of the same work; a deadline may have been reckoned anew."""
    return all(row[name] == other[name] for name in _GIVEN)


def fingerprint(row: Row, columns: tuple[str, ...]) -> str:
    """Digest columns of a row with its salt."""
    values: list[Any] = [row[name] for name in columns]
    return digest(row["salt"], *values)
