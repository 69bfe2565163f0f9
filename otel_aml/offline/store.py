"""Spans, verdicts and reports in DuckDB. No other module speaks to it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import IntEnum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import duckdb

from otel_aml.core.taxonomy import OTHER_VALUES, TAXONOMY
from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline.lines import LINE_BYTES
from otel_aml.offline.problems import Problem, Read
from otel_aml.offline.sql import macro, query
from otel_aml.offline.texts import valid, valid_name
from otel_aml.spans import attributes as names
from otel_aml.spans.model import Event, SpanRecord, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from otel_aml.offline.fingerprints import KnownSource
    from otel_aml.offline.lines import Chunk

ANY_ERROR: Final = duckdb.Error
"""For those who build upon this module."""
MEMORY_LIMIT: Final = "2GB"
MEMORY_VARIABLE: Final = "OTEL_AML_MEMORY_LIMIT"
PAUSED: Final = "paused"
"""The row of runs that wait for a person and have not failed."""
SPAN_PARTS: Final = 10_000
"""How many attributes, events or links one span may have."""
CHUNK_PARTS: Final = 2_000_000
"""How many commas may stand in lines that are parsed at once: a bound of what they hold, and so of memory."""
LINE_PARTS: Final = 1_000_000
"""How many resources, scopes or spans one line may have."""
TRACE_SPANS: Final = 200_000
"""How many spans of one trace are looked at."""
_NAMES: Final = (
    "^(?:"
    + "|".join(sorted({value.replace(".", r"\.") for name, value in vars(names).items() if name.isupper()}))
    + r")(?:\.|$)"
)
"""Matches what the vocabularies read: one of their names, or what stands below it (`retrieval.documents.0...`)."""
_BATCH: Final = 500
_ZST_BATCH: Final = 16
_LF: Final = "\\n"
_CRLF: Final = "\\r\\n"
_SETTINGS: Final[Mapping[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
}
_NO_BAR: Final = "set enable_progress_bar = false"
"""DuckDB draws one into what we print, once a query takes two seconds; the setting is one of each connection."""
_DEFINITIONS: Final = ("load/macros", "load/zst_lines", "load/tables", "load/verdict_tables")
_HAS_COPIES: Final = "select 1 from loaded group by trace_id, span_id having count(*) > 1 limit 1"
_DROP_LINES: Final = "delete from loaded where chunk = $chunk and line in (select unnest(cast($lines as bigint[])))"
_SAVE_DUCKDB: Final = (
    "create table target.classes as from classes",
    "create table target.runs as from runs order by trace_id, span_id",
    "create table target.checks as from checks order by trace_id, span_id",
    "create table target.failures as from failures order by trace_id, span_id",
    "create table target.evidence as from evidence order by trace_id, span_id",
    "create table target.readings as from readings",
    "create table target.problems as from problems",
    "create table target.sources as from sources",
    "create table target.makings as from makings",
)
_SAVE_SPANS: Final = "copy (from kept_spans($most)) to $path (format parquet, compression zstd)"
_SAVE_PARQUET: Final = {
    "classes": "copy classes to $path (format parquet, compression zstd)",
    "runs": "copy (from runs order by trace_id, span_id) to $path (format parquet, compression zstd)",
    "checks": "copy (from checks order by trace_id, span_id) to $path (format parquet, compression zstd)",
    "failures": "copy (from failures order by trace_id, span_id) to $path (format parquet, compression zstd)",
    "evidence": "copy (from evidence order by trace_id, span_id) to $path (format parquet, compression zstd)",
    "readings": "copy readings to $path (format parquet, compression zstd)",
    "problems": "copy problems to $path (format parquet, compression zstd)",
    "sources": "copy sources to $path (format parquet, compression zstd)",
    "makings": "copy makings to $path (format parquet, compression zstd)",
}
TABLES: Final = ("spans", *_SAVE_PARQUET)
"""The tables of a saved store."""
_ATTACH: Final = "attach $path as source (read_only)"
_INSERT_SOURCE: Final = """
insert into sources values (
    $file, $fingerprint, $offset_bytes, $line_number, $is_open, $is_torn, $is_packed,
    $lines, $bad_lines, $invalid_spans, $other_lines
)
"""
_NAMED: Final = (
    "select table_name from duckdb_tables() where database_name = 'source' "
    "union all select view_name from duckdb_views() where database_name = 'source' and not internal"
)
_READINGS: Final = ("readings", "problems")
_DROP: Final = {
    "spans": "drop view spans",
    "runs": "drop table runs",
    "checks": "drop table checks",
    "failures": "drop table failures",
}
_VERDICTS: Final = ("runs", "checks", "failures")
_ZST_LINES: Final = "select body from zst_lines($path, $newline, $most)"
_ZST_COUNT: Final = "select count(*), count(body) from zst_lines($path, $newline, $most)"
_ZST_REJECTED: Final = "select line from reject_errors where scan_id = (select max(scan_id) from reject_errors)"
_EXPORTS: Final = ("resourceLogs", "resourceMetrics", "resourceProfiles", "resource_logs", "resource_metrics")


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line without spans.

    Args:
        refusal: Why it was not even parsed.
        keys: The keys of its object; None where it is none.
        holds: The JSON type of its `resourceSpans`.
        is_broken: It is no JSON.
        is_odd: It has a part without spans, which may be one that could not be read.
    """

    number: int
    refusal: str | None
    keys: tuple[str, ...] | None
    holds: str | None
    is_broken: bool
    is_odd: bool

    @property
    def is_other_signal(self) -> bool:
        """Whether it is a request of another signal than traces."""
        return self.keys is not None and not set(_EXPORTS).isdisjoint(self.keys)

    @property
    def is_empty_request(self) -> bool:
        """Whether it is a request for traces that holds none."""
        return self.keys is not None and "resourceSpans" in self.keys and self.holds == "NULL"


