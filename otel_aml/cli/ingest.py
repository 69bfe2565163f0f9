"""`otel-aml ingest`: verdicts and spans into a store, to be asked again."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - read when the command is declared
from typing import Annotated, Final

import typer

from otel_aml.cli.common import (
    ContractFile,
    Files,
    GoldFile,
    JudgedFile,
    Strict,
    check_strictly,
    reading,
    say,
    say_what_was_read,
)
from otel_aml.errors import ConfigurationError
from otel_aml.offline import analysis, appending
from otel_aml.offline.analysis import Given

EXAMPLES: Final = """
Examples:

    otel-aml ingest traces/ --into store.duckdb

    otel-aml ingest telemetry/ --into store.duckdb --append

    otel-aml ingest traces.jsonl.zst --into parquet/ --keep-text --contract contract.json
"""


def ingest(  # noqa: PLR0913 - the options of the command
    files: Files,
    *,
    into: Annotated[
        Path,
        typer.Option(
            "--into", metavar="PATH", help="A .duckdb file, or a folder for Parquet files.", show_default=False
        ),
    ],
    keep_text: Annotated[
        bool, typer.Option("--keep-text", help="Also keep texts longer than 512 bytes: prompts, answers, notes.")
    ] = False,
    append: Annotated[
        bool,
        typer.Option("--append", help="Add what is new in the files to a .duckdb store; make it if there is none."),
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a store that is there already.")] = False,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    strict: Strict = False,
) -> None:
    """Draw the verdicts with the full texts, and keep them in a store."""
    if append and replace:
        raise ConfigurationError("--append adds to a store and --replace makes it anew; give one of them")
    given = Given(files=files, contract=contract, gold=gold, judged=judge)
    with reading() as on_bytes:
        if append:
            done = appending.append(given, into, keep_text=keep_text, on_bytes=on_bytes)
        else:
            done = analysis.ingest(given, into, keep_text=keep_text, replace=replace, on_bytes=on_bytes)
    say_what_was_read(done)
    say(f"wrote {str(into)!r}; ask it with: otel-aml report {into}")
    check_strictly(done, strict=strict)
