"""The runs that are open: bounded in number, in facts and in age, each span known to its run until the run ends."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_aml.conventions import Reading
    from otel_aml.live.sketch import Sketch

RUNS: Final = 10_000
STEPS: Final = 2_000
IDLE_SECONDS: Final = 3_600.0
DROP_REASONS: Final = ("evicted", "expired", "forked", "shutdown", "fault")
_EXPIRY_CHECKS: Final = 8


class Started(NamedTuple):
    """What a span showed as it started, and may not show any more as it ends.

    Args:
        said: What it said that it does; the SDK's attribute limit could take it away.
        in_flight: Identity of an exception that was in flight already: a fallback inside `except`, say.
        attributes: All that a run root said.
    """

    said: Any = None
    in_flight: int = 0
    attributes: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the processor holds at most.

    Args:
        runs: Open runs; the least recently used goes first.
        steps: Spans whose facts are kept of one run; beyond that only failed ones, up to as many again.
        idle_seconds: A run in which nothing started for so long is dropped.
    """

    runs: int = RUNS
    steps: int = STEPS
    idle_seconds: float = IDLE_SECONDS

    def __post_init__(self) -> None:
        if self.runs < 1 or self.steps < 1 or self.idle_seconds <= 0:
            raise ValueError("limits are positive: runs and steps at least 1, idle_seconds above 0")


class Run:
    """One open run, and what its ended spans said.

    Args:
        root_id: Span id of its root.
        is_settled: It is known to be one of an agent; a nested agent is then a part of it.
        in_case: `case()` opened it.
        agents: Within a case, the spans of agents and their frameworks.
        entries: The outermost of them.
        seen_at: When it was opened, or last found in use, by the registry's clock.
    """

    __slots__ = (
        "agents",
        "at_start",
        "ended",
        "entries",
        "in_case",
        "is_closed",
        "is_settled",
        "is_troubled",
        "is_used",
        "last_call_at",
        "makes_a_run",
        "offered",
        "open",
        "readings",
        "root_id",
        "seen_at",
        "shows_client",
        "sketches",
        "unseen",
    )

    def __init__(self, root_id: int, *, is_settled: bool, in_case: bool) -> None:
        self.root_id = root_id
        self.is_settled = is_settled
        self.in_case = in_case
        self.seen_at = self.last_call_at = 0
        self.at_start = Started()
        self.open: dict[int, Started] = {}
        self.agents: set[int] = set()
        self.entries: set[int] = set()
        self.ended: list[int] = []
        self.readings: list[Reading] = []
        self.sketches: list[Sketch] = []
        self.offered: object = None
        self.is_used = self.is_troubled = self.is_closed = self.unseen = False
        self.makes_a_run = self.shows_client = False

    def add(self, reading: Reading, *, limit: int) -> None:
        """Keep what a span said, within the limit; failed ones up to twice the limit."""
        step = reading.step
        kept = len(self.readings) + len(self.sketches)
        self.is_troubled = self.is_troubled or not step.went_well
        if kept < limit or (step.incident is not None and kept < 2 * limit):
            self.readings.append(reading)
        else:
            self.unseen = True


