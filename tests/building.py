"""Builders: a step, an incident, a span in one line, with defaults that say nothing."""

from __future__ import annotations

from otel_aml.core.steps import About, Incident, Kind, Sort, Step
from otel_aml.spans.model import Event, SpanRecord, Status

ROOT = "root"


def failed(type_="", message="", **more):
    """Build an error."""
    return Incident(sort=Sort.FAILED, type=type_, message=message, **more)


def rejected(about=About.ARGUMENTS, **more):
    """Build a refusal of what the model wrote."""
    return Incident(sort=Sort.REJECTED, about=about, **more)


CANCELLED = Incident(sort=Sort.CANCELLED, type="asyncio.CancelledError", error_type="cancelled")
ABANDONED = Incident(sort=Sort.ABANDONED, type="GeneratorExit", error_type="cancelled")
TIMEOUT = failed("TimeoutError", "", error_type="timeout", retriable=True)


def step(span_id, started_at, ended_at, kind=Kind.TOOL, incident=None, *, parent=ROOT, name=None, **more):
    """Build a step; without a name it is a call of the tool `search`, a model `m` or what its kind says."""
    names = {Kind.TOOL: "search", Kind.MODEL: "m"}
    return Step(
        span_id=span_id,
        parent_id=parent,
        kind=kind,
        name=names.get(kind, str(kind)) if name is None else name,
        started_at=started_at,
        ended_at=ended_at,
        incident=incident,
        **more,
    )


def root(ended_at=100, incident=None, kind=Kind.AGENT, **more):
    """Build the root of a run."""
    return step(ROOT, 0, ended_at, kind, incident, parent=None, **more)


def span(span_id="s1", parent=None, attributes=None, **more):
    """Build a span record; `error` gives it the status ERROR and that message, `exception` an exception event."""
    error, exception = more.pop("error", None), more.pop("exception", None)
    events = ()
    if exception is not None:
        type_, message = exception
        events = (Event("exception", {"exception.type": type_, "exception.message": message}),)
    return SpanRecord(
        trace_id=more.pop("trace_id", "t" * 32),
        span_id=span_id,
        parent_id=parent,
        name=more.pop("name", "span"),
        started_at=more.pop("started_at", 0),
        ended_at=more.pop("ended_at", 10),
        status=Status.UNSET if error is None else Status.ERROR,
        status_message=error or "",
        attributes=attributes or {},
        events=events,
        **more,
    )
