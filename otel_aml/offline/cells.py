"""Reports as CSV files (RFC 4180), whose cells no spreadsheet takes for a formula and whose numbers stay numbers."""

from __future__ import annotations

import csv
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from otel_aml.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from otel_aml.offline.reports import Report

_STARTS_A_FORMULA: Final = frozenset("=+-@＝＋－＠\t\r")  # noqa: RUF001 - full-width, as a spreadsheet reads them
_NOT_SEEN: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_SUFFIX: Final = ".csv"


def guarded(value: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would run, also after spaces and what cannot be seen."""
    if not isinstance(value, str):
        return value
    for letter in value:
        if letter in _STARTS_A_FORMULA:
            return f"'{value}"
        if unicodedata.category(letter) not in _NOT_SEEN:
            return value
    return value


def write(report: Report, path: Path) -> None:
    """Write a report: into one file if the path ends in `.csv`, else one file a table into a folder.

    Raises:
        InputError: The path cannot be written.
    """
    tables = dict(_tables(report))
    try:
        if path.suffix.lower() == _SUFFIX and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [{"table": name} | row for name, (_, found) in tables.items() for row in found]
            every = dict.fromkeys(column for names, _ in tables.values() for column in names)
            _write(path, ("table", *every), rows)
            return
        path.mkdir(parents=True, exist_ok=True)
        for name, (columns, rows) in tables.items():
            _write(path / f"{name}{_SUFFIX}", columns, rows)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written ({error.strerror}); give another path") from error


def _tables(report: Report) -> Iterator[tuple[str, tuple[tuple[str, ...], list[dict[str, Any]]]]]:
    for name, rows in report.tables.items():
        yield name, (rows.kind.names(), [row.plain() for row in rows])
    yield "inflation", (report.inflation.names(), [report.inflation.plain()])
    yield "pass_rate", (report.pass_rate.names(), [report.pass_rate.plain()])


def _write(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    names = tuple(columns)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([guarded(row.get(name)) for name in names] for row in rows)
