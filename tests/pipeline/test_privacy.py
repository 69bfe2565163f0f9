"""One secret in every place where a span can carry text: all of them in the secure file, none anywhere else."""

import json
import re
import time
import urllib.error
from pathlib import Path

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from services import TOKEN, Collector, TraceStore, fetch, until

pytestmark = pytest.mark.collector

NOW = int(time.time() * 10**9)
PLACES = []


def canary(place):
    """A secret for a place; its number says which one it was."""
    PLACES.append(place)
    return f"canary{len(PLACES):03d}secret"


def text(value):
    return {"stringValue": value}


def attribute(key, value):
    return {"key": key, "value": value if isinstance(value, dict) else text(value)}


def spelt(value):
    """As a sentence: no name."""
    return f"account of {value}, closed"


def spans():
    """A run whose root says that it failed, with a tool below; secrets wherever text fits."""
    root = {
        "traceId": "c" * 32,
        "spanId": "1" * 16,
        "name": f"investigate {canary('name')}",
        "kind": 1,
        "startTimeUnixNano": NOW - 10**9,
        "endTimeUnixNano": NOW,
        "traceState": f"vendor={canary('trace state')}",
        "status": {"code": 2, "message": canary("status message")},
        "attributes": [
            attribute("failure.verdict", {"boolValue": True}),
            attribute("failure.class", "tool_failure"),
            attribute("failure.coverage", "partial"),
            attribute("failure.severity", "high"),
            attribute("failure.findings", {"arrayValue": {"values": [text("tool_failure"), text("hallucination")]}}),
            attribute("failure.technical_detail", f"TimeoutError at {canary('technical detail')}"),
            attribute("failure.dependency", spelt(canary("dependency"))),
            attribute("failure.error_type", spelt(canary("error type"))),
            attribute("failure.step_id", canary("step")),
            attribute("failure.user_message", canary("user message")),
            attribute("recovery.path", spelt(canary("recovery path"))),
            attribute("gen_ai.agent.name", spelt(canary("agent"))),
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("user.id", canary("attribute")),
            attribute(f"key.{canary('key')}", "v"),
            attribute("input.value", canary("prompt")),
            attribute("gen_ai.input.messages", json.dumps([{"content": canary("messages")}])),
            attribute("baggage.customer", canary("baggage")),
            attribute("nested", {"kvlistValue": {"values": [attribute("a", {"kvlistValue": {"values": [
                attribute("b", canary("nested map"))]}})]}}),
            attribute("list", {"arrayValue": {"values": [text(canary("nested list"))]}}),
            # Allowed keys, whose values are no names: nested, bytes, a sentence, a list.
            attribute("gen_ai.request.model", {"kvlistValue": {"values": [attribute("m", canary("allowed, nested"))]}}),
            attribute("error.type", {"arrayValue": {"values": [text(canary("allowed, list"))]}}),
            attribute("exception.type", f"Error: {canary('allowed, sentence')}"),
        ],
        "events": [
            {
                "timeUnixNano": NOW,
                "name": "exception",
                "attributes": [
                    attribute("exception.type", "ValueError"),
                    attribute("exception.message", canary("exception message")),
                    attribute("exception.stacktrace", f'File "/srv/{canary("stack path")}.py", line 3'),
                ],
            },
            {
                "timeUnixNano": NOW,
                "name": f"note {canary('event name')}",
                "attributes": [attribute("note", canary("event attribute"))],
            },
            {
                "timeUnixNano": NOW,
                "name": "recovery",
                "attributes": [attribute("recovery.path", spelt(canary("recovery event")))],
            },
        ],
    }  # fmt: skip
    tool = {
        "traceId": "c" * 32,
        "spanId": "2" * 16,
        "parentSpanId": "1" * 16,
        "name": canary("name of a tool span"),
        "kind": 1,
        "startTimeUnixNano": NOW - 10**8,
        "endTimeUnixNano": NOW,
        "status": {"code": 2, "message": canary("status of a tool")},
        "attributes": [
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", "get_transactions"),
            attribute("gen_ai.tool.call.arguments", json.dumps({"account": canary("arguments")})),
            attribute("gen_ai.tool.call.result", canary("result")),
            attribute("url.full", f"https://example.com/x?token={canary('address')}"),
            attribute("http.request.header.authorization", {"arrayValue": {"values": [text(canary("header"))]}}),
            attribute("db.query.text", f"select * from a where id = '{canary('query')}'"),
        ],
        "links": [
            {
                "traceId": "d" * 32,
                "spanId": "3" * 16,
                "traceState": f"v={canary('link trace state')}",
                "attributes": [attribute("why", canary("link attribute"))],
            }
        ],
    }
    return [root, tool]


