"""Which files a command means: paths, patterns, folders and `-`, each file once."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_aml.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STDIN: Final = "-"
_SUFFIXES: Final = tuple(f".{kind}{packed}" for kind in ("jsonl", "ndjson", "json") for packed in ("", ".gz", ".zst"))


def files(arguments: Sequence[str]) -> tuple[str, ...]:
    """List the files that the arguments mean, each once, in the order given; a folder's files by name.

    Raises:
        InputError: An argument leads to no file.
    """
    if not arguments:
        raise InputError("no files were given; name OTLP JSON files, folders or patterns, or - for standard input")
    found: dict[str, str] = {}
    for argument in arguments:
        for path in _meant(argument):
            found.setdefault(STDIN if path == STDIN else os.path.realpath(path), path)
    return tuple(found.values())


def _meant(argument: str) -> Iterable[str]:
    if argument == STDIN:
        return (STDIN,)
    path = Path(argument)
    try:
        if path.is_dir():
            return _inside(path)
        if path.exists():
            return (argument,)
    except (OSError, ValueError) as error:
        raise InputError(f"{argument!r} cannot be opened: {error}; give a path to a file") from error
    matching = sorted(match for match in glob.glob(argument, recursive=True) if not Path(match).is_dir())  # noqa: PTH207 - a pattern with folders in it
    if not matching:
        raise InputError(f"no file {argument!r}; give the path of an OTLP JSON file, a folder or a pattern")
    return matching


def _inside(folder: Path) -> Iterable[str]:
    matching = sorted(str(path) for path in folder.rglob("*") if path.name.endswith(_SUFFIXES) and path.is_file())
    if not matching:
        raise InputError(
            f"the folder {str(folder)!r} holds no OTLP JSON files (*.jsonl, *.json, *.ndjson, also .gz or .zst); "
            "give the folder that the file exporter writes to"
        )
    return matching