class Fault(IntEnum):
    """Why a line that gave spans must be looked at by other means."""

    PART_MISSING = 1
    """A part of a span is missing, or has another shape than it should."""
    VALUE_MISSING = 2
    """A value is empty, or was not understood."""
    LINE = 3
    """The line is odd, or a span in it has no ids or too many parts: none of its spans was taken."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Lines whose spans were inserted.

    Args:
        chunk: Tells them from others.
        faults: Which of them must be looked at.
    """

    chunk: int
    faults: Mapping[int, Fault]


@dataclass(frozen=True, slots=True)
class SortedOut:
    """What a few odd lines hold.

    Args:
        rejected_lines: Lines without spans, good or bad.
        rejected_spans: Line, reason and count of the spans that were left out.
        numbers: The lines of what can be read.
        requests: What can be read, as requests that are as they should be.
    """

    rejected_lines: tuple[RejectedLine, ...]
    rejected_spans: tuple[tuple[int, str, int], ...]
    numbers: list[int]
    requests: list[bytes]


class Loader:
    """Brings chunks of lines into the table of spans, on a connection of its own, so that two can work at once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, numbers: Iterator[int]) -> None:
        self._connection = connection
        self._numbers = numbers

    def load(self, chunk: Chunk) -> Loaded:
        """Insert the spans of these lines; say which lines must be looked at."""
        number = next(self._numbers)
        given = {"lines": chunk.lines, "places": chunk.numbers, "file": valid_name(chunk.file), "most": SPAN_PARTS}
        self._connection.execute(query("load/spans"), given | {"chunk": number})
        found = dict(self._connection.execute(query("load/faults"), {"chunk": number}).fetchall())
        faults = {line: Fault(fault) for line, fault in found.items() if fault}
        faults.update((line, Fault.LINE) for line in chunk.numbers if line not in found)
        return Loaded(number, faults)

    def drop(self, loaded: Loaded, lines: Sequence[int]) -> None:
        """Take the spans of some of its lines back."""
        self._connection.execute(_DROP_LINES, {"chunk": loaded.chunk, "lines": lines})

    def sort_out(self, chunk: Chunk) -> SortedOut:
        """Say what odd lines hold, and what of it can be read."""
        self._connection.execute(
            query("load/requests"),
            {"lines": chunk.lines, "places": chunk.numbers, "most": LINE_PARTS},
        )
        self._connection.execute(query("load/exported"))
        lines = self._connection.execute(query("load/rejected_lines")).fetchall()
        spans = self._connection.execute(query("load/rejected_spans"), {"most": SPAN_PARTS}).fetchall()
        requests = self._connection.execute(query("load/sorted_out"), {"most": SPAN_PARTS}).fetchall()
        return SortedOut(
            tuple(
                RejectedLine(number, refusal, None if keys is None else tuple(keys), holds, is_broken, is_odd)
                for number, refusal, keys, holds, is_odd, is_broken in lines
            ),
            tuple((int(line), str(reason), int(count)) for line, reason, count in spans),
            [int(number) for number, _ in requests],
            [bytes(request) for _, request in requests],
        )

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()


@dataclass(frozen=True, slots=True)
class Saved:
    """What a saved store says of its making."""

    read: Read
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Within which limits a user's question is answered.

    Args:
        paths: The only files that may still be read.
    """

    paths: Sequence[Path] = ()
    rows: int = 1_000
    seconds: float = 60


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a user's question.

    Args:
        is_cut: There are more rows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A span with what only a file knows.

    Args:
        process: Equal for spans of one process.
        synthetic: Its resource says that it was made up.
    """

    span: SpanRecord
    process: int
    synthetic: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one trace.

    Args:
        dropped: How many more it has than are looked at.
    """

    trace_id: str
    spans: tuple[StoredSpan, ...]
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class _Saving:
    """Spans on their way into a saved store."""

    cursor: duckdb.DuckDBPyConnection
    spans: Future[None]


