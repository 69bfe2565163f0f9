"""Exports in a few words: spans, requests and whole runs as OTLP JSON lines. All names and ids are invented."""

from __future__ import annotations

import json

import duckdb
from otlp import encoded

T0 = 1_790_000_000_000_000_000
MS = 1_000_000
EVIDENCE = ["TX-1", "TX-2", "TX-3"]
OPERATIONS = {"AGENT": "invoke_agent", "TOOL": "execute_tool", "LLM": "chat", "RETRIEVER": "retrieval"}


def trace_id(number):
    return f"{number:032x}"


def span_id(number):
    return f"{number:016x}"


def pairs(attributes):
    return [{"key": key, "value": encoded(value)} for key, value in attributes.items()]


def span(trace, number, parent=None, name="investigate", role=None, at=(0, 10), attributes=None, **fields):
    """Build one span; `at` in ms, `fields` replace whole fields of it, a list of attributes stays as it is."""
    own = {"openinference.span.kind": role, "gen_ai.operation.name": OPERATIONS[role]} if role else {}
    if role == "TOOL":
        own["gen_ai.tool.name"] = name
    found = {
        "traceId": trace_id(trace),
        "spanId": span_id(number),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(T0 + at[0] * MS),
        "endTimeUnixNano": str(T0 + at[1] * MS),
        "attributes": attributes if isinstance(attributes, list) else pairs(own | (attributes or {})),
        "status": {},
    }
    if parent is not None:
        found["parentSpanId"] = span_id(parent)
    return found | fields


def request(*spans, resource=None, scope="app"):
    """Build one export request."""
    scoped = {"scope": {"name": scope, "version": "1"}, "spans": list(spans)}
    described = {"attributes": pairs({"service.name": "copilot"} | (resource or {}))}
    return {"resourceSpans": [{"resource": described, "scopeSpans": [scoped]}]}


def line(*spans, **more):
    """Write one export request."""
    return json.dumps(request(*spans, **more), separators=(",", ":"))


def case(number=1, cited=("TX-1",), typology="structuring", **more):
    """Build what a run root says of its case and answer."""
    answer = json.dumps({"typology": typology, "cited_tx_ids": list(cited), "narrative": "Cash below the limit."})
    return {
        "aml.case.id": f"C-{number}",
        "aml.case.evidence_ids": EVIDENCE,
        "output.value": answer,
        **more,
    }


def good(trace, **more):
    """Build a run in which nothing is wrong."""
    return [
        span(trace, 2, 1, "get_transactions", "TOOL", (1, 2)),
        span(trace, 1, role="AGENT", attributes=case(trace, **more)),
    ]


def failed(trace, **more):
    """Build a run whose only call of a tool times out."""
    return [
        span(trace, 2, 1, "get_transactions", "TOOL", (1, 2), {"error.type": "TimeoutError"}, status={"code": 2}),
        span(trace, 1, role="AGENT", attributes=case(trace, **more)),
    ]


def write(path, *lines):
    """Write lines into a file; give its path as text."""
    path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
    return str(path)


def write_zst(path, *lines):
    """Write lines into a zst file."""
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select unnest($lines)) to $path "
            r"(format csv, header false, quote '', escape '', delimiter e'\x01', compression zstd)",
            {"lines": list(lines), "path": str(path)},
        )
    return str(path)
