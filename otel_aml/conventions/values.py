"""Values of attributes, read alike from a live span (typed) and from an exported one (texts, compound values as JSON).

Nothing here raises, whatever the value: what is not understood is None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeGuard, cast

SCANNED_BYTES: Final = 32 * 1024
"""How much of one attribute is looked at for marks, by default."""
ANSWER_BYTES: Final = 256 * 1024
"""How much of an answer is looked at, by default."""
_SHORT: Final = 64
_LARGE: Final = 1 << 64
_REDACTED: Final = frozenset({"__REDACTED__", "[REDACTED]"})
_TRUE: Final = frozenset({"true", "1"})
_FALSE: Final = frozenset({"false", "0"})
_DUPLICATE_OR_NOT_FINITE: Final = object()


def is_hidden(value: str) -> bool:
    """Whether a text only says that content was hidden; a long one is not even hashed."""
    return len(value) <= _SHORT and value in _REDACTED


def text(value: Any) -> str | None:
    """Read a text as recorded, or another scalar as OTLP prints it; None for hidden content and the rest."""
    if value is None:
        return None
    if isinstance(value, str):
        return None if len(value) <= _SHORT and value in _REDACTED else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < _LARGE else None
    return str(value) if isinstance(value, float) else None


def flag(value: Any) -> bool | None:
    """Read a yes or no."""
    if value is None or isinstance(value, bool):
        return value
    word = text(value)
    if word is None:
        return None
    folded = word.strip().lower()
    return True if folded in _TRUE else False if folded in _FALSE else None


def parsed(value: Any, *, limit: int = SCANNED_BYTES) -> Any:
    """Read a compound value: itself if it is one, else what its JSON text holds. None where it is neither."""
    if isinstance(value, str):
        if len(value) > limit or value[:1] not in "[{" or not value:
            return None
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    if value is None or isinstance(value, dict | list):
        return cast("Any", value)
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes | bytearray):
        return cast("Any", value)
    return None


def count(value: Any) -> int | None:
    """Read a whole number from 0."""
    words = text(value)
    return int(words) if words is not None and len(words) < _SHORT and words.isascii() and words.isdecimal() else None


def is_broken_json(value: Any) -> bool:
    """Whether a text begins as a JSON object and is none."""
    if not isinstance(value, str) or value[:1] != "{" or len(value) > SCANNED_BYTES:
        return False
    return parsed(value) is None


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list of values (a text is none)."""
    if isinstance(value, list):  # asking an abstract class takes ten times as long
        return True
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def is_map(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value has named members."""
    return isinstance(value, (dict, Mapping))  # asking an abstract class takes ten times as long


def ids(value: Any) -> frozenset[str] | None:
    """Read a list of ids as they stand; missing members are left out. None where it is not a list of ids."""
    members = parsed(value, limit=ANSWER_BYTES)
    if not is_list(members):
        return None
    known = [member for member in members if member is not None]
    if any(isinstance(member, bool) or not isinstance(member, str | int) for member in known):
        return None
    found = frozenset(map(text, known))
    return None if None in found or (members and not known) else frozenset(each for each in found if each is not None)


def digest(value: Any) -> str | None:
    """Make arguments comparable: their text, or a digest of its start and its length where it is long.

    Returns:
        None where none were recorded, or they are hidden.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if is_hidden(value):
            return None
        words = value
    else:
        try:
            words = json.dumps(value, default=str, sort_keys=True)
        except (TypeError, ValueError, RecursionError):
            return None
    if len(words) <= _SHORT:
        return words
    start = words[:SCANNED_BYTES].encode("utf-8", "surrogatepass")
    return f"{len(words)}:{blake2b(start, digest_size=12).hexdigest()}"


def strict_object(words: str) -> Mapping[str, Any] | None:
    """Read JSON text as an object. None where it is not one, where a key stands twice, or a number is not finite."""
    if words.lstrip(_JSON_SPACE)[:1] != "{":
        return None
    try:
        found = _STRICT.decode(words)
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the same key twice")
    return found


_JSON_SPACE: Final = " \t\n\r"
_STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=lambda _: _DUPLICATE_OR_NOT_FINITE)


_FENCE: Final = "```"
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9_-]*\Z")


def without_fence(words: str) -> str:
    """Take a Markdown fence off that encloses the whole text; backticks inside a value do not matter."""
    inner = words.strip()
    if not (inner.startswith(_FENCE) and inner.endswith(_FENCE)):
        return words
    first, newline, rest = inner.partition("\n")
    if not newline or _LANGUAGE.match(first[len(_FENCE) :].strip()) is None:
        return words
    return rest.removesuffix(_FENCE).rstrip(" \t").removesuffix("\n").removesuffix("\r")
