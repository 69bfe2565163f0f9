"""A report as tables on a terminal: draws, never counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from otel_aml.offline.insight import passing
from otel_aml.offline.render import visible
from otel_aml.offline.reports import STRONG_Q

if TYPE_CHECKING:
    from rich.console import Console

    from otel_aml.offline.reports import Report

_SYMPTOM: Final = 32
_TOOLS_SHOWN: Final = 20
_FEW: Final = 10
"""A pair that was seen together in fewer runs is marked."""
_SYNTHETIC: Final = "SYNTHETIC DATA: {synthetic} of these runs were made up by a generator"


def draw(report: Report, console: Console) -> None:
    """Draw the tables of a report."""
    if report.synthetic:
        console.print(Text(_SYNTHETIC.format(synthetic=report.synthetic), style="bold reverse"))
    console.print(_taxonomy(report))
    for sentence in passing(report):
        console.print(Text(sentence))
    console.print()
    if any(row.co_occurs for row in report.cascades):
        console.print(_cascades(report))
    console.print(Text(_about_cascades(report)))
    console.print()
    for table in (_recovery(report), _repair(report)):
        console.print(table)
    if report.tool_failures:
        console.print(_tool_failures(report))
    inflation = report.inflation
    console.print(
        Text(
            f"{inflation.first_failure} runs failed; counting every symptom would say {inflation.naive}.\n"
            "rate: of the runs in which that check was decided. share: of the runs that failed."
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


def _cascades(report: Report) -> Table:
    table = _table(f"Go together (q < {STRONG_Q:g})", "failure")
    table.add_column("goes with")
    for name in ("both", "lift", "max", "co-occurs q", "before", "after", "precedes q"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in report.cascades:
        if row.co_occurs:
            table.add_row(
                visible(row.cause, _SYMPTOM),
                visible(row.effect, _SYMPTOM),
                str(row.n_both),
                f"{row.lift:.1f}",
                f"{row.max_lift:.1f}",
                f"{row.q_value:.2g}",
                str(row.before),
                str(row.after),
                "-" if row.q_order is None else f"{row.q_order:.2g}",
                f"rests on {row.n_both} runs" if row.n_both < _FEW else "",
            )
    return table


def _about_cascades(report: Report) -> str:
    weak = sum(not row.co_occurs for row in report.cascades)
    strong = len(report.cascades) - weak
    found = f"{weak} further pairs do not" if strong else f"No two failures go together (q < {STRONG_Q:g})"
    return (
        f"{found}. Shown: pairs seen together in {report.min_both} runs or more, of those in which both checks were\n"
        f"decided. Tested: all pairs that are frequent enough to be."
    )


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


def _tool_failures(report: Report) -> Table:
    table = _table("Tool failures by dependency and error", "dependency")
    table.add_column("error")
    table.add_column("runs", justify="right")
    for row in report.tool_failures[:_TOOLS_SHOWN]:
        table.add_row(
            visible(_or_dash(row.dependency), _SYMPTOM), visible(_or_dash(row.error_type), _SYMPTOM), str(row.runs)
        )
    further = len(report.tool_failures) - _TOOLS_SHOWN
    if further > 0:
        table.caption = f"{further} further rows are listed by --json"
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
