"""Files as numbered lines in chunks: plain, gz or zst, in bounded memory, whatever is in them.

DuckDB's own readers stop at the first odd byte, lose count of lines or swallow a cut-off end. So lines are cut here,
where they have exact numbers, and only their content goes to SQL.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from otel_aml.errors import InputError
from otel_aml.offline.inputs import STDIN

if TYPE_CHECKING:
    from otel_aml.offline.problems import Problems

LINE_BYTES: Final = 64 * 2**20
"""The longest line that is read; a longer one is skipped, counted and named."""
CHUNK_BYTES: Final = 32 * 2**20
_CHUNK_LINES: Final = 20_000
_BLOCK: Final = 2**20
_HEAD_BYTES: Final = 4_096
_EXPANSION: Final = 200
"""How many times its size a packed file may become: JSON packs 5 to 50 times, a bomb 1,000 times."""
_EXPANSION_FROM: Final = 256 * 2**20
_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"

Unpack = Callable[[str], Iterator[bytes | None]]
"""Reads the lines of a zst file; None for a line that is too long."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of one file.

    Args:
        numbers: Their numbers in the file, from 1.
        lines: Their bytes, without the line's end.
    """

    file: str
    numbers: list[int]
    lines: list[bytes]


@dataclass(slots=True)
class Place:
    """How far a file was read; read on from there once it has grown.

    Args:
        offset: Bytes that were read for good: whole lines, and a last one without an end that is whole JSON.
        lines: Lines in these bytes, the blank ones too.
        is_open: The last of these lines has no end yet.
        is_torn: A piece of a line follows them. It was read as a bad line, and is read again once the file has grown.
        is_packed: The file is packed: it was read as a whole, and the offset is its size.
    """

    offset: int = 0
    lines: int = 0
    is_open: bool = False
    is_torn: bool = False
    is_packed: bool = False


@dataclass(slots=True)
class Seen:
    """What a file was seen to hold, apart from its lines.

    Args:
        lines: Lines that are not blank, the skipped ones too.
        lost: Lines that were skipped for their length, or cut off with their stream.
        head: The first bytes of its content, to name what it is if it is not understood.
    """

    lines: int = 0
    lost: int = 0
    head: bytes = b""


def chunks(
    file: str, *, seen: Seen, problems: Problems, unpack_zst: Unpack, place: Place | None = None
) -> Iterator[Chunk]:
    """Read one file.

    Args:
        file: Its path, or `-` for standard input.
        place: Where to begin; moved to where it ends.
        seen: Counts are added to it.
        problems: Lines that are too long and streams that end early are named in it.
        unpack_zst: Reads the lines of a zst file where Python cannot.

    Raises:
        InputError: The file cannot be opened.
    """
    numbers: list[int] = []
    lines: list[bytes] = []
    size = 0
    place = Place() if place is None else place
    try:
        for number, line in enumerate(_lines(file, unpack_zst, place), start=place.lines + 1):
            if line is None:
                seen.lines += 1
                seen.lost += 1
                problems.add(file, number, f"longer than {LINE_BYTES // 2**20} MiB: skipped")
                continue
            content = line.removeprefix(_BOM) if number == 1 else line
            if len(seen.head) < _HEAD_BYTES:
                seen.head += content[:_HEAD_BYTES] + b"\n"
            if not content or content.isspace():
                continue
            seen.lines += 1
            numbers.append(number)
            lines.append(content)
            size += len(content)
            if size >= CHUNK_BYTES or len(lines) >= _CHUNK_LINES:
                yield Chunk(file, numbers, lines)
                numbers, lines, size = [], [], 0
    except _CutOffError as cut:
        seen.lines += 1
        seen.lost += 1
        problems.add(file, None, str(cut))
    if lines:
        yield Chunk(file, numbers, lines)


class _CutOffError(Exception):
    """The rest of a stream cannot be read."""


def packing(file: str) -> str:
    """Say how a file is packed: `plain`, `gz`, `zst`; `stream` for standard input, which is read once.

    Raises:
        InputError: The file cannot be opened.
    """
    if file == STDIN:
        return "stream"
    try:
        with _opened(file) as stream:
            head = stream.peek(len(_ZSTD))
    except OSError as error:
        raise InputError(f"{file!r} cannot be opened: {error.strerror}; give a file that can be read") from error
    return "gz" if head.startswith(_GZIP) else "zst" if head.startswith(_ZSTD) else "plain"


def _lines(file: str, unpack_zst: Unpack, place: Place) -> Iterator[bytes | None]:
    try:
        with _opened(file) as stream:
            head = stream.peek(len(_ZSTD))
            read_plain = replace(place)
            if head.startswith((_GZIP, _ZSTD)) and file != STDIN:
                place.is_packed, place.offset = True, Path(file).stat().st_size
                place.lines, place.is_open, place.is_torn = 0, False, False
            if head.startswith(_GZIP):
                unpacked = cast("io.BufferedReader", io.BufferedReader(cast("io.RawIOBase", _Bounded(stream)), _BLOCK))
                _skip(unpacked, read_plain)
                yield from _cut(unpacked)
            elif head.startswith(_ZSTD):
                yield from _zst(file, stream, unpack_zst)
            else:
                yield from _grown(stream, place)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _CutOffError(
            f"the packed stream is cut off or damaged ({error}); what came before it was read"
        ) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise InputError(f"{file!r} cannot be opened: {error.strerror}; give a file that can be read") from error
        raise _CutOffError(f"reading failed ({error.strerror or error}); what came before was read") from error


def _opened(file: str) -> io.BufferedReader:
    if file == STDIN:
        return cast("io.BufferedReader", sys.stdin.buffer)
    return io.BufferedReader(io.FileIO(file, "rb"), _BLOCK)


def _skip(unpacked: io.BufferedReader, read: Place) -> None:
    """Go to where a file was read to while it was plain."""
    left = read.offset
    while left and (block := unpacked.read(min(left, _BLOCK))):
        left -= len(block)
    if read.is_open:
        _pass_end(unpacked)


def _pass_end(stream: io.BufferedReader) -> int:
    """Pass the end of a line that was read without one; give its length."""
    passed = 0
    for end in (b"\r", b"\n"):
        if stream.peek(1).startswith(end):
            passed += len(stream.read(1))
    return passed


def _grown(stream: io.BufferedReader, place: Place) -> Iterator[bytes | None]:
    """Cut a plain file into lines from a place on."""
    if place.offset:
        stream.seek(place.offset)
    if place.is_open and stream.peek(1):
        place.offset += _pass_end(stream)
        place.is_open = False
    place.is_torn = False
    yield from _cut(stream, place)


def _cut(stream: BinaryIO, place: Place | None = None) -> Iterator[bytes | None]:
    """Cut a stream into lines; what is left of a line that is too long is read away in blocks."""
    while line := stream.readline(LINE_BYTES + 2):
        ended, size = line.endswith(b"\n"), len(line)
        content: bytes | None = line.rstrip(b"\r\n") if ended else line
        if len(content or b"") > LINE_BYTES or (not ended and size == LINE_BYTES + 2):
            content = None
            while not ended and (rest := stream.readline(_BLOCK)):
                ended, size = rest.endswith(b"\n"), size + len(rest)
        if place is not None:
            _move(place, content, size, ended=ended)
        yield content


def _move(place: Place, content: bytes | None, size: int, *, ended: bool) -> None:
    """Go on behind a line; not behind one that may be only the beginning of one."""
    if not ended and (content is None or not _is_json(content)):
        place.is_torn = True
        return
    place.offset += size
    place.lines += 1
    place.is_open = not ended


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


class _Bounded(io.RawIOBase):
    """Unpacks gzip, and refuses to go on where it becomes far larger than any JSON would."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = _Counted(packed)
        self._unpacked = gzip.GzipFile(fileobj=cast("BinaryIO", self._packed), mode="rb")
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed asks for its own Buffer
        data = self._unpacked.read1(len(buffer))
        self._size += len(data)
        check_expansion(self._size, self._packed.count)
        buffer[: len(data)] = data
        return len(data)


