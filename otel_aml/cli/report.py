"""`otel-aml report`: how often each class comes first, what became of it, what to repair first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from otel_aml.cli import tables
from otel_aml.cli.common import (
    AsJson,
    ContractFile,
    Files,
    GoldFile,
    JudgedFile,
    Strict,
    check_strictly,
    console,
    reading,
    say_what_was_read,
)
from otel_aml.offline import render, reports
from otel_aml.offline.analysis import Given, analysed

if TYPE_CHECKING:
    from otel_aml.offline.analysis import Analysis

EXAMPLES: Final = """
Examples:

    otel-aml report traces.jsonl

    otel-aml report traces/*.jsonl.gz --gold gold.jsonl --json

    otel-aml report store.duckdb
"""


def report(  # noqa: PLR0913 - the options of the command
    files: Files,
    *,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Count first failures, recoveries, and what to repair first."""
    given = Given(files=files, contract=contract, gold=gold, judged=judge)
    with reading() as on_bytes, analysed(given, on_bytes=on_bytes) as analysis:
        show(analysis, json=json)
    check_strictly(analysis, strict=strict)


def show(analysis: Analysis, *, json: bool) -> None:
    """Print the report of an analysis."""
    found = reports.report(analysis)
    if json:
        render.report_json(analysis, found, sys.stdout)
        return
    tables.draw(found, console())
    sys.stdout.flush()
    say_what_was_read(analysis)
