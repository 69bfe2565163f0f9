"""`otel-aml judge`: ask a judge of `context_pollution`, and see whether it has earned its say."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path  # noqa: TC003 - read when the command is declared
from typing import Annotated, Final

import typer

from otel_aml.cli.common import AsJson, ContractFile, Files, GoldFile, counting, reading, say, say_read
from otel_aml.errors import InputError, NothingUnderstood
from otel_aml.evals import judging
from otel_aml.evals.calibration import calibrate as calibrated
from otel_aml.evals.endpoint import openai_judge
from otel_aml.evals.jsonlines import read_lines
from otel_aml.evals.questions import gather
from otel_aml.offline import render
from otel_aml.offline.analysis import Given, spare_inputs
from otel_aml.offline.render import visible

NOT_CALIBRATED: Final = 1
NOTHING_TO_ASK: Final = 1
app = typer.Typer(
    help="The judge of context_pollution, held against people.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""
Examples:

    otel-aml judge questions traces.jsonl --gold gold.jsonl --notes notes.jsonl --out questions.jsonl

    otel-aml judge run questions.jsonl --model MODEL --out judged.jsonl

    otel-aml judge calibrate labels.jsonl --out calibration.json

    otel-aml judge calibrate labels.jsonl --judged judged.jsonl --json
""",
)


@app.callback()
def _group() -> None:
    """Hold the judge of context_pollution against people."""


@app.command()
def questions(
    files: Files,
    *,
    notes: Annotated[Path, typer.Option("--notes", metavar="JSONL", help="Lines with doc_id and text.")],
    out: Annotated[Path, typer.Option("--out", metavar="JSONL", help="Where the questions go, for `judge run`.")],
    contract: ContractFile = None,
    gold: GoldFile = None,
) -> None:
    """Write what a judge is to be asked of each run whose notes were retrieved; leave with 1 where there is none."""
    given = Given(files=files, contract=contract, gold=gold)
    spare_inputs(out, given)
    with reading() as on_bytes:
        found = gather(given, notes, on_bytes=on_bytes)
    say_read(found.read, found.problems, found.runless)
    if not found.read.runs:
        raise NothingUnderstood(render.no_runs(found.read))
    for reason, count in sorted(found.left_out.items()):
        say(f"{count} left out {reason}")
    if not found.questions:
        say(f"nothing to ask of {found.read.runs} runs; nothing is written")
        raise typer.Exit(NOTHING_TO_ASK)
    _write(out, "".join(f"{question.model_dump_json(exclude_none=True)}\n" for question in found.questions))
    say(f"wrote {len(found.questions)} questions into {str(out)!r}; they hold texts of the runs as they are")


@app.command()
def run(  # noqa: PLR0913 - the options of the command
    asking: Annotated[Path, typer.Argument(metavar="QUESTIONS", help="Lines with case_id, notes (texts) and answer.")],
    *,
    model: Annotated[str, typer.Option("--model", help="The model's id, pinned to a version.")],
    out: Annotated[Path, typer.Option("--out", metavar="JSONL", help="Where the words go, for --judge.")],
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Questions at a time.")] = 4,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=0, help="No more calls than this.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=0, help="No further call once so many were used.")
    ] = None,
) -> None:
    """Ask a model whether each answer used its notes; leave with 1 where a question stays unchecked."""
    asked = list(read_lines(asking, judging.Question))
    if not asked:
        raise InputError(f"no questions in {str(asking)!r}; each line has case_id, notes and answer")
    work = judging.Judging(
        model,
        openai_judge(model, base_url=base_url),
        out.with_name(f"{out.name}.cache"),
        max_calls=max_calls,
        max_tokens=max_tokens,
        workers=workers,
    )
    try:
        with counting(len(asked), "asking") as on_done:
            words = work.words(asked, on_done=on_done)
    except OSError as error:
        raise InputError(f"{str(work.cache)!r} cannot be written ({error.strerror}); give another path") from error
    lines = judging.judged_lines(model, asked, words)
    _write(out, "".join(f"{json_module.dumps(line)}\n" for line in lines))
    say(f"{len(lines)} of {len(asked)} words, {work.calls} calls, {work.tokens} tokens, rubric {judging.RUBRIC_HASH}")
    for reason, count in sorted(work.unchecked.items()):
        say(f"{count} unchecked: {visible(reason)}; the same command asks them again")
    if work.unchecked:
        raise typer.Exit(NOT_CALIBRATED)


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
        _write(out, f"{plain}\n")
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


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written ({error.strerror}); give another path") from error
