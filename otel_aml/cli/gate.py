"""`otel-aml gate`: may this be merged?"""

from __future__ import annotations

import json as json_module
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from otel_aml.cli.common import (
    AsJson,
    ContractFile,
    Files,
    GoldFile,
    JudgedFile,
    Strict,
    check_strictly_read,
    console,
    reading,
    say,
    say_read,
)
from otel_aml.errors import InputError
from otel_aml.evals import gate_output
from otel_aml.evals.gating import gate as gated
from otel_aml.evals.limits import read_config
from otel_aml.offline.render import visible

if TYPE_CHECKING:
    from otel_aml.evals.gate import Decision
    from otel_aml.evals.measures import Measured

STOPPED: Final = 1
EXAMPLES: Final = """
Examples:

    otel-aml gate traces.jsonl --config gate.toml

    otel-aml gate traces/ --gold gold.jsonl --baseline main.json --junit gate.xml

    otel-aml gate traces.jsonl --json > main.json
"""


def gate(  # noqa: PLR0913 - the options of the command
    files: Files,
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="TOML", help="A file with [gate]; else [tool.otel_aml.gate] in pyproject.toml."
        ),
    ] = None,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    calibration: Annotated[
        Path | None, typer.Option("--calibration", metavar="JSON", help="What `judge calibrate` wrote.")
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline", metavar="FILE", help="Earlier traces, or what `gate --json` printed; three or more: a band."
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="XML", help="Also write JUnit XML.")] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", metavar="MD", help="Also add a summary in Markdown to this file.")
    ] = None,
    prometheus: Annotated[
        Path | None, typer.Option("--prometheus", metavar="PROM", help="Also write gauges in the format of Prometheus.")
    ] = None,
    github: Annotated[
        bool | None,
        typer.Option(
            "--github/--no-github",
            help="Annotations and job summary of GitHub Actions.  [default: where GITHUB_ACTIONS is true]",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Stop a merge by class: leave with 1 where a limit is passed, a floor missed, or a baseline worsened."""
    given: dict[str, Any] = {
        "contract": contract and str(contract),
        "gold": gold and str(gold),
        "judge": judge and str(judge),
        "calibration": calibration and str(calibration),
        "baseline": tuple(baseline or ()),
    }
    settings = read_config(config, replaced={name: value for name, value in given.items() if value})
    on_github = os.environ.get("GITHUB_ACTIONS") == "true" if github is None else github
    with reading() as on_bytes:
        found = gated(files, settings, on_bytes=on_bytes)
    decision = found.decision
    if json:
        sys.stdout.write(f"{json_module.dumps(_plain(decision, found.measured), indent=2, allow_nan=False)}\n")
    else:
        _draw(decision)
    sys.stdout.flush()
    if junit is not None:
        _written(junit, gate_output.junit(decision))
    if summary is not None:
        _written(summary, gate_output.markdown(decision).encode(), adds=True)
    if prometheus is not None:
        _written(prometheus, gate_output.prometheus(decision))
    if on_github:
        _tell_github(decision, to_stderr=json)
    if not json:
        say_read(found.measured.read, found.measured.problems, found.measured.runless)
    check_strictly_read(found.measured.read, strict=strict)
    say(gate_output.headline(decision))
    if not decision.passed:
        raise typer.Exit(STOPPED)


def _plain(decision: Decision, measured: Measured) -> dict[str, Any]:
    return {
        **decision.plain(),
        "read": measured.read.counts(),
        "problems": [asdict(problem) for problem in measured.problems],
    }


def _tell_github(decision: Decision, *, to_stderr: bool) -> None:
    out = sys.stderr if to_stderr else sys.stdout
    for line in gate_output.workflow_commands(decision):
        out.write(f"{line}\n")
    out.flush()
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        _written(Path(path), gate_output.markdown(decision).encode(), adds=True)


def _written(path: Path, content: bytes, *, adds: bool = False) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if adds else "wb") as file:
            file.write(content)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written ({error.strerror}); give another path") from error


def _draw(decision: Decision) -> None:
    out = console()
    table = Table(title=f"Gate over {decision.runs} runs", box=SIMPLE_HEAD, title_justify="left")
    for name in ("", "class or metric", "held against", "seen (95 % interval)"):
        table.add_column(name, overflow="fold", no_wrap=name == "class or metric")
    for row in decision.rows:
        style = "bold" if row.stops else ""
        cells = (str(row.status), row.name, row.allowed, gate_output.figure(row.seen))
        table.add_row(*(Text(cell, style=style) for cell in cells))
    out.print(table)
    if decision.typologies:
        out.print(_typologies(decision))
    for row in decision.rows:
        if row.reason:
            out.print(Text(f"{row.name} ({row.kind}) {row.status}: {visible(row.reason, 1_000)}"))
        if row.stops:
            for run in row.runs:
                out.print(Text(f"  look at {visible(str(run), 200)}"))


def _typologies(decision: Decision) -> Table:
    table = Table(title="Typologies against the labels", box=SIMPLE_HEAD, title_justify="left")
    for name in gate_output.TYPOLOGY_COLUMNS:
        table.add_column(name, overflow="fold")
    for row in decision.typologies:
        table.add_row(*map(Text, gate_output.typology_cells(row)))
    return table
