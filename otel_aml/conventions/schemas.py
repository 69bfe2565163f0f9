"""Whether a call fits the schema of its tool: the plain part of JSON Schema, enough to tell who is to blame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_aml.conventions import values

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def misfits(schema: Any, arguments: Any) -> bool:
    """Whether arguments surely break a schema: a needed one is missing, one is not allowed, or of the wrong type.

    Args:
        schema: As recorded; what is no schema of an object is broken by nothing.
        arguments: As recorded; hidden ones break nothing.
    """
    asked = values.parsed(schema)
    properties = asked.get("properties") if values.is_map(asked) else None
    if not values.is_map(asked) or not values.is_map(properties) or not isinstance(arguments, str | Mapping):
        return False
    given = values.parsed(arguments)
    if not values.is_map(given):
        return values.is_broken_json(arguments)
    needed = asked.get("required")
    if values.is_list(needed) and any(name not in given for name in needed):
        return True
    if asked.get("additionalProperties") is False and any(name not in properties for name in given):
        return True
    return any(_is_wrong(properties.get(name), value) for name, value in given.items())


def _is_wrong(asked: Any, value: Any) -> bool:
    said = asked.get("type") if values.is_map(asked) else None
    types = _TYPES.get(said) if isinstance(said, str) else None
    if types is None:
        return False
    return not isinstance(value, types) or (isinstance(value, bool) and bool not in types)