class Registry:
    """Open runs, by the id of any of their spans. Looking up needs no lock: dictionary operations are atomic.

    Opening and closing take one that the same thread may take again: the garbage collector, or a signal, can end
    another span in the middle of our own work. At any time
    `started == classified + sum(dropped.values()) + len(self)`, exactly. What turns out to be no run of an agent was
    never started.

    Args:
        limits: What is held at most.
        clock: Monotonic nanoseconds.
    """

    def __init__(self, limits: Limits, clock: Callable[[], int] = monotonic_ns) -> None:
        self.limits = limits
        self.by_span: dict[int, Run] = {}
        self._clock = clock
        self._started = 0
        self._classified = 0
        self._dropped: dict[str, int] = dict.fromkeys(DROP_REASONS, 0)
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._lock = threading.RLock()

    def counts(self) -> tuple[int, int, dict[str, int], int]:
        """Count the runs that were started, classified, dropped (by reason) and are open, at one moment."""
        with self._lock:
            return self.glimpse()

    def glimpse(self) -> tuple[int, int, dict[str, int], int]:
        """Count the same without the lock, for who must never wait; not quite at one moment."""
        return self._started, self._classified, dict(self._dropped), len(self._runs)

    def root(self, span_id: int) -> Run | None:
        """Find the run of which a span is the root."""
        return self._runs.get(span_id)

    def open(self, run: Run) -> None:
        """Take up a run, and drop those beyond the limits."""
        now = self._clock()
        with self._lock:
            self._make_room(now)
            run.seen_at = now
            self._started += 1
            self._runs[run.root_id] = run
            self.by_span[run.root_id] = run

    def join(self, run: Run, span_id: int, started: Started) -> None:
        """Make a span a part of a run; where the run has no room for it, the run knows that it does not see all."""
        if run.is_closed or len(run.open) >= self.limits.steps:
            run.unseen = True
            return
        run.open[span_id] = started
        run.is_used = True
        self.by_span[span_id] = run
        if run.is_closed:
            # It ended on another thread in between: nothing would take this entry away later.
            self.by_span.pop(span_id, None)

    def leave(self, run: Run, span_id: int) -> None:
        """Note that a span ended. It stays known, for what may start below it yet, as long as there is room."""
        run.open.pop(span_id, None)
        if len(run.ended) < self.limits.steps and not run.is_closed:
            run.ended.append(span_id)
        else:
            self.by_span.pop(span_id, None)

    def classify(self, run: Run) -> bool:
        """Take out a run that has its verdict; False if it was dropped before."""
        with self._lock:
            is_open = self._remove(run)
            self._classified += is_open
            return is_open

    def forget(self, run: Run) -> None:
        """Take out what is no run of an agent."""
        with self._lock:
            self._started -= self._remove(run)

    def drop(self, run: Run, reason: str) -> None:
        """Take out a run that gets no verdict, counted under the reason."""
        with self._lock:
            self._drop(run, reason)

    def drop_all(self, reason: str) -> None:
        """Take out all runs, counted under the reason."""
        with self._lock:
            for run in list(self._runs.values()):
                self._drop(run, reason)

    def after_fork(self) -> None:
        """In a forked child: the lock may be held by a thread that is not there, and the open runs are the parent's."""
        self._lock = threading.RLock()
        self.drop_all("forked")

    def _make_room(self, now: int) -> None:
        """Drop what is beyond the limits: the least recently used first, by second chance (a use is only noted)."""
        is_full = len(self._runs) >= self.limits.runs
        oldest_allowed = now - int(self.limits.idle_seconds * 1e9)
        for _ in range(len(self._runs) if is_full else _EXPIRY_CHECKS):
            oldest = self._oldest()
            if oldest is None:
                return
            if oldest.is_used:
                oldest.is_used, oldest.seen_at = False, now
                with contextlib.suppress(KeyError):
                    self._runs.move_to_end(oldest.root_id)
            elif oldest.seen_at < oldest_allowed:
                self._drop(oldest, "expired")
            else:
                break
        oldest = self._oldest() if len(self._runs) >= self.limits.runs else None
        if oldest is not None:
            self._drop(oldest, "evicted")

    def _oldest(self) -> Run | None:
        """Find the run that is first in line; None if there is none, or a signal changed the line just now."""
        try:
            return next(iter(self._runs.values()), None)
        except RuntimeError:
            return None

    def _drop(self, run: Run, reason: str) -> None:
        self._dropped[reason] += self._remove(run)

    def _remove(self, run: Run) -> bool:
        if self._runs.pop(run.root_id, None) is None:
            return False
        run.is_closed = True
        for span_id in (run.root_id, *run.open, *run.ended):
            self.by_span.pop(span_id, None)
        run.open.clear()
        return True
