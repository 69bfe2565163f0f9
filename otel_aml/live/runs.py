"""The runs that are open: bounded in number, in facts and in age, each span known to its run until the run ends."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from itertools import repeat
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
_LOOKS: Final = 10
"""How often in `idle_seconds` it is looked whether a run has been idle for so long."""


class Started(NamedTuple):
    """A span that is open, with what it showed as it started and may not show any more as it ends.

    Args:
        run: The run that it belongs to.
        said: What it said that it does; the SDK's attribute limit could take it away.
        in_flight: Identity of an exception that was in flight already: a fallback inside `except`, say.
    """

    run: Run
    said: Any = None
    in_flight: int = 0


class Entry(Started):
    """An outermost span of an agent within a case, which is read in full."""


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
        in_case: `case()` opened it. Without a case, a settled run takes all spans below it as they come.
        agents: Within a case, the spans of agents and their frameworks.
        in_flight: Identity of an exception that was in flight as it began.
        at_start: What its root said as it started; the SDK's attribute limit could take it away.
    """

    __slots__ = (
        "agents",
        "at_start",
        "in_case",
        "in_flight",
        "is_closed",
        "is_settled",
        "is_troubled",
        "last_call_at",
        "last_model",
        "makes_a_run",
        "offered",
        "readings",
        "root_id",
        "seen_at",
        "shows_client",
        "sketches",
        "spans",
        "spans_seen",
        "takes_all",
        "unseen",
    )

    def __init__(
        self, root_id: int, *, is_settled: bool, in_case: bool, in_flight: int, at_start: Mapping[str, Any]
    ) -> None:
        self.root_id = root_id
        self.is_settled = is_settled
        self.in_case = in_case
        self.takes_all = is_settled and not in_case
        self.in_flight = in_flight
        self.at_start = at_start
        self.spans: list[int] = []
        self.agents: set[int] = set()
        self.seen_at = self.spans_seen = self.last_call_at = 0
        self.readings: list[Reading] = []
        self.sketches: list[Sketch] = []
        self.last_model: object = None
        self.offered: object = None
        self.is_troubled = self.is_closed = self.unseen = False
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


_ENDED: Final = frozenset({int, type(None)})
"""What the registry holds of a span that ended."""


class Registry:
    """Open runs, by the id of any of their spans. Looking up needs no lock: dictionary operations are atomic.

    `by_span` holds, by span id: of a root, or of a span that is open, its run, or a tuple of the run and what else to
    remember of the span, as in `Started`; of a span that ended, the id of its root, for what may start below it yet.

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
        self.by_span: dict[int, Run | tuple[Any, ...] | int] = {}
        self._clock = clock
        self._started = 0
        self._classified = 0
        self._dropped: dict[str, int] = dict.fromkeys(DROP_REASONS, 0)
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._look_at = 0
        self._look_every = int(limits.idle_seconds * 1e9) // _LOOKS
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
            if now >= self._look_at or len(self._runs) >= self.limits.runs:
                self._make_room(now)
            run.seen_at = now
            self._started += 1
            self._runs[run.root_id] = run
            self.by_span[run.root_id] = run

    def run_of(self, span_id: int) -> Run | None:
        """Find the run of a span, open or ended."""
        found = self.by_span.get(span_id)
        if isinstance(found, int):
            found = self.by_span.get(found)
        run: Run | None = found[0] if isinstance(found, tuple) else found if isinstance(found, Run) else None
        return run

    def started(self, span_id: int) -> Started | None:
        """Find what is remembered of a span below a root that is open."""
        found = self.by_span.get(span_id)
        if isinstance(found, Run):
            return Started(found) if found.root_id != span_id else None
        return found if isinstance(found, Started) else Started(*found) if isinstance(found, tuple) else None

    def join(self, span_id: int, started: Started) -> None:
        """Make a span a part of a run; where the run has no room for it, the run knows that it does not see all."""
        run = started.run
        if run.is_closed or not self._has_room(run):
            run.unseen = True
            return
        run.spans.append(span_id)
        self.by_span[span_id] = started
        if run.is_closed:
            # It ended on another thread in between: nothing would take this entry away later.
            self.by_span.pop(span_id, None)

    def leave(self, run: Run, span_id: int) -> None:
        """Note that a span ended. It stays known, for what may start below it yet."""
        self.by_span[span_id] = run.root_id
        if run.is_closed:
            self.by_span.pop(span_id, None)

    def is_incomplete(self, run: Run) -> bool:
        """Whether a span below the root is open."""
        return not _ENDED.issuperset(map(type, map(self.by_span.get, list(run.spans))))

    def _has_room(self, run: Run) -> bool:
        """Whether a run can take one more span; for that it forgets those that ended, once they are many."""
        with self._lock:
            known = list(run.spans)
            if len(known) >= self.limits.steps:
                still_open = [each for each in known if not isinstance(self.by_span.get(each, 0), int)]
                run.spans[: len(known)] = still_open  # what another thread appends meanwhile stays
                for each in set(known).difference(still_open):
                    self.by_span.pop(each, None)
            return len(run.spans) < self.limits.steps

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
        """Drop what is beyond the limits: the least recently used first, by second chance (it got spans meanwhile)."""
        self._look_at = now + self._look_every
        oldest_allowed = now - int(self.limits.idle_seconds * 1e9)
        for _ in range(len(self._runs)):
            oldest = self._oldest()
            if oldest is None:
                return
            if len(oldest.spans) != oldest.spans_seen:
                oldest.spans_seen, oldest.seen_at = len(oldest.spans), now
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
        self.by_span.pop(run.root_id, None)
        deque(map(self.by_span.pop, list(run.spans), repeat(None)), maxlen=0)
        return True
