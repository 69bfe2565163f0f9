"""The reports as typed rows: what the queries say, under the names of the machine-readable answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_aml.offline.analysis import Analysis


@dataclass(frozen=True, slots=True)
class _ReportRow:
    """A row of a report; its fields are the keys of its JSON object."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make it from a row of a query, whose columns carry the same names, some with their unit."""
        return cls(**{each.name: row[_COLUMNS.get(each.name, each.name)] for each in fields(cls)})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Give the keys of its JSON object."""
        return tuple(_CLASS.get(each.name, each.name) for each in fields(cls))

    def plain(self) -> dict[str, Any]:
        """Give it as the contract prints it."""
        return {_CLASS.get(name, name): value for name, value in asdict(self).items()}


MIN_BOTH: Final = 5
"""In how many runs two failures must be seen together to be shown as a pair."""
STRONG_Q: Final = 0.05
"""Pairs below it go together; of those that do, one in twenty by chance."""
_CLASS: Final = {"failure_class": "class"}
"""A word that Python keeps to itself."""
_COLUMNS: Final = {
    **_CLASS,
    "runs": "run_count",
    "decided": "decided_count",
    "findings": "finding_count",
    "recovered": "recovered_count",
    "first_failure": "first_failure_count",
    "naive": "naive_count",
    "before": "before_count",
    "after": "after_count",
    "ties": "tie_count",
    "cases": "case_count",
}


@dataclass(frozen=True, slots=True)
class TaxonomyRow(_ReportRow):
    """How often a class was the first failure.

    Args:
        decided: Runs in which its check was decided; None where no check decides it.
        rate: Of the decided, 0 to 1; None where there are none.
        share: Of the runs in the six, 0 to 1.
        findings: Runs in which its check fired, first or not.
        recovered: Failures of it that a later call made good.
    """

    failure_class: str
    runs: int
    decided: int | None
    rate: float | None
    share: float | None
    severity: str | None
    weight: int | None
    findings: int | None
    recovered: int | None


@dataclass(frozen=True, slots=True)
class RecoveryRow(_ReportRow):
    """How often a way out was taken, and how it ended."""

    path: str
    outcome: str
    runs: int
    median_attempts: float | None


@dataclass(frozen=True, slots=True)
class RepairRow(_ReportRow):
    """One place of the repair queue."""

    failure_class: str
    severity: str
    runs: int


@dataclass(frozen=True, slots=True)
class CascadeRow(_ReportRow):
    """Two failures seen together. The names of its sides say which is seen first, not what brings what about.

    Args:
        grain: `class` or `symptom`.
        runs: Runs in which both checks were decided.
        conviction: None where it is infinite, or 0/0.
        q_value: Whether the two go together, over all tested pairs of the grain.
        before: Runs in which the cause is seen first.
        q_order: Whether the cause precedes; None where no order is seen.
        cases: Distinct cases.
    """

    grain: str
    cause: str
    effect: str
    runs: int
    n_cause: int
    n_effect: int
    n_both: int
    support: float
    confidence: float
    lift: float
    max_lift: float
    leverage: float
    conviction: float | None
    p_value: float
    q_value: float
    before: int
    after: int
    ties: int
    p_order: float | None
    q_order: float | None
    median_lag_ms: float | None
    cases: int

    @property
    def co_occurs(self) -> bool:
        """Whether the two go together more often than chance would have it."""
        return self.q_value < STRONG_Q

    @property
    def precedes(self) -> bool:
        """Whether the first is seen before the second more often than chance would have it."""
        return self.q_order is not None and self.q_order < STRONG_Q


@dataclass(frozen=True, slots=True)
class ToolFailureRow(_ReportRow):
    """In how many runs a tool or a service failed for good in one way; None where it is not known which."""

    dependency: str | None
    error_type: str | None
    runs: int


@dataclass(frozen=True, slots=True)
class Inflation(_ReportRow):
    """First failures against what a naive count would see."""

    first_failure: int
    naive: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """The verdict of one run."""

    trace_id: str
    span_id: str
    failure_class: str
    severity: str | None
    findings: tuple[str, ...]
    unchecked: tuple[str, ...]
    recovered: int
    first_span_id: str | None
    paused: bool
    incomplete: bool
    path: str | None
    outcome: str
    coverage: str
    case_id: str | None
    online_class: str | None
    decided_by: str
    dependency: str | None
    error_type: str | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make it from a row of `runs`."""
        found: dict[str, Any] = {each.name: row[_CLASS.get(each.name, each.name)] for each in fields(cls)}
        found["findings"], found["unchecked"] = tuple(row["findings"]), tuple(row["unchecked"])
        return cls(**found)

    def plain(self) -> dict[str, Any]:
        """Give it as the contract prints it."""
        return {_CLASS.get(name, name): value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Report:
    """All that `otel-aml report` shows.

    Args:
        min_both: In how many runs a pair of the cascades must be seen together.
        synthetic: How many of the runs were made up.
    """

    taxonomy: tuple[TaxonomyRow, ...]
    cascades: tuple[CascadeRow, ...]
    recovery: tuple[RecoveryRow, ...]
    repair_order: tuple[RepairRow, ...]
    tool_failures: tuple[ToolFailureRow, ...]
    inflation: Inflation
    min_both: int
    synthetic: int


def report(analysis: Analysis, *, min_both: int = MIN_BOTH) -> Report:
    """Ask every report.

    Args:
        analysis: What was read.
        min_both: In how many runs a pair of the cascades must be seen together.
    """
    (inflation,) = map(Inflation.of, analysis.rows("inflation"))
    (synthetic,) = analysis.rows("synthetic")
    return Report(
        taxonomy=tuple(map(TaxonomyRow.of, analysis.rows("taxonomy_frequency"))),
        cascades=tuple(map(CascadeRow.of, analysis.rows("cascades", min_both=min_both))),
        recovery=tuple(map(RecoveryRow.of, analysis.rows("recovery_outcomes"))),
        repair_order=tuple(map(RepairRow.of, analysis.rows("repair_order"))),
        tool_failures=tuple(map(ToolFailureRow.of, analysis.rows("tool_failures"))),
        inflation=inflation,
        min_both=min_both,
        synthetic=synthetic["run_count"],
    )


def runs(analysis: Analysis) -> Iterator[RunRow]:
    """Go through the verdicts, by trace and root."""
    return map(RunRow.of, analysis.rows("runs"))
