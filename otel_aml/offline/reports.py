"""The reports as typed rows: what the queries say, under the names of the machine-readable answers."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from datetime import datetime  # noqa: TC003 - the types of the columns are read from the fields
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from otel_aml.conventions import NAMES_GIVEN
from otel_aml.errors import ConfigurationError
from otel_aml.offline.frames import ReportRow, Rows
from otel_aml.offline.insight import headline, passing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_aml.offline.analysis import Analysis

MIN_BOTH: Final = 5
"""In how many runs two failures must be seen together to be shown as a pair."""
STRONG_Q: Final = 0.05
"""Pairs below it go together; of those that do, one in twenty by chance."""
STRETCHES: Final = 48
"""In so many stretches of time the trend is told at most."""
VALUES: Final[Mapping[str, int | str]] = MappingProxyType(
    {"min_both": MIN_BOTH, "most": STRETCHES, "names": f"^({'|'.join(map(re.escape, NAMES_GIVEN))})$"}
)
"""What queries take, where nobody says otherwise."""
_CLASS: Final = {"failure_class": "class"}
"""A word that Python keeps to itself."""


@dataclass(frozen=True, slots=True)
class TaxonomyRow(ReportRow):
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
class RecoveryRow(ReportRow):
    """How often a way out was taken, and how it ended."""

    path: str
    outcome: str
    runs: int
    median_attempts: float | None


@dataclass(frozen=True, slots=True)
class RepairRow(ReportRow):
    """One place of the repair queue."""

    failure_class: str
    severity: str
    runs: int


@dataclass(frozen=True, slots=True)
class CascadeRow(ReportRow):
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
class ToolFailureRow(ReportRow):
    """In how many runs a tool or a service failed for good in one way; None where it is not known which."""

    dependency: str | None
    error_type: str | None
    runs: int


@dataclass(frozen=True, slots=True)
class Inflation(ReportRow):
    """First failures against what a naive count would see."""

    first_failure: int
    naive: int


@dataclass(frozen=True, slots=True)
class PassRate(ReportRow):
    """How many of the runs that ended have passed.

    Args:
        ended: Runs that were not cancelled, and that do not wait for a person.
        checked: Of these, runs that failed, that are unclassified, or of which a check was decided.
        passed: Of the checked, runs that pass; a run of which nothing was checked has not.
        rate: Passed of checked, 0 to 1; None where there are none.
    """

    ended: int = 0
    checked: int = 0
    passed: int = 0
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class TrendRow(ReportRow):
    """In how many of the runs that started in a stretch of time a class was the verdict.

    Args:
        started_at: When the stretch begins, UTC.
        seconds: How long it lasts.
    """

    started_at: datetime
    seconds: int
    failure_class: str
    runs: int


@dataclass(frozen=True, slots=True)
class FlowRow(ReportRow):
    """What was done about a class of failure, and how it ended."""

    failure_class: str
    path: str
    outcome: str
    runs: int


@dataclass(frozen=True, slots=True)
class CoverageRow(ReportRow):
    """In how many runs a check fired, was clear, or could not be decided."""

    failure_class: str
    fired: int
    clear: int
    unchecked: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that `otel-aml report` shows.

    Args:
        min_both: In how many runs a pair of the cascades must be seen together.
        synthetic: How many of the runs were made up.
    """

    taxonomy: Rows[TaxonomyRow] = Rows(TaxonomyRow)  # noqa: RUF009 - it is frozen
    cascades: Rows[CascadeRow] = Rows(CascadeRow)  # noqa: RUF009
    recovery: Rows[RecoveryRow] = Rows(RecoveryRow)  # noqa: RUF009
    repair_order: Rows[RepairRow] = Rows(RepairRow)  # noqa: RUF009
    tool_failures: Rows[ToolFailureRow] = Rows(ToolFailureRow)  # noqa: RUF009
    trend: Rows[TrendRow] = Rows(TrendRow)  # noqa: RUF009
    recovery_flow: Rows[FlowRow] = Rows(FlowRow)  # noqa: RUF009
    coverage: Rows[CoverageRow] = Rows(CoverageRow)  # noqa: RUF009
    inflation: Inflation
    pass_rate: PassRate = PassRate()
    min_both: int
    synthetic: int

    @property
    def tables(self) -> dict[str, Rows[Any]]:
        """The tables by their names in the machine-readable answers."""
        found = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: rows for name, rows in found if isinstance(rows, Rows)}

    def df(self, table: str = "taxonomy") -> Any:
        """Give one of the tables as a `pandas.DataFrame`.

        Raises:
            ConfigurationError: There is no such table, or pandas is not installed.
        """
        return self._table(table).df()

    def arrow(self, table: str = "taxonomy") -> Any:
        """Give one of the tables as a `pyarrow.Table`.

        Raises:
            ConfigurationError: There is no such table, or pyarrow is not installed.
        """
        return self._table(table).arrow()

    def _table(self, name: str) -> Rows[Any]:
        if name not in self.tables:
            raise ConfigurationError(f"no table {name!r} in a report; there are {', '.join(self.tables)}")
        return self.tables[name]

    def _repr_html_(self) -> str:
        """Show it in a notebook: what to know first, then the tables."""
        shown = "".join(
            f"<h4>{name.replace('_', ' ')}</h4>{rows.html()}"
            for name, rows in self.tables.items()
            if rows and name != "trend"
        )
        first = headline(self)
        said = escape(" ".join((first.why_no_cascade, first.why_repair, *passing(self))).strip())
        return f"<h3>{escape(first.sentence)}</h3><p>{said}</p>{shown}"


Kind = TypeVar("Kind", bound=ReportRow)


def report(analysis: Analysis, *, min_both: int = MIN_BOTH) -> Report:
    """Ask every report.

    Args:
        analysis: What was read.
        min_both: In how many runs a pair of the cascades must be seen together.
    """

    def rows(kind: type[Kind], query: str, **values: Any) -> Rows[Kind]:
        return Rows(kind, tuple(map(kind.of, analysis.rows(query, **values))))

    (inflation,) = map(Inflation.of, analysis.rows("inflation"))
    (pass_rate,) = map(PassRate.of, analysis.rows("pass_rate"))
    (synthetic,) = analysis.rows("synthetic")
    return Report(
        taxonomy=rows(TaxonomyRow, "taxonomy_frequency"),
        cascades=rows(CascadeRow, "cascades", min_both=min_both),
        recovery=rows(RecoveryRow, "recovery_outcomes"),
        repair_order=rows(RepairRow, "repair_order"),
        tool_failures=rows(ToolFailureRow, "tool_failures"),
        trend=rows(TrendRow, "trend", most=STRETCHES),
        recovery_flow=rows(FlowRow, "recovery_flow"),
        coverage=rows(CoverageRow, "check_coverage"),
        inflation=inflation,
        pass_rate=pass_rate,
        min_both=min_both,
        synthetic=synthetic["run_count"],
    )


def unnamed(analysis: Analysis) -> frozenset[str]:
    """List the names of what failed that no span gives to a tool, a model, a retriever or an agent."""
    return frozenset(row["dependency"] for row in analysis.rows("unnamed_dependencies", names=VALUES["names"]))


def runs(analysis: Analysis) -> Iterator[RunRow]:
    """Go through the verdicts, by trace and root."""
    return map(RunRow.of, analysis.rows("runs"))