REQUEST = {
    "resourceSpans": [
        {
            "schemaUrl": f"https://example.com/{canary('schema of the resource')}",
            "resource": {
                "attributes": [
                    attribute("service.name", "copilot"),
                    attribute("host.name", canary("resource")),
                    attribute("process.command_args", {"arrayValue": {"values": [text(canary("command line"))]}}),
                    attribute("service.version", spelt(canary("version"))),
                ]
            },
            "scopeSpans": [
                {
                    "schemaUrl": f"https://example.com/{canary('schema of the scope')}",
                    "scope": {
                        "name": f"scope of {canary('scope name')}",
                        "version": canary("scope version"),
                        "attributes": [attribute("k", canary("scope attribute"))],
                    },
                    "spans": spans(),
                }
            ],
        }
    ]
}
CANARIES = re.compile(r"canary\d{3}secret")


def named(found):
    """Which places they came from."""
    return sorted({PLACES[int(each[6:9]) - 1] for each in found})


def channel(collector):
    if collector.certificate is None:
        return grpc.insecure_channel(f"127.0.0.1:{collector.grpc}")
    roots = grpc.ssl_channel_credentials(collector.certificate.read_bytes())
    return grpc.secure_channel(f"localhost:{collector.grpc}", roots)


def send(collector, request, *, token=TOKEN):
    with channel(collector) as open_channel:
        stub = trace_service_pb2_grpc.TraceServiceStub(open_channel)
        message = ParseDict(_hex_to_base64(request), trace_service_pb2.ExportTraceServiceRequest())
        stub.Export(message, metadata=[("authorization", f"Bearer {token}")], timeout=20)


