"""What the queue asks of a database: transactions that are whole and durable, and rows that can be locked."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Value = str | int | None
Row = Mapping[str, Any]
C = TypeVar("C")

SCHEMA_VERSION: Final = 1
IDLE: Final = 8
"""So many connections wait at most to be used again."""
TABLES: Final = (
    """
    create table takeover_tasks (
        id text not null primary key,
        kind text not null,
        case_id text,
        trace_id text,
        failure_class text,
        step_id text,
        author text,
        author_key text,
        typology text,
        user_message text not null,
        plan text not null,
        choices text not null,
        response_schema text,
        follows text,
        state text not null,
        state_bytes bigint not null,
        technical_detail text not null,
        salt text not null,
        created_us bigint not null,
        due_us bigint,
        expires_us bigint,
        urgent_us bigint not null,
        claimed_by text,
        claimed_key text,
        claimed_us bigint,
        lease_us bigint not null default 0,
        escalation bigint not null default 0,
        escalated_us bigint,
        acknowledged_us bigint,
        choice text,
        decided_by text,
        decided_us bigint,
        said text,
        edited text
    )
    """,
    "create index takeover_tasks_open on takeover_tasks (urgent_us, created_us, id) where decided_us is null",
    "create index takeover_tasks_decided on takeover_tasks (decided_us) where decided_us is not null",
    "create index takeover_tasks_unheard on takeover_tasks (decided_us) where acknowledged_us is null",
    "create index takeover_tasks_case on takeover_tasks (case_id)",
    """
    create table takeover_links (
        seq bigint not null primary key,
        at_us bigint not null,
        act text not null,
        actor text not null,
        via text not null,
        task_id text,
        data text not null,
        previous text not null,
        hash text not null
    )
    """,
    "create index takeover_links_task on takeover_links (task_id)",
    "create index takeover_links_act on takeover_links (act)",
    """
    create table takeover_holds (
        id text not null primary key,
        task_id text,
        case_id text,
        reason text not null,
        placed_by text not null,
        placed_us bigint not null
    )
    """,
    """
    create table takeover_head (
        place bigint not null primary key check (place = 1),
        version bigint not null,
        seq bigint not null,
        hash text not null
    )
    """,
)
"""One table of tasks for both kinds, and so one claim. Moments are microseconds since 1970."""


class Session(Protocol):
    """One transaction."""

    def rows(self, statement: str, **values: Value) -> list[Row]:
        """Ask; values stand in the statement as `$name`."""
        ...

    def change(self, statement: str, **values: Value) -> int:
        """Change rows, and say how many."""
        ...


class Database(Protocol):
    """A database that holds a queue."""

    lock: str
    """What makes a select lock the rows that it finds; empty where a writer is alone anyhow."""
    lock_free: str
    """The same, passing over rows that others have locked."""

    def transaction(self, *, writes: bool) -> AbstractContextManager[Session]:
        """Open a transaction: committed and durable at its end, undone by any exception.

        One that only reads sees one moment of the database.

        Raises:
            QueueUnavailable: The database cannot be reached or written; nothing was changed, unless the sentence says
                that it may have been.
        """
        ...

    def now_us(self, session: Session) -> int:
        """Read the clock that all who share this database share."""
        ...

    def forget(self) -> None:
        """Let nothing of deleted rows stand in the files, as far as can be done from here."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class Idle(Generic[C]):
    """Connections that wait to be used again. A forked child uses none of its parent's, and closes none of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[C] = []
        self._owner = os.getpid()
        self._inherited: list[C] = []

    def take(self) -> C | None:
        """Take one that waits, if any does."""
        if self._owner != os.getpid():
            self._lock = threading.Lock()  # It may have been held in the parent as that forked.
            self._inherited += self._waiting
            self._waiting = []
            self._owner = os.getpid()
        with self._lock:
            return self._waiting.pop() if self._waiting else None

    def put(self, connection: C) -> bool:
        """Let one wait; False where enough do, and it is to be closed."""
        with self._lock:
            if len(self._waiting) >= IDLE:
                return False
            self._waiting.append(connection)
            return True

    def take_all(self) -> list[C]:
        """Take all that wait."""
        found: list[C] = []
        while (each := self.take()) is not None:
            found.append(each)
        return found
