"""`otel-aml report`: how often each class comes first, what goes together, what became of it, what to repair first."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - read when the command is declared
from typing import TYPE_CHECKING, Annotated, Final

import typer

from otel_aml.cli import tables
from otel_aml.cli.common import (
    AsJson,
    ContractFile,
    Files,
    GoldFile,
    JudgedFile,
    Strict,
    check_runs,
    check_strictly,
    console,
    reading,
    say,
    say_what_was_read,
)
from otel_aml.errors import ConfigurationError
from otel_aml.offline import cells, onepage, render, reports
from otel_aml.offline.analysis import Given, analysed, spare_inputs

if TYPE_CHECKING:
    from otel_aml.offline.analysis import Analysis
    from otel_aml.offline.reports import Report

EXAMPLES: Final = """
Examples:

    otel-aml report traces.jsonl

    otel-aml report traces/*.jsonl.gz --gold gold.jsonl --json

    otel-aml report store.duckdb --min-both 20 --csv tables/

    otel-aml report store.duckdb --html report.html
"""


MinBoth = Annotated[
    int, typer.Option("--min-both", min=1, help="Show pairs of failures that are seen together in so many runs.")
]


def report(  # noqa: PLR0913 - the options of the command
    files: Files,
    *,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    min_both: MinBoth = reports.MIN_BOTH,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="PATH", help="Also write CSV: one .csv file, or a file a table into a folder."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="PATH", help="Also write a page: one file to look at, to mail, to print."),
    ] = None,
    internal: Annotated[
        bool,
        typer.Option(
            "--internal", help="The page also says what exceptions say: for operators, it may hold personal data."
        ),
    ] = False,
    json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Count first failures, what goes together, recoveries, and what to repair first."""
    given = Given(files=files, contract=contract, gold=gold, judged=judge)
    if internal and html is None:
        raise ConfigurationError("--internal is about the page; give --html PATH as well")
    for written in filter(None, (csv, html)):
        spare_inputs(written, given)
    with reading() as on_bytes, analysed(given, on_bytes=on_bytes) as analysis:
        found = reports.report(analysis, min_both=min_both)
        if csv is not None and analysis.read.runs:
            cells.write(found, csv)
        size = onepage.write(analysis, found, html, internal=internal) if html and analysis.read.runs else 0
        show(analysis, found, json=json)
    if size:
        say(f"wrote {str(html)!r}, {size / 1_024:.0f} KiB: open it in a browser")
    check_runs(analysis)
    check_strictly(analysis, strict=strict)


def show(analysis: Analysis, found: Report, *, json: bool) -> None:
    """Print the report of an analysis."""
    if json:
        render.report_json(analysis, found, sys.stdout)
        return
    if analysis.read.runs:
        tables.draw(found, console())
    sys.stdout.flush()
    say_what_was_read(analysis)
