"""What waits and what was done, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_aml.recover.takeover import statements as sql
from otel_aml.recover.takeover.chain import Act
from otel_aml.recover.takeover.task import Choice, TaskKind

if TYPE_CHECKING:
    from otel_aml.recover.takeover.database import Session


def numbers(session: Session, now_us: int) -> dict[str, Any]:
    """Count; the names are those that `TakeoverQueue.stats` explains."""
    (counts,) = session.rows(sql.COUNTS, now=now_us)
    kinds = {row["kind"]: int(row["n"]) for row in session.rows(sql.KINDS)}
    choices = {row["choice"]: int(row["n"]) for row in session.rows(sql.CHOICES)}
    acts = {row["act"]: int(row["n"]) for row in session.rows(sql.ACTS)}
    oldest = counts["oldest_us"]
    return {
        **{name: int(counts[name] or 0) for name in ("open", "waiting", "claimed", "decided")},
        "open_by_kind": {str(kind): kinds.get(kind, 0) for kind in TaskKind},
        "oldest_age_seconds": 0.0 if oldest is None else max(now_us - oldest, 0) / 1_000_000,
        **{name: int(counts[name] or 0) for name in ("overdue", "escalated", "unacknowledged")},
        "decisions_by_choice": {str(choice): choices.get(choice, 0) for choice in Choice},
        "holds": int(counts["holds"]),
        "submitted": acts.get(Act.SUBMITTED, 0),
        "escalations": acts.get(Act.ESCALATED, 0),
        "detail_views": acts.get(Act.DETAIL_VIEWED, 0),
        "deleted": acts.get(Act.DELETED, 0),
    }
