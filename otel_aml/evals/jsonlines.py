"""Files of JSON lines, each checked at the door: what is wrong is said with its line, without the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from otel_aml.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

M = TypeVar("M", bound=BaseModel)


def read_text(path: Path) -> str:
    """Read a file.

    Raises:
        InputError: It cannot be read, or is no UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{str(path)!r} cannot be read ({reason}); give a JSON file") from error


def read_lines(path: Path, model: type[M]) -> Iterator[M]:
    """Go through the lines that are not blank.

    Raises:
        InputError: The file cannot be read, or a line of it is wrong.
    """
    for number, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            yield model.model_validate_json(text)
        except ValidationError as error:
            raise InputError(f"line {number} of {str(path)!r} is wrong: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """Say in words what was wrong first, without the value."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
