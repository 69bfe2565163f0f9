"""Clocks of several processes, aligned: a child from another process that lies outside its parent moves into it."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from otel_aml.offline.store import StoredSpan
    from otel_aml.spans.model import SpanRecord


def aligned(spans: Sequence[StoredSpan]) -> tuple[SpanRecord, ...]:
    """Shift the spans of each process as a whole, so that the order within a process stays that of its own clock.

    The first span of a process whose parent lies in another process decides how far. Processes are settled from the
    roots down.
    """
    if len({stored.process for stored in spans}) <= 1:
        return tuple(stored.span for stored in spans)
    by_id = {stored.span.span_id: stored for stored in spans}
    shifts = _shifts(spans, by_id)
    return tuple(_shifted(stored.span, shifts.get(stored.process, 0)) for stored in spans)


def _shifts(spans: Sequence[StoredSpan], by_id: Mapping[str, StoredSpan]) -> dict[int, int]:
    """Find by how many nanoseconds the clock of each process is off, from the roots down."""
    children: dict[str, list[StoredSpan]] = {}
    for stored in spans:
        parent_id = stored.span.parent_id
        above = parent_id if parent_id is not None and parent_id in by_id else ""
        children.setdefault(above, []).append(stored)
    shifts: dict[int, int] = {}
    waiting = deque(_by_start(children.get("", ())))
    for stored in waiting:
        shifts.setdefault(stored.process, 0)
    while waiting:
        parent = waiting.popleft()
        for child in _by_start(children.get(parent.span.span_id, ())):
            if child.process not in shifts:
                shifts[child.process] = _into(child.span, _shifted(parent.span, shifts[parent.process]))
            waiting.append(child)
    return shifts


def _by_start(spans: Iterable[StoredSpan]) -> list[StoredSpan]:
    return sorted(spans, key=lambda stored: (stored.span.started_at, stored.span.span_id))


def _into(child: SpanRecord, parent: SpanRecord) -> int:
    """Say how far a child must move to lie within its parent; a longer one begins with it."""
    if parent.ended_at is None or child.ended_at is None:
        return max(parent.started_at - child.started_at, 0)
    if child.started_at < parent.started_at or child.ended_at - child.started_at > parent.ended_at - parent.started_at:
        return parent.started_at - child.started_at
    return min(parent.ended_at - child.ended_at, 0)


def _shifted(span: SpanRecord, by: int) -> SpanRecord:
    if not by:
        return span
    ended_at = None if span.ended_at is None else span.ended_at + by
    return replace(span, started_at=span.started_at + by, ended_at=ended_at)
