"""Requests as other writers spell them: names in snake_case are OTLP JSON too, and a shape that is none is told."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES: Final = (
    "resource_spans",
    "scope_spans",
    "instrumentation_library_spans",
    "instrumentation_library",
    "schema_url",
    "trace_id",
    "span_id",
    "parent_span_id",
    "start_time_unix_nano",
    "end_time_unix_nano",
    "time_unix_nano",
    "dropped_attributes_count",
    "dropped_events_count",
    "dropped_links_count",
    "string_value",
    "int_value",
    "bool_value",
    "double_value",
    "bytes_value",
    "array_value",
    "kvlist_value",
)
_CAMEL: Final = {name: re.sub("_(.)", lambda found: found[1].upper(), name) for name in _NAMES}
_MARKS: Final = (b'_spans"', b'"trace_id"', b'_value"')
_SPELT: Final = re.compile(rb'"(?:%b)"\s*:' % "|".join(_NAMES).encode())
"""A name in snake_case. Inside of a text its quotes would be escaped."""
_SCOPES: Final = ("scopeSpans", "instrumentationLibrarySpans")
_BESIDE_SCOPES: Final = frozenset({"resource", "schemaUrl"})
_BESIDE_SPANS: Final = frozenset({"scope", "schemaUrl", "instrumentationLibrary"})


def in_camel_case(line: bytes) -> bytes:
    """Spell the names of a request as DuckDB is told to read them; give other lines as they are."""
    if not any(mark in line for mark in _MARKS) or not _SPELT.search(line):
        return line
    try:
        return json.dumps(json.loads(line, object_pairs_hook=_renamed), separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return line


def _renamed(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Rename the members of an object; no key of a user's is a name in OTLP JSON."""
    return {_CAMEL.get(name, name): value for name, value in members}


def misshapen(line: bytes) -> str | None:
    """Say where the spans of a request stand in a shape that is none, and were not read; None where they do not."""
    try:
        request = json.loads(in_camel_case(line))
    except (ValueError, RecursionError):
        return "resourceSpans is nested too deeply"
    return next(_faults(request["resourceSpans"]), None)


def _faults(resource_spans: Any) -> Iterator[str]:
    for member in _members(resource_spans):
        if not isinstance(member, dict):
            yield "resourceSpans holds what is no object"
            continue
        found = cast("dict[str, Any]", member)
        yield from _misses(found, _SCOPES, _BESIDE_SCOPES)
        for name in _SCOPES:
            if not isinstance(found.get(name) or [], list):
                yield f"{name} is no list"
                continue
            for scope in _members(found.get(name) or []):
                if not isinstance(scope, dict):
                    yield f"{name} holds what is no object"
                    continue
                spans = cast("dict[str, Any]", scope)
                yield from _misses(spans, ("spans",), _BESIDE_SPANS)
                if not isinstance(spans.get("spans") or [], list):
                    yield "spans is no list"


def _members(value: Any) -> list[Any]:
    return cast("list[Any]", value)


def _misses(found: dict[str, Any], names: tuple[str, ...], beside: frozenset[str]) -> Iterator[str]:
    """Tell an object that holds something else in the place of what is looked for."""
    others = found.keys() - beside
    if others and others.isdisjoint(names):
        yield f"{names[0]} is missing beside {min(others)}"
