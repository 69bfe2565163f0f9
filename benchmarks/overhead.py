"""What the processor costs the app: CPU time per span beside no processor at all, and beside three peers.

    python benchmarks/overhead.py [--rounds 9] [--light]
    python benchmarks/overhead.py --memory

Variants are rotated within each round and paired: each ratio is that of a variant to no processor in the same round,
and the median of the rounds is printed. Peers are measured where they are installed (traceloop-sdk, langfuse, logfire),
their processors alone, with exporters that throw everything away.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.metadata
import json
import logging
import os
import platform
import statistics
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import use_span

import otel_aml

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (12, 100, 10_000)
SPANS_A_ROUND = 12_000


class Nowhere(SpanExporter):
    """Throws all spans away."""

    def export(self, spans: object) -> SpanExportResult:  # noqa: ARG002 - the SDK's signature
        return SpanExportResult.SUCCESS


def attributes(kind: str, *, light: bool) -> tuple[dict, dict]:
    """About twenty attributes and 5.6 kB, as instrumentations set them: some at the start, the rest before the end."""
    if light:
        return {"gen_ai.operation.name": kind}, {}
    start = {
        "gen_ai.operation.name": kind,
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": "aml-copilot",
        "gen_ai.conversation.id": "0198f7a2-5d0e-7c1a-9f3e-2f6b8a4c1d20",
        "server.address": "api.example.internal",
        "server.port": 443,
    }
    end = {f"app.label.{i}": f"value {i}" for i in range(6)}
    words = "The account received several deposits from unrelated parties within two days. " * 32
    if kind == "chat":
        message = [{"role": "user", "parts": [{"type": "text", "content": words}]}]
        called = [{"type": "tool_call", "id": "call_1", "name": "get_transactions", "arguments": {"account": "A-1"}}]
        start |= {"gen_ai.request.model": "gpt-5", "gen_ai.request.temperature": 0.2}
        end |= {
            "gen_ai.input.messages": json.dumps(message),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": called}]),
            "gen_ai.usage.input_tokens": 1_204,
            "gen_ai.usage.output_tokens": 77,
            "gen_ai.response.model": "gpt-5",
            "gen_ai.response.id": "resp_0198f7a2",
            "gen_ai.response.finish_reasons": ["tool_calls"],
            "app.context": words,
        }
    elif kind == "execute_tool":
        start |= {
            "gen_ai.tool.name": "get_transactions",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.tool.type": "function",
        }
        rows = [{"tran_id": f"TXN-{n}", "base_amt": 950.0 + n, "bene_acct": f"ACC-{n}"} for n in range(80)]
        end |= {
            "gen_ai.tool.call.arguments": '{"account": "A-1"}',
            "gen_ai.tool.call.result": json.dumps(rows),
            "app.rows": 80,
            "app.cache": "miss",
            "app.region": "eu-1",
        }
    else:
        text = '{"typology": "structuring", "cited_tx_ids": ["TXN-1", "TXN-2"], "narrative": "' + words[:800] + '"}'
        end |= {
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]),
            "gen_ai.system_instructions": words,
            "app.tenant": "t-1",
            "app.user": "u-1",
            "app.version": "1.2.3",
        }
    return start, end


def plain() -> tuple[dict, dict]:
    start = {f"http.request.header.x-{i}": f"value {i}" for i in range(8)} | {"http.request.method": "GET"}
    return start, {f"app.label.{i}": "x" * 120 for i in range(10)} | {"http.response.status_code": 200}


def trace_of(tracer: object, size: int, kinds: list[tuple[dict, dict]], root: tuple[dict, dict], name: str) -> None:
    """One trace: a root and its spans, each with its attributes."""
    with tracer.start_as_current_span(name, attributes=root[0]) as top:
        for number in range(size - 1):
            start, end = kinds[number % len(kinds)]
            with tracer.start_as_current_span("step", attributes=start) as span:
                span.set_attributes(end)
        top.set_attributes(root[1])


def agent_traces(*, light: bool) -> Callable:
    """Build the attributes once, outside the measured time."""
    kinds = [attributes(kind, light=light) for kind in ("chat", "execute_tool")]
    root = attributes("invoke_agent", light=light)
    return lambda tracer, size: trace_of(tracer, size, kinds, root, "invoke_agent")


def plain_traces() -> Callable:
    kinds, root = [plain()], plain()
    return lambda tracer, size: trace_of(tracer, size, kinds, root, "GET /accounts")


def with_processor(processor: object) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    if processor is not None:
        provider.add_span_processor(processor)
    return provider


def ours() -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    otel_aml.install(provider)
    return provider


def ours_and_batch() -> TracerProvider:
    provider = ours()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    return provider


def traceloop() -> TracerProvider:
    from traceloop.sdk import Traceloop

    return with_processor(Traceloop.get_default_span_processor(disable_batch=False, exporter=Nowhere()))


def langfuse() -> TracerProvider:
    from langfuse._client.span_processor import LangfuseSpanProcessor

    processor = LangfuseSpanProcessor(
        public_key="pk", secret_key="sk", base_url="http://127.0.0.1:9", span_exporter=Nowhere()
    )
    return with_processor(processor)


def logfire() -> TracerProvider:
    from logfire._internal.exporters.processor_wrapper import (
        CheckSuppressInstrumentationProcessorWrapper,
        MainSpanProcessorWrapper,
    )
    from logfire._internal.scrubbing import NoopScrubber

    inner = BatchSpanProcessor(Nowhere())
    return with_processor(CheckSuppressInstrumentationProcessorWrapper(MainSpanProcessorWrapper(inner, NoopScrubber())))


VARIANTS: dict[str, Callable[[], TracerProvider]] = {
    "no processor": lambda: with_processor(None),
    "otel_aml": ours,
    "batch": lambda: with_processor(BatchSpanProcessor(Nowhere())),
    "otel_aml + batch": ours_and_batch,
    "traceloop": traceloop,
    "langfuse": langfuse,
    "logfire": logfire,
}


def available() -> dict[str, TracerProvider]:
    """Set up every variant that is installed."""
    found = {}
    for name, make in VARIANTS.items():
        try:
            found[name] = make()
        except Exception as error:  # noqa: BLE001 - a peer that is not there, or that changed
            print(f"not measured: {name} ({type(error).__name__}: {str(error)[:80]})")
    return found


def cpu(make: Callable, provider: TracerProvider, size: int, threads: int) -> float:
    """CPU microseconds a span."""
    tracer = provider.get_tracer("benchmark")
    traces = max(1, SPANS_A_ROUND // size // threads)

    def work() -> None:
        for _ in range(traces):
            make(tracer, size)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    gc.collect()
    began = time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.process_time() - began) / (traces * threads * size) * 1e6


def measure(make: Callable, size: int, threads: int, rounds: int) -> dict[str, tuple[float, float]]:
    """The median microseconds and the median ratio to no processor, by variant."""
    providers = available()
    names = list(providers)
    times: dict[str, list[float]] = {name: [] for name in names}
    for round_ in range(rounds + 1):
        for turn in range(len(names)):
            name = names[(turn + round_) % len(names)]
            took = cpu(make, providers[name], size, threads)
            if round_:
                times[name].append(took)
            with contextlib.suppress(Exception):
                providers[name].force_flush(2_000)
    bare = times["no processor"]
    found = {
        name: (statistics.median(each), statistics.median(a / b for a, b in zip(each, bare, strict=True)))
        for name, each in times.items()
    }
    for provider in providers.values():
        with contextlib.suppress(Exception):
            provider.shutdown()
    return found


def memory_of_open_runs() -> None:
    """What the processor holds of runs that never end: nothing but what its limits say, however many there are."""
    print(
        "| open runs begun | of spans each | held by the processor, MB | kB a run held |\n| ---: | ---: | ---: | ---: |"
    )
    for size in (12, 100):
        kinds = [attributes(kind, light=False) for kind in ("chat", "execute_tool")]
        root = attributes("invoke_agent", light=False)
        for begun in (5_000, 10_000, 20_000):
            provider = ours()
            tracer = provider.get_tracer("benchmark")
            gc.collect()
            tracemalloc.start()
            for _ in range(begun):
                top = tracer.start_span("invoke_agent", attributes=root[0])
                with use_span(top):
                    for number in range(size - 1):
                        start, end = kinds[number % len(kinds)]
                        with tracer.start_as_current_span("step", attributes=start) as span:
                            span.set_attributes(end)
                del top, span
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            still_open = otel_aml.install(provider).stats()["runs_open"]
            print(f"| {begun} | {size} | {held / 1e6:.1f} | {held / still_open / 1e3:.2f} |", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--light", action="store_true", help="spans with one attribute")
    arguments.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    arguments.add_argument("--threads", type=int, nargs="+", default=[1, 8])
    arguments.add_argument("--memory", action="store_true", help="what 10,000 open runs hold, instead of the time")
    given = arguments.parse_args()
    logging.disable(logging.ERROR)
    os.environ.setdefault("TRACELOOP_TELEMETRY", "false")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("opentelemetry-sdk",))
    print(f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {versions}, {os.cpu_count()} cores")
    if given.memory:
        memory_of_open_runs()
        return
    print("| spans | threads | variant | us/span | ratio |\n| --- | ---: | --- | ---: | ---: |")
    for kind, make in (("agent", agent_traces(light=given.light)), ("no agent run", plain_traces())):
        for size in given.sizes:
            for threads in given.threads:
                found = measure(make, size, threads, given.rounds)
                for name, (micros, ratio) in found.items():
                    print(f"| {kind}, {size} | {threads} | {name} | {micros:.2f} | {ratio:.3f} |", flush=True)


if __name__ == "__main__":
    main()
