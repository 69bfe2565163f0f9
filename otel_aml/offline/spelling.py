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
_MISFIT: Final = re.compile(rb'"(?:attributes|events|links)"\s*:\s*[^\[\s]|"status"\s*:\s*[^{\s]')
"""A part of a span that is not what it should be. Inside of a text its quotes would be escaped."""
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


def may_be_misshapen(line: bytes) -> bool:
    """Whether a part of a span may have another shape than it should: where all have it, it is seen at once."""
    return _MISFIT.search(line) is not None


def misshapen(line: bytes) -> str | None:
    """Say which part of a request has a shape that is none, and was not read; None where all have theirs."""
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
                    continue
                for span in _members(spans.get("spans") or []):
                    yield from _span_faults(span)


def _span_faults(span: Any) -> Iterator[str]:
    if not isinstance(span, dict):
        yield "spans holds what is no object"
        return
    found = cast("dict[str, Any]", span)
    if not isinstance(found.get("status") or {}, dict):
        yield "status of a span is no object"
    yield from _attribute_faults(found, "a span")
    for name, one in (("events", "an event"), ("links", "a link")):
        members: Any = found.get(name) or []
        if not isinstance(members, list):
            yield f"{name} of a span is no list"
            continue
        for member in _members(members):
            if isinstance(member, dict):
                yield from _attribute_faults(cast("dict[str, Any]", member), one)
            else:
                yield f"{name} of a span holds what is no object"


def _attribute_faults(holder: dict[str, Any], one: str) -> Iterator[str]:
    attributes: Any = holder.get("attributes") or []
    if not isinstance(attributes, list):
        yield f"attributes of {one} is no list"
        return
    for entry in _members(attributes):
        if not isinstance(entry, dict):
            yield f"attributes of {one} holds what is no object"
        elif not isinstance(cast("dict[str, Any]", entry).get("value") or {}, dict):
            yield f"an attribute of {one} has a value that is no object"


def _members(value: Any) -> list[Any]:
    return cast("list[Any]", value)


def _misses(found: dict[str, Any], names: tuple[str, ...], beside: frozenset[str]) -> Iterator[str]:
    """Tell an object that holds something else in the place of what is looked for."""
    others = found.keys() - beside
    if others and others.isdisjoint(names):
        yield f"{names[0]} is missing beside {min(others)}"
