"""Folders in which a store is made, beside its place; what a killed process left of them goes with the next."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where an open folder cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Generator

_PREFIX: Final = ".otel-aml-"
_YOUNG_SECONDS: Final = 10
"""A folder as young as that may not be locked yet."""


@contextmanager
def beside(place: Path) -> Generator[Path]:
    """Make a folder beside a place, on the same disk; it goes with all that is left in it.

    Raises:
        OSError: It cannot be made.
    """
    _sweep(place.parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place.parent))
    lock = _locked(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _sweep(parent: Path) -> None:
    """Remove what processes that were killed have left."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _YOUNG_SECONDS and (lock := _locked(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """Lock a folder as long as this process lives; None where another process has done so, or none can."""
    if fcntl is None:  # pragma: no cover
        return None
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock
