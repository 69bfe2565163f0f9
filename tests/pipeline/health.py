"""A process of agents that measures itself: labelled runs, an open circuit, a case that waits. Ends when told to.

Run as a program; it says `ready` once its first export, at zero, is out, and goes on at the next line of its input.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

import otel_aml
from otel_aml.live.metrics import observe_takeovers


def main() -> None:
    """Measure, export, wait, measure again."""
    resource = Resource({"service.name": "aml-copilot-demo", "service.instance.id": "one"})
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=1_000)
    meters = MeterProvider([reader], resource=resource)
    traces = TracerProvider(resource=resource)
    otel_aml.install(traces, metrics=meters)
    breaker = otel_aml.CircuitBreaker(
        "sanctions_list", policy=otel_aml.CircuitPolicy(consecutive_failures=1, open_seconds=300)
    )
    with suppress(TimeoutError), breaker.call():
        raise TimeoutError
    observe_takeovers(lambda: {"open": 2, "oldest_age_seconds": 4_000.0, "escalations": 0})
    meters.force_flush()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for number in range(40):
        typology = "structuring" if number % 4 else "layering"
        labels = {"aml.gold.typology": "structuring", "aml.answer.typology": typology}
        with otel_aml.case(f"C-{number}", tracer_provider=traces):
            with traces.get_tracer("app").start_as_current_span(
                "agent", attributes={"gen_ai.operation.name": "invoke_agent", **labels}
            ):
                pass
    meters.force_flush()
    sys.stdin.readline()
    meters.shutdown()


if __name__ == "__main__":
    main()
