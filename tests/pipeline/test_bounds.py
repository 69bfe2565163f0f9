"""Whatever agents call their tools, errors and cases: the number of series stays small, and the runs stay exact."""

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from services import Collector, until

import otel_aml

pytestmark = pytest.mark.collector

RUNS = 2_000


def test_two_thousand_tools_are_twenty_and_the_others(tmp_path):
    """Each run fails in another tool, with another customer in the error's text."""
    with Collector(tmp_path) as collector:
        provider = TracerProvider(resource=Resource({"service.name": "bank"}), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=f"127.0.0.1:{collector.grpc}", insecure=True)
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=3 * RUNS))
        otel_aml.install(provider)
        tracer = provider.get_tracer("app")
        for number in range(RUNS):
            with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
                with pytest.raises(ValueError, match="not found"):
                    with tracer.start_as_current_span(
                        "tool",
                        attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"tool_{number}"},
                    ):
                        raise ValueError(f"customer {number} not found")
        provider.shutdown()
        until("all runs are counted", lambda: collector.total("otel_aml_runs_total") == RUNS)
        until("all failures are counted", lambda: collector.total("otel_aml_tool_failures_total") == RUNS)
        found = collector.scraped()
    tools = [series for series in found if series.startswith("otel_aml_tool_failures_total")]
    assert len(tools) <= 21
    assert sum("other" in series for series in tools) == 1
    assert len(found) <= 200
    assert not [series for series in found if "customer" in series or "not found" in series]
