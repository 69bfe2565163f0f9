"""Traces that others have labelled, from a local folder: TRAIL's nested spans and AgentRx's steps, as our spans.

TRAIL (PatronusAI) has a file a trace, `{"trace_id", "spans": [...]}`, each span with its `child_spans` inside it,
and one for its annotations, `{"errors": [{"category", ...}]}`, named after it. AgentRx is read where it is brought
into that shape: objects with `trace_id`, `spans`, and `failure_category` or `category`, one a file or one a line. The
data belongs to others: it is read where it lies, and never copied.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from otel_aml.conventions import facts, is_run, read, runs
from otel_aml.core.tree import classify
from otel_aml.spans.model import Event, SpanRecord, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CROSSWALK = {
    "formatting errors": "format_violation",
    "language-only": "hallucination",
    "tool-related": "hallucination",
    "poor information retrieval": "retrieval_miss",
    "tool output misinterpretation": "context_pollution",
    "context handling failures": "context_pollution",
    "incorrect memory usage": "context_pollution",
    "rate limiting": "tool_failure",
    "authentication errors": "tool_failure",
    "service errors": "tool_failure",
    "resource not found": "tool_failure",
    "resource exhaustion": "tool_failure",
    "timeout issues": "tool_failure",
    "environment setup errors": "tool_failure",
    "tool definition issues": "tool_failure",
    "system failure": "tool_failure",
    "invalid invocation": "format_violation",
    "invention of new information": "hallucination",
    "misinterpretation of tool output": "context_pollution",
}
"""Categories of TRAIL and AgentRx that fall into one of the six classes (docs/taxonomy.md); the others are outside."""
_DURATION = re.compile(r"PT(?:(?P<hours>[\d.]+)H)?(?:(?P<minutes>[\d.]+)M)?(?:(?P<seconds>[\d.]+)S)?\Z")
_STATUS = {"ok": Status.OK, "error": Status.ERROR}


def spans(trace: Mapping[str, Any]) -> list[SpanRecord]:
    """Turn one trace of nested spans into ours.

    Args:
        trace: `{"trace_id", "spans"}`, each span with `span_id`, `timestamp` (ISO 8601), `duration` (ISO 8601),
            `span_attributes`, `status_code`, `events` and `child_spans`.
    """
    found: list[SpanRecord] = []
    waiting = [(span, None) for span in trace.get("spans", ())]
    while waiting:
        span, parent = waiting.pop()
        started = _nanoseconds(span.get("timestamp", ""))
        found.append(
            SpanRecord(
                trace_id=str(trace.get("trace_id", "")),
                span_id=str(span["span_id"]),
                parent_id=span.get("parent_span_id") or parent,
                name=span.get("span_name", ""),
                scope=span.get("scope_name", ""),
                started_at=started,
                ended_at=started + _lasted(span.get("duration", "")),
                status=_STATUS.get(str(span.get("status_code", "")).lower(), Status.UNSET),
                status_message=span.get("status_message") or "",
                attributes=span.get("span_attributes") or {},
                events=tuple(map(_event, span.get("events") or ())),
            )
        )
        waiting.extend((child, span["span_id"]) for child in span.get("child_spans") or ())
    return found


def _event(event: Mapping[str, Any]) -> Event:
    by_name = {key.lower(): value for key, value in event.items()}
    return Event(by_name.get("name", ""), by_name.get("attributes") or {})


def _nanoseconds(moment: str) -> int:
    try:
        return int(datetime.fromisoformat(moment).timestamp() * 1e6) * 1_000
    except ValueError:
        return 0


def _lasted(duration: str) -> int:
    found = _DURATION.match(duration)
    if found is None:
        return 0
    hours, minutes, seconds = (float(found[name] or 0) for name in ("hours", "minutes", "seconds"))
    return int((hours * 3600 + minutes * 60 + seconds) * 1e9)


def labelled(folder: Path) -> Iterator[tuple[list[SpanRecord], frozenset[str]]]:
    """Pair each trace of a folder with the classes that its annotations name; empty where they name none of the six."""
    annotations: dict[str, frozenset[str]] = {}
    traces: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.rglob("*.json*")):
        for found in _objects(path):
            name = str(found.get("trace_id") or path.stem)
            if "spans" in found:
                traces[name] = found
            if "errors" in found or "category" in found or "failure_category" in found:
                annotations[name] = _classes(found)
    for name, trace in traces.items():
        if name in annotations:
            yield spans(trace), annotations[name]


def _objects(path: Path) -> list[Mapping[str, Any]]:
    """Read a file that holds one object, a list of them, or one a line."""
    words = path.read_text(encoding="utf-8")
    try:
        found = json.loads(words)
    except ValueError:
        found = [json.loads(line) for line in words.splitlines() if line.strip().startswith("{")]
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]


def _classes(found: Mapping[str, Any]) -> frozenset[str]:
    errors = found.get("errors") or [found]
    categories = (str(each.get("category") or each.get("failure_category") or "").strip().lower() for each in errors)
    return frozenset(CROSSWALK[each] for each in categories if each in CROSSWALK)


def said(of: list[SpanRecord]) -> str:
    """Name the first failure of a trace: of its first run that failed, else of its last."""
    verdict = "no run"
    for run in runs(of):
        readings = [read(span) for span in run.spans]
        if is_run(readings):
            found = classify(facts(readings, run.root_id, incomplete=run.incomplete))
            verdict = str(found.failure_class)
            if found.first is not None:
                break
    return verdict


def counts(folder: Path) -> Mapping[str, tuple[int, int, int]]:
    """Count by class: traces named so by us, annotated so, and both."""
    ours: Counter[str] = Counter()
    theirs: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for trace, classes in labelled(folder):
        verdict = said(trace)
        ours[verdict] += 1
        theirs.update(classes or {"pass"})
        both[verdict] += verdict in (classes or {"pass"})
    return {each: (ours[each], theirs[each], both[each]) for each in sorted(ours | theirs)}
