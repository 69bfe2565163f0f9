"""Beside the processors of other tools, whichever came first: each exported span once, and the verdict on its root.

`pytest -m beside` in a venv with the extra `beside`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.beside

RUN = """
import json, os
os.environ["TRACELOOP_TELEMETRY"] = "false"
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
import otel_aml

exporter = InMemorySpanExporter()
{setup}
if ORDER == "alone":
    provider = theirs(make())
elif ORDER == "after":
    provider = theirs(make())
    otel_aml.install(provider)
else:
    provider = make()
    otel_aml.install(provider)
    provider = theirs(provider)
tracer = provider.get_tracer("app")
with tracer.start_as_current_span("investigate", attributes={{"gen_ai.operation.name": "invoke_agent"}}):
    with tracer.start_as_current_span("chat", attributes={{"gen_ai.operation.name": "chat"}}):
        pass
    try:
        with tracer.start_as_current_span("execute_tool x", attributes={{"gen_ai.operation.name": "execute_tool"}}):
            raise TimeoutError("upstream")
    except TimeoutError:
        pass
provider.force_flush()
spans = exporter.get_finished_spans()
print(json.dumps([[span.name, (span.attributes or {{}}).get("failure.class")] for span in spans]))
"""

PEERS = {
    "langfuse": """
        from langfuse._client.span_processor import LangfuseSpanProcessor

        def make():
            return TracerProvider()

        def theirs(provider):
            options = {"public_key": "pk", "secret_key": "sk", "base_url": "http://127.0.0.1:9"}
            provider.add_span_processor(LangfuseSpanProcessor(span_exporter=exporter, **options))
            return provider
        """,
    "traceloop": """
        from traceloop.sdk import Traceloop

        def make():
            return TracerProvider()

        def theirs(provider):
            provider.add_span_processor(Traceloop.get_default_span_processor(disable_batch=True, exporter=exporter))
            return provider
        """,
    "logfire": """
        import logfire

        def make():
            logfire.configure(send_to_logfire=False, console=False)
            return trace.get_tracer_provider()

        def theirs(provider):
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            return provider
        """,
    "mlflow": """
        import os
        os.environ["MLFLOW_ENABLE_OTEL_GENAI_SEMCONV"] = "false"
        from mlflow.tracing.processor.otel import OtelSpanProcessor

        def make():
            return TracerProvider()

        def theirs(provider):
            provider.add_span_processor(OtelSpanProcessor(span_exporter=exporter, export_metrics=False))
            return provider
        """,
    "phoenix": """
        from phoenix.otel import SimpleSpanProcessor as PhoenixProcessor
        from phoenix.otel import TracerProvider as PhoenixProvider

        def make():
            provider = PhoenixProvider(endpoint="http://127.0.0.1:9/v1/traces", verbose=False)
            default = provider._active_span_processor._span_processors[0]
            default.span_exporter = exporter
            return provider

        def theirs(provider):
            return provider
        """,
}


def exported(peer, order):
    code = f"ORDER = {order!r}\n" + RUN.format(setup=textwrap.dedent(PEERS[peer]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{peer} does not run; is it installed? {done.stderr[-1_500:]}"
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("peer", PEERS)
def test_no_span_is_lost_or_doubled_and_the_root_carries_the_verdict(peer, order):
    """Their exporter gets what it got before, in the same order, and the verdict on one span."""
    alone, beside = exported(peer, "alone"), exported(peer, order)
    assert [name for name, _ in beside] == [name for name, _ in alone]
    assert [name for name, found in beside if found] == ["investigate"]
    assert dict(map(tuple, beside))["investigate"] == "tool_failure"
