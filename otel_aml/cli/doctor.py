"""`otel-aml doctor`: is everything in place, and what to do next."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from typing import Annotated, Final

import typer

from otel_aml.cli.common import AsJson, ContractFile, GoldFile, JudgedFile, reading
from otel_aml.offline import health, render
from otel_aml.offline.analysis import Given

EXAMPLES: Final = """
Examples:

    otel-aml doctor

    otel-aml doctor traces.jsonl --gold gold.jsonl
"""
_MARKS: Final = {True: "fine", False: "mend", None: "    "}


def doctor(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]", help="Exported spans, or a store, to look at as well.", show_default=False),
    ] = None,
    *,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    json: AsJson = False,
) -> None:
    """Look at this environment and at exported spans: can every check run, and what to do next."""
    here = tuple(health.environment())
    seen: tuple[health.Sign, ...] = ()
    if files:
        given = Given(files=files, contract=contract, gold=gold, judged=judge)
        with reading() as on_bytes:
            seen = health.files(given, on_bytes=on_bytes)
    todo = health.next_step((*here, *seen)) if files else _without_files(here)
    if json:
        answer = {
            "environment": [asdict(each) for each in here],
            "files": [asdict(each) for each in seen],
            "next": todo,
        }
        sys.stdout.write(f"{json_module.dumps(answer, indent=2)}\n")
        return
    for sign in (*here, *seen):
        sys.stdout.write(f"{render.visible(f'{_MARKS[sign.is_fine]}  {sign.name:<20}  {sign.found}', 200)}\n")
    sys.stdout.write(f"\nnext: {todo}\n")


def _without_files(here: tuple[health.Sign, ...]) -> str:
    mend = next((sign.todo for sign in here if sign.is_fine is False and sign.todo), None)
    return mend or "export some runs and look at them: otel-aml doctor traces.jsonl"
