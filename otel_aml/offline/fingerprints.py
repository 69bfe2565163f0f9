"""Which file is which: by the bytes that were read of it, not by its name, so that a rotated file is known again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_aml.errors import InputError
from otel_aml.offline.lines import Place
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
    digest = hashlib.sha256(str(offset).encode())
    try:
        with Path(file).open("rb") as stream:
            digest.update(stream.read(min(offset, _WINDOW)))
            stream.seek(max(0, offset - _WINDOW))
            digest.update(stream.read(min(offset, _WINDOW)))
    except OSError as error:
        raise InputError(f"{file!r} cannot be read: {error.strerror}; give a file that can be read") from error
    return digest.hexdigest()


def is_same(file: str, source: KnownSource) -> bool:
    """Whether a file begins with what was read of a source; a packed one must be the same as a whole."""
    try:
        size = Path(file).stat().st_size
    except OSError:
        return False
    if size < source.offset_bytes or (source.is_packed and size != source.offset_bytes):
        return False
    return fingerprint(file, source.offset_bytes) == source.fingerprint


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
