"""Files into a store: lines are cut here, parsed by two connections at once, and what was odd about them is named."""

from __future__ import annotations

import json
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Self

from otel_aml.errors import NothingUnderstood
from otel_aml.offline import lines
from otel_aml.offline import store as limits
from otel_aml.offline.lines import Chunk, Place, Seen
from otel_aml.offline.looks import looks_like
from otel_aml.offline.problems import Problems, Read
from otel_aml.offline.spelling import in_camel_case, may_be_misshapen, misshapen
from otel_aml.offline.store import Fault
from otel_aml.offline.texts import valid, valid_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from otel_aml.offline.store import Loader, RejectedLine, Store

_WORKERS: Final = 2
_SORTED_OUT: Final = 20
"""How many requests that were sorted out are loaded at once; each holds up to 100 spans."""
_KEYS_SHOWN: Final = 3
_SURROGATE: Final = b"\\ud"
_REQUEST: Final = b'{"resourceSpans":'


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
    wanted = frozenset(numbers)
    with _Workers(store) as workers:
        for chunk in lines.chunks(file, seen=Seen(), problems=Problems(), unpack_zst=store.zst_lines):
            picked = [each for each in zip(chunk.numbers, chunk.lines, strict=True) if each[0] in wanted]
            if picked:
                again = Chunk(file, [number for number, _ in picked], [line for _, line in picked])
                workers.load(again)


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
        for found in workers.submit(chunk):
            found.tell(loading.read, loading.problems)
        if on_bytes is not None:
            on_bytes(sum(map(len, chunk.lines)))
    for found in workers.finish():
        found.tell(loading.read, loading.problems)
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
        self._pending: deque[Future[Found]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._loaders.empty():
            self._loaders.get().close()

    def submit(self, chunk: Chunk) -> list[Found]:
        """Load a chunk in the background; give what was odd in those that are done, so that few are held at a time."""
        self._pending.append(self._threads.submit(self.load, chunk))
        return self._done(keep=_WORKERS)

    def finish(self) -> list[Found]:
        """Wait for the rest."""
        return self._done(keep=0)

    def load(self, chunk: Chunk) -> Found:
        """Load a chunk on a connection that is free."""
        loader, found = self._loaders.get(), Found(chunk.file)
        try:
            for part in _parts(chunk):
                _load(loader, part, found)
        finally:
            self._loaders.put(loader)
        return found

    def _done(self, *, keep: int) -> list[Found]:
        found: list[Found] = []
        while len(self._pending) > keep:
            found.append(self._pending.popleft().result())
        return found


@dataclass(slots=True)
class Found:
    """What was odd in some lines of a file.

    Args:
        bad: Number and reason of bad lines.
        left_out: Line, reason and count of spans that were left out.
    """

    file: str
    bad: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    left_out: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    other_lines: int = 0

    def tell(self, read: Read, problems: Problems) -> None:
        """Count and name it."""
        read.other_lines += self.other_lines
        read.bad_lines += len(self.bad)
        for line, reason in self.bad:
            problems.add(self.file, line, reason)
        for line, reason, number in self.left_out:
            read.invalid_spans += number
            problems.add(self.file, line, reason if number == 1 else f"{reason} ({number} spans)")


def _parts(chunk: Chunk) -> Iterator[Chunk]:
    """Part a chunk that would take too much memory: what a line holds is bounded by its commas."""
    if sum(map(len, chunk.lines)) <= limits.CHUNK_PARTS:
        yield chunk
        return
    numbers: list[int] = []
    lines: list[bytes] = []
    parts = 0
    for number, line in zip(chunk.numbers, chunk.lines, strict=True):
        commas = line.count(b",")
        if numbers and parts + commas > limits.CHUNK_PARTS:
            yield Chunk(chunk.file, numbers, lines)
            numbers, lines, parts = [], [], 0
        numbers.append(number)
        lines.append(line)
        parts += commas
    yield Chunk(chunk.file, numbers, lines)


def _is_crowd(chunk: Chunk) -> bool:
    """Whether one line alone would take too much memory."""
    return len(chunk.lines) == 1 and chunk.lines[0].count(b",") > limits.CHUNK_PARTS


def _load(loader: Loader, chunk: Chunk, found: Found, *, is_respelt: bool = False) -> None:
    """Load lines that most likely are as they should be; look at the others again."""
    loaded = None if _is_crowd(chunk) else loader.load(chunk)
    faults = dict.fromkeys(chunk.numbers, Fault.LINE) if loaded is None else loaded.faults
    odd = {number: line for number, line in zip(chunk.numbers, chunk.lines, strict=True) if number in faults}
    respelt = {} if is_respelt else {number: in_camel_case(line) for number, line in odd.items()}
    again = {number: line for number, line in respelt.items() if line is not odd[number]}
    whole = {number: line for number, line in odd.items() if faults[number] is Fault.LINE and number not in again}
    if loaded is not None and (again or whole):
        loader.drop(loaded, [*again, *whole])
    if again:
        _load(loader, Chunk(chunk.file, list(again), list(again.values())), found, is_respelt=True)
    if whole:
        _sort_out(loader, Chunk(chunk.file, list(whole), list(whole.values())), found)
    for number, line in odd.items():
        if number not in again and number not in whole:
            fault = misshapen(line) if faults[number] is Fault.VALUE_MISSING or may_be_misshapen(line) else None
            if fault is not None:
                found.bad.append((number, fault))


def _sort_out(loader: Loader, chunk: Chunk, found: Found) -> None:
    """Name what is odd about lines, and load the rest; try one again that only its surrogates made unreadable."""
    content = dict(zip(chunk.numbers, chunk.lines, strict=True))
    sorted_out = loader.sort_out(chunk)
    found.left_out.extend(sorted_out.rejected_spans)
    named: set[int] = set()
    for rejected in sorted_out.rejected_lines:
        line = content[rejected.number]
        if rejected.is_empty_request:
            continue
        if rejected.is_other_signal:
            found.other_lines += 1
            continue
        mended = _mended(line) if rejected.is_broken else None
        if mended is not None:
            _load(loader, Chunk(chunk.file, [rejected.number], [mended]), found)
            continue
        fault = _reason(rejected, line)
        whole = _behind_a_tear(line) if rejected.is_broken else None
        if whole is not None:
            _load(loader, Chunk(chunk.file, [rejected.number], [whole]), found)
            fault = "cut off, and a whole request written behind it: that one was read"
        if fault is not None:
            found.bad.append((rejected.number, fault))
            named.add(rejected.number)
    for start in range(0, len(sorted_out.numbers), _SORTED_OUT):
        stop = start + _SORTED_OUT
        loader.load(Chunk(chunk.file, sorted_out.numbers[start:stop], sorted_out.requests[start:stop]))
    for number in sorted({*sorted_out.numbers} - named):
        fault = misshapen(content[number])
        if fault is not None:
            found.bad.append((number, fault))


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


def _behind_a_tear(line: bytes) -> bytes | None:
    """Find the whole request at the end of a line that begins with a piece of one; None if there is none.

    A writer that ran out of disk, or was killed, leaves a piece without an end; the next request is written behind it.
    Within a request the words cannot stand like this: in a text their quotes are escaped.
    """
    start = line.rfind(_REQUEST)
    is_torn = line.startswith(_REQUEST) or _REQUEST.startswith(line[:start])
    if start <= 0 or not is_torn:
        return None
    try:
        json.loads(line[start:])
    except (ValueError, RecursionError):
        return None
    return line[start:]


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
