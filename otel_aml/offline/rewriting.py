"""Files of OTLP JSON lines written anew without their secrets: to standard output, beside, or in place.

A file appears under its name once it is whole; before that it stands beside it, under a name of its own.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from otel_aml.errors import InputError, NothingUnderstood
from otel_aml.offline import lines
from otel_aml.offline.inputs import STDIN, files
from otel_aml.offline.problems import Problems
from otel_aml.offline.redacting import LineRedaction
from otel_aml.offline.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

_ZST: Final = ".zst"
_GZ: Final = ".gz"


@dataclass(slots=True)
class Redacted:
    """What was read, replaced and written.

    Args:
        lines: Lines that are not blank.
        bad_lines: Those that are no JSON, or could not be read: left out.
        replaced: By rule.
        written: Files that were written; none where all went to standard output.
        unchanged: Files that were to be replaced in place, and were not, since a line of theirs could not be read.
    """

    files: int = 0
    lines: int = 0
    bad_lines: int = 0
    replaced: Mapping[str, int] = field(default_factory=dict[str, int])
    problems: Problems = field(default_factory=Problems)
    written: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])


def redact(
    arguments: Sequence[str],
    *,
    out: Path | None = None,
    in_place: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> Redacted:
    """Write files anew without their secrets.

    Args:
        arguments: Files, folders, patterns, or `-` for standard input.
        out: A new file, or a folder for several; by default all goes to standard output, one after the other.
        in_place: Put each file in its own place, if all of its lines could be read.
        on_bytes: Told how much was read.

    Raises:
        InputError: A file cannot be read or written, would be written over, or nothing in them is JSON.
    """
    sources = files(arguments)
    targets = _themselves(sources) if in_place else _targets(sources, out)
    work = LineRedaction()
    done = Redacted(files=len(sources), replaced=work.redaction.replaced)
    with _zst_reader() as unpack_zst:
        for source, target in targets:
            before = done.bad_lines
            with _sink(source, target) as (sink, keep):
                for line in _clean_lines(source, work, done, unpack_zst, on_bytes):
                    sink.write(line + b"\n")
                if in_place and done.bad_lines > before:
                    done.unchanged.append(source)
                elif target is not None and done.bad_lines < done.lines:
                    keep()
                    done.written.append(str(target))
    if done.bad_lines == done.lines:
        raise NothingUnderstood(
            f"no line of JSON in {', '.join(map(repr, sources[:3]))} ({done.lines} lines); nothing was written. "
            "Give OTLP JSON lines, as the SDK's or the Collector's file exporter writes them"
        )
    return done


def _clean_lines(
    source: str,
    work: LineRedaction,
    done: Redacted,
    unpack_zst: lines.Unpack,
    on_bytes: Callable[[int], None] | None,
) -> Iterator[bytes]:
    seen = lines.Seen()
    for chunk in lines.chunks(source, seen=seen, problems=done.problems, unpack_zst=unpack_zst):
        for number, line in zip(chunk.numbers, chunk.lines, strict=True):
            clean = work.redact(line)
            if clean is None:
                done.bad_lines += 1
                done.problems.add(source, number, "no JSON: left out, since it cannot be looked at")
            else:
                yield clean
            if on_bytes is not None:
                on_bytes(len(line))
    done.lines += seen.lines
    done.bad_lines += seen.lost


def _themselves(sources: Sequence[str]) -> list[tuple[str, Path | None]]:
    for source in sources:
        if source == STDIN:
            raise InputError("standard input has no place of its own; leave out --in-place, or name a file")
        if lines.packing(source) == "zst":
            raise InputError(f"{source!r} is zst, which is read but not written; give --out instead of --in-place")
    return [(source, Path(source).resolve()) for source in sources]


def _targets(sources: Sequence[str], out: Path | None) -> list[tuple[str, Path | None]]:
    """Say where each file goes; never over one that is there."""
    if out is None:
        return [(source, None) for source in sources]
    if len(sources) == 1 and not out.is_dir():
        targets = [out]
    else:
        targets = [out / ("stdin.jsonl" if each == STDIN else Path(each).name.removesuffix(_ZST)) for each in sources]
    for target in targets:
        if target.exists():
            raise InputError(f"{str(target)!r} is there already; name a new file, or give --in-place to replace files")
        if targets.count(target) > 1:
            raise InputError(f"several files would become {str(target)!r}; redact them into folders of their own")
    return list(zip(sources, targets, strict=True))


@contextmanager
def _zst_reader() -> Generator[lines.Unpack]:
    """Read zst with DuckDB, which is started for the first such file."""
    with contextlib.ExitStack() as opened:
        stores: list[Store] = []

        def unpack(path: str) -> Iterator[bytes | None]:
            if not stores:
                stores.append(opened.enter_context(Store()))
            return stores[0].zst_lines(path)

        yield unpack


@contextmanager
def _sink(source: str, target: Path | None) -> Generator[tuple[IO[bytes], Callable[[], None]]]:
    """Open where a file goes, and give what puts it under its name at the end; without that call it is thrown away."""
    if target is None:
        yield sys.stdout.buffer, lambda: None
        sys.stdout.buffer.flush()
        return
    wanted: list[bool] = []
    part = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        is_packed = target.name.endswith(_GZ) or (target == Path(source).resolve() and lines.packing(source) == "gz")
        with os.fdopen(handle, "wb") as plain:
            if is_packed:
                with gzip.GzipFile(filename="", fileobj=plain, mode="wb") as packed:
                    yield cast("IO[bytes]", packed), lambda: wanted.append(True)
            else:
                yield plain, lambda: wanted.append(True)
        if wanted:
            if source != STDIN:
                shutil.copymode(source, part)
            Path(part).replace(target)
    except OSError as error:
        raise InputError(
            f"{str(target)!r} cannot be written ({error.strerror or error}); give a place that can be"
        ) from error
    finally:
        if part:
            Path(part).unlink(missing_ok=True)
