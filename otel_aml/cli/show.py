"""`otel-aml show`: one run as a timeline."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from otel_aml.cli.common import AsJson, ContractFile, Files, GoldFile, JudgedFile, reading, say
from otel_aml.offline import render
from otel_aml.offline.analysis import Given, analysed
from otel_aml.offline.timeline import matching, timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_aml.offline.timeline import Symptom, Timeline, TimelineStep

EXAMPLES: Final = """
Examples:

    otel-aml show 5b8efff7 traces.jsonl

    otel-aml show 5b8efff798038103d269b633813fc60c store.duckdb --internal
"""


def show(  # noqa: PLR0913 - the options of the command
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REF|TRACE_ID", help="A trace id or how it begins, as on a user's notice.", show_default=False
        ),
    ],
    files: Files,
    *,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Also what exceptions say: for operators, it may hold personal data.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show one run: its steps, its verdict and what that rests on."""
    given = Given(files=files, contract=contract, gold=gold, judged=judge)
    with reading() as on_bytes, analysed(given, on_bytes=on_bytes) as analysis:
        found = matching(analysis, reference)
        if len(found) == 1:
            run = timeline(analysis, found[0])
            if json:
                sys.stdout.write(f"{json_module.dumps(_plain(run, internal=internal), indent=2)}\n")
            else:
                _write(_lines(run, internal=internal))
            return
        if json:
            sys.stdout.write(f"{json_module.dumps({'runs': [each.plain() for each in found]}, indent=2)}\n")
        else:
            render.classify_text(found, sys.stdout)
    sys.stdout.flush()
    say(f"{len(found)} runs have a trace id that begins with {reference}; give more of it")


def _plain(found: Timeline, *, internal: bool) -> dict[str, Any]:
    steps = [asdict(step) for step in found.steps]
    for step in steps:
        if not internal:
            step.pop("detail")
    return {
        "run": found.run.plain(),
        "checks": dict(found.checks),
        "steps": steps,
        "unplaced": [asdict(each) for each in found.unplaced],
    }


def _write(lines: Iterator[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{render.visible(line, 400)}\n")


def _lines(found: Timeline, *, internal: bool) -> Iterator[str]:
    run = found.run
    yield f"run       {run.trace_id}  {run.span_id}"
    if run.case_id:
        yield f"case      {run.case_id}"
    yield f"verdict   {run.failure_class}, {run.severity or 'no severity'}, decided by {run.decided_by}"
    if run.path:
        yield f"recovery  {run.path}, outcome {run.outcome}"
    for name, answer in found.checks.items():
        yield f"check     {name:<18} {answer}"
    for step in found.steps:
        yield _step(step)
        for symptom in step.symptoms:
            yield f"{'':>26}{'  ' * step.depth}{_symptom(symptom)}"
        if internal:
            for detail in step.detail:
                yield f"{'':>26}{'  ' * step.depth}{detail}"
    for symptom in found.unplaced:
        yield f"elsewhere {_symptom(symptom)}"


def _step(step: TimelineStep) -> str:
    lasted = "   never ended" if step.duration_ms is None else f"{step.duration_ms:>11.1f} ms"
    again = f" (retry {step.retry})" if step.retry else ""
    return f"{step.at_ms:>9.1f} {lasted}  {'  ' * step.depth}{step.kind} {render.visible(step.name)}{again}"


def _symptom(symptom: Symptom) -> str:
    about = " ".join(word for word in (symptom.error_type, symptom.dependency) if word)
    where = f" at step {symptom.step_id}" if symptom.step_id else ""
    return f"! {symptom.failure_class}{f' ({about})' if about else ''}: {symptom.fate}{where}"
