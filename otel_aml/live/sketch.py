"""What is kept of a dull span until its run ends: enough to read it after all, should another span go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import SpanKind

from otel_aml.conventions.glance import KEPT, Glance
from otel_aml.conventions.values import digest
from otel_aml.spans import attributes as names
from otel_aml.spans.model import SpanRecord
from otel_aml.spans.sdk import hex_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.trace import ReadableSpan

    from otel_aml.live.runs import Run

Sketch = tuple[int, int, str, bool, int, int, dict[str, Any]]
"""Span id, parent's id, name, whether it is a client's, start, end, and the attributes that may be needed."""

_SHORT: Final = 64
_LONG: Final = 1_024
_CONTENT: Final = frozenset(
    {names.GEN_AI_ARGUMENTS, names.OPENINFERENCE_INPUT, names.URL, names.OLD_URL, names.DB_QUERY, names.SERVER_ADDRESS}
)
_ALWAYS: Final = (names.GEN_AI_OPERATION, names.GEN_AI_AGENT, names.STEP_ID, names.STEP_KEY, names.MCP_METHOD)
_OF_A_TOOL: Final = (*_ALWAYS, names.GEN_AI_TOOL, names.GEN_AI_ARGUMENTS)
_OF_A_MODEL: Final = (*_ALWAYS, names.GEN_AI_MODEL, names.GEN_AI_TOOLS_OFFERED)
_CLIENT: Final = SpanKind.CLIENT
_PRODUCER: Final = SpanKind.PRODUCER
_NOTHING: Final[dict[str, Any]] = {}


def sketch(run: Run, span: ReadableSpan, span_id: int, attributes: dict[str, Any], worth: Glance) -> Sketch:
    """Keep a few facts of a span, and nothing of the span itself; in the path of every span, so each step counts."""
    parent, kind = span.parent, span.kind
    client = kind is _CLIENT or kind is _PRODUCER
    if worth is Glance.NOTHING and not client and names.STEP_ID not in attributes:
        needed = _NOTHING
    else:
        needed = {key: _slim(run, key, attributes[key]) for key in _keys(attributes) if key in attributes}
    return (
        span_id,
        0 if parent is None else parent.span_id,
        span.name,
        client,
        span.start_time or 0,
        span.end_time or 0,
        needed,
    )


def _keys(attributes: dict[str, Any]) -> Iterable[str]:
    """Say which attributes to look for: of a span that speaks GenAI alone a few will do."""
    if names.OPENINFERENCE_KIND in attributes or names.TRACELOOP_KIND in attributes:
        return KEPT
    if names.GEN_AI_TOOL in attributes and names.GEN_AI_ARGUMENTS in attributes:
        return _OF_A_TOOL
    return _OF_A_MODEL if names.GEN_AI_MODEL in attributes else KEPT


def _slim(run: Run, key: str, value: Any) -> Any:
    """Keep a long text as its digest; the tools that a model was offered as they are, but once a run."""
    if not isinstance(value, str) or len(value) <= _SHORT:
        return value
    if key == names.GEN_AI_TOOLS_OFFERED:
        if value != run.offered:
            run.offered = value
        return run.offered
    return digest(value) if key in _CONTENT or len(value) > _LONG else value


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
