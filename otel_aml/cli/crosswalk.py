"""`otel-aml crosswalk`: a class in the words of other taxonomies, and back."""

from __future__ import annotations

import json as json_module
import sys
from typing import Annotated, Final

import typer

from otel_aml.cli.common import AsJson, say
from otel_aml.core.taxonomy import FailureClass
from otel_aml.evals.crosswalk import MEETINGS, SOURCES, class_of, names_of
from otel_aml.offline.render import visible

UNKNOWN: Final = 1
EXAMPLES: Final = """
Examples:

    otel-aml crosswalk

    otel-aml crosswalk hallucination

    otel-aml crosswalk "Poor Information Retrieval" --json
"""


def crosswalk(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One of the six, or a name of another taxonomy.", show_default=False),
    ] = None,
    *,
    json: AsJson = False,
) -> None:
    """Say what TRAIL, MAST, AgentRx and AgentErrorTaxonomy call a class, or which class one of their names is."""
    word = "" if name is None else name.strip().lower().replace("-", "_")
    found = MEETINGS if name is None else names_of(FailureClass(word)) if word in set(FailureClass) else ()
    if name is not None:
        found = tuple(dict.fromkeys((*found, *class_of(name))))
    if json:
        sys.stdout.write(f"{json_module.dumps([each.plain() for each in found], indent=2)}\n")
    else:
        for each in found:
            kind = "outside the six" if each.failure_class is None else str(each.failure_class)
            sys.stdout.write(f"{kind:<18}  {each.scheme:<18}  {each.name}{' (weak)' if each.weak else ''}\n")
        for scheme in dict.fromkeys(each.scheme for each in found):
            sys.stdout.write(f"{scheme}: {SOURCES[scheme]}\n")
    if not found:
        sys.stdout.flush()
        say(f"{visible(str(name))!r} is unknown: none of these taxonomies has it, or none has a word for it")
        raise typer.Exit(UNKNOWN)