class Store:
    """One database in memory, from where it can be saved.

    Args:
        memory_limit: What DuckDB's buffers may take, like `4GB`; beyond it goes to a temporary folder. Without it the
            environment variable `OTEL_AML_MEMORY_LIMIT` decides, else it is 2 GB.

    Raises:
        ConfigurationError: The limit is none.
    """

    def __init__(self, *, memory_limit: str | None = None) -> None:
        limit = memory_limit or os.environ.get(MEMORY_VARIABLE) or MEMORY_LIMIT
        self._spill = Path(tempfile.mkdtemp(prefix="otel-aml-"))
        self._looked_into: tuple[str, ...] = ()
        self._numbers = count(1)
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="otel-aml-save")
        self._saving: _Saving | None = None
        settings: dict[str, str | bool | int | float | list[str]] = {
            **_SETTINGS,
            "memory_limit": limit,
            "temp_directory": str(self._spill),
        }
        try:
            self._connection = duckdb.connect(":memory:", config=settings)
        except duckdb.Error as error:
            shutil.rmtree(self._spill, ignore_errors=True)
            raise ConfigurationError(
                f"{limit!r} is no memory limit; give {MEMORY_VARIABLE} a value like 4GB"
            ) from error
        self._connection.execute(_NO_BAR)
        for name in _DEFINITIONS:
            self._connection.execute(query(name))
        self._writer = self.cursor()
        self._writer.executemany(
            "insert into classes values ($1, $2, $3, $4, $5)", [list(row) for row in _class_rows()]
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: object) -> None:
        self.close()
        if isinstance(error, duckdb.OutOfMemoryException | duckdb.IOException):
            raise InputError(
                f"the data do not fit into memory and the temporary folder ({_first_line(error)}); "
                f"give fewer files, or set {MEMORY_VARIABLE} to more than {MEMORY_LIMIT}"
            ) from error

    def close(self) -> None:
        """Close the database and remove what it had spilled."""
        if self._saving is not None:
            self._saving.cursor.interrupt()
        self._saver.shutdown(wait=True)
        self._writer.close()
        self._connection.close()
        shutil.rmtree(self._spill, ignore_errors=True)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Open another connection that draws nothing on standard output."""
        return self._connection.cursor().execute(_NO_BAR)

    def loader(self) -> Loader:
        """Open another way in, for another thread."""
        return Loader(self.cursor(), self._numbers)

    def drop_duplicates(self) -> int:
        """Keep one copy of each span; give the number of further copies."""
        if not self._connection.execute(_HAS_COPIES).fetchall():
            return 0
        return _count(self._connection.execute(query("load/duplicates")))

    def span_count(self) -> int:
        """Count the spans."""
        return _count(self._connection.execute("select count(*) from spans"))

    def trace_count(self) -> int:
        """Count the traces."""
        return _count(self._connection.execute("select count(distinct trace_id) from spans"))

    def run_trace_count(self) -> int:
        """Count the traces that hold a run."""
        return _count(self._connection.execute("select count(distinct trace_id) from runs"))

    def traces(self, trace_id: str | None = None) -> Iterator[Trace]:
        """Go through the traces, or one of them, in the order of their ids, in bounded memory."""
        cursor = self.cursor()
        try:
            cursor.execute(query("load/replay"), {"names": _NAMES, "trace_id": trace_id})
            current, spans, dropped = "", list[StoredSpan](), 0
            while rows := cursor.fetchmany(_BATCH):
                for row in rows:
                    if row[0] != current:
                        if spans:
                            yield Trace(current, tuple(spans), dropped)
                        current, spans, dropped = row[0], [], 0
                    if len(spans) < TRACE_SPANS:
                        spans.append(_stored_span(row))
                    else:
                        dropped += 1
            if spans:
                yield Trace(current, tuple(spans), dropped)
        finally:
            cursor.close()

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows into one of the tables `runs`, `checks`, `failures`, `evidence`."""
        self._writer.execute(query(f"load/{table}"), {"rows": valid(json.dumps(rows, ensure_ascii=False))})

    def note(self, read: Read, problems: Sequence[Problem]) -> None:
        """Keep what was read, and what could not be."""
        self._writer.execute("insert into readings values ($counts)", {"counts": json.dumps(read.counts())})
        for problem in problems:
            self._writer.execute(
                "insert into problems values ($file, $line, $reason)",
                {"file": problem.file, "line": problem.line, "reason": problem.reason},
            )

    def note_making(self, sources: Sequence[KnownSource], *, contract: str, keeps_text: bool) -> None:
        """Keep what a store that takes more spans later has to know of its making."""
        for source in sources:
            self._writer.execute(_INSERT_SOURCE, asdict(source) | {"file": valid_name(source.file)})
        self._writer.execute(
            "insert into makings values ($contract, $keeps_text)", {"contract": contract, "keeps_text": keeps_text}
        )

    def rows(self, name: str, values: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Ask a query, with the values that it takes; give its rows as dictionaries, in bounded memory."""
        cursor = self.cursor()
        try:
            cursor.execute(query(name), values and {key: _readable(value) for key, value in values.items()})
            columns = [str(column[0]) for column in cursor.description or ()]
            while rows := cursor.fetchmany(_BATCH):
                for row in rows:
                    yield dict(zip(columns, row, strict=True))
        finally:
            cursor.close()

    def name_rows(self, name: str, of: str) -> None:
        """Let queries ask another query, by a name."""
        self._connection.execute(macro(name, of))

    def begin_saving(self, path: Path, *, most_bytes: int) -> None:
        """Begin to save the spans in the background, while their verdicts are drawn.

        Args:
            path: A new `.duckdb` file, or a folder for Parquet files, one a table.
            most_bytes: Longer texts of spans are left out.
        """
        self._connection.execute(query("load/kept_spans"))
        cursor = self.cursor()
        self._saving = _Saving(cursor, self._saver.submit(self._save_spans, cursor, path, most_bytes))

    def _save_spans(self, cursor: duckdb.DuckDBPyConnection, path: Path, most_bytes: int) -> None:
        if path.is_dir():
            reached = self.reached(path / "spans.parquet")
            cursor.execute(_SAVE_SPANS, {"path": str(reached), "most": most_bytes})
            return
        is_query = "?" in str(path.resolve())  # DuckDB takes what follows for a query, and puts its journal elsewhere
        reached = self._spill / "saved.duckdb" if is_query else self.reached(path)
        cursor.execute("attach $path as target", {"path": str(reached)})
        cursor.execute("create table target.spans as from kept_spans($most)", {"most": most_bytes})

    def finish_saving(self, path: Path) -> None:
        """Save the rest, once all is written."""
        if self._saving is None:
            return
        self._saving.spans.result()
        if path.is_dir():
            reached = self.reached(path / "spans.parquet").parent
            for table, statement in _SAVE_PARQUET.items():
                self._connection.execute(statement, {"path": str(reached / f"{table}.parquet")})
            return
        for statement in _SAVE_DUCKDB:
            self._connection.execute(statement)
        self._connection.execute("detach target")
        if "?" in str(path.resolve()):
            shutil.move(self._spill / "saved.duckdb", path)

    def saved_duckdb(self, path: Path, *, anew: bool) -> Saved:
        """Look into what was saved in a `.duckdb` file: spans stay there, and verdicts, unless they are drawn anew.

        Raises:
            InputError: It is no such file.
        """
        try:
            self._connection.execute(_ATTACH, {"path": str(self.reached(path))})
            return self._saved(lambda table: self._connection.table(f"source.main.{table}"), anew=anew)
        except (duckdb.Error, ValueError) as error:
            raise _no_store(path, error) from error

    def saved_parquet(self, folder: Path, *, anew: bool) -> Saved:
        """Look into what was saved in a folder of Parquet, as `saved_duckdb` does.

        Raises:
            InputError: It is no such folder.
        """
        reached = self.reached(folder / "spans.parquet").parent
        self._looked_into = tuple(str(reached / f"{table}.parquet") for table in TABLES)
        try:
            return self._saved(
                lambda table: self._connection.read_parquet([str(reached / f"{table}.parquet")]), anew=anew
            )
        except (duckdb.Error, ValueError) as error:
            raise _no_store(folder, error) from error

    def _saved(self, saved: Callable[[str], duckdb.DuckDBPyRelation], *, anew: bool) -> Saved:
        for table in _READINGS:
            saved(table).insert_into(table)
        if anew:
            saved("evidence").insert_into("evidence")
        for table in ("spans",) if anew else ("spans", *_VERDICTS):
            self._connection.execute(_DROP[table])
            saved(table).create_view(table)
        self._connection.execute("drop table loaded")
        self._connection.execute(query("load/saved_spans"))
        ((counts,),) = self._connection.execute("select counts from readings").fetchall()
        problems = self._connection.execute("select file, line, reason from problems").fetchall()
        return Saved(
            Read(**json.loads(counts)),
            tuple(Problem(file, line, reason) for file, line, reason in problems),
        )

    def reached(self, path: Path) -> Path:
        """Reach a file by a plain path: DuckDB takes brackets in one for a pattern, and reads no bytes but UTF-8."""
        folder = Path(tempfile.mkdtemp(dir=self._spill)) / "folder"
        folder.symlink_to(path.parent.resolve())
        return folder / path.name

    def answer(self, text: str, values: Mapping[str, Any] | None = None, *, asking: Asking) -> Answered:
        """Ask a question that a user wrote: one select of what is here, bounded in time, memory and rows.

        Afterwards this store reads no further file.

        Raises:
            InputError: It is not one select, cannot be answered, or takes too long.
        """
        paths = [valid_name(str(path)) for path in asking.paths]
        cursor = self.cursor()
        self._connection.execute("set allowed_paths = $paths", {"paths": [*self._looked_into, *paths]})
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")
        alarm = threading.Timer(asking.seconds, cursor.interrupt)
        try:
            statements = cursor.extract_statements(text)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise InputError("it is not one select statement; a store is asked, never changed")
            alarm.start()
            cursor.execute(text, values)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            rows = cursor.fetchmany(asking.rows + 1)
        except duckdb.InterruptException as error:
            raise InputError(f"no answer within {asking.seconds:g} s; ask for less, or give --seconds") from error
        except duckdb.Error as error:
            raise InputError(f"the question cannot be answered: {_first_line(error)}") from error
        finally:
            alarm.cancel()
            cursor.close()
        return Answered(columns, tuple(map(tuple, rows[: asking.rows])), is_cut=len(rows) > asking.rows)

    def tables_of(self, path: Path) -> frozenset[str]:
        """Name what stands in a `.duckdb` file; nothing where it is none."""
        try:
            self._connection.execute(_ATTACH, {"path": str(self.reached(path))})
            rows = self._connection.execute(_NAMED).fetchall()
        except duckdb.Error:
            return frozenset()
        return frozenset(str(name) for (name,) in rows)

    def records(self) -> Iterator[str]:
        """Go through the records that verdicts rest on, by trace and root."""
        cursor = self.cursor()
        try:
            cursor.execute("select record from evidence order by trace_id, span_id")
            while rows := cursor.fetchmany(_BATCH):
                yield from (str(record) for (record,) in rows)
        finally:
            cursor.close()

    def zst_lines(self, path: str) -> Iterator[bytes | None]:
        """Read the lines of a zst file; None for one that is too long.

        Raises:
            EOFError: The stream is damaged; what came before was given.
        """
        cursor = self.cursor()
        plain_name = self._spill / "input.zst"  # DuckDB takes brackets in a name for a pattern
        plain_name.unlink(missing_ok=True)
        plain_name.symlink_to(Path(path).resolve())
        try:
            newline, too_long = _shape_of_zst(cursor, str(plain_name))
            cursor.execute(_ZST_LINES, {"path": str(plain_name), "newline": newline, "most": LINE_BYTES})
            number = 0
            while rows := cursor.fetchmany(_ZST_BATCH):
                for (body,) in rows:
                    number += 1
                    while number in too_long:
                        yield None
                        number += 1
                    yield b"" if body is None else body.encode("latin-1")
            yield from (None for line in too_long if line > number)
        except duckdb.Error as error:
            raise EOFError(_first_line(error)) from error
        finally:
            cursor.close()


def _shape_of_zst(cursor: duckdb.DuckDBPyConnection, path: str) -> tuple[str, frozenset[int]]:
    """Look through a zst file once: how its lines end, and which are too long."""
    unix = _looked_through(cursor, path, _LF)
    if 0 < unix.bodies <= unix.lines - unix.bodies:
        windows = _looked_through(cursor, path, _CRLF)
        if windows.bodies == unix.bodies:
            return _CRLF, windows.too_long
    return _LF, unix.too_long


@dataclass(frozen=True, slots=True)
class _Look:
    lines: int = 0
    bodies: int = 0
    too_long: frozenset[int] = frozenset()


def _looked_through(cursor: duckdb.DuckDBPyConnection, path: str, newline: str) -> _Look:
    try:
        cursor.execute(_ZST_COUNT, {"path": path, "newline": newline, "most": LINE_BYTES})
        ((lines, bodies),) = cursor.fetchall()
    except duckdb.Error:
        return _Look()
    try:
        rejected = cursor.execute(_ZST_REJECTED).fetchall()
    except duckdb.CatalogException:  # the table is made with its first row
        rejected = []
    return _Look(lines, bodies, frozenset(int(line) for (line,) in rejected))


def _stored_span(row: Sequence[Any]) -> StoredSpan:
    (
        trace_id,
        span_id,
        parent_id,
        name,
        scope,
        service,
        kind,
        has_remote_parent,
        started_ns,
        ended_ns,
        status,
        status_message,
        dropped_attributes,
        keys,
        values,
        events,
        process,
        synthetic,
    ) = row
    attributes = dict(zip(keys, values, strict=True))
    if len(attributes) != len(keys):  # the first of several equal keys wins
        attributes = dict(zip(reversed(keys), reversed(values), strict=True))
    return StoredSpan(
        SpanRecord(
            trace_id=trace_id,
            span_id=span_id,
            parent_id=parent_id,
            name=name,
            started_at=started_ns or ended_ns or 0,
            ended_at=ended_ns,
            scope=scope,
            service=service,
            client=kind in ("client", "producer"),
            server=kind in ("server", "consumer"),
            remote_parent=has_remote_parent,
            status=Status(status),
            status_message=status_message,
            attributes=attributes,
            events=tuple(Event(event["name"], event["attributes"]) for event in events or ()),
            dropped_attributes=dropped_attributes,
        ),
        process,
        synthetic,
    )


def _class_rows() -> Iterator[tuple[str, int, bool, str | None, int | None]]:
    """Give the taxonomy, then what is not one of the six."""
    for place, spec in enumerate(TAXONOMY.values(), start=1):
        yield str(spec.failure_class), place, True, str(spec.severity), spec.weight
    for place, other in enumerate((*OTHER_VALUES, PAUSED), start=len(TAXONOMY) + 1):
        yield str(other), place, False, None, None


def _count(result: duckdb.DuckDBPyConnection) -> int:
    row = result.fetchone()
    return 0 if row is None else int(row[0])


def _readable(value: Any) -> Any:
    return valid(value) if isinstance(value, str) else value


def is_saved(path: Path) -> bool:
    """Whether a path holds a saved store and nothing else, so that nothing of anyone's is lost with it."""
    if path.is_dir():
        found = {file.name for file in path.iterdir()}
        wanted = {f"{table}.parquet" for table in TABLES}
        return f"{_READINGS[0]}.parquet" in found and found <= wanted
    if not path.is_file():
        return False
    with Store() as store:
        tables = store.tables_of(path)
    return _READINGS[0] in tables and tables <= set(TABLES)


def _no_store(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{str(path)!r} was not written by this version of `otel-aml ingest` ({_first_line(error)}); "
        "make it with: otel-aml ingest FILE... --into PATH"
    )


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
