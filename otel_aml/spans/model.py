"""The shape of a span: what the SDK's and an exported one have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


class Status(StrEnum):
    """The status of a span; OK and UNSET mean the same to us."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """One span event.

    Args:
        name: As recorded, `exception` for exceptions.
        attributes: Values of any attribute type; from a file they are texts, compound values as JSON text.
    """

    name: str
    attributes: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One ended span.

    Args:
        trace_id: 32 lower-case hex digits.
        span_id: 16 lower-case hex digits.
        parent_id: 16 hex digits, None for a root.
        scope: Name of the instrumentation scope.
        client: Whether the span's kind is CLIENT or PRODUCER: a call that leaves the process.
        server: Whether its kind is SERVER or CONSUMER: a call that came in.
        remote_parent: Whether its parent is known to be in another process.
        started_at: Nanoseconds since the epoch.
        ended_at: Nanoseconds since the epoch; None if the span never ended.
        attributes: Values of any attribute type; from a file they are texts, compound values as JSON text.
        dropped_attributes: How many attributes the SDK's limit took away.

    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    started_at: int
    ended_at: int | None
    scope: str = ""
    service: str = ""
    client: bool = False
    server: bool = False
    remote_parent: bool = False
    status: Status = Status.UNSET
    status_message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    events: tuple[Event, ...] = ()
    dropped_attributes: int = 0
