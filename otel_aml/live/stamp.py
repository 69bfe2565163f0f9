"""The verdict as attributes: names and values of the contract, at most 20 keys and 2 KiB beside the detail."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from opentelemetry.sdk.trace import SpanLimits

from otel_aml.core.facts import Facts
from otel_aml.core.redaction import redact_start
from otel_aml.core.taxonomy import FailureClass
from otel_aml.core.tree import classify
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import Span

    from otel_aml.core.tree import Verdict

Value = str | bool | int | tuple[str, ...]

DETAIL_BYTES: Final = 2_048
_TEXT: Final = 120
_NAME_FROM: Final = 1_024


_BY_RUN: Final = frozenset({"answer_span_id", "retrieval_span_id"})
_known: Final = attrgetter(*(each.name for each in fields(Facts) if each.name not in _BY_RUN))
_QUIET_VERDICTS: Final = 1_024
_quiet: Final[dict[tuple[object, ...], Mapping[str, Value]]] = {}


def verdict_on(facts: Facts) -> Mapping[str, Value]:
    """Classify a run, and write its verdict as attributes.

    Most runs are well and alike: what is written on a run in which nothing fired is remembered by its facts.
    """
    known = _known(facts)
    found = _quiet.get(known)
    if found is None:
        verdict = classify(facts)
        found = attributes(verdict)
        if verdict.first is None:
            if len(_quiet) >= _QUIET_VERDICTS:
                _quiet.clear()
            _quiet[known] = found
    return found


def attributes(verdict: Verdict) -> dict[str, Value]:
    """Write a verdict as attributes, the most needed first."""
    found: dict[str, Value | None] = {
        names.CLASS: str(verdict.failure_class),
        names.UNCHECKED: tuple(map(str, verdict.unchecked)),
        names.VERDICT: True,
        names.FINDINGS: verdict.findings,
        names.COVERAGE: str(verdict.coverage),
        names.SCHEMA_VERSION: names.SCHEMA,
        names.RECOVERED: verdict.recovered,
        names.OUTCOME: str(verdict.outcome),
        names.ATTEMPTS: verdict.attempts,
        names.SEVERITY: verdict.severity and str(verdict.severity),
        names.PATH: verdict.path and str(verdict.path),
        **_first_failure(verdict),
        names.CITED: verdict.cited,
        names.UNRESOLVED: verdict.unresolved,
        names.CIRCUIT_STATE: verdict.circuit_state or None,
        names.PAUSED: verdict.paused or None,
        names.INCOMPLETE: verdict.incomplete or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _first_failure(verdict: Verdict) -> dict[str, Value | None]:
    first = verdict.first
    if first is None:
        return {}
    found: dict[str, Value | None] = {
        names.FIRST_SPAN_ID: first.span_id or None,
        names.FIRST_STEP_ID: redacted_name(first.step_id) or None,
        names.TECHNICAL_DETAIL: _bounded(first.detail, DETAIL_BYTES) or None,
    }
    if verdict.failure_class is FailureClass.TOOL_FAILURE:
        found[names.DEPENDENCY] = redacted_name(first.dependency)
        found[names.FAILED_HOW] = redacted_name(first.error_type)
    return found


class Room(NamedTuple):
    """What a span can hold.

    Args:
        attributes: How many; None for no limit.
        characters: How many a text; None for no limit.
    """

    attributes: int | None = None
    characters: int | None = None


def room_of(span: Span) -> Room:
    """Say how many attributes a span can hold, and how long.

    The SDK tells its limits nowhere in public; where its own place for them is gone, those of the environment hold.
    """
    limits = getattr(span, "_limits", None) or SpanLimits()
    count = getattr(limits, "max_span_attributes", None)
    length = getattr(limits, "max_span_attribute_length", None)
    return Room(count if isinstance(count, int) else None, length if isinstance(length, int) else None)


def _is_ample(room: Room, needed: int) -> bool:
    return room.characters is None and (room.attributes is None or room.attributes >= needed)


def fitting(found: Mapping[str, Value], present: Mapping[str, object], room: Room) -> Mapping[str, Value]:
    """Keep the attributes that a span can take without losing one of the user's, the first ones first.

    A text that would be cut is left out: half a class is none. Names of ours that were there before the verdict (what
    `step_error` noted on the root, say) are emptied, so that nothing stands beside the verdict that is not of it.

    Args:
        found: What is to be written.
        present: What the span holds already; writing over an attribute takes no place.
        room: What the span can hold.
    """
    if _is_ample(room, len(present) + len(found)) and _VERDICT_KEYS.isdisjoint(present):
        return found
    free = None if room.attributes is None else max(room.attributes - len(present), 0)
    kept: dict[str, Value] = {}
    for key, value in found.items():
        if room.characters is not None and _longest(value) > room.characters:
            continue
        if key in present or free is None:
            kept[key] = value
        elif free > 0:
            free -= 1
            kept[key] = value
    if names.CLASS not in kept:
        return {}
    for key in _VERDICT_KEYS.intersection(present).difference(kept):
        kept[key] = False if isinstance(present[key], bool) else ""
    return kept


_VERDICT_KEYS: Final = frozenset(
    {
        names.SEVERITY,
        names.FIRST_SPAN_ID,
        names.FIRST_STEP_ID,
        names.DEPENDENCY,
        names.FAILED_HOW,
        names.TECHNICAL_DETAIL,
        names.PAUSED,
        names.INCOMPLETE,
        names.PATH,
        names.CIRCUIT_STATE,
    }
)
"""Names that may be absent from a verdict."""


def _longest(value: Value) -> int:
    if isinstance(value, str):
        return len(value)
    return max(map(len, value), default=0) if isinstance(value, tuple) else 0


def redacted_name(name: str) -> str:
    """Cut a name that the app gave to its place, without any secret that stands in it (a URL can hold one)."""
    return _bounded(redact_start(name, _NAME_FROM), _TEXT)


def _bounded(text: str, limit: int) -> str:
    """Cut a text to so many bytes of UTF-8; what UTF-8 cannot write is replaced."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
