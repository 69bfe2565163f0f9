"""A virtual clock: waits cost nothing, and the same run always takes the same time."""

from __future__ import annotations


class Clock:
    """Counts seconds that nobody waits for."""

    def __init__(self) -> None:
        self._now_seconds = 0.0

    @property
    def now_seconds(self) -> float:
        """Seconds since the run began."""
        return self._now_seconds

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now_seconds += seconds
