"""Secrets and personal identifiers taken out of OTLP JSON lines: only the texts change, byte for byte nothing else.

Every string of a line is looked at, whatever it is called; ids, times and numbers that OTLP writes as strings stay. An
attribute whose name says that it is a secret loses its texts whatever they are. A line that is no JSON cannot be looked
at with any certainty, so it is left out, counted and named: nothing goes on unread.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, cast

from otel_aml.core.redaction import MARK, Redaction

_TOKEN: Final = re.compile(r'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)"(?P<names>[ \t\r\n]*+:)?|[{}]')
_KEPT: Final = frozenset(
    {
        *("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id", "profileId"),
        *("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "observedTimeUnixNano"),
        *("start_time_unix_nano", "end_time_unix_nano", "time_unix_nano", "observed_time_unix_nano"),
        *("intValue", "doubleValue", "int_value", "double_value", "asInt", "asDouble", "as_int", "as_double"),
        *("count", "bucketCounts", "bucket_counts", "zeroCount", "zero_count"),
    }
)
"""Where OTLP writes ids, times and numbers as strings."""
_NUMBER_OR_ID: Final = re.compile(r"[A-Za-z0-9+/=.-]{0,36}")
_BYTES: Final = frozenset({"bytesValue", "bytes_value"})
_SECRET_NAME: Final = re.compile(
    r"(?:^|.*[._-])(?:password|passwd|pwd|passphrase|secret|credentials?|authorization|(?:set[._-]?)?cookie"
    r"|(?:api|access|account|client|private|secret)[._-]?(?:key|secret)"
    r"|(?:(?:access|api|auth|bearer|csrf|id|refresh|session)[._-]?)?token)",
    re.IGNORECASE,
)
_RULE_BY_NAME: Final = "secret"
_CACHED: Final = 96
_CACHE: Final = 16_384


@dataclass(slots=True)
class _Frame:
    """One object of a line that is open."""

    start: int
    name: str = ""
    key: str = ""


@dataclass(slots=True)
class LineRedaction:
    """Redacts lines, and counts what it replaced."""

    redaction: Redaction = field(default_factory=Redaction)
    _clean: set[str] = field(default_factory=set[str])

    def redact(self, line: bytes) -> bytes | None:
        """Give a line with its secrets replaced; None if it is no JSON."""
        try:
            text = line.decode()
            json.loads(text)
        except (ValueError, RecursionError):
            return None
        return self._redact(text).encode()

    def _redact(self, text: str) -> str:
        pieces: list[tuple[int, int, str, str]] = []
        whole: set[int] = set()
        frames = [_Frame(0)]
        for token in _TOKEN.finditer(text):
            first = token[0][0]
            if first == "{":
                frames.append(_Frame(len(pieces)))
            elif first == "}":
                frame = frames.pop()
                if _is_secret(frame.key):
                    whole.update(range(frame.start, len(pieces)))
            else:
                frame, value = frames[-1], token["text"]
                if token["names"] is not None:
                    frame.name = value
                    pieces.append((*token.span("text"), value, ""))
                else:
                    if frame.name == "key":
                        frame.key = value
                    pieces.append((*token.span("text"), value, frame.name))
        return self._joined(text, pieces, whole)

    def _joined(self, text: str, pieces: list[tuple[int, int, str, str]], whole: set[int]) -> str:
        kept: list[str] = []
        at = 0
        for place, (start, end, value, name) in enumerate(pieces):
            clean = self._value(value, name, is_secret=_is_secret(name) or (place in whole and name not in _NAMING))
            if clean is not None:
                kept += (text[at:start], clean)
                at = end
        return "".join((*kept, text[at:])) if kept else text

    def _value(self, raw: str, name: str, *, is_secret: bool) -> str | None:
        """Give a string as it is written in JSON, redacted; None if it stays."""
        if raw in self._clean and not is_secret and name not in _BYTES:
            return None
        if name in _KEPT and _NUMBER_OR_ID.fullmatch(raw):
            return None
        value = cast("str", json.loads(f'"{raw}"')) if "\\" in raw else raw
        if is_secret and value and not value.startswith(MARK):
            clean = self.redaction.mark(_RULE_BY_NAME)
            return base64.b64encode(clean.encode()).decode() if name in _BYTES else clean
        if name in _BYTES:
            return self._bytes(value)
        clean = self.redaction.redact(value)
        if clean == value:
            if len(raw) <= _CACHED:
                if len(self._clean) >= _CACHE:
                    self._clean.clear()
                self._clean.add(raw)
            return None
        return json.dumps(clean, ensure_ascii="\\u" in raw)[1:-1]

    def _bytes(self, value: str) -> str | None:
        """Redact what stands in bytes, where these are a text; they stay base64."""
        try:
            plain = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, ValueError):
            return None
        clean = self.redaction.redact(plain)
        return None if clean == plain else base64.b64encode(clean.encode()).decode()


_NAMING: Final = frozenset({"", "key"})
"""Names of fields and of attributes: they are redacted as texts, and stay where their value is a secret."""


@lru_cache(maxsize=4_096)
def _is_secret(name: str) -> bool:
    return bool(name) and _SECRET_NAME.fullmatch(name) is not None
