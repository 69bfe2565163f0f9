"""Texts from outside: what a name and a longer text may be, so that every database holds them as given."""

from __future__ import annotations

import unicodedata
from typing import Final

from otel_aml.errors import InvalidTask

NAME_CHARACTERS: Final = 500
TEXT_BYTES: Final = 16 * 1024
_NOT_IN_A_NAME: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, halves of characters, and what ends a line."""
_UNSEEN: Final = frozenset({"Cf", "Zs"})


def checked_name(value: object, what: str) -> str:
    """Take a name: a text in one line.

    Raises:
        InvalidTask: It is empty, too long, has several lines, or holds half a character.
    """
    if not isinstance(value, str):
        raise InvalidTask(f"{what} is of type {type(value).__name__}; give a text")
    odd = any(unicodedata.category(letter) in _NOT_IN_A_NAME for letter in value)
    if not value.strip() or len(value) > NAME_CHARACTERS or odd:
        raise InvalidTask(
            f"{what} is {ascii(value)[:60]}; give one line of 1 to {NAME_CHARACTERS} printable characters"
        )
    return value


def checked_text(value: object, what: str, limit: int = TEXT_BYTES) -> str:
    """Take a text of any lines.

    Raises:
        InvalidTask: It is longer than the limit (bytes of UTF-8), or holds NUL or half a character, which not every
            database does.
    """
    if not isinstance(value, str):
        raise InvalidTask(f"{what} is of type {type(value).__name__}; give a text")
    if "\0" in value:
        raise InvalidTask(f"{what} holds a NUL; leave it out")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidTask(f"{what} holds half a character at {error.start}; leave it out") from error
    if size > limit:
        raise InvalidTask(f"{what} has {size:,} bytes; at most {limit:,} are kept")
    return value


def same_person(name: str) -> str:
    """Give the form in which two spellings of one name are equal."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(letter for letter in plain if unicodedata.category(letter) not in _UNSEEN)
