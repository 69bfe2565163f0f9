"""What a report would read, and what is odd about it, before anything is concluded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from otel_aml import conventions
from otel_aml.offline import inputs
from otel_aml.offline.lines import packing
from otel_aml.offline.loading import load
from otel_aml.offline.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from otel_aml.offline.problems import Problem, Read


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found.

    Args:
        formats: Files by how they are packed.
        kinds: Spans of runs by what they did.
        vocabularies: Spans by the vocabularies they speak.
        found: Counts by name, as `queries/inspection/spans.sql` explains them.
    """

    read: Read
    problems: tuple[Problem, ...]
    formats: Mapping[str, int]
    kinds: Mapping[str, int]
    vocabularies: Mapping[str, int]
    found: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Give all but what was read as a JSON object."""
        names = ("trace_count", "span_count")
        return {
            "formats": dict(self.formats),
            "kinds": dict(self.kinds),
            "vocabularies": dict(self.vocabularies),
            "found": {name.removesuffix("_count"): value for name, value in self.found.items() if name not in names},
        }


def inspect(files: Sequence[str], *, on_bytes: Callable[[int], None] | None = None) -> Inspection:
    """Read files, and draw no verdict.

    Raises:
        InputError: Something cannot be read, or holds nothing that is understood.
    """
    paths = inputs.files(files)
    formats = Counter(packing(path) for path in paths)
    kinds: Counter[str] = Counter()
    with Store() as store:
        loading = load(store, paths, on_bytes=on_bytes)
        for trace in store.traces():
            for run in conventions.runs(tuple(stored.span for stored in trace.spans), ()):
                readings = [conventions.read(span) for span in run.spans]
                if conventions.is_run(readings):
                    loading.read.runs += 1
                    kinds.update(str(reading.step.kind) for reading in readings)
        (found,) = store.rows("inspection/spans")
        vocabularies = {row["vocabulary"]: row["span_count"] for row in store.rows("inspection/vocabularies")}
    return Inspection(
        read=loading.read,
        problems=loading.problems.ordered(),
        formats=dict(sorted(formats.items())),
        kinds=dict(sorted(kinds.items(), key=lambda counted: (-counted[1], counted[0]))),
        vocabularies=vocabularies,
        found=found,
    )
