"""The command line: parses, calls, prints. One module a command.

Exit codes: 0 fine, 1 a check says no, 2 usage, or nothing could be understood. No traceback ever reaches a user;
`OTEL_AML_DEBUG=1` shows it.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from otel_aml import __version__
from otel_aml.cli import (
    classify,
    closure,
    crosswalk,
    demo,
    doctor,
    explain,
    export_cases,
    gate,
    ingest,
    inspect,
    judge,
    leakage,
    query,
    queue,
    redact,
    report,
    show,
)
from otel_aml.cli.common import FAULT, say
from otel_aml.errors import OtelAmlError


class _Commands(TyperGroup):
    """The commands; what is wrong with an argument is said without the words of the library that checks it."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            wrong.message = wrong.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    cls=_Commands,
    name="otel-aml",
    help="Names the first failure of every AI-agent run, from its OpenTelemetry spans.",
    epilog="Start with: otel-aml demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="demo", epilog=demo.EXAMPLES)(demo.demo)
app.command(name="ingest", epilog=ingest.EXAMPLES)(ingest.ingest)
app.command(name="report", epilog=report.EXAMPLES)(report.report)
app.command(name="classify", epilog=classify.EXAMPLES)(classify.classify)
app.command(name="gate", epilog=gate.EXAMPLES)(gate.gate)
app.add_typer(judge.app, name="judge")
app.command(name="closure", epilog=closure.EXAMPLES)(closure.closure)
app.command(name="leakage", epilog=leakage.EXAMPLES)(leakage.leakage)
app.command(name="crosswalk", epilog=crosswalk.EXAMPLES)(crosswalk.crosswalk)
app.command(name="export-cases", epilog=export_cases.EXAMPLES)(export_cases.export_cases)
app.command(name="show", epilog=show.EXAMPLES)(show.show)
app.command(name="explain", epilog=explain.EXAMPLES)(explain.explain)
app.command(name="inspect", epilog=inspect.EXAMPLES)(inspect.inspect)
app.command(name="query", epilog=query.EXAMPLES)(query.query)
app.add_typer(queue.app, name="queue")
app.command(name="redact", epilog=redact.EXAMPLES)(redact.redact)
app.command(name="doctor", epilog=doctor.EXAMPLES)(doctor.doctor)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer's signature
    if asked:
        typer.echo(f"otel-aml {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave."),
    ] = False,
) -> None:
    """Names the first failure of every AI-agent run, from its OpenTelemetry spans."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError) and _flushed():
            raise
        _let_go()
    except OtelAmlError as error:
        _debug()
        say(str(error))
        sys.exit(FAULT)
    except BrokenPipeError:
        _let_go()
    except Exception as error:  # noqa: BLE001 - the last door before the user
        _debug()
        say(
            f"an unexpected {type(error).__name__} ended the command; this is a fault of otel-aml: "
            "run it again with OTEL_AML_DEBUG=1 and report what it shows"
        )
        sys.exit(FAULT)


def _flushed() -> bool:
    """Whether all that was printed also arrived."""
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except BrokenPipeError:
        return False
    return True


def _let_go() -> None:
    """Leave well: who reads has closed the pipe and wants no more, which click would call a failure."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        os.dup2(nowhere, stream.fileno())
    sys.exit(0)


def _debug() -> None:
    if os.environ.get("OTEL_AML_DEBUG") == "1":
        raise  # noqa: PLE0704 - always called while an exception is handled
