"""A small reader of OTLP JSON lines for tests: values become texts, compound ones JSON text, as in a replay."""

from __future__ import annotations

import json
from collections import defaultdict

from otel_aml.spans.model import Event, SpanRecord, Status

STATUSES = (Status.UNSET, Status.OK, Status.ERROR)


def encoded(value):
    """Write a live value as OTLP JSON does; None is an empty value."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": encoded(each)} for key, each in value.items()]}}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [encoded(each) for each in value]}}
    if value is None:
        return {}
    names = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    return {names[type(value)]: str(value) if type(value) is int else value}


def plain(value):
    """Read an OTLP JSON value back."""
    match value:
        case {"arrayValue": members}:
            return [plain(each) for each in members.get("values", [])]
        case {"kvlistValue": members}:
            return {each["key"]: plain(each["value"]) for each in members.get("values", [])}
        case {"intValue": number}:
            return int(number)
    return next(iter(value.values()), None)


def as_text(value):
    """Read an OTLP JSON value as a replay holds it."""
    found = plain(value)
    if isinstance(found, bool | list | dict):
        return json.dumps(found)
    return None if found is None else str(found)


def attributes(pairs):
    """Read attributes."""
    return {pair["key"]: as_text(pair["value"]) for pair in pairs}


def record(span, scope):
    """Read one span."""
    return SpanRecord(
        trace_id=span["traceId"],
        span_id=span["spanId"],
        parent_id=span.get("parentSpanId") or None,
        name=span["name"],
        scope=scope,
        client=span.get("kind") in (3, 4),
        server=span.get("kind") in (2, 5),
        started_at=int(span["startTimeUnixNano"]),
        ended_at=int(span["endTimeUnixNano"]),
        status=STATUSES[span.get("status", {}).get("code", 0)],
        status_message=span.get("status", {}).get("message", ""),
        attributes=attributes(span.get("attributes", [])),
        events=tuple(Event(each["name"], attributes(each.get("attributes", []))) for each in span.get("events", [])),
    )


def traces(path):
    """Read a file: the spans of each trace, in the order of the file."""
    found = defaultdict(list)
    for line in path.read_text().splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scoped in resource["scopeSpans"]:
                for span in scoped["spans"]:
                    found[span["traceId"]].append(record(span, scoped["scope"].get("name", "")))
    return dict(found)
