"""One run as a timeline: its steps in the order of time, its verdict and what that rests on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_aml import conventions
from otel_aml.errors import InputError
from otel_aml.offline.clocks import aligned
from otel_aml.offline.reports import RunRow
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_aml.conventions import RunSpans
    from otel_aml.offline.analysis import Analysis
    from otel_aml.spans.model import SpanRecord

_PREFIX: Final = re.compile(r"[0-9a-f]{1,32}")
_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Symptom:
    """One failure of the run, and what became of it."""

    failure_class: str
    error_type: str | None
    dependency: str | None
    step_id: str | None
    is_first: bool
    is_recovered: bool
    is_superseded: bool

    @property
    def fate(self) -> str:
        """What became of it, in a word."""
        if self.is_superseded:
            return "replaced by a later answer"
        if self.is_recovered:
            return "recovered"
        return "first failure" if self.is_first else "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineStep:
    """One span of the run.

    Args:
        at_ms: From the start of the run.
        duration_ms: None if it never ended.
        subject: What it is a call of, as the vocabulary names it (a tool, say); None where only the span has a name.
        retry: How many steps of the same kind and name under the same parent came before it, if one of them failed.
        detail: For operators: texts of exceptions and of the status, as they were recorded.
    """

    span_id: str
    depth: int
    at_ms: float
    duration_ms: float | None
    kind: str
    name: str
    subject: str | None
    symptoms: tuple[Symptom, ...]
    retry: int
    detail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run and its steps.

    Args:
        unplaced: Failures whose span is not known.
    """

    run: RunRow
    checks: Mapping[str, str]
    steps: tuple[TimelineStep, ...]
    unplaced: tuple[Symptom, ...]


def matching(analysis: Analysis, reference: str) -> list[RunRow]:
    """List the runs whose trace id begins like that.

    Raises:
        InputError: It is no beginning of a trace id, or there is no such run.
    """
    prefix = reference.strip().lower()
    if not _PREFIX.fullmatch(prefix):
        raise InputError(
            f"{reference!r} is no beginning of a trace id; give up to 32 hex digits, as `classify` prints them"
        )
    analysis.store.name_rows("run_rows", "reports/runs")
    found = [RunRow.of(row) for row in analysis.store.rows("timeline/runs", {"prefix": prefix})]
    if not found:
        raise InputError(
            f"no run has a trace id that begins with {prefix!r}; `otel-aml classify FILE...` lists all runs"
        )
    return found


def worst(analysis: Analysis, *, most: int) -> tuple[Timeline, ...]:
    """Lay out the failed runs to be looked at first: the worst of each class, then the second worst, and so on."""
    analysis.store.name_rows("run_rows", "reports/runs")
    found = [RunRow.of(row) for row in analysis.store.rows("timeline/worst_runs", {"most": most})]
    return tuple(timeline(analysis, run) for run in found)


def timeline(analysis: Analysis, run: RunRow) -> Timeline:
    """Lay out one run."""
    (trace,) = analysis.store.traces(run.trace_id)
    found = next((found for found in conventions.runs(aligned(trace.spans), ()) if found.root_id == run.span_id), None)
    spans = () if found is None else found.spans
    symptoms: dict[str, list[Symptom]] = {}
    ids = {"trace_id": run.trace_id, "span_id": run.span_id}
    for row in analysis.store.rows("timeline/symptoms", ids):
        seen = row.pop("seen_span_id") or ""
        symptoms.setdefault(seen, []).append(Symptom(row.pop("class"), **row))
    steps = tuple(_steps(found, symptoms))
    placed = {span.span_id for span in spans}
    return Timeline(
        run,
        {row["class"]: row["answer"] for row in analysis.store.rows("timeline/checks", ids)},
        steps,
        tuple(each for seen, found in symptoms.items() if seen not in placed for each in found),
    )


def _steps(run: RunSpans | None, symptoms: Mapping[str, list[Symptom]]) -> Iterator[TimelineStep]:
    if run is None:
        return
    by_id = {span.span_id: span for span in run.spans}
    ordered = sorted(run.spans, key=lambda span: (span.started_at, span.span_id))
    start = ordered[0].started_at
    tried: dict[tuple[str | None, str, str], int] = {}
    failed: set[tuple[str | None, str, str]] = set()
    for span in ordered:
        reading = conventions.read(span)
        step = reading.step
        same = (span.parent_id, str(step.kind), step.name or span.name)
        retry = tried.get(same, 0) if same in failed else 0
        tried[same] = tried.get(same, 0) + 1
        if step.incident is not None:
            failed.add(same)
        yield TimelineStep(
            span_id=span.span_id,
            depth=_depth(span, by_id),
            at_ms=(span.started_at - start) / _MS,
            duration_ms=None if span.ended_at is None else (span.ended_at - span.started_at) / _MS,
            kind=str(step.kind),
            name=step.name or span.name,
            subject=conventions.called(span, step.kind) or reading.agent,
            symptoms=tuple(symptoms.get(span.span_id, ())),
            retry=retry,
            detail=tuple(_details(span)),
        )


def _depth(span: SpanRecord, by_id: Mapping[str, SpanRecord]) -> int:
    depth, above = 0, span.parent_id
    passed = {span.span_id}
    while above is not None and above in by_id and above not in passed:
        passed.add(above)
        depth, above = depth + 1, by_id[above].parent_id
    return depth


def _details(span: SpanRecord) -> Iterator[str]:
    if span.status_message:
        yield f"status: {span.status_message}"
    detail = span.attributes.get(names.TECHNICAL_DETAIL)
    if detail:
        yield f"detail: {detail}"
    for event in span.events:
        said: Mapping[str, Any] = event.attributes
        yield f"exception: {said.get('exception.type', '')}: {said.get('exception.message', '')}"
