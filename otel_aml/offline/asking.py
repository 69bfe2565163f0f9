"""A user's own question to the tables, or a report by its name: read only, and of no file but those given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_aml.errors import InputError
from otel_aml.offline import reports, sql
from otel_aml.offline.analysis import analysed
from otel_aml.offline.store import Asking

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_aml.offline.analysis import Given
    from otel_aml.offline.store import Answered

_NAME: Final = re.compile(r"\w+")


def answer(
    question: str, given: Given, *, rows: int, seconds: float, on_bytes: Callable[[int], None] | None = None
) -> Answered:
    """Ask what was given.

    Args:
        question: One select over `spans`, `runs`, `checks`, `failures`, or the name of a report.
        given: Files, or one store.
        rows: How many rows are given at most.
        seconds: How long the answer may take, once the files are read.
        on_bytes: Told how many bytes were read, now and then.

    Raises:
        InputError: It is no such question, or it takes too long.
    """
    text, values = _asked(question.strip())
    folders = (Path(name) for name in given.files)
    inside = [file for folder in folders if folder.is_dir() for file in sorted(folder.glob("*.parquet"))]
    asking = Asking(paths=[*inside, *(file.resolve() for file in inside)], rows=rows, seconds=seconds)
    with analysed(given, on_bytes=on_bytes) as analysis:
        return analysis.store.answer(text, values, asking=asking)


def _asked(question: str) -> tuple[str, dict[str, Any] | None]:
    if not _NAME.fullmatch(question):
        return question, None
    try:
        text = sql.query(f"reports/{question}")
    except LookupError:
        known = ", ".join(sql.names("reports"))
        raise InputError(f"no report {question!r}; there are {known}; or ask with select ...") from None
    return text, {name: value for name, value in reports.VALUES.items() if f"${name}" in text} or None
