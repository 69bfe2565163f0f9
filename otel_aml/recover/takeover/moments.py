"""Moments as the tables hold them: whole microseconds since 1970, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from otel_aml.errors import InvalidTask

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_FIRST: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LONGEST: Final = timedelta(days=36_525)


def microseconds(moment: datetime, what: str = "the clock") -> int:
    """Count from 1970.

    Raises:
        InvalidTask: The moment has no time zone, or UTC has no such year.
    """
    if moment.tzinfo is None:
        raise InvalidTask(f"{what} has no time zone; give an aware datetime, as datetime.now(UTC) is")
    count = (moment - _EPOCH) // _MICROSECOND
    if not _FIRST <= count <= _LAST:
        raise InvalidTask(f"{what} lies outside of the years 1 to 9999 in UTC; give a moment within")
    return count


def moment(count: int) -> datetime:
    """Give the moment back, in UTC."""
    return _EPOCH + count * _MICROSECOND


def moment_or_none(count: int | None) -> datetime | None:
    """Give the moment back, if there is one."""
    return None if count is None else moment(count)


def lasting(span: timedelta, what: str) -> int:
    """Count the microseconds of a span of time.

    Raises:
        InvalidTask: It is not longer than nothing, or longer than a hundred years.
    """
    if not timedelta(0) < span <= _LONGEST:
        raise InvalidTask(f"{what} is {span}; it must be longer than nothing, and a hundred years at most")
    return span // _MICROSECOND
