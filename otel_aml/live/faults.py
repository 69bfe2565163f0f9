"""Our own faults: counted, and logged once a kind; never raised into the app."""

from __future__ import annotations

import logging
from typing import Final

_LOG: Final = logging.getLogger("otel_aml")


class Faults:
    """Counts the faults of one processor."""

    def __init__(self) -> None:
        self.count = 0
        self._known: set[tuple[str, str]] = set()

    def note(self, where: str, error: BaseException) -> None:
        """Count a fault; log the first of its kind. Itself it never raises.

        Args:
            where: The hook in which it happened.
            error: What was raised; its text may hold content, so only its type is logged.
        """
        self.count += 1
        try:
            kind = (where, type(error).__name__)
            if kind not in self._known:
                self._known.add(kind)
                _LOG.warning("otel_aml: %s in %s; the span goes on untouched, more are only counted", kind[1], where)
        except Exception:  # noqa: BLE001, S110 - a broken log handler must not reach the app
            pass
