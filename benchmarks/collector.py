"""What the Collector costs: spans per second and per core through all paths of collector-config.yaml.

    python benchmarks/collector.py [SECONDS]

Eight senders keep requests of the demo's spans in flight over gRPC, without TLS; the Collector's processor time is its
own, as the system tells it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import grpc
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / "pipeline"), str(ROOT)]

from services import Collector, TraceStore  # noqa: E402

from otel_aml.demo.run import run_demo  # noqa: E402

BATCH, SENDERS = 512, 8


class Kept(InMemorySpanExporter):
    """Keeps its spans when the demo shuts it down."""

    def shutdown(self):
        pass


def requests():
    kept = Kept()
    run_demo(7, 300, exporter=kept, labelled=True)
    spans = kept.get_finished_spans()
    return [(encode_spans(spans[at : at + BATCH]), len(spans[at : at + BATCH])) for at in range(0, len(spans), BATCH)]


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(folder, what, seconds):
    with TraceStore() as store:
        collector = Collector(folder, trace_store=store.address, settings={"METRICS_FLUSH": "15s"})
        with collector:
            sent, end = [0] * SENDERS, time.monotonic() + seconds

            def send(number):
                with grpc.insecure_channel(f"127.0.0.1:{collector.grpc}") as channel:
                    stub = trace_service_pb2_grpc.TraceServiceStub(channel)
                    while time.monotonic() < end:
                        for request, count in what:
                            stub.Export(request, timeout=30)
                            sent[number] += count

            before, began = processor_seconds(collector.process.process.pid), time.monotonic()
            threads = [threading.Thread(target=send, args=(number,)) for number in range(SENDERS)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            used = processor_seconds(collector.process.process.pid) - before
            took = time.monotonic() - began
            memory = next(
                int(line.split()[1]) // 1024
                for line in Path(f"/proc/{collector.process.process.pid}/status").read_text().splitlines()
                if line.startswith("VmHWM")
            )
    return sum(sent), used, took, memory


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    what = requests()
    size = sum(request.ByteSize() for request, _ in what) / sum(count for _, count in what)
    print(f"{size:.0f} bytes a span, {BATCH} spans a request, {SENDERS} senders")
    with tempfile.TemporaryDirectory() as folder:
        spans, used, took, memory = measure(Path(folder), what, seconds)
    print(f"{spans} spans in {took:.1f} s: {spans / took:.0f} a second")
    print(f"{spans / used:.0f} a second and core; {memory} MiB at its highest")


if __name__ == "__main__":
    main()
