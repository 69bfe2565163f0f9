"""Which file is which: by the bytes that were read of it, not by its name, so that a rotated file is known again."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from otel_aml.errors import InputError
from otel_aml.offline.lines import Place, packing
from otel_aml.offline.texts import valid_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WINDOW: Final = 64 * 2**10


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSource:
    """A file as a store knows it.

    Args:
        file: Its name when it was read last.
        fingerprint: Of the first and the last bytes that were read.
    """

    file: str
    fingerprint: str
    offset_bytes: int
    line_number: int
    is_open: bool
    is_torn: bool
    is_packed: bool
    lines: int
    bad_lines: int
    invalid_spans: int
    other_lines: int

    @property
    def place(self) -> Place:
        """Where to read on."""
        return Place(self.offset_bytes, self.line_number, self.is_open, self.is_torn, self.is_packed)


def fingerprint(file: str, offset: int) -> str:
    """Sum up the first and the last bytes of what was read of a file.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with Path(file).open("rb") as stream:
            return _summed_up(stream, offset)
    except OSError as error:
        raise InputError(f"{file!r} cannot be read: {error.strerror}; give a file that can be read") from error


def _summed_up(stream: BinaryIO, offset: int) -> str:
    digest = hashlib.sha256(str(offset).encode())
    digest.update(stream.read(min(offset, _WINDOW)))
    stream.seek(max(0, offset - _WINDOW))
    digest.update(stream.read(min(offset, _WINDOW)))
    return digest.hexdigest()


def is_same(file: str, source: KnownSource) -> bool:
    """Whether a file begins with what was read of a source; a packed one must be the same as a whole.

    A plain file that was rotated and packed since is known by what is packed in it.
    """
    try:
        size = Path(file).stat().st_size
    except OSError:
        return False
    is_as_long = size == source.offset_bytes if source.is_packed else size >= source.offset_bytes
    if is_as_long and fingerprint(file, source.offset_bytes) == source.fingerprint:
        return True
    return not source.is_packed and source.offset_bytes > 0 and _is_packed_since(file, source)


def _is_packed_since(file: str, source: KnownSource) -> bool:
    try:
        if packing(file) != "gz":
            return False
        with gzip.open(file, "rb") as stream:
            return _summed_up(cast("BinaryIO", stream), source.offset_bytes) == source.fingerprint
    except (InputError, OSError, EOFError, zlib.error):
        return False


def matched(files: Sequence[str], sources: Iterable[KnownSource]) -> dict[str, KnownSource | None]:
    """Say which source each file is: first by name and content, then by content alone; None for a new one."""
    left = {source.file: source for source in sources}
    found: dict[str, KnownSource | None] = dict.fromkeys(files)
    for file in files:
        name = valid_name(file)
        if name in left and is_same(file, left[name]):
            found[file] = left.pop(name)
    for file in files:
        if found[file] is None:
            rest = sorted(left.values(), key=lambda source: (-source.offset_bytes, source.file))
            same = next((source for source in rest if source.offset_bytes and is_same(file, source)), None)
            if same is not None:
                found[file] = left.pop(same.file)
    return found
