"""Files into a store: lines are cut here, parsed by two connections at once, and what was odd about them is named."""

from __future__ import annotations

import json
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Self

from otel_aml.errors import NothingUnderstood
from otel_aml.offline import lines
from otel_aml.offline.lines import Chunk, Place, Seen
from otel_aml.offline.looks import looks_like
from otel_aml.offline.problems import Problems, Read
from otel_aml.offline.spelling import in_camel_case, misshapen
from otel_aml.offline.texts import valid, valid_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from otel_aml.offline.store import Loaded, Loader, RejectedLine, Store

_WORKERS: Final = 2
_KEYS_SHOWN: Final = 3
_SURROGATE: Final = b"\\ud"


@dataclass(slots=True)
class Source:
    """What one file gave, and how far it was read."""

    place: Place = field(default_factory=Place)
    lines: int = 0
    bad_lines: int = 0
    invalid_spans: int = 0
    other_lines: int = 0


@dataclass(slots=True)
class Loading:
    """The counts and problems of what was loaded so far, all in all and by file."""

    read: Read = field(default_factory=Read)
    problems: Problems = field(default_factory=Problems)
    sources: dict[str, Source] = field(default_factory=dict[str, Source])


def load(
    store: Store,
    files: Sequence[str],
    *,
    on_bytes: Callable[[int], None] | None = None,
) -> Loading:
    """Load files into a store, and keep one copy of each span.

    Args:
        store: An empty store.
        files: Paths, `-` for standard input.
        on_bytes: Told how many bytes of lines were read, now and then.

    Raises:
        InputError: A file cannot be opened.
        NothingUnderstood: Not one span was found.
    """
    loading = Loading()
    heads = read_into(store, dict.fromkeys(files), loading, on_bytes=on_bytes)
    read = loading.read
    read.files = len(files)
    read.duplicate_spans = store.drop_duplicates()
    read.spans = store.span_count()
    read.traces = store.trace_count()
    if not read.spans:
        raise NothingUnderstood(_what_was_found(loading, heads))
    return loading


def read_into(
    store: Store,
    places: Mapping[str, Place | None],
    loading: Loading,
    *,
    on_bytes: Callable[[int], None] | None = None,
) -> dict[str, Seen]:
    """Read files into a store, each from its place on, copies of spans and all.

    Args:
        store: Where the spans go.
        places: By file, where to begin; None for its start.
        loading: Counts, problems and sources are added to it.
        on_bytes: Told how many bytes of lines were read, now and then.

    Returns:
        What each file was seen to hold.

    Raises:
        InputError: A file cannot be opened.
    """
    heads: dict[str, Seen] = {}
    with _Workers(store) as workers:
        for file, place in places.items():
            before = loading.read.counts()
            source = Source() if place is None else Source(place=place)
            heads[file] = _load_file(store, file, workers, loading, source.place, on_bytes)
            for name in ("lines", "bad_lines", "invalid_spans", "other_lines"):
                setattr(source, name, getattr(loading.read, name) - before[name])
            loading.sources[file] = source
    return heads


def read_again(store: Store, file: str, numbers: Sequence[int]) -> None:
    """Read some lines of a plain file once more, and count nothing."""
    wanted, found = frozenset(numbers), Loading()
    with _Workers(store) as workers:
        for chunk in lines.chunks(file, seen=Seen(), problems=found.problems, unpack_zst=store.zst_lines):
            picked = [each for each in zip(chunk.numbers, chunk.lines, strict=True) if each[0] in wanted]
            if picked:
                again = Chunk(file, [number for number, _ in picked], [line for _, line in picked])
                _note(again, workers.load(again), found, workers)


def _load_file(  # noqa: PLR0913, PLR0917 - what a file is read with
    store: Store,
    file: str,
    workers: _Workers,
    loading: Loading,
    place: Place,
    on_bytes: Callable[[int], None] | None,
) -> Seen:
    seen = Seen()
    for chunk in lines.chunks(file, seen=seen, problems=loading.problems, unpack_zst=store.zst_lines, place=place):
        for done, loaded in workers.submit(chunk):
            _note(done, loaded, loading, workers)
        if on_bytes is not None:
            on_bytes(sum(map(len, chunk.lines)))
    for done, loaded in workers.finish():
        _note(done, loaded, loading, workers)
    loading.read.lines += seen.lines
    loading.read.bad_lines += seen.lost
    return seen


