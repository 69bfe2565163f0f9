"""What a model may be told about an output that broke a schema: places and rules, never a value.

A validator's own message can quote what it was given. So of a pydantic error only the messages that are made of the
schema alone are taken, and of all others the name of the rule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PLACES: Final = 20
_TEXT: Final = 200
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,63}\Z")
_OF_THE_SCHEMA: Final = frozenset(
    {
        "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "expected", "pattern", "class", "class_name",
        "field_type", "max_digits", "decimal_places", "whole_digits", "discriminator", "expected_tags",
        "expected_schemes",
    }
)  # fmt: skip
"""What the messages of pydantic's own rules may be filled in with: parts of the schema."""


def of(error: object) -> str:
    """List the places that were wrong, one a line; empty where the exception tells none."""
    try:
        lines = list(_lines(error))
    except Exception:  # noqa: BLE001 - an exception of the app's that only looks like one we know
        return ""
    return "\n".join(f"- {line[:_TEXT]}" for line in lines[:_PLACES])


def _lines(error: Any) -> Iterator[str]:
    kind = cast("type[object]", type(error))
    if kind.__module__.partition(".")[0] in {"pydantic", "pydantic_core"} and hasattr(error, "errors"):
        yield from _of_pydantic(error.errors(include_url=False, include_input=False))
    elif kind.__module__ == "jsonschema.exceptions" and hasattr(error, "absolute_path"):
        yield from _of_json_schema(error)
    elif kind.__name__ == "JSONDecodeError":
        yield f"line {int(error.lineno)}, column {int(error.colno)}: not valid JSON"


def _of_pydantic(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    from pydantic_core.core_schema import ErrorType

    own = frozenset(get_args(ErrorType))
    for each in found:
        rule = str(each["type"])
        is_closed = rule in own and set(each.get("ctx", ())) <= _OF_THE_SCHEMA
        said = str(each["msg"]) if is_closed else rule if rule in own else "not valid"
        yield f"{_place(each['loc'])}: {said}"


def _of_json_schema(error: Any) -> Iterator[str]:
    wanted = str(error.validator_value)
    yield f"{_place(error.absolute_path)}: {error.validator}{f' {wanted}' if len(wanted) <= _TEXT else ''}"


def _place(parts: Iterable[object]) -> str:
    """Write a path; a key that does not look like the name of a field could be a value, and is not shown."""
    shown = [str(part) if isinstance(part, int) or _FIELD.match(str(part)) else "*" for part in parts]
    return ".".join(shown) or "the output"
