"""A queue in one SQLite file: only its owner reads it, and what is committed survives the end of process and power."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from otel_aml.errors import ConfigurationError, QueueUnavailable
from otel_aml.recover.takeover.chain import NO_HASH
from otel_aml.recover.takeover.database import SCHEMA_VERSION, TABLES, Idle

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from otel_aml.recover.takeover.database import Row, Session, Value

_WAIT_SECONDS: Final = 60.0
_SETTINGS: Final = (
    "pragma synchronous = full",  # A commit is on the disk before it is said.
    "pragma fullfsync = on",  # Also where the system's own fsync is not enough.
    "pragma secure_delete = on",  # What retention deletes is overwritten.
    "pragma trusted_schema = off",
)
_ON_WINDOWS: Final = os.name == "nt"


class SqliteDatabase:
    """One file, in write-ahead mode.

    Args:
        path: The file. It is made for its owner alone (mode 0600), and refused where others may read it or put another
            in its place.
        create: Whether to make it where there is none.

    Raises:
        ConfigurationError: The file or its folder is not safe, or the file is something else.
        QueueUnavailable: There is no file and none should be made, or it cannot be opened.
    """

    lock: str = ""
    lock_free: str = ""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        _check_folder(path, create=create)
        _check_file(path, create=create)
        self._path = path.absolute()  # The app may go to another folder.
        self._identity = _identity(path)
        self._idle: Idle[sqlite3.Connection] = Idle()
        self._prepare(create=create)

    @contextmanager
    def transaction(self, *, writes: bool) -> Generator[Session]:
        """Open a transaction; a writer waits for the writer before it."""
        self._check_same()
        connection = self._idle.take() or self._opened()
        try:
            with _told(self._path):
                connection.execute("begin immediate" if writes else "begin")
            yield _SqliteSession(connection, self._path)
            with _told(self._path):
                connection.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.rollback()
            connection.close()
            raise
        self._put(connection)

    def now_us(self, session: Session) -> int:  # noqa: ARG002 - the protocol's signature
        """Read the clock of the machine: all who share a file share it."""
        return time.time_ns() // 1_000

    def forget(self) -> None:
        """Take what was overwritten out of the write-ahead log."""
        connection = self._idle.take() or self._opened()
        with _told(self._path):
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        self._put(connection)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._idle.take_all():
            connection.close()

    def _put(self, connection: sqlite3.Connection) -> None:
        if not self._idle.put(connection):
            connection.close()

    def _check_same(self) -> None:
        """See that the file is still there: SQLite would go on writing into one that nobody finds any more."""
        if _identity(self._path) != self._identity:
            raise QueueUnavailable(
                f"'{self._path}' was removed or replaced since it was opened; stop who uses it, see which is right, "
                "and open it anew"
            )

    def _opened(self) -> sqlite3.Connection:
        with _told(self._path):
            connection = sqlite3.connect(
                self._path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.row_factory = sqlite3.Row
            for setting in _SETTINGS:
                connection.execute(setting)
        return connection

    def _prepare(self, *, create: bool) -> None:
        """Make the tables, once, and the write-ahead mode."""
        connection = self._opened()
        try:
            _into_wal(connection, self._path)
            with _told(self._path):
                connection.execute("begin immediate" if create else "begin")
                _make_tables(connection, self._path, create=create)
                connection.execute("commit")
        except BaseException:
            connection.close()
            raise
        self._put(connection)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _SqliteSession:
    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def rows(self, statement: str, **values: Value) -> list[Row]:
        with _told(self._path):
            return [dict(row) for row in self._connection.execute(statement, values)]

    def change(self, statement: str, **values: Value) -> int:
        with _told(self._path):
            return self._connection.execute(statement, values).rowcount


def _make_tables(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    """See that the tables are there and of this release; make them in an empty file."""
    present = {name for (name,) in connection.execute("select name from sqlite_master")}
    if not present and create:
        for statement in TABLES:
            connection.execute(statement)
        connection.execute("insert into takeover_head values (1, ?, 0, ?)", (SCHEMA_VERSION, NO_HASH))
        return
    if not present:
        raise QueueUnavailable(f"'{path}' is empty; give the file of a queue")
    if "takeover_head" not in present:
        raise ConfigurationError(f"'{path}' is another database; give a file of its own for a queue")
    (version,) = connection.execute("select version from takeover_head").fetchone()
    if version != SCHEMA_VERSION:
        raise ConfigurationError(
            f"'{path}' was written by another release (its tables are version {version}, "
            f"this one reads {SCHEMA_VERSION}); use that release"
        )


@contextmanager
def _told(path: Path) -> Generator[None]:
    """Say in one sentence what the database refuses."""
    try:
        yield
    except sqlite3.Error as error:
        reason = str(error)
        if "locked" in reason:
            reason = f"others have been writing to it for {_WAIT_SECONDS:.0f} s"
        elif "not a database" in reason:
            raise ConfigurationError(f"'{path}' is no SQLite file; give the file of a queue") from error
        raise QueueUnavailable(f"the queue '{path}' cannot be used: {reason}") from error


def _into_wal(connection: sqlite3.Connection, path: Path) -> None:
    """Change the mode, which SQLite does not wait for by itself while others open the file."""
    until = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            (mode,) = connection.execute("pragma journal_mode = wal").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" in str(error) and time.monotonic() < until:
                time.sleep(0.01)
                continue
            with _told(path):
                raise
        except sqlite3.Error:
            with _told(path):
                raise
        if mode != "wal":
            raise ConfigurationError(
                f"'{path}' lies where SQLite cannot keep a write-ahead log (mode {mode}); give a file on a local disk"
            )
        return


def _check_folder(path: Path, *, create: bool) -> None:
    folder = path.parent
    try:
        if create:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode
    except OSError as error:
        raise QueueUnavailable(f"the folder '{folder}' cannot be used ({error.strerror}); give another") from error
    if not _ON_WINDOWS and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise ConfigurationError(
            f"anyone may put files into '{folder}', and so another in the place of '{path.name}'; "
            "give a folder of the app's own (chmod 700)"
        )


def _check_file(path: Path, *, create: bool) -> None:
    """See that the file is ours alone. It is never opened here: closing it would drop SQLite's locks on it."""
    if create:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            os.close(os.open(path, flags, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise QueueUnavailable(f"'{path}' cannot be made ({error.strerror}); give another file") from error
    try:
        found = path.lstat()
    except OSError as error:
        raise QueueUnavailable(f"there is no queue '{path}' ({error.strerror}); give the file of one") from error
    if not stat.S_ISREG(found.st_mode):
        raise ConfigurationError(f"'{path}' is no plain file (a link, a folder?); give the file itself")
    if _ON_WINDOWS:
        return
    if found.st_uid not in {os.geteuid(), 0} and os.geteuid():
        raise ConfigurationError(f"'{path}' belongs to another user; give a file of the app's own")
    if found.st_mode & 0o077:
        raise ConfigurationError(
            f"others may read or write '{path}' (mode {stat.S_IMODE(found.st_mode):04o}); "
            f"see who had access, then: chmod 600 '{path}'"
        )
