"""How many retries a process may add to the calls of one dependency: a tenth of them, and three at the start.

Retries of a dependency that is down multiply its load just when it can bear it least. With a budget they do not.
"""

from __future__ import annotations

import os
import threading
from typing import Final

SHARE: Final = 10
"""One retry for so many calls."""
AT_LEAST: Final = 3
"""So many retries before that counts: a process that has just begun may retry too."""
MOST: Final = 100
"""So many are saved up at most: a long calm does not pay for a storm."""


class RetryBudget:
    """A token bucket: every `SHARE` calls put a token in, every retry takes one out.

    The first `AT_LEAST` tokens are lent, and the first calls pay them back, so that at no time more than
    `max(AT_LEAST, calls / SHARE)` retries were made.
    """

    def __init__(self) -> None:
        # The garbage collector or a signal may make a guarded call in the middle of our own work, on the same thread.
        self._lock = threading.RLock()
        self._paid = 0
        self._lent = AT_LEAST * SHARE
        self._saved = AT_LEAST * SHARE

    def call(self) -> None:
        """Count a call; a retry is none."""
        with self._lock:
            if self._paid < self._lent:
                self._paid += 1
            else:
                self._saved = min(self._saved + 1, MOST * SHARE)

    def take(self) -> bool:
        """Take a token for a retry; False where there is none."""
        with self._lock:
            if self._saved < SHARE:
                return False
            self._saved -= SHARE
            return True


_KEPT: Final = 1_000
"""So many budgets there are. One that is thrown away and made anew would lend its tokens again."""
_OTHERS: Final = ""
_budgets: Final[dict[str, RetryBudget]] = {}
_lock = threading.RLock()


def budget_of(dependency: str) -> RetryBudget:
    """Find the budget of a dependency in this process; all guards of one dependency share it.

    First come, first served: once they are many, those that come after share one budget between them.
    """
    with _lock:
        known = dependency if dependency in _budgets or len(_budgets) < _KEPT - 1 else _OTHERS
        return _budgets.setdefault(known, RetryBudget())


def _after_fork() -> None:
    """In a forked child a lock may be held by a thread that is not there."""
    global _lock  # noqa: PLW0603 - made anew
    _lock = threading.RLock()
    _budgets.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
