"""`otel-aml inspect`: what a report would read, before any report."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from otel_aml.cli.common import AsJson, Files, reading, say
from otel_aml.offline import inspection, render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_aml.offline.inspection import Inspection

EXAMPLES: Final = """
Examples:

    otel-aml inspect traces.jsonl

    otel-aml inspect --json traces/
"""
_ODD: Final = {
    "missing_root_count": "traces without a root",
    "orphan_count": "spans whose parent is missing",
    "open_count": "spans that never ended",
    "backwards_count": "spans that end before they start",
    "dropped_count": "spans that lost attributes or events to a limit",
}


def inspect(files: Files, *, json: AsJson = False) -> None:
    """Say what would be read, and what is odd about it; draw no verdict."""
    with reading() as on_bytes:
        found = inspection.inspect(files, on_bytes=on_bytes)
    if json:
        answer = {
            "read": found.read.counts(),
            "problems": [asdict(problem) for problem in found.problems],
            **found.plain(),
        }
        sys.stdout.write(f"{json_module.dumps(answer, indent=2)}\n")
        return
    for line in _lines(found):
        sys.stdout.write(f"{render.visible(line, 400)}\n")
    sys.stdout.flush()
    for line in render.problem_lines(found.problems):
        say(line)


def _lines(found: Inspection) -> Iterator[str]:
    read, counts = found.read, found.found
    yield f"format        OTLP JSON lines, {_listed(found.formats)}"
    yield f"read          {render.summary(read).removeprefix('read ')}"
    yield f"steps         {_listed(found.kinds) or 'none: no trace holds a run of an agent'}"
    yield f"vocabularies  {_listed(found.vocabularies) or 'none that is known'}"
    content = counts["content_count"]
    yield f"content       {f'captured on {content} spans' if content else 'not captured'}"
    yield f"verdicts      {counts['verdict_count']} drawn live, for {read.runs} runs"
    yield f"copies        {read.duplicate_spans} further copies of spans"
    for name, what in _ODD.items():
        yield f"{'odd' if counts[name] else 'fine':<12}  {counts[name]} {what}"
    if counts["cut_length"]:
        yield f"odd           texts seem to be cut at {counts['cut_length']} characters"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
