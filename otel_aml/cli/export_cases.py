"""`otel-aml export-cases`: failed runs as cases for an evaluation suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from otel_aml.cli.common import ContractFile, Files, GoldFile, JudgedFile, reading, say, say_read
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.errors import ConfigurationError, NothingUnderstood
from otel_aml.evals import cases
from otel_aml.offline import render
from otel_aml.offline.analysis import Given

NONE: Final = 1
EXAMPLES: Final = """
Examples:

    otel-aml export-cases traces.jsonl --class hallucination --out evals/hallucination
"""


def export_cases(  # noqa: PLR0913 - the options of the command
    files: Files,
    *,
    failure_class: Annotated[str, typer.Option("--class", metavar="CLASS", help="One of the six.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder for the two files.")] = Path(),
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
) -> None:
    """Write the runs of a class as JSON lines and as pytest, redacted; leave with 1 where there are none."""
    word = failure_class.strip().lower().replace("-", "_")
    if word not in set(FAILURES):
        raise ConfigurationError(f"no class {failure_class!r} of the six; there are {', '.join(FAILURES)}")
    given = Given(files=files, contract=contract, gold=gold, judged=judge)
    with reading() as on_bytes:
        found = cases.export(given, FailureClass(word), on_bytes=on_bytes)
    if not found.read.runs:
        raise NothingUnderstood(render.no_runs(found.read))
    say_read(found.read, found.problems, found.runless)
    if not found.cases:
        say(f"{word} fired in none of {found.read.runs} runs; nothing is written")
        raise typer.Exit(NONE)
    lines, tests = cases.write(found, out)
    unseen = f"; {found.unseen} without their input, which was not recorded" if found.unseen else ""
    say(f"wrote {len(found.cases)} cases into {str(lines)!r} and {str(tests)!r}{unseen}")
