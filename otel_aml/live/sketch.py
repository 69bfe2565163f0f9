"""What is kept of a dull span until its run ends: enough to read it after all, should another span go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.trace import SpanKind

from otel_aml.conventions.glance import KEPT
from otel_aml.spans.model import SpanRecord
from otel_aml.spans.sdk import hex_id

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

Sketch = tuple[int, int, str, bool, int, int, dict[str, Any]]
"""Span id, parent's id, name, whether it is a client's, start, end, and the attributes that may be needed."""

_OUTBOUND = (SpanKind.CLIENT, SpanKind.PRODUCER)


def sketch(span: ReadableSpan, span_id: int, attributes: dict[str, Any]) -> Sketch:
    """Keep a few facts of a span, and nothing of the span itself."""
    parent = span.parent
    return (
        span_id,
        0 if parent is None else parent.span_id,
        span.name,
        span.kind in _OUTBOUND,
        span.start_time or 0,
        span.end_time or 0,
        {key: attributes[key] for key in attributes if key in KEPT},
    )


def unfold(kept: Sketch) -> SpanRecord:
    """Make the one shape of a span of what was kept."""
    span_id, parent_id, name, client, started_at, ended_at, attributes = kept
    return SpanRecord(
        trace_id="",
        span_id=hex_id(span_id),
        parent_id=hex_id(parent_id) if parent_id else None,
        name=name,
        client=client,
        started_at=started_at,
        ended_at=ended_at,
        attributes=attributes,
    )
