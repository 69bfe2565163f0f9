"""How fast do files become a store? Realistic spans, made on the fly, beside a plain scan of their lines.

    python benchmarks/ingest.py [--mib 200] [--runs 3]

Spans of about 5.6 kB with about 20 attributes, 512 a line, as a BatchSpanProcessor writes them. Each variant runs in a
process of its own: wall time, MB/s, times a line scan, CPU time and peak memory. `load` reads spans into tables;
`ingest` also draws the verdicts and saves a store; `reports` asks that store.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = ("cash", "deposit", "below", "limit", "transfer", "account", "wire", "branch", "pattern", "review", "customer")
A_LINE = 512
A_RUN = 8


def text(rng, size):
    found = []
    while size > 0:
        found.append(rng.choice(WORDS))
        size -= len(found[-1]) + 1
    return " ".join(found)


def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value) if isinstance(value, int) else value}}


def a_run(rng, number, texts):
    """One run: an agent, models, tools and a retriever."""
    trace_id, start = f"{number + 1:032x}", 1_790_000_000_000_000_000 + number * 10_000_000
    failing = rng.random() < 0.1
    for step in range(A_RUN):
        operation = ("invoke_agent", "chat", "execute_tool", "retrieval")[min(step, 1 + step % 3) if step else 0]
        attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.system": "openai",
            "gen_ai.request.model": "m-large",
            "gen_ai.response.model": "m-large-2026",
            "gen_ai.response.id": f"r-{number}-{step}",
            "gen_ai.usage.input_tokens": rng.randrange(5_000),
            "gen_ai.usage.output_tokens": rng.randrange(900),
            "gen_ai.conversation.id": f"c-{number}",
            "gen_ai.agent.name": "clerk",
            "gen_ai.tool.name": "rules",
            "gen_ai.tool.call.id": f"t-{number}-{step}",
            "session.id": f"s-{number % 97}",
            "user.id": f"u-{number % 13}",
            "thread.id": rng.randrange(99),
            "thread.name": "worker",
            "code.function.name": "step",
            "input.value": rng.choice(texts),
            "output.value": rng.choice(texts),
        }
        if step == 0:
            answer = {"typology": "structuring", "cited_tx_ids": [f"TX-{rng.randrange(4)}"], "narrative": texts[0]}
            attributes |= {"aml.case.id": f"C-{number}", "output.value": json.dumps(answer)}
        found = {
            "traceId": trace_id,
            "spanId": f"{number * A_RUN + step + 1:016x}",
            "name": operation,
            "kind": 1,
            "startTimeUnixNano": str(start + step * 1_000_000),
            "endTimeUnixNano": str(start + (9_000_000 if step == 0 else step * 1_000_000 + 900_000)),
            "attributes": [attribute(key, value) for key, value in attributes.items()],
            "status": {"code": 2, "message": "TimeoutError"} if failing and step == 2 else {},
        }
        if step == 0:
            evidence = [{"stringValue": f"TX-{each}"} for each in range(4)]
            found["attributes"].append({"key": "aml.case.evidence_ids", "value": {"arrayValue": {"values": evidence}}})
        else:
            found["parentSpanId"] = f"{number * A_RUN + 1:016x}"
        yield found


def write(path, size):
    """Write spans until the file has its size; give their number."""
    rng = random.Random(1)
    texts = [text(rng, 2_200) for _ in range(500)]
    number = spans = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            batch = []
            while len(batch) < A_LINE:
                batch.extend(a_run(rng, number, texts))
                number += 1
            resource_of = {"attributes": [attribute("service.name", "copilot"), attribute("host.name", "h-1")]}
            scoped = [{"scope": {"name": "app"}, "spans": batch}]
            file.write(json.dumps({"resourceSpans": [{"resource": resource_of, "scopeSpans": scoped}]}) + "\n")
            spans += len(batch)
    return spans


SCAN = "import sys; [None for _ in open(sys.argv[1], 'rb')]"
LOAD = """
import sys
from otel_aml.offline.store import Store
from otel_aml.offline.loading import load
with Store() as store:
    load(store, [sys.argv[1]])
"""
INGEST = """
import sys
from pathlib import Path
from otel_aml.offline.analysis import Given, ingest
ingest(Given(files=[sys.argv[1]]), Path(sys.argv[2]), keep_text=sys.argv[3] == "text", replace=True)
"""
REPORT = """
import sys
from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed
with analysed(Given(files=[sys.argv[2]])) as analysis:
    reports.report(analysis)
"""
VARIANTS = {
    "line scan": (SCAN, ""),
    "load": (LOAD, ""),
    "ingest": (INGEST, "short"),
    "ingest --keep-text": (INGEST, "text"),
    "reports": (REPORT, ""),
}


def measured(code, path, store, word):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    script = code + "\nimport resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    command = [sys.executable, "-c", script, str(path), str(store), word]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, int(done.stdout) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, store = Path(folder) / "traces.jsonl", Path(folder) / "store.duckdb"
        spans = write(path, given.mib * 2**20)
        size = path.stat().st_size / 1e6
        print(f"{size:.0f} MB, {spans} spans of {size * 1e6 / spans:.0f} bytes; median of {given.runs}")
        scan = scan_cpu = 0.0
        for name, (code, word) in VARIANTS.items():
            found = sorted(measured(code, path, store, word) for _ in range(given.runs))
            wall, cpu, memory = found[len(found) // 2]
            scan, scan_cpu = scan or wall, scan_cpu or cpu
            print(
                f"{name:<20} {wall:7.2f} s  {size / wall:6.0f} MB/s  {wall / scan:5.1f} x a line scan  "
                f"{cpu:6.2f} s CPU ({cpu / scan_cpu:5.1f} x)  {memory:6.0f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
