"""Answers as lines and as JSON: draws, never counts. Nothing that a span holds can move the cursor or forge a line."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TextIO

from otel_aml.core.taxonomy import FailureClass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_aml.offline.analysis import Analysis
    from otel_aml.offline.problems import Problem, Read
    from otel_aml.offline.reports import Report, RunRow

PROBLEMS_SHOWN: Final = 20
_CELL: Final = 60
_NARROW: Final = 40
_HEADINGS: Final = (
    "trace id",
    "root",
    "verdict",
    "severity",
    "first failed span",
    "dependency",
    "error type",
    "way out",
    "case",
)
_WIDTHS: Final = (32, 16, 18, 8, 17, 16, 18, 14, 8)
_REASON: Final = 300
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, limit: int = _CELL) -> str:
    """Show a text in one line: control characters and those that turn the direction escaped, what is long cut."""
    if len(text) > limit:
        text = f"{text[: limit - 1]}…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(letter) for letter in text)


def _shown(letter: str) -> str:
    if unicodedata.category(letter) not in _UNPRINTABLE:
        return letter
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def report_json(analysis: Analysis, report: Report, out: TextIO) -> None:
    """Write a report as one JSON object."""
    answer = {
        "read": analysis.read.counts(),
        "problems": [asdict(problem) for problem in analysis.problems],
        **{name: [row.plain() for row in rows] for name, rows in report.tables.items()},
        "inflation": report.inflation.plain(),
        "pass_rate": report.pass_rate.plain(),
    }
    out.write(f"{_json(answer, indent=2)}\n")


def classify_json(analysis: Analysis, runs: Iterable[RunRow], out: TextIO) -> None:
    """Write the verdicts as one JSON object, a run a line, without holding all of them."""
    problems = [asdict(problem) for problem in analysis.problems]
    out.write(f'{{"read": {_json(analysis.read.counts())},\n"problems": {_json(problems)},\n"runs": [')
    separator = "\n"
    for row in runs:
        out.write(separator + _json(row.plain()))
        separator = ",\n"
    out.write("\n]}\n")


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent)


def classify_text(runs: Iterable[RunRow], out: TextIO) -> None:
    """Write the verdicts, a run a line, below a line that names the columns; nothing where there are none."""
    for place, row in enumerate(runs):
        if not place:
            out.write(_columns(_HEADINGS) + "\n")
        words = (
            row.trace_id,
            row.span_id,
            _class(row),
            row.severity,
            row.first_span_id,
            row.dependency,
            row.error_type,
            row.path,
            row.case_id,
        )
        out.write(visible(f"{_columns(words)}  {_aside(row)}".rstrip(), 400) + "\n")


def _columns(words: Sequence[str | None]) -> str:
    shown = zip(words, _WIDTHS, strict=True)
    return "  ".join(f"{visible(word or '-', max(width, _NARROW)):<{width}}" for word, width in shown).rstrip()


def _class(row: RunRow) -> str:
    """Say the class, and of a pass that it waits or was made good."""
    if row.paused:
        return f"{row.failure_class} (paused)"
    is_recovered = row.failure_class == FailureClass.PASS and row.recovered
    return f"{row.failure_class} (recovered)" if is_recovered else row.failure_class


def _aside(row: RunRow) -> str:
    """Say what the class does not: further findings, and what could not be checked."""
    further = [finding for finding in row.findings if finding != row.failure_class]
    found = f"also {', '.join(further)}" if further else ""
    unchecked = f"unchecked {', '.join(row.unchecked)}" if row.unchecked else ""
    return "; ".join(word for word in (found, unchecked) if word)


def no_runs(read: Read) -> str:
    """Say that nothing of what was read is a run, and what to do."""
    none = "1 span, which is not" if read.spans == 1 else f"{read.spans} spans, none of which is"
    return (
        f"{none} an agent, a tool, a retriever or a model call; "
        "spans say so with gen_ai.operation.name (docs/attributes.md)"
    )


def summary(read: Read, *, runless: int = 0) -> str:
    """Say in one line what was read and what was skipped.

    Args:
        read: The counts.
        runless: How many of the traces hold no run.
    """
    skipped = {
        "bad lines": read.bad_lines,
        "invalid spans": read.invalid_spans,
        "copies of spans": read.duplicate_spans,
        "lines of other signals": read.other_lines,
        "trace without a run" if runless == 1 else "traces without a run": runless,
    }
    left_out = ", ".join(f"{count} {what}" for what, count in skipped.items() if count)
    return (
        f"read {many(read.files, 'file')}, {many(read.lines, 'line')}, {many(read.spans, 'span')}, "
        f"{many(read.traces, 'trace')}, {many(read.runs, 'run')}; skipped {left_out or 'nothing'}"
    )


def many(count: int, what: str) -> str:
    """Say how many; one is one."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def problem_lines(problems: Iterable[Problem]) -> Iterable[str]:
    """Say what could not be read, a problem a line; of many only the first."""
    for place, problem in enumerate(problems):
        if place == PROBLEMS_SHOWN:
            yield "further problems are listed by --json"
            return
        where = f"{visible(problem.file, 200)}:{problem.line}" if problem.line else visible(problem.file, 200)
        yield f"{where}: {visible(problem.reason, _REASON)}" if where else visible(problem.reason, _REASON)
