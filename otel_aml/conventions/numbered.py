"""Attributes that are lists in disguise, numbered: `llm.output_messages.0.message.content`, `gen_ai.completion.1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def below(attributes: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    """List the members that stand below a name, each by the rest of its keys; from 0 or from 1, as they are numbered.

    Args:
        attributes: All attributes of a span, or the members of a list.
        name: What stands before the number, without the dot.
    """
    prefix = f"{name}."
    keys = [key for key in attributes if key.startswith(prefix)]
    if not keys:
        return ()
    found: dict[int, dict[str, Any]] = {}
    for key in keys:
        number, _, rest = key[len(prefix) :].partition(".")
        if number.isascii() and number.isdecimal():
            found.setdefault(int(number), {})[rest] = attributes[key]
    return tuple(found[number] for number in sorted(found))
