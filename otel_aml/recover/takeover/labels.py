"""Decisions as labels: lines that `--gold` and `--judge` read, and a full record for whoever calibrates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from otel_aml.recover.takeover.task import Choice

if TYPE_CHECKING:
    from otel_aml.recover.takeover.database import Row
    from otel_aml.recover.takeover.decision import Decision, HumanLabel


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedLabel:
    """One decision, and the run and case that it is about."""

    task_id: str
    kind: str
    case_id: str | None
    trace_id: str | None
    failure_class: str | None
    decision: Decision

    @classmethod
    def of(cls, row: Row, decision: Decision) -> DecidedLabel:
        """Take it from a row of the table."""
        return cls(
            task_id=row["id"],
            kind=row["kind"],
            case_id=row["case_id"],
            trace_id=row["trace_id"],
            failure_class=row["failure_class"],
            decision=decision,
        )

    def gold_line(self) -> dict[str, Any] | None:
        """Give what `--gold` reads; None where the decision says nothing of it, or the task names no run and no case.

        A task that names its run labels that run alone, else every run of its case.
        """
        label = self.decision.label.plain()
        said = {name: label[name] for name in ("typology", "doc_ids", "evidence_ids") if name in label}
        return self._about() | said if said and self._about() else None

    def judged_line(self) -> dict[str, Any] | None:
        """Give what `--judge` reads, the person being the judge; None where there is nothing of it."""
        used = self.decision.label.context_used
        if used is None or not self._about():
            return None
        return self._about() | {"context_used": used, "judge": self.decision.by}

    def plain(self) -> dict[str, Any]:
        """Give all of it as a JSON object: who, when, what, why."""
        return {
            "task_id": self.task_id,
            "kind": self.kind,
            "case_id": self.case_id,
            "trace_id": self.trace_id,
            "failure_class": self.failure_class,
            **self.decision.plain(),
        }

    def _about(self) -> dict[str, Any]:
        found = {"trace_id": self.trace_id, "case_id": self.case_id}
        return {name: value for name, value in found.items() if value is not None}


def with_approval(label: HumanLabel, choice: Choice, typology: str | None) -> HumanLabel:
    """Let an approval say that the task's own typology is the right one, unless the person names another."""
    if choice is Choice.APPROVE and label.typology is None:
        return replace(label, typology=typology)
    return label
