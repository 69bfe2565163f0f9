"""Whether the JSON Schema of a contract can be used, seen before the first answer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from otel_aml.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from otel_aml.conventions import Contract

_SAMPLES: Final[Sequence[Any]] = (None, {}, [], "", 0)


def check_schema(contract: Contract, schema: Mapping[str, Any]) -> None:
    """See to it that a schema refers to what it holds, and comes to an end.

    Raises:
        ConfigurationError: It does not.
    """
    for reference in _references(schema):
        if reference.startswith("#/") and not _stands(reference, schema):
            raise ConfigurationError(
                f"the answer's JSON Schema refers to {reference!r}, which does not stand in it; put it there"
            )
    try:
        for sample in _SAMPLES:
            contract.accepts(sample)
    except Exception as error:
        raise ConfigurationError(
            f"the answer's JSON Schema cannot be run ({type(error).__name__}); does it refer to itself without end?"
        ) from error


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        if isinstance(found.get("$ref"), str):
            yield found["$ref"]
        for each in found.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _references(each)


def _stands(pointer: str, schema: Any) -> bool:
    """Follow a JSON pointer."""
    found: Any = schema
    for step in unquote(pointer).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(name) if isinstance(found, list) else name]
        except (LookupError, TypeError, ValueError):
            return False
    return True
