"""A report as tables on a terminal: draws, never counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from otel_aml.offline.reports import Report

_SYNTHETIC: Final = "SYNTHETIC DATA: {synthetic} of these runs were made up by a generator"


def draw(report: Report, console: Console) -> None:
    """Draw the tables of a report."""
    if report.synthetic:
        console.print(Text(_SYNTHETIC.format(synthetic=report.synthetic), style="bold reverse"))
    for table in (_taxonomy(report), _recovery(report), _repair(report)):
        console.print(table)
    inflation = report.inflation
    console.print(
        Text(
            f"{inflation.first_failure} runs failed; counting every symptom would say {inflation.naive}.\n"
            "rate: of the runs in which that check was decided. share: of the runs that failed.\n"
            "Paused and cancelled runs count neither as passes nor as failures."
        ),
    )


def _taxonomy(report: Report) -> Table:
    table = _table("First failures", "class", severity="left")
    for name in ("runs", "decided", "rate", "share", "findings", "recovered"):
        table.add_column(name, justify="right")
    for row in report.taxonomy:
        table.add_row(
            row.failure_class,
            _or_dash(row.severity),
            str(row.runs),
            _or_dash(row.decided),
            _percent(row.rate),
            _percent(row.share),
            _or_dash(row.findings),
            _or_dash(row.recovered),
        )
    return table


def _recovery(report: Report) -> Table:
    table = _table("Recovery", "path", outcome="left", runs="right")
    table.add_column("median attempts", justify="right")
    for row in report.recovery:
        attempts = "-" if row.median_attempts is None else f"{row.median_attempts:g}"
        table.add_row(row.path, row.outcome, str(row.runs), attempts)
    return table


def _repair(report: Report) -> Table:
    table = _table("Repair first: severity, then frequency", "class", severity="left", runs="right")
    for row in report.repair_order:
        table.add_row(row.failure_class, row.severity, str(row.runs))
    return table


def _table(title: str, first: str, **columns: Literal["left", "right"]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=0, min_width=42)
    table.add_column(first, no_wrap=True)
    for name, justify in columns.items():
        table.add_column(name, justify=justify)
    return table


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)
