"""`otel-aml judge`: has the judge of `context_pollution` earned its say?"""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path  # noqa: TC003 - read when the command is declared
from typing import Annotated, Final

import typer

from otel_aml.cli.common import AsJson, say
from otel_aml.errors import InputError
from otel_aml.evals.calibration import calibrate as calibrated
from otel_aml.offline.render import visible

NOT_CALIBRATED: Final = 1
app = typer.Typer(
    help="The judge of context_pollution, held against people.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""
Examples:

    otel-aml judge calibrate labels.jsonl --out calibration.json

    otel-aml judge calibrate labels.jsonl --judged judged.jsonl --json
""",
)


@app.callback()
def _group() -> None:
    """Hold the judge of context_pollution against people."""


@app.command()
def calibrate(
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="Lines with a person's label and the judge's word.")],
    *,
    judged: Annotated[
        Path | None,
        typer.Option("--judged", metavar="JSONL", help="What the same judge said of runs without labels."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="JSON", help="Keep it for `gate --calibration`.")] = None,
    json: AsJson = False,
) -> None:
    """Hold the judge against people's labels; leave with 1 where it has not earned its say."""
    found = calibrated(labels, judged)
    plain = json_module.dumps(found.plain(), indent=2, allow_nan=False)
    if out is not None:
        try:
            out.write_text(f"{plain}\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{str(out)!r} cannot be written ({error.strerror}); give another path") from error
    if json:
        sys.stdout.write(f"{plain}\n")
    else:
        confusion = found.confusion
        sys.stdout.write(f"judge {visible(found.judge)}, rubric {visible(found.rubric)}\n")
        for name in ("agreement", "prevalence", "tpr", "tnr"):
            seen = getattr(confusion, name)
            interval = seen.interval
            shown = "-" if interval is None else f"{seen.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
            sys.stdout.write(f"{name:<11} {shown}, {seen.count} of {seen.of}\n")
        sys.stdout.write(f"{'kappa':<11} {'-' if confusion.kappa is None else f'{confusion.kappa:.2f}'}\n")
        if found.corrected is not None and found.corrected.value is not None and found.corrected.interval is not None:
            interval = found.corrected.interval
            sys.stdout.write(f"corrected   {found.corrected.value:.2f} ({interval.low:.2f} to {interval.high:.2f})\n")
    sys.stdout.flush()
    for shortfall in found.shortfalls:
        say(shortfall)
    say("the judge may gate" if found.passes else "judge not calibrated, offline reference only")
    if not found.passes:
        raise typer.Exit(NOT_CALIBRATED)
