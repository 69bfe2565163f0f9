"""A queue in PostgreSQL: many machines, each row locked by one of them at a time."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from otel_aml.errors import ConfigurationError, OtelAmlError, QueueUnavailable
from otel_aml.recover.takeover.chain import NO_HASH
from otel_aml.recover.takeover.database import SCHEMA_VERSION, TABLES, Idle
from otel_aml.recover.takeover.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Generator

    import psycopg

    from otel_aml.recover.takeover.database import Row, Session, Value

_APPLICATION: Final = "otel-aml"
_CONNECT_SECONDS: Final = 10
_MAKING_TABLES: Final = 0x07E1A31
"""The advisory lock that those take who make the tables."""

_THERE: Final = """
    select 1 as found from pg_catalog.pg_tables
    where tablename = 'takeover_head' and schemaname = any(current_schemas(false))
"""


class PostgresDatabase:
    """The tables of a queue in a PostgreSQL database.

    Args:
        url: `postgresql://...`, as libpq reads it; `options=-csearch_path%3D...` chooses a schema.
        create: Whether to make the tables where there are none.

    Raises:
        ConfigurationError: psycopg is missing, or the database is not in UTF-8, or of another release.
        QueueUnavailable: It cannot be reached, or there are no tables and none should be made.
    """

    lock: str = "for update"
    lock_free: str = "for update skip locked"

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._url = url
        self._idle: Idle[psycopg.Connection[dict[str, Any]]] = Idle()
        _driver()
        try:
            self._prepare(create=create)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self, *, writes: bool) -> Generator[Session]:
        """Open a transaction; readers see one moment, writers lock the rows that they change."""
        connection = self._begun("read committed read write" if writes else "repeatable read read only")
        try:
            yield _PostgresSession(connection)
            with _told(committing=writes):
                connection.execute("commit")
        except BaseException as error:
            with suppress(Exception):
                if _may_go_on(error):
                    connection.execute("rollback")
                    self._put(connection)
                else:
                    connection.close()
            raise
        self._put(connection)

    def now_us(self, session: Session) -> int:
        """Read the server's clock: it is the one that all its clients share."""
        ((found,),) = (row.values() for row in session.rows("select clock_timestamp() as now"))
        return microseconds(found)

    def forget(self) -> None:
        """Leave it to the server's own vacuum, which other tables share."""

    def close(self) -> None:
        """Close all connections."""
        for connection in self._idle.take_all():
            connection.close()

    def _put(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        if not self._idle.put(connection):
            connection.close()

    def _begun(self, mode: str) -> psycopg.Connection[dict[str, Any]]:
        """Begin on a connection that waits, unless the server has left it; else on a new one."""
        statement = f"begin isolation level {mode}".encode()
        while (connection := self._idle.take()) is not None:
            try:
                connection.execute(statement)
            except _driver().OperationalError:
                connection.close()
            else:
                return connection
        connection = self._connected()
        with _told():
            connection.execute(statement)
        return connection

    def _connected(self) -> psycopg.Connection[dict[str, Any]]:
        from psycopg.rows import dict_row

        with _told():
            connection: psycopg.Connection[dict[str, Any]] = _driver().connect(
                self._url,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=_CONNECT_SECONDS,
                application_name=_APPLICATION,
                client_encoding="utf8",
                prepare_threshold=None,  # A pooler between may give each transaction another connection of the server.
            )
            if {"synchronous_commit": "off"} in connection.execute("show synchronous_commit"):
                connection.execute("set synchronous_commit = on")
        return connection

    def _prepare(self, *, create: bool) -> None:
        with self.transaction(writes=create) as session:
            ((encoding,),) = (row.values() for row in session.rows("show server_encoding"))
            if encoding != "UTF8":
                raise ConfigurationError(f"the database is in {encoding}, which does not hold every text; use UTF8")
            if not _is_there(session):
                if not create:
                    raise QueueUnavailable("the database holds no queue; give the URL of one that does")
                session.rows("select pg_advisory_xact_lock($number)::text", number=_MAKING_TABLES)
                if not _is_there(session):
                    for statement in TABLES:
                        session.change(statement)
                    session.change(
                        "insert into takeover_head values (1, $version, 0, $hash)", version=SCHEMA_VERSION, hash=NO_HASH
                    )
            ((version,),) = (row.values() for row in session.rows("select version from takeover_head"))
            if version != SCHEMA_VERSION:
                raise ConfigurationError(
                    f"the tables are version {version}, and this release reads {SCHEMA_VERSION}; use the other release"
                )


class _PostgresSession:
    def __init__(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        self._connection = connection

    def rows(self, statement: str, **values: Value) -> list[Row]:
        with _told():
            return list(self._connection.execute(_spelt(statement), values or None))

    def change(self, statement: str, **values: Value) -> int:
        with _told():
            return self._connection.execute(_spelt(statement), values or None).rowcount


def _may_go_on(error: BaseException) -> bool:
    """Whether the connection is whole: it was we who said no."""
    return isinstance(error, OtelAmlError) and not isinstance(error, QueueUnavailable)


def _is_there(session: Session) -> bool:
    """Look in the catalogue itself: what a name resolves to, the server remembers while another makes the table."""
    return bool(session.rows(_THERE))


@lru_cache(maxsize=256)
def _spelt(statement: str) -> bytes:
    """Spell the places of values as psycopg does."""
    return re.sub(r"\$(\w+)", r"%(\1)s", statement).encode()


@contextmanager
def _told(*, committing: bool = False) -> Generator[None]:
    """Say in one sentence what the database refuses."""
    errors = _driver()
    try:
        yield
    except errors.Error as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        unsure = "; it may have been done all the same: look before you do it again" if committing else ""
        raise QueueUnavailable(f"the queue's database cannot be used: {reason}{unsure}") from error


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "a queue in PostgreSQL needs psycopg; install it with: pip install 'otel-aml[postgres]'"
        ) from error
    return psycopg
