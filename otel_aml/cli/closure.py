"""`otel-aml closure`: does every metric close a class, and every class have a metric?"""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path  # noqa: TC003 - read when the command is declared
from typing import Annotated, Final

import typer

from otel_aml.cli.common import AsJson, say
from otel_aml.evals.closure import read_closure
from otel_aml.offline.render import visible

OPEN: Final = 1
EXAMPLES: Final = """
Examples:

    otel-aml closure metrics.toml
"""


def closure(
    metrics: Annotated[Path, typer.Argument(metavar="METRICS", help='TOML: [metrics."name"] closes = [...].')],
    *,
    json: AsJson = False,
) -> None:
    """Check both directions between product metrics and classes; leave with 1 where something is open."""
    found = read_closure(metrics)
    if json:
        sys.stdout.write(f"{json_module.dumps(found.plain(), indent=2)}\n")
    else:
        for failure_class, names in found.by_class.items():
            sys.stdout.write(f"{failure_class:<18}  {visible(', '.join(names) or '-', 200)}\n")
    sys.stdout.flush()
    for line in found.open():
        say(line)
    if not found.is_closed:
        raise typer.Exit(OPEN)