def _hex_to_base64(request):
    """OTLP's JSON has ids in hex, where protobuf's JSON has bytes in base64."""
    import base64

    def change(value, key=""):
        if isinstance(value, dict):
            return {name: change(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [change(each) for each in value]
        if key in {"traceId", "spanId", "parentSpanId"}:
            return base64.b64encode(bytes.fromhex(value)).decode()
        return value

    return change(request)


def secure_text(collector):
    return "".join(path.read_text(encoding="utf-8") for path in Path(collector.secure).glob("*.jsonl"))


def test_there_are_enough_places():
    """Attribute, nested, event, status, name, link, resource, baggage, exception: twice the two dozen asked for."""
    assert len(PLACES) >= 40
    assert named(CANARIES.findall(json.dumps(REQUEST))) == sorted(PLACES)


@pytest.fixture(scope="module")
def told(collector, prometheus, trace_store):
    """The request went in, and came out at all three ends."""
    send(collector, REQUEST)
    until("the trace store", trace_store.spans)
    until("Prometheus", lambda: prometheus.query("otel_aml_runs_total") and prometheus.query("otel_aml_findings_total"))
    until("the recovery event", lambda: prometheus.query("otel_aml_recovery_events_total"))


def test_all_reach_the_secure_path(collector, told):
    """Nothing that an investigation needs is thrown away there."""
    assert named(CANARIES.findall(secure_text(collector))) == sorted(PLACES)


def test_none_reaches_the_public_path(trace_store, told):
    """Neither as text nor in the bytes of what is sent."""
    assert named(CANARIES.findall(trace_store.text())) == []
    assert len(trace_store.spans()) == 2


def test_the_public_path_still_says_what_happened(trace_store, told):
    """Names, classes and times are left: enough to find the run."""
    root, tool = sorted(trace_store.spans(), key=lambda span: span.span_id)
    kept = {each.key: each.value.string_value for each in root.attributes}
    assert root.name == "invoke_agent ****"
    assert kept["failure.class"] == "tool_failure"
    assert kept["failure.findings"] == "tool_failure/hallucination"
    assert kept["failure.dependency"] == "****"
    assert tool.name == "execute_tool get_transactions"
    assert [event.name for event in root.events] == ["exception", "event", "recovery"]
    assert root.events[0].attributes[0].value.string_value == "ValueError"
    assert len(tool.links) == 0
    assert tool.parent_span_id == root.span_id


def test_none_becomes_a_metric(collector, prometheus, told):
    """In no scrape, no label, no name, no exemplar; and of the Collector's own metrics neither."""
    scrapes = [fetch(f"http://127.0.0.1:{port}/metrics") for port in (collector.runs, collector.processor)]
    own = fetch(f"http://127.0.0.1:{collector.telemetry}/metrics")
    labels = json.dumps(prometheus.get("series", **{"match[]": '{__name__=~".+"}'}))
    exemplars = json.dumps(prometheus.get("query_exemplars", query='{__name__=~".+"}', start=0, end=2e9))
    assert named(CANARIES.findall("".join((*scrapes, own, labels, exemplars)))) == []


def test_none_is_logged(collector, told):
    """The Collector's log is read by more people than its files."""
    assert named(CANARIES.findall(collector.process.log.read_text())) == []


def test_an_odd_value_is_counted_as_other(prometheus, told):
    """The run is not lost, only what it was called."""
    assert prometheus.by("failure_class", "otel_aml_runs_total") == {"tool_failure": 1}
    assert prometheus.by("recovery_path", "otel_aml_runs_total") == {"other": 1}
    assert prometheus.by("failure_dependency", "otel_aml_tool_failures_total") == {"other": 1}
    assert prometheus.by("gen_ai_agent_name", "otel_aml_agent_runs_total") == {"other": 1}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_wrong_token_leaves_no_byte(collector, told, protocol):
    """Refused at the door: nothing in the file, nothing counted."""
    before, accepted = secure_text(collector), collector.own("otelcol_receiver_accepted_spans")
    assert accepted >= 2
    if protocol == "grpc":
        with pytest.raises(grpc.RpcError) as refused:
            send(collector, REQUEST, token="guessed")
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    else:
        import ssl

        context = ssl.create_default_context(cafile=str(collector.certificate))
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetch(
                f"https://localhost:{collector.http}/v1/traces",
                data=json.dumps(REQUEST).encode(),
                headers={"content-type": "application/json", "authorization": "Bearer guessed"},
                context=context,
            )
    assert secure_text(collector) == before
    assert collector.own("otelcol_receiver_accepted_spans") == accepted


def test_without_the_gate_a_span_with_links_stays_in(tmp_path, certificate):
    """Links can only be emptied behind a feature gate: who forgets it loses the span, not the secret."""
    with (
        TraceStore() as store,
        Collector(
            tmp_path, *certificate, trace_store=store.address, gates="-ottl.set.allowNil,ottl.functions.enableLambda"
        ) as collector,
    ):
        send(collector, REQUEST)
        until("the root", store.spans)
        assert [span.name for span in store.spans()] == ["invoke_agent ****"]
        assert named(CANARIES.findall(store.text())) == []


def metric(name, **labels):
    return {
        "name": name,
        "sum": {
            "aggregationTemporality": 2,
            "isMonotonic": True,
            "dataPoints": [
                {
                    "timeUnixNano": NOW,
                    "startTimeUnixNano": NOW - 10**9,
                    "asInt": 1,
                    "attributes": [attribute(key.replace("__", "."), value) for key, value in labels.items()],
                }
            ],
        },
    }


def test_metrics_of_agents_pass_by_name(collector, told):
    """Of what agents measure themselves only ours goes on, with labels of closed sets."""
    request = {
        "resourceMetrics": [
            {
                "resource": {
                    "attributes": [attribute("service.name", "copilot"), attribute("host.name", "canary901secret")]
                },
                "scopeMetrics": [
                    {
                        "scope": {"name": "canary902secret"},
                        "metrics": [
                            metric("otel_aml.processor.spans", case="canary903secret"),
                            metric("otel_aml.recovery.circuits", failure__dependency="the canary904secret"),
                            metric("app.canary905secret"),
                            # Counted from the spans already.
                            metric("otel_aml.runs", failure__class="pass"),
                        ],
                    }
                ],
            }
        ]
    }
    with channel(collector) as open_channel:
        stub = metrics_service_pb2_grpc.MetricsServiceStub(open_channel)
        message = ParseDict(request, metrics_service_pb2.ExportMetricsServiceRequest())
        stub.Export(message, metadata=[("authorization", f"Bearer {TOKEN}")], timeout=20)
    found = until("the metrics", lambda: collector.scraped(collector.processor))
    assert CANARIES.findall(" ".join(found)) == []
    names = {series.partition("{")[0] for series in found}
    assert names <= {"otel_aml_processor_spans_total", "otel_aml_recovery_circuits_total", "target_info"}
    assert 'failure_dependency="other"' in " ".join(found)
