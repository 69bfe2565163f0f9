"""What the commands share: options, what is said on stderr, progress."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.progress import DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from otel_aml.offline import render

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from otel_aml.offline.analysis import Analysis
    from otel_aml.offline.problems import Problem, Read

FAULT: Final = 2
_SAID: Final = 2_000

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="OTLP JSON files (plain, gz or zst), folders, patterns, or - for standard input; "
        "or one store that `ingest` wrote. After --, names may begin with a hyphen.",
        show_default=False,
    ),
]
ContractFile = Annotated[
    Path | None,
    typer.Option(
        "--contract", metavar="JSON", help="What the app declares: the schema of its answer, where ids stand."
    ),
]
GoldFile = Annotated[Path | None, typer.Option("--gold", metavar="JSONL", help="Labels: typology, notes, evidence.")]
JudgedFile = Annotated[Path | None, typer.Option("--judge", metavar="JSONL", help="What a judge said of runs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Strict = Annotated[bool, typer.Option("--strict", help="Leave with 2 if any line was bad or any span invalid.")]


def say(text: str) -> None:
    """Say one thing on stderr, in one line."""
    sys.stderr.write(f"otel-aml: {render.visible(text, _SAID)}\n")


def say_what_was_read(analysis: Analysis) -> None:
    """Say on stderr what was read, what was skipped, and why."""
    say_read(analysis.read, analysis.problems, analysis.runless)


def say_read(read: Read, problems: Iterable[Problem], runless: int) -> None:
    """Say the same, where the analysis is over."""
    say(render.summary(read, runless=runless))
    for line in render.problem_lines(problems):
        say(line)


def check_runs(analysis: Analysis) -> None:
    """Leave with 2 where the spans hold no run: nobody failed, and nobody passed.

    Raises:
        typer.Exit: So it is.
    """
    if not analysis.read.runs:
        sys.stdout.flush()
        say(render.no_runs(analysis.read))
        raise typer.Exit(FAULT)


def check_strictly(analysis: Analysis, *, strict: bool) -> None:
    """Leave with 2 where something was skipped and nothing may be.

    Raises:
        typer.Exit: So it is.
    """
    check_strictly_read(analysis.read, strict=strict)


def check_strictly_read(read: Read, *, strict: bool) -> None:
    """Do the same, where the analysis is over.

    Raises:
        typer.Exit: So it is.
    """
    if strict and (read.bad_lines or read.invalid_spans):
        raise typer.Exit(FAULT)


@contextmanager
def reading() -> Generator[Callable[[int], None] | None]:
    """Show on a terminal how much was read; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("reading"),
        DownloadColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda count: progress.advance(task, count)


@contextmanager
def counting(total: int, what: str) -> Generator[Callable[[], None] | None]:
    """Show on a terminal how many are done; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


def console() -> Console:
    """Open the console for tables; nothing in them is taken for markup."""
    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
