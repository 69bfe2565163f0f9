"""From a span of the SDK, live or ended, to the one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from opentelemetry.trace import SpanKind, StatusCode

from otel_aml.spans.model import EMPTY, Event, SpanRecord, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import ReadableSpan

_STATUS: Final[Mapping[StatusCode, Status]] = {
    StatusCode.UNSET: Status.UNSET,
    StatusCode.OK: Status.OK,
    StatusCode.ERROR: Status.ERROR,
}
_OUTBOUND: Final = frozenset({SpanKind.CLIENT, SpanKind.PRODUCER})
_INBOUND: Final = frozenset({SpanKind.SERVER, SpanKind.CONSUMER})


def hex_id(span_id: int) -> str:
    """Write a span id as OTLP prints it."""
    return f"{span_id:016x}"


def id_of(span: ReadableSpan) -> int:
    """Read a span's id; 0 if it has none."""
    context = span.context
    return context.span_id if context else 0


def plain(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Copy attributes into a plain dict: the SDK's own mapping is several times slower to read."""
    if attributes is None:
        return {}
    try:
        found: Any = cast("Any", attributes).copy()  # the SDK's mapping has it; its type does not say so
    except AttributeError:
        return dict(attributes)
    return cast("dict[str, Any]", found) if type(found) is dict else dict(attributes)


def record(span: ReadableSpan, attributes: Mapping[str, Any], *, ended_at: int | None = None) -> SpanRecord:
    """Read a span of the SDK.

    Args:
        span: A live span, or an ended one.
        attributes: Its attributes, as `plain` gives them.
        ended_at: When it ends, nanoseconds since the epoch, for one that is just ending.
    """
    context, parent, scope, events = span.context, span.parent, span.instrumentation_scope, span.events
    started_at = span.start_time or 0
    return SpanRecord(
        trace_id=f"{context.trace_id if context else 0:032x}",
        span_id=hex_id(id_of(span)),
        parent_id=None if parent is None else hex_id(parent.span_id),
        remote_parent=parent is not None and parent.is_remote,
        name=span.name,
        scope="" if scope is None else scope.name,
        client=span.kind in _OUTBOUND,
        server=span.kind in _INBOUND,
        started_at=started_at,
        ended_at=ended_at if ended_at is not None else span.end_time or started_at,
        status=_STATUS[span.status.status_code],
        status_message=span.status.description or "",
        attributes=attributes,
        events=tuple(Event(event.name, event.attributes or EMPTY) for event in events) if events else (),
        dropped_attributes=span.dropped_attributes,
    )
