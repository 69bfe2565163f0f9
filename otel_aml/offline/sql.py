"""The text of the queries, by name: shipped inside the wheel, beside the package in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent.parent
_PLACES: Final = (_PACKAGE / "queries", _PACKAGE.parent / "queries")


def names(folder: str) -> tuple[str, ...]:
    """List the queries of a folder."""
    found = (path.stem for place in _PLACES for path in (place / folder).glob("*.sql"))
    return tuple(sorted(set(found)))


@cache
def query(name: str) -> str:
    """Read a query.

    Args:
        name: Folder and name without the suffix, like `reports/taxonomy_frequency`.

    Raises:
        LookupError: There is none of that name.
    """
    for place in _PLACES:
        path = place / f"{name}.sql"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise LookupError(f"no query {name!r}; the package is not installed whole")


def macro(name: str, of: str) -> str:
    """Write the statement by which one query can ask another.

    Args:
        name: What it is called there, as a table function without arguments.
        of: The other query.
    """
    return f"create or replace macro {name}() as table (\n{query(of)})"
