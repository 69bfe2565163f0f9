"""What tells two calls of a step apart: a digest of the plain values that they were given."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_SALT: Final = os.urandom(16)
_DEPTH: Final = 8
_MEMBERS: Final = 64
_PARTS: Final = 10_000
"""So many values are looked at: a list that holds itself has no end."""


def key_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Tell two calls of a step apart by a digest of what they were given.

    It is salted by the process, so that nobody can find out what was given by guessing. Empty where that fails, or
    would take too long.
    """
    found = hashlib.blake2b(key=_SALT, digest_size=8)
    try:
        for number, part in enumerate(_parts((args, sorted(kwargs.items())), _DEPTH)):
            if number >= _PARTS:
                return ""
            found.update(part)
            found.update(b"\0")
    except Exception:  # noqa: BLE001 - objects of the app
        return ""
    return found.hexdigest()


def _parts(value: Any, depth: int) -> Iterator[bytes]:
    """Go through the plain values in what a call was given; of other objects the type will do."""
    if isinstance(value, str | int | float | bytes | None):
        yield f"{type(value).__name__} {value!r}".encode("utf-8", "backslashreplace")
    elif isinstance(value, Mapping) and depth:
        members = itertools.islice(cast("Mapping[object, object]", value).items(), _MEMBERS)
        yield from _parts([len(cast("Mapping[object, object]", value)), *members], depth)
    elif isinstance(value, list | tuple) and depth:
        yield f"{len(cast('list[object]', value))}".encode()
        for member in cast("list[object]", value)[:_MEMBERS]:
            yield from _parts(member, depth - 1)
    else:
        yield type(cast("object", value)).__qualname__.encode("utf-8", "backslashreplace")
