"""A live span of the SDK reads as the same span from a file."""

from __future__ import annotations

import itertools

import otlp
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator

from otel_aml.conventions import read
from otel_aml.core.steps import Kind, Sort
from otel_aml.spans import attributes as names
from otel_aml.spans.model import Status
from otel_aml.spans.sdk import plain, record


class Counting(IdGenerator):
    """Ids that a person can read."""

    def __init__(self):
        self.ids = itertools.count(1)

    def generate_span_id(self):
        return next(self.ids)

    def generate_trace_id(self):
        return 255


@pytest.fixture
def exporter():
    """Collect what a tracer ended."""
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    """Trace with counting ids."""
    provider = TracerProvider(id_generator=Counting())
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("pydantic-ai")


def recorded(span, **more):
    """Read a span of the SDK."""
    return record(span, plain(span.attributes), **more)


KINDS = [
    pytest.param(trace.SpanKind.INTERNAL, False, False, id="internal"),
    pytest.param(trace.SpanKind.CLIENT, True, False, id="client"),
    pytest.param(trace.SpanKind.PRODUCER, True, False, id="producer"),
    pytest.param(trace.SpanKind.SERVER, False, True, id="server"),
    pytest.param(trace.SpanKind.CONSUMER, False, True, id="consumer"),
]


@pytest.mark.parametrize(("kind", "is_client", "is_server"), KINDS)
def test_a_span_keeps_its_place_and_kind(tracer, exporter, kind, is_client, is_server):
    """Ids as OTLP prints them, times as they were."""
    with tracer.start_as_current_span("run"):
        tracer.start_span("step", kind=kind, start_time=5).end(end_time=9)
    found = recorded(exporter.get_finished_spans()[0])
    assert (found.trace_id, found.span_id, found.parent_id) == (f"{255:032x}", f"{2:016x}", f"{1:016x}")
    assert (found.name, found.scope, found.started_at, found.ended_at) == ("step", "pydantic-ai", 5, 9)
    assert (found.client, found.server, found.remote_parent) == (is_client, is_server, False)
    assert recorded(exporter.get_finished_spans()[1]).parent_id is None


def test_a_parent_in_another_process_is_known(tracer, exporter):
    """Then the span is a local root."""
    far = trace.SpanContext(trace_id=7, span_id=8, is_remote=True, trace_flags=trace.TraceFlags(1))
    context = trace.set_span_in_context(trace.NonRecordingSpan(far))
    tracer.start_span("run", context=context).end()
    found = recorded(exporter.get_finished_spans()[0])
    assert (found.parent_id, found.remote_parent) == (f"{8:016x}", True)


def test_a_live_span_ends_when_one_says(tracer):
    """It is read before it has ended."""
    live = tracer.start_span("run", start_time=5)
    assert recorded(live, ended_at=9).ended_at == 9


ATTRIBUTES = {
    names.GEN_AI_OPERATION: "execute_tool",
    names.GEN_AI_TOOL: "search",
    names.EVIDENCE_IDS: ["TX-1", "TX-2"],
    names.ANSWER_VALID: True,
    names.CASE_ID: 17,
}


def test_a_live_span_reads_as_it_will_from_a_file(tracer, exporter):
    """The verdict must not depend on who reads it."""
    with pytest.raises(TimeoutError), tracer.start_as_current_span("tool", attributes=ATTRIBUTES):
        raise TimeoutError("no answer")
    (ended,) = exporter.get_finished_spans()
    live = recorded(ended)
    assert live.status is Status.ERROR
    filed = otlp.record(
        {
            "traceId": live.trace_id,
            "spanId": live.span_id,
            "name": live.name,
            "startTimeUnixNano": str(live.started_at),
            "endTimeUnixNano": str(live.ended_at),
            "status": {"code": 2, "message": ended.status.description},
            "attributes": pairs(ended.attributes),
            "events": [{"name": each.name, "attributes": pairs(each.attributes)} for each in ended.events],
        },
        "pydantic-ai",
    )
    assert read(filed) == read(live)
    step = read(live).step
    assert (step.kind, step.name, step.incident.sort, step.incident.error_type) == (
        Kind.TOOL,
        "search",
        Sort.FAILED,
        "timeout",
    )


def pairs(attributes):
    """Write attributes as OTLP JSON does."""
    return [{"key": key, "value": otlp.encoded(value)} for key, value in attributes.items()]


@pytest.mark.parametrize("attributes", [None, {}, {"a": 1}])
def test_attributes_are_copied(attributes):
    """Whatever mapping they come in."""
    copy = plain(attributes)
    assert copy == (attributes or {})
    assert copy is not attributes


def test_attributes_that_a_limit_took_are_counted(exporter):
    """What is missing is then unknown, not absent."""
    provider = TracerProvider(span_limits=SpanLimits(max_attributes=2))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.get_tracer("app").start_span("run", attributes={"a": 1, "b": 2, "c": 3}).end()
    found = recorded(exporter.get_finished_spans()[0])
    assert (set(found.attributes), found.dropped_attributes) == ({"b", "c"}, 1)
