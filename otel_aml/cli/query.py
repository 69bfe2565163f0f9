"""`otel-aml query`: a question of one's own to the tables."""

from __future__ import annotations

import csv as csv_module
import json as json_module
import math
import sys
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from otel_aml.cli.common import AsJson, ContractFile, Files, GoldFile, JudgedFile, console, reading, say
from otel_aml.offline import asking, cells
from otel_aml.offline.analysis import Given
from otel_aml.offline.render import visible

if TYPE_CHECKING:
    from otel_aml.offline.store import Answered

EXAMPLES: Final = """
Examples:

    otel-aml query "select class, count(*) from runs group by all order by all" store.duckdb

    otel-aml query cascades traces.jsonl

    otel-aml query "select name, count(*) from spans where status = 'error' group by all" traces/ --csv
"""


def query(  # noqa: PLR0913 - the options of the command
    question: Annotated[
        str,
        typer.Argument(
            metavar="SQL|REPORT",
            help="One select over spans, runs, checks, failures; or a report's name.",
            show_default=False,
        ),
    ],
    files: Files,
    *,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Print so many rows at most.")] = 1_000,
    seconds: Annotated[float, typer.Option("--seconds", min=0.001, help="Stop after so many seconds.")] = 60,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, safe for spreadsheets.")] = False,
    json: AsJson = False,
) -> None:
    """Ask the tables a question of your own; nothing is changed, and no other file is read."""
    given = Given(files=files, contract=contract, gold=gold, judged=judge)
    with reading() as on_bytes:
        answer = asking.answer(question, given, rows=rows, seconds=seconds, on_bytes=on_bytes)
    if json:
        _print_json(answer)
    elif csv:
        writer = csv_module.writer(sys.stdout, lineterminator="\n")
        writer.writerow(map(cells.guarded, answer.columns))
        writer.writerows([cells.guarded(_plain(value)) for value in row] for row in answer.rows)
    else:
        _draw(answer)
    if answer.is_cut:
        sys.stdout.flush()
        say(f"there are more than {rows} rows; give --rows for more")


def _print_json(answer: Answered) -> None:
    found = {
        "columns": list(answer.columns),
        "rows": [[_plain(value) for value in row] for row in answer.rows],
        "is_cut": answer.is_cut,
    }
    sys.stdout.write(f"{json_module.dumps(found, allow_nan=False)}\n")


def _plain(value: Any) -> Any:
    """Turn a value of a table into one of JSON; numbers that do not exist are null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else str(value)


def _draw(answer: Answered) -> None:
    table = Table(box=SIMPLE_HEAD, padding=0)
    for column in answer.columns:
        table.add_column(Text(visible(column)))
    for row in answer.rows:
        table.add_row(*(Text(visible("-" if value is None else str(_plain(value)))) for value in row))
    console().print(table)
