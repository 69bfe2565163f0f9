"""The runs that are open: bounded in number, in facts and in age, each span known to its run until the run ends."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from otel_aml.conventions import Reading
    from otel_aml.live.sketch import Sketch

RUNS: Final = 10_000
STEPS: Final = 2_000
IDLE_SECONDS: Final = 3_600.0
_EXPIRY_CHECKS: Final = 8


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
        trace_id: Its trace.
        root_id: Span id of its root.
        is_settled: It is known to be one of an agent; a nested agent is then a part of it.
        in_case: `case()` opened it.
        seen_at: When it started, or was last found in use, nanoseconds since the epoch.
    """

    __slots__ = (
        "at_start",
        "in_case",
        "in_flight",
        "is_closed",
        "is_settled",
        "is_troubled",
        "is_used",
        "makes_a_run",
        "open",
        "readings",
        "registered",
        "root_id",
        "seen_at",
        "sketches",
        "trace_id",
        "unseen",
    )

    def __init__(self, trace_id: int, root_id: int, *, is_settled: bool, in_case: bool, seen_at: int) -> None:
        self.trace_id = trace_id
        self.root_id = root_id
        self.is_settled = is_settled
        self.in_case = in_case
        self.seen_at = seen_at
        self.at_start: dict[str, Any] = {}
        self.open: dict[int, Any] = {}
        self.registered: list[int] = []
        self.readings: list[Reading] = []
        self.sketches: list[Sketch] = []
        self.in_flight: dict[int, int] = {}
        self.makes_a_run = False
        self.is_used = self.is_troubled = self.is_closed = self.unseen = False

    @property
    def shows_calls(self) -> bool:
        """Whether a dull span was a call of a tool, a model or another service."""
        return self.makes_a_run or any(client for _, _, _, client, *_ in self.sketches)

    def add(self, reading: Reading, *, limit: int) -> None:
        """Keep what a span said, within the limit; failed ones up to twice the limit."""
        step = reading.step
        kept = len(self.readings) + len(self.sketches)
        self.is_troubled = self.is_troubled or not step.went_well
        if kept < limit or (step.incident is not None and kept < 2 * limit):
            self.readings.append(reading)
        else:
            self.unseen = True


class Trace:
    """The open runs of one trace: nearly always one, and then all its spans belong to it.

    Args:
        first: The run that opened first; None once that has ended.
        by_span: From the moment on that a second run opens, the run of each span that starts. A span that is not
            here started while the first run was alone, so it cannot stand below another.
        runs: How many are open.
    """

    __slots__ = ("by_span", "first", "runs")

    def __init__(self, first: Run) -> None:
        self.first: Run | None = first
        self.by_span: dict[int, Run] | None = None
        self.runs = 1

    def run_of(self, span_id: int) -> Run | None:
        """Find the run of a span that started."""
        return self.first if self.by_span is None else self.by_span.get(span_id, self.first)


class Registry:
    """Open runs, by trace. Looking up needs no lock: dictionary operations are atomic; opening and closing take one.

    At any time `started == classified + sum(dropped.values()) + len(self)`, exactly. What turns out to be no run of an
    agent was never started.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.started = 0
        self.classified = 0
        self.dropped: dict[str, int] = dict.fromkeys(("evicted", "expired", "forked", "shutdown", "fault"), 0)
        self.traces: dict[int, Trace] = {}
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._runs)

    def root(self, span_id: int) -> Run | None:
        """Find the run of which a span is the root."""
        return self._runs.get(span_id)

    def open(self, run: Run) -> None:
        """Take up a run, and drop those beyond the limits."""
        with self._lock:
            self._make_room(run.seen_at)
            self.started += 1
            self._runs[run.root_id] = run
            trace = self.traces.get(run.trace_id)
            if trace is None:
                self.traces[run.trace_id] = Trace(run)
                return
            trace.runs += 1
            by_span = {} if trace.by_span is None else trace.by_span
            by_span[run.root_id] = run
            trace.by_span = by_span

    def join(self, trace: Trace, run: Run, span_id: int, said: Any) -> bool:
        """Make a span a part of a run; False if the run has no room for it.

        Args:
            trace: The trace of both.
            run: The run.
            span_id: The span, which has just started.
            said: What it said at its start that it does, if it did.
        """
        if run.is_closed or len(run.open) >= self.limits.steps:
            run.unseen = True
            return False
        run.open[span_id] = said
        run.is_used = True
        if trace.by_span is not None:
            trace.by_span[span_id] = run
            run.registered.append(span_id)
        return True

    def classify(self, run: Run) -> bool:
        """Take out a run that has its verdict; False if it was dropped before."""
        with self._lock:
            is_open = self._remove(run)
            self.classified += is_open
            return is_open

    def forget(self, run: Run) -> None:
        """Take out what is no run of an agent."""
        with self._lock:
            self.started -= self._remove(run)

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
        self._lock = threading.Lock()
        self.drop_all("forked")

    def _make_room(self, now: int) -> None:
        """Drop what is beyond the limits: the least recently used first, by second chance (a use is only noted)."""
        is_full = len(self._runs) >= self.limits.runs
        oldest_allowed = now - int(self.limits.idle_seconds * 1e9)
        for _ in range(len(self._runs) if is_full else min(len(self._runs), _EXPIRY_CHECKS)):
            oldest = next(iter(self._runs.values()))
            if oldest.is_used:
                oldest.is_used, oldest.seen_at = False, now
                self._runs.move_to_end(oldest.root_id)
            elif oldest.seen_at < oldest_allowed:
                self._drop(oldest, "expired")
            else:
                break
        if len(self._runs) >= self.limits.runs:
            self._drop(next(iter(self._runs.values())), "evicted")

    def _drop(self, run: Run, reason: str) -> None:
        self.dropped[reason] += self._remove(run)

    def _remove(self, run: Run) -> bool:
        if self._runs.pop(run.root_id, None) is None:
            return False
        run.is_closed = True
        run.open.clear()
        trace = self.traces[run.trace_id]
        trace.runs -= 1
        if trace.runs == 0:
            del self.traces[run.trace_id]
            return True
        if trace.first is run:
            trace.first = None
        if trace.by_span is not None:
            for span_id in (run.root_id, *run.registered):
                trace.by_span.pop(span_id, None)
        return True
