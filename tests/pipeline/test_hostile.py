"""Spans that no agent of ours sends: what they hold stays in, their numbers spoil no sum, and no batch is refused."""

import re
import time

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from services import TOKEN, Collector, TraceStore, fetch, until
from test_privacy import attribute, channel, metric, send, text

pytestmark = pytest.mark.collector

NOW = int(time.time() * 10**9)
ODD = (
    text("an account\nof canary001secret\n\nclosed"),
    text("canary002secret"),
    text(""),
    {"doubleValue": 5.5},
    {"intValue": "5"},
    {"boolValue": True},
    {"bytesValue": "Y2FuYXJ5MDAzc2VjcmV0"},
    {"arrayValue": {"values": [{"doubleValue": 1}, text("canary004secret is\n\nbad")]}},
    {"kvlistValue": {"values": [attribute("canary005secret", "v")]}},
)
CLOSED = ("failure.class", "failure.coverage", "failure.severity", "recovery.path", "recovery.outcome")
NAMES = ("gen_ai.agent.name", "gen_ai.tool.name", "gen_ai.operation.name", "openinference.span.kind")
CANARIES = re.compile("canary00[13-9]secret|Y2FuYXJ5MDAzc2VjcmV0")
"""All but the second, which looks like a name, and so is one where no set is closed; the third also in base64."""


def span(number, value):
    """One without events, whose every attribute holds an odd value."""
    odd = (*CLOSED, *NAMES, "failure.findings", "failure.unchecked", "error.type")
    return {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "x",
        "startTimeUnixNano": NOW,
        "endTimeUnixNano": NOW - 10**9,
        "status": {"code": 2},
        "attributes": [
            attribute("failure.verdict", {"boolValue": True}),
            *(attribute(key, value) for key in odd),
            attribute("recovery.attempts", {"intValue": str(2**63 - 1) if number % 2 else "-5"}),
            attribute("aml.citations.cited", {"intValue": "1"}),
            attribute("aml.citations.unresolved", {"intValue": "9"}),
        ],
    }


@pytest.fixture(scope="module")
def ends(tmp_path_factory, certificate):
    """What is said of them on all ends: by a trace store, and by both scrapes."""
    folder = tmp_path_factory.mktemp("hostile")
    with TraceStore() as store, Collector(folder, *certificate, trace_store=store.address) as collector:
        entity = {"schemaUrl": "canary006secret", "type": "canary007secret", "idKeys": ["canary008secret"]}
        resource = {"attributes": [attribute("service.name", "a bank\ncanary009secret\n")], "entityRefs": [entity]}
        spans = [span(number, value) for number, value in enumerate(ODD)]
        send(collector, {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]})
        odd = metric("otel_aml.processor.dropped", otel_aml__drop__reason="canary001secret")
        odd |= {"description": "canary009secret", "unit": "canary004secret"}
        metrics = [odd, metric("otel_aml.processor.canary005secret")]
        request = {"resourceMetrics": [{"resource": {}, "scopeMetrics": [{"metrics": metrics}]}]}
        with channel(collector) as open_channel:
            stub = metrics_service_pb2_grpc.MetricsServiceStub(open_channel)
            message = ParseDict(request, metrics_service_pb2.ExportMetricsServiceRequest())
            stub.Export(message, metadata=[("authorization", f"Bearer {TOKEN}")], timeout=20)
        until("all are counted", lambda: collector.total("otel_aml_runs_total") == len(ODD))
        until("all are in the trace store", lambda: len(store.spans()) == len(ODD))
        until("the processor's metrics", lambda: collector.scraped(collector.processor))
        scrapes = "".join(fetch(f"http://127.0.0.1:{port}/metrics") for port in (collector.runs, collector.processor))
        yield store.text(), scrapes, collector.scraped()


def test_none_leaves(ends):
    """Neither by a line break, nor as what is no text, nor as the entity of a resource."""
    public, scrapes, _ = ends
    assert CANARIES.findall(public) == []
    assert CANARIES.findall(scrapes) == []


def test_a_closed_set_is_closed_for_spans_without_events_too(ends):
    """All are counted, under `other`."""
    runs = [series for series in ends[2] if series.startswith("otel_aml_runs_total")]
    assert len(runs) == 1
    assert all(f'{key.replace(".", "_")}="other"' in runs[0] for key in CLOSED)
    assert 'job="other"' in runs[0]


def test_no_sum_takes_a_number_that_cannot_be(ends):
    """More ids that lead nowhere than ids; attempts below none, or beyond counting."""
    assert not [series for series in ends[2] if "citations" in series or "attempts" in series]
