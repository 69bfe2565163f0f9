"""`otel-aml demo`: a copilot that fails in all six ways, its traces, and the report on them."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from otel_aml.cli.common import say
from otel_aml.cli.report import show
from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

EXAMPLES: Final = """
Examples:

    otel-aml demo

    otel-aml demo --seed 7 --cases 500 --out demo/

    otel-aml demo --otlp http://127.0.0.1:4318

    otel-aml demo --serve
"""


def demo(  # noqa: PLR0913 - the options of the command
    *,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same runs.")] = 20261130,
    cases: Annotated[int, typer.Option("--cases", min=1, help="How many cases the copilot works on.")] = 200,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")] = Path(),
    otlp: Annotated[
        str | None,
        typer.Option(
            "--otlp", metavar="URL", help="Also send the spans to a Collector, such as http://127.0.0.1:4318."
        ),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Serve the copilot's page instead: work on its cases, hand over, take over."),
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Of --serve, on this machine only; 0: any that is free.")
    ] = 0,
) -> None:
    """Run a synthetic copilot offline, write traces.jsonl, and report on it; or serve its page."""
    if serve:
        from otel_aml.demo.page import serving

        serving.serve(out, seed=seed, port=port, say=say)
        return
    from otel_aml.demo import run

    with _progress(cases) as progress:
        run.write_demo(out, seed=seed, cases=cases, send_to=otlp, progress=progress)
    traces, gold, judged = out / run.TRACES, out / run.GOLD, out / run.JUDGED
    with analysed(Given(files=[str(traces)], gold=gold, judged=judged)) as analysis:
        show(analysis, reports.report(analysis), json=False)
    again = shlex.join(["otel-aml", "report", str(traces), "--gold", str(gold), "--judge", str(judged)])
    say(f"wrote {str(traces)!r}, {str(gold)!r} and {str(judged)!r}; next: {again}")


@contextmanager
def _progress(cases: int) -> Generator[Callable[[Any], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("running cases", total=cases)
        yield lambda _: progress.advance(task)
