"""A saved store that takes more spans, in one transaction: after a crash it is as before, or as after."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from otel_aml.errors import InputError
from otel_aml.offline.fingerprints import KnownSource
from otel_aml.offline.sql import query
from otel_aml.offline.store import ANY_ERROR, TRACE_SPANS, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from otel_aml.offline.problems import Problem, Read

_AS_WRITTEN_NOW: Final = (
    "select runs.conversation_id from target.runs as runs, target.sources, target.makings, target.evidence limit 0"
)
_TOUCHED: Final = "create or replace table touched as select distinct trace_id from spans"
_LINES: Final = """
select spans.file, list(distinct spans.line order by spans.line)
from target.spans as spans
where spans.trace_id in (select trace_id from touched)
group by spans.file
order by spans.file
"""
_TAKE: Final = """
insert into loaded
select
    0 as chunk,
    0 as fault,
    * replace (
        map_entries(attributes) as attributes,
        written_events(events) as events,
        written_links(links) as links
    )
from target.spans
where trace_id in (select trace_id from touched) and file = $file
"""
_KEEP: Final = "delete from loaded where trace_id not in (select trace_id from touched)"
_HELD: Final = "select count(*) from target.spans where trace_id in (select trace_id from touched)"
_UNTOUCHED: Final = """
select record from target.evidence
where trace_id not in (select trace_id from touched)
order by trace_id, span_id
"""
_REMOVE: Final = (
    "delete from target.spans where trace_id in (select trace_id from touched)",
    "delete from target.runs where trace_id in (select trace_id from rewritten)",
    "delete from target.checks where trace_id in (select trace_id from rewritten)",
    "delete from target.failures where trace_id in (select trace_id from rewritten)",
    "delete from target.evidence where trace_id in (select trace_id from rewritten)",
)
_INSERT: Final = (
    "insert into target.runs from runs order by trace_id, span_id",
    "insert into target.checks from checks order by trace_id, span_id",
    "insert into target.failures from failures order by trace_id, span_id",
    "insert into target.evidence from evidence order by trace_id, span_id",
)
_RENAME: Final = (
    "update target.spans as held set file = renamed.new_file from renamed where held.file = renamed.old_file",
    "update target.problems as held set file = renamed.new_file from renamed where held.file = renamed.old_file",
)
_INSERT_SOURCE: Final = """
insert into target.sources values (
    $file, $fingerprint, $offset_bytes, $line_number, $is_open, $is_torn, $is_packed,
    $lines, $bad_lines, $invalid_spans, $other_lines
)
"""
_COUNTS: Final = """
select
    (select count(*) from target.spans),
    (select count(distinct trace_id) from target.spans),
    (select count(*) from target.runs),
    (select coalesce(sum(span_count - $most), 0) from (
        select count(*) as span_count from target.spans group by trace_id having count(*) > $most
    ))
"""


class AppendableStore(Store):
    """New spans in memory, beside a saved store that takes them.

    Raises:
        InputError: The file is no store, or another process uses it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._run_traces = 0
        try:
            self._connection.execute("attach $path as target", {"path": str(self.reached(path))})
            self._connection.execute(_AS_WRITTEN_NOW)
        except ANY_ERROR as error:
            self.close()
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"{str(path)!r} takes no more spans ({reason}); another process may be using it, or it was not "
                "written by this version of `otel-aml ingest`: give --replace to make it anew"
            ) from error

    def making(self) -> tuple[str, bool]:
        """Say with which contract it was made, and whether it keeps long texts."""
        ((contract, keeps_text),) = self._connection.execute(
            "select contract, keeps_text from target.makings"
        ).fetchall()
        return str(contract), bool(keeps_text)

    def known(self) -> tuple[KnownSource, ...]:
        """List the files that it was made of."""
        cursor = self._connection.execute("select * from target.sources order by file")
        names = [str(column[0]) for column in cursor.description or ()]
        return tuple(KnownSource(**dict(zip(names, row, strict=True))) for row in cursor.fetchall())

    def counts(self) -> dict[str, int]:
        """Give the counts of what was read so far."""
        ((counts,),) = self._connection.execute("select counts from target.readings").fetchall()
        return dict(json.loads(counts))

    def run_trace_count(self) -> int:
        """Count the traces that hold a run, once all is written."""
        return self._run_traces

    def touch(self) -> list[tuple[str, list[int]]]:
        """Note which traces have new spans; say in which lines of which files their earlier spans stand."""
        self._connection.execute(_TOUCHED)
        rows = self._connection.execute(_LINES).fetchall()
        return [(str(file), list(map(int, numbers))) for file, numbers in rows]

    def take_saved(self, file: str) -> None:
        """Take the earlier spans of a file that is gone as they were saved, without their long texts."""
        self._connection.execute(_TAKE, {"file": file})

    def keep_touched(self) -> int:
        """Drop the spans of all other traces; say how many spans of these traces were saved earlier."""
        self._connection.execute(_KEEP)
        ((count,),) = self._connection.execute(_HELD).fetchall()
        return int(count)

    def untouched(self) -> Iterator[str]:
        """Go through what the verdicts of all other runs rest on."""
        cursor = self.cursor()
        try:
            cursor.execute(_UNTOUCHED)
            while rows := cursor.fetchmany(500):
                yield from (str(record) for (record,) in rows)
        finally:
            cursor.close()

    def commit(  # noqa: PLR0913 - all by keyword
        self,
        *,
        read: Read,
        problems: Sequence[Problem],
        stale: Iterable[tuple[str, int | None]],
        renamed: Mapping[str, str],
        sources: Sequence[KnownSource],
        most_bytes: int,
    ) -> None:
        """Write all that is new, or nothing.

        Args:
            read: Counts; those of spans, traces and runs are taken from the store.
            problems: New ones.
            stale: File and line of earlier problems that are none any more; None for all of a file.
            renamed: New names of files by old ones.
            sources: All files from now on.
            most_bytes: Longer texts are left out.
        """
        run = self._connection.execute
        run(query("load/kept_spans"))
        run("create or replace table renamed (old_file varchar, new_file varchar)")
        for old, new in renamed.items():
            run("insert into renamed values ($old, $new)", {"old": old, "new": new})
        run("create or replace table rewritten as select trace_id from touched union select trace_id from runs")
        run("begin")
        for statement in _REMOVE:
            run(statement)
        for file, line in stale:
            run(
                "delete from target.problems where file = $file and coalesce(line = cast($line as bigint), true)",
                {"file": file, "line": line},
            )
        run("delete from target.problems where file in (select 'trace ' || trace_id from touched)")
        if renamed:
            for statement in _RENAME:
                run(statement)
        run("insert into target.spans from kept_spans($most)", {"most": most_bytes})
        for statement in _INSERT:
            run(statement)
        for problem in problems:
            run("insert into target.problems values ($file, $line, $reason)", asdict(problem))
        run("delete from target.sources")
        for source in sources:
            run(_INSERT_SOURCE, asdict(source))
        ((read.spans, read.traces, read.runs, unseen),) = run(_COUNTS, {"most": TRACE_SPANS}).fetchall()
        read.invalid_spans += int(unseen)
        ((self._run_traces,),) = run("select count(distinct trace_id) from target.runs").fetchall()
        run("update target.readings set counts = $counts", {"counts": json.dumps(read.counts())})
        run("commit")
        run("checkpoint target")
        run("detach target")