class _Counted:
    """Counts the bytes read from a stream, which may be a pipe."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.count += len(data)
        return data


def check_expansion(unpacked: int, packed: int) -> None:
    """Stop reading a stream that becomes far larger than JSON would.

    Raises:
        _CutOffError: It does.
    """
    if unpacked > _EXPANSION_FROM and unpacked > _EXPANSION * packed:
        raise _CutOffError(
            f"expands to more than {_EXPANSION} times its size, as no spans do: reading stopped after "
            f"{unpacked // 2**20} MiB"
        )


def _bounded(lines: Iterator[bytes | None], packed: int) -> Iterator[bytes | None]:
    unpacked = 0
    for line in lines:
        unpacked += LINE_BYTES if line is None else len(line)
        check_expansion(unpacked, packed)
        yield line


def _zst(file: str, stream: io.BufferedReader, unpack_zst: Unpack) -> Iterator[bytes | None]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # from Python 3.14 on
    except ImportError:
        if file == STDIN:
            raise InputError(
                "standard input is zst, which this Python cannot unpack; use: zstd -dc FILE | otel-aml ... -"
            ) from None
        yield from _bounded(unpack_zst(file), Path(file).stat().st_size)
        return
    try:  # pragma: no cover - Python 3.14
        yield from _cut(cast("BinaryIO", zstd.ZstdFile(stream)))  # pyright: ignore[reportUnknownMemberType]
    except (EOFError, zstd.ZstdError) as error:  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        raise _CutOffError(f"the zst stream is cut off or damaged ({error}); what came before it was read") from error
