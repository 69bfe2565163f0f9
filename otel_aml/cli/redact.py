"""`otel-aml redact`: files without secrets and personal identifiers."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - read when the command is declared
from typing import TYPE_CHECKING, Annotated, Final

import typer

from otel_aml.cli.common import FAULT, AsJson, Files, Strict, reading, say
from otel_aml.errors import ConfigurationError
from otel_aml.offline import render, rewriting

if TYPE_CHECKING:
    from otel_aml.offline.rewriting import Redacted

EXAMPLES: Final = """
Examples:

    otel-aml redact traces.jsonl > clean.jsonl

    otel-aml redact telemetry/ --out clean/ --json

    otel-aml redact traces.jsonl.gz --in-place
"""


def redact(
    files: Files,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PATH", help="A new file, or a folder for several; without it, standard output."),
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Replace the files themselves, where all of their lines can be read.")
    ] = False,
    json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Replace secrets and personal identifiers by [redacted:RULE], in every text of OTLP JSON lines."""
    if out is not None and in_place:
        raise ConfigurationError("--out writes new files and --in-place replaces the old ones; give one of them")
    if json and out is None and not in_place:
        raise ConfigurationError("--json needs --out or --in-place: without them the lines go to standard output")
    with reading() as on_bytes:
        done = rewriting.redact(files, out=out, in_place=in_place, on_bytes=on_bytes)
    if json:
        sys.stdout.write(f"{json_module.dumps(_answer(done), indent=2)}\n")
    else:
        say(_summary(done))
        for line in render.problem_lines(done.problems.ordered()):
            say(line)
    for source in done.unchanged:
        say(f"{source} is as it was: a line of it could not be read, and would be lost; give --out to leave it out")
    if done.unchanged or (strict and done.bad_lines):
        raise typer.Exit(FAULT)


def _answer(done: Redacted) -> dict[str, object]:
    return {
        "read": {"files": done.files, "lines": done.lines, "bad_lines": done.bad_lines},
        "problems": [asdict(problem) for problem in done.problems.ordered()],
        "replaced": dict(sorted(done.replaced.items())),
        "written": done.written,
        "unchanged": done.unchanged,
    }


def _summary(done: Redacted) -> str:
    by_rule = ", ".join(f"{count} {rule}" for rule, count in sorted(done.replaced.items()))
    total = sum(done.replaced.values())
    left = f", {done.bad_lines} of them left out" if done.bad_lines else ""
    read = f"{render.many(done.files, 'file')}, {render.many(done.lines, 'line')}{left}"
    return f"read {read}; replaced {total}{f': {by_rule}' if by_rule else ''}"
