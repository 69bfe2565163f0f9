"""What went wrong while reading: each problem once, with file, line and reason; never more than a thousand of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Final

from otel_aml.offline.texts import valid, valid_name

SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that could not be read, or only in part.

    Args:
        line: Number of the line, from 1; None where it is the file as a whole.
    """

    file: str
    line: int | None
    reason: str


@dataclass(slots=True)
class Problems:
    """The first problems of each file in full, the rest as a count."""

    kept: list[Problem] = field(default_factory=list[Problem])
    further: int = 0

    def add(self, file: str, line: int | None, reason: str) -> None:
        """Keep one more problem, or count it."""
        if len(self.kept) < SHOWN:
            self.kept.append(Problem(valid_name(file), line, valid(reason)))
        else:
            self.further += 1

    def ordered(self) -> tuple[Problem, ...]:
        """List them by file and line; last how many more there were."""
        found = sorted(self.kept, key=lambda problem: (problem.file, problem.line or 0, problem.reason))
        if self.further:
            found.append(Problem("", None, f"{self.further} more problems are counted and not listed"))
        return tuple(found)


@dataclass(slots=True)
class Read:
    """What was read, in counts: the `read` of every machine-readable answer.

    Args:
        lines: Lines that are not blank.
        bad_lines: Lines that are no export request of any signal, in whole or in part, or cut off with their stream.
        spans: Distinct spans.
        invalid_spans: Spans without valid ids, too large to be read, or beyond what is looked at of one trace.
        duplicate_spans: Further copies of spans.
        other_lines: Requests of other signals: logs, metrics, profiles.
    """

    files: int = 0
    lines: int = 0
    bad_lines: int = 0
    spans: int = 0
    invalid_spans: int = 0
    duplicate_spans: int = 0
    other_lines: int = 0
    traces: int = 0
    runs: int = 0

    def counts(self) -> dict[str, int]:
        """Give the counts by name, in the order of the contract."""
        return {each.name: int(getattr(self, each.name)) for each in fields(self)}
