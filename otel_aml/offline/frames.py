"""Typed rows that a notebook shows, and that go on as a DataFrame of pandas or a table of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, get_args, get_type_hints, overload

from otel_aml.errors import ConfigurationError
from otel_aml.offline.render import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CLASS: Final = {"failure_class": "class"}
"""A word that Python keeps to itself."""
_COLUMNS: Final = {
    **_CLASS,
    "runs": "run_count",
    "decided": "decided_count",
    "findings": "finding_count",
    "recovered": "recovered_count",
    "first_failure": "first_failure_count",
    "naive": "naive_count",
    "before": "before_count",
    "after": "after_count",
    "ties": "tie_count",
    "cases": "case_count",
    "fired": "fired_count",
    "clear": "clear_count",
    "unchecked": "unchecked_count",
    "ended": "ended_count",
    "checked": "checked_count",
    "passed": "passed_count",
}
_SHOWN: Final = 100
_PANDAS: Final[Mapping[type, str]] = {
    str: "string",
    int: "Int64",
    float: "Float64",
    datetime: "datetime64[us]",
}
_ARROW: Final[Mapping[type, str]] = {str: "string", int: "int64", float: "float64", datetime: "timestamp[us]"}


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of a report; its fields are the keys of its JSON object."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make it from a row of a query, whose columns carry the same names, some with their unit."""
        return cls(**{each.name: row[_COLUMNS.get(each.name, each.name)] for each in fields(cls)})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Give the keys of its JSON object."""
        return tuple(_CLASS.get(each.name, each.name) for each in fields(cls))

    @classmethod
    def types(cls) -> tuple[type, ...]:
        """Give the types of its values, of which any may be None as well."""
        hints = get_type_hints(cls)
        return tuple(next(iter(get_args(hints[each.name])), hints[each.name]) for each in fields(cls))

    def plain(self) -> dict[str, Any]:
        """Give it as the contract prints it."""
        return {
            _CLASS.get(name, name): value.isoformat() if isinstance(value, datetime) else value
            for name, value in asdict(self).items()
        }

    def values(self) -> tuple[Any, ...]:
        """Give its values, in the order of its names."""
        return tuple(getattr(self, each.name) for each in fields(self))


R_co = TypeVar("R_co", bound=ReportRow, covariant=True)


@dataclass(frozen=True, slots=True)
class Rows(Sequence[R_co]):
    """The rows of one report, all of one kind; also where there are none."""

    kind: type[R_co]
    of: tuple[R_co, ...] = ()

    @overload
    def __getitem__(self, index: int) -> R_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[R_co, ...]: ...
    def __getitem__(self, index: int | slice) -> R_co | tuple[R_co, ...]:
        return self.of[index]

    def __len__(self) -> int:
        return len(self.of)

    def __iter__(self) -> Iterator[R_co]:
        return iter(self.of)

    def df(self) -> Any:
        """Give them as a `pandas.DataFrame`: a column for each key, typed also where all is missing; times in UTC.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        pandas = _library("pandas", "df()")
        return pandas.DataFrame(
            {name: pandas.Series(found, dtype=_PANDAS[kind]) for name, kind, found in self._columns()}
        )

    def arrow(self) -> Any:
        """Give them as a `pyarrow.Table`, with the same columns.

        Raises:
            ConfigurationError: pyarrow is not installed.
        """
        arrow = _library("pyarrow", "arrow()")
        columns = [(name, arrow.type_for_alias(_ARROW[kind]), found) for name, kind, found in self._columns()]
        return arrow.table([arrow.array(found, kind) for _, kind, found in columns], [name for name, *_ in columns])

    def _columns(self) -> Iterator[tuple[str, type, list[Any]]]:
        found = [row.values() for row in self.of]
        for place, (name, kind) in enumerate(zip(self.kind.names(), self.kind.types(), strict=True)):
            yield name, kind, [row[place] for row in found]

    def _repr_html_(self) -> str:
        """Show them in a notebook."""
        return self.html()

    def html(self) -> str:
        """Give them as a table of HTML: the first hundred, every text as a text."""
        head = "".join(f"<th>{name}</th>" for name in self.kind.names())
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in self.of[:_SHOWN]
        )
        further = len(self.of) - _SHOWN
        more = f"<p>{further} further rows</p>" if further > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return "–"  # noqa: RUF001 - a dash for what is not there
    return escape(visible(f"{value:.3g}" if isinstance(value, float) else str(value)))


def _library(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"{what} needs {name}, which is not installed; install it with: pip install 'otel-aml[notebook]'"
        ) from error
