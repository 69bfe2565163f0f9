"""Further answers to a task: a flat schema, as a form of few fields draws it, and what fits it.

Flat means: one object whose properties are texts, numbers or booleans (the form that the Model Context Protocol's
elicitation has). What the schema says and this module does not know is refused at the door, never ignored.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, cast

from otel_aml.errors import InvalidTask
from otel_aml.recover.takeover.jsontext import json_text, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SCHEMA_BYTES: Final = 64 * 1024
_OBJECT: Final = {"$schema", "type", "title", "description", "properties", "required", "additionalProperties"}
_NOTES: Final = {"type", "title", "description", "default", "enum", "enumNames", "format"}
_BOUNDS: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
}
_IS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
}


def checked_schema(schema: Any) -> dict[str, Any]:
    """Take a flat schema, as a copy.

    Raises:
        InvalidTask: It is not flat, or says what is not understood.
    """
    found = parsed(json_text(schema, "response_schema", SCHEMA_BYTES), "response_schema")
    if not isinstance(found, dict) or cast("dict[str, Any]", found).get("type") != "object":
        raise InvalidTask('response_schema is no flat schema; give {"type": "object", "properties": {...}}')
    members = cast("dict[str, Any]", found)
    _check_words(members, _OBJECT, "response_schema")
    if members.get("additionalProperties", False) is not False:
        raise InvalidTask("response_schema allows further properties; only those it names can be answered")
    properties = members.get("properties", {})
    if not isinstance(properties, dict):
        raise InvalidTask("the properties of response_schema are no object")
    for name, each in cast("dict[str, Any]", properties).items():
        _check_property(name, each)
    required: Any = members.get("required", [])
    if not isinstance(required, list) or not all(
        isinstance(name, str) and name in properties for name in cast("Iterable[Any]", required)
    ):
        raise InvalidTask("response_schema requires what is none of its properties")
    return members


def checked_response(response: Mapping[str, Any] | None, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Take an answer that fits its schema, as a copy; None where nothing is answered.

    Raises:
        InvalidTask: It does not fit.
    """
    if schema is None:
        if response is not None:
            raise InvalidTask("a response was given, and the task asks for none")
        return None
    given: Any = parsed(json_text({} if response is None else response, "the response", SCHEMA_BYTES), "the response")
    if not isinstance(given, dict):
        raise InvalidTask("the response is no object; give one value for each property")
    answers = cast("dict[str, Any]", given)
    properties = schema.get("properties", {})
    unknown = sorted(answers.keys() - properties.keys())
    missing = sorted(set(schema.get("required", ())) - answers.keys())
    if unknown or missing:
        raise InvalidTask(
            f"the response {f'lacks {missing[0]!r}' if missing else f'holds {unknown[0]!r:.60}'}; "
            f"the task asks for {', '.join(map(repr, properties)) or 'nothing'}"
        )
    for name, value in answers.items():
        _check_value(name, value, properties[name])
    return answers


def _check_property(name: str, found: Any) -> None:
    where = f"{name!r} of response_schema"
    kind = cast("dict[str, Any]", found).get("type") if isinstance(found, dict) else None
    if not isinstance(kind, str) or kind not in _BOUNDS:
        raise InvalidTask(f"{where} is none of {', '.join(_BOUNDS)}; a flat schema holds nothing else")
    words = cast("dict[str, Any]", found)
    _check_words(words, _NOTES | _BOUNDS[kind], where)
    if not all(isinstance(words[bound], int | float) for bound in _BOUNDS[kind] & words.keys()):
        raise InvalidTask(f"a bound of {where} is no number")
    allowed: Any = words.get("enum", [])
    if not isinstance(allowed, list) or not all(_IS[kind](each) for each in cast("Iterable[Any]", allowed)):
        raise InvalidTask(f"the enum of {where} holds what is no {kind}")


def _check_words(found: dict[str, Any], known: set[str] | frozenset[str], where: str) -> None:
    others = sorted(found.keys() - known)
    if others:
        raise InvalidTask(
            f"{where} says {others[0]!r:.60}, which is not understood; it may say {', '.join(sorted(known))}"
        )


def _check_value(name: str, value: Any, asked: Mapping[str, Any]) -> None:
    kind = asked["type"]
    if not _IS[kind](value):
        raise InvalidTask(f"{name!r} of the response is no {kind}")
    if "enum" in asked and value not in asked["enum"]:
        raise InvalidTask(f"{name!r} of the response is none of {', '.join(map(repr, asked['enum']))}")
    size = len(value) if kind == "string" else value
    low, high = ("minLength", "maxLength") if kind == "string" else ("minimum", "maximum")
    if not asked.get(low, -math.inf) <= size <= asked.get(high, math.inf):
        raise InvalidTask(f"{name!r} of the response lies outside of {asked.get(low)} to {asked.get(high)}")
