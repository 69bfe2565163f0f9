"""A process full of agents: the demo's copilot, sending to a Collector, labelled, so that every class is decided live.

Run as a program: `agents.py SEED CASES`. Where to send stands in the environment, as for any agent.
"""

from __future__ import annotations

import os
import sys
from collections import Counter

from otel_aml.demo.faults import deal
from otel_aml.demo.run import run_demo
from otel_aml.demo.truth import truth


def exporter():
    if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    return OTLPSpanExporter()


def expected(seeds, cases):
    """Runs per class by the generator's plan; paused runs pass, and are told apart by reports alone."""
    return Counter(str(truth(each).failure_class) for seed in seeds for each in deal(seed, cases))


if __name__ == "__main__":
    run_demo(int(sys.argv[1]), int(sys.argv[2]), exporter=exporter(), labelled=True)
