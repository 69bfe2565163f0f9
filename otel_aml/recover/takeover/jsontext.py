"""JSON as text: kept as it was given, byte for byte, within a bound."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from otel_aml.errors import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

STATE_BYTES: Final = 5 * 1024 * 1024
"""The longest state or edited answer, in bytes of UTF-8."""


def json_text(value: Any, what: str, limit: int = STATE_BYTES) -> str:
    """Write a value as JSON text.

    Args:
        value: A JSON value; or `bytes`, which are a JSON document already and are kept as they are.
        what: What it is, for the sentence that refuses it.
        limit: How many bytes of UTF-8 it may have.

    Raises:
        InvalidTask: It is no JSON, or longer than the limit.
    """
    if isinstance(value, bytes):
        _check_size(len(value), what, limit)
        return _checked(value, what)
    text = _written(value, what)
    _check_size(len(text) if text.isascii() else len(text.encode()), what, limit)
    return text


def parsed(text: str, what: str) -> Any:
    """Read JSON text that `json_text` has let through.

    Raises:
        InvalidTask: It holds a number of more digits than Python reads; the text itself has it.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidTask(f"{what} holds a number that Python does not read; take it as text") from error


def compact(value: Any) -> str:
    """Write a value of our own in the one way that hashes stand on."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _check_size(size: int, what: str, limit: int) -> None:
    if size > limit:
        raise InvalidTask(
            f"{what} has {size:,} bytes as JSON, and at most {limit:,} are kept; "
            "keep large parts elsewhere and refer to them"
        )


def _checked(document: bytes, what: str) -> str:
    try:
        text = document.decode("utf-8")
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise InvalidTask(f"{what} is no JSON document in UTF-8 ({_reason(error)})") from error
    return text


def _written(value: Any, what: str) -> str:
    try:
        for key in _other_keys(value):
            raise InvalidTask(f"{what} has a key that is no text ({type(key).__name__}); JSON has none but texts")
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            text.encode()
        except UnicodeEncodeError:  # Half a character, as a cut text may end in.
            return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidTask):
            raise
        raise InvalidTask(f"{what} cannot be written as JSON ({_reason(error)})") from error
    return text


def _other_keys(value: Any) -> Iterator[Any]:
    """Find keys that `json` would turn into texts in silence; a value that holds itself is left to `json`."""
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, dict | list | tuple) or id(cast("object", each)) in seen:
            continue
        seen.add(id(cast("object", each)))
        if isinstance(each, dict):
            yield from (key for key in cast("Iterable[Any]", each) if not isinstance(key, str))
            waiting.extend(cast("Mapping[Any, Any]", each).values())
        else:
            waiting.extend(cast("Iterable[Any]", each))


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _reason(error: Exception) -> str:
    """Say why without the value."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if isinstance(error, TypeError):
        return "a value in it is none of object, list, text, number, true, false, null"
    return str(error) if "JSON" in str(error) else "a number in it is not finite, too long, or it holds itself"
