"""A process whose agents work without pause, and that knows what it ended and what its exporter gave up.

Run as a program: `busy.py NAME RUNS PAUSE_MS`. Prints, as JSON: the trace ids of the runs whose root ended, and those
of them that the SDK's exporter gave up. Where to send stands in the environment.
"""

from __future__ import annotations

import json
import sys
import time

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import otel_aml


class Accounting(SpanExporter):
    """Notes which runs were not delivered."""

    def __init__(self, exporter: SpanExporter) -> None:
        self.exporter = exporter
        self.undelivered: set[str] = set()

    def export(self, spans):
        result = self.exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self.undelivered |= {f"{span.context.trace_id:032x}" for span in spans}
        return result

    def shutdown(self) -> None:
        self.exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self.exporter.force_flush(timeout_millis)


def main(name: str, runs: int, pause_ms: int) -> None:
    """Work, then say what became of it."""
    provider = TracerProvider(resource=Resource({"service.name": name}), shutdown_on_exit=False)
    exporter = Accounting(OTLPSpanExporter(timeout=15))
    processor = BatchSpanProcessor(
        exporter,
        schedule_delay_millis=100,
        max_export_batch_size=64,
        max_queue_size=20_000,
        export_timeout_millis=20_000,
    )
    provider.add_span_processor(processor)
    otel_aml.install(provider)
    tracer = provider.get_tracer("app")
    ended = []
    for _ in range(runs):
        with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}) as root:
            with tracer.start_as_current_span(
                "tool", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
            ):
                time.sleep(pause_ms / 1000)
        ended.append(f"{root.get_span_context().trace_id:032x}")
    provider.force_flush(60_000)
    provider.shutdown()
    sys.stdout.write(json.dumps({"ended": ended, "undelivered": sorted(exporter.undelivered)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