class _Workers:
    """Two threads, each with its own connection; DuckDB works outside of Python's lock."""

    def __init__(self, store: Store) -> None:
        self._loaders: SimpleQueue[Loader] = SimpleQueue()
        for _ in range(_WORKERS):
            self._loaders.put(store.loader())
        self._threads = ThreadPoolExecutor(_WORKERS, thread_name_prefix="otel-aml-load")
        self._pending: deque[tuple[Chunk, Future[Loaded]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._loaders.empty():
            self._loaders.get().close()

    def submit(self, chunk: Chunk) -> list[tuple[Chunk, Loaded]]:
        """Load a chunk in the background; give those that are done, so that few are held at a time."""
        self._pending.append((chunk, self._threads.submit(self.load, chunk)))
        return self._done(keep=_WORKERS)

    def finish(self) -> list[tuple[Chunk, Loaded]]:
        """Wait for the rest."""
        return self._done(keep=0)

    def load(self, chunk: Chunk) -> Loaded:
        """Load a chunk on a connection that is free."""
        loader = self._loaders.get()
        try:
            return loader.load(replace(chunk, lines=list(map(in_camel_case, chunk.lines))))
        finally:
            self._loaders.put(loader)

    def _done(self, *, keep: int) -> list[tuple[Chunk, Loaded]]:
        found: list[tuple[Chunk, Loaded]] = []
        while len(self._pending) > keep:
            chunk, loaded = self._pending.popleft()
            found.append((chunk, loaded.result()))
        return found


def _note(chunk: Chunk, loaded: Loaded, loading: Loading, workers: _Workers) -> None:
    """Count and name what a chunk held beside spans; try a line again that only its surrogates made unreadable."""
    read, problems = loading.read, loading.problems
    for line, reason, count in loaded.rejected_spans:
        read.invalid_spans += count
        problems.add(chunk.file, line, reason if count == 1 else f"{reason} ({count} spans)")
    content = dict(zip(chunk.numbers, chunk.lines, strict=True)) if loaded.rejected_lines else {}
    for rejected in loaded.rejected_lines:
        if rejected.is_empty_request:
            continue
        if rejected.is_other_signal:
            read.other_lines += 1
            continue
        mended = _mended(content[rejected.number]) if rejected.is_broken else None
        if mended is not None:
            again = Chunk(chunk.file, [rejected.number], [mended])
            _note(again, workers.load(again), loading, workers)
            continue
        fault = _reason(rejected, content[rejected.number])
        if fault is not None:
            read.bad_lines += 1
            problems.add(chunk.file, rejected.number, fault)


def _mended(line: bytes) -> bytes | None:
    """Replace lone surrogates, which a text that was cut inside an emoji leaves behind; None if it has none."""
    if _SURROGATE not in line.lower():
        return None
    try:
        value = json.loads(line)
        mended = valid(json.dumps(value, ensure_ascii=False)).encode()
    except (ValueError, RecursionError):
        return None
    return mended if _SURROGATE not in mended.lower() else None


def _reason(rejected: RejectedLine, line: bytes) -> str | None:
    """Say what is wrong with a line; None where a closer look finds nothing."""
    if rejected.is_odd:
        return misshapen(line)
    if rejected.refusal is not None:
        return rejected.refusal
    if rejected.is_broken:
        return "NUL bytes in a line that is no JSON" if b"\0" in line else "no valid JSON (cut off, or not JSON at all)"
    if not rejected.keys:
        return "no JSON object; each line must be one export request"
    if "resourceSpans" in rejected.keys:
        return "resourceSpans is no list"
    named = ", ".join(rejected.keys[:_KEYS_SHOWN])
    return f"no export request: the keys of its object are {named}"


def _what_was_found(loading: Loading, heads: dict[str, Seen]) -> str:
    """Say in one sentence what the files hold instead of spans, and what to do."""
    read, problems = loading.read, loading.problems
    file = next((file for file, seen in heads.items() if seen.lines), next(iter(heads)))
    more = f" (and {len(heads) - 1} more files)" if len(heads) > 1 else ""
    counted = f"{read.lines} lines, {read.bad_lines} bad, {read.other_lines} of other signals"
    stopped = next((problem.reason for problem in problems.ordered() if problem.line is None), None)
    if stopped is not None:
        what = f"{stopped}; give a file that is whole"
    elif read.invalid_spans:
        reason = next(problem.reason for problem in problems.ordered() if problem.file == valid_name(file))
        what = f"{read.invalid_spans} spans were left out ({reason}); export OTLP JSON with trace and span ids"
    elif read.other_lines and not read.bad_lines:
        what = "there are only logs or metrics; give the file that the traces are exported to"
    else:
        what = looks_like(heads[file].head, is_empty=not read.lines)
    return f"no spans in {file!r}{more} ({counted}): {what}"
