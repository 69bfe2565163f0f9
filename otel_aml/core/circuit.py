"""A circuit around one dependency, as a pure function of what happened and when.

    CLOSED ──(too many failures)──> OPEN ──(the wait is over, a call asks)──> HALF_OPEN
       ^                             ^ └── refuses, and says when to ask again    │
       │                             └──────(a probe failed: wait longer)─────────┤
       └───────────────────────────────────────────(enough probes went well)──────┘

Ask with `Acquire` before a call, report with one of the others after it:

    circuit, decision = step(circuit, Acquire("call-1"), now)
    if decision.allowed:
        ...
        circuit, _ = step(circuit, Failure("call-1", decision.generation), later)

Source:
    M. Nygard, Release It!, 2007, for the three states; the count window and its minimum of calls are those of
    resilience4j, the names those of resilience4j and Polly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, overload

_INF: Final = float("inf")
_GROWTH: Final = 2.0
_LONGEST_SECONDS: Final = 366 * 24 * 3_600.0
LOST_KEPT: Final = 16
"""Probes whose lease is over that are still known by their id: a slow answer counts, however late."""


class CircuitState(StrEnum):
    """What a circuit does with a call."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitPolicy:
    """When a circuit opens, and how it closes again.

    Args:
        window: How many of the last calls the ratio is taken over.
        minimum_calls: Below so many calls in the window the ratio opens nothing.
        failure_ratio: Of the window, in (0, 1]; at or above it a failure opens the circuit.
        consecutive_failures: So many in a row open it too: with little traffic the window fills too slowly.
        open_seconds: How long it is open at first. Each time a probe fails it is open twice as long as before.
        open_seconds_max: And at most so long.
        half_open_probes: Calls let through at once while it is half open.
        successes_to_close: So many probes that went well close it.
        probe_lease_seconds: A probe that has not reported by then no longer holds its place. Make it longer than the
            call's own timeout.

    Raises:
        ValueError: A number is out of its range; the message names it.
    """

    window: int = 20
    minimum_calls: int = 10
    failure_ratio: float = 0.5
    consecutive_failures: int = 5
    open_seconds: float = 30.0
    open_seconds_max: float = 300.0
    half_open_probes: int = 1
    successes_to_close: int = 1
    probe_lease_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("window", "minimum_calls", "consecutive_failures", "half_open_probes", "successes_to_close"):
            if not (isinstance(getattr(self, name), int) and getattr(self, name) >= 1):
                raise ValueError(f"{name}={getattr(self, name)} must be a whole number, at least 1")
        for name in ("open_seconds", "open_seconds_max", "probe_lease_seconds"):
            if not 0 < getattr(self, name) <= _LONGEST_SECONDS:
                raise ValueError(f"{name}={getattr(self, name)} must be above 0 and at most a year")
        if not 0 < self.failure_ratio <= 1:
            raise ValueError(f"failure_ratio={self.failure_ratio} must lie in (0, 1]")
        if self.minimum_calls > self.window:
            raise ValueError(
                f"minimum_calls={self.minimum_calls} is more than window={self.window}: the ratio could open nothing"
            )
        if self.open_seconds_max < self.open_seconds:
            raise ValueError(f"open_seconds_max={self.open_seconds_max} is less than open_seconds={self.open_seconds}")


@dataclass(frozen=True, slots=True)
class Acquire:
    """A call asks whether it may go out. Asking again by the same `id` is the same call: it takes no second place."""

    id: str


@dataclass(frozen=True, slots=True)
class Success:
    """The call went well.

    Args:
        id: That of its `Acquire`.
        generation: That of its `Decision`. An answer to a call of an earlier generation says nothing of the circuit as
            it is now: of fifty calls that hang while it opens, fifty time out after it has closed. None: not known.
    """

    id: str
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The dependency failed. Only this counts against it; the arguments are those of `Success`."""

    id: str
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The dependency answered, and the answer was no good for reasons of our own: bad arguments, a bad output.

    Counts as neither; as a probe it shows that the dependency is up. The arguments are those of `Success`.
    """

    id: str
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The call was given up before it had an answer. Counts as neither; a probe gives its place back.

    The arguments are those of `Success`.
    """

    id: str
    generation: int | None = None


Report: TypeAlias = Success | Failure | Rejected | Cancel
Event: TypeAlias = Acquire | Report


@dataclass(frozen=True, slots=True)
class Probe:
    """A call let through while the circuit is half open, and when its lease ends."""

    id: str
    leased_until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a call may go out.

    Args:
        allowed: It may.
        state: The state that decided.
        retry_after: Seconds until it is worth asking again, above 0; None where the call is allowed.
        generation: To be given back with the report.
    """

    allowed: bool
    state: CircuitState
    retry_after: float | None
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """A circuit at one moment. Make one with a policy; `step` makes all that follow.

    Args:
        policy: When it opens and closes.
        state: As of the last event. An open circuit whose wait is over stays open until a call asks.
        at: When the last event was, in seconds of the caller's monotonic clock.
        generation: How often the state has changed.
        outcomes: Whether each of the last calls failed, oldest first, at most `policy.window`.
        failures_in_a_row: The last calls that failed without one in between that went well.
        open_for: How long it was opened for the last time, in seconds; 0 before the first and after it has closed.
        open_until: When the next probe may go out.
        probes: The calls let through while half open: those that hold a lease, and the last that lost theirs.
        successes: Probes that went well since it is half open.
    """

    policy: CircuitPolicy = CircuitPolicy()
    state: CircuitState = CircuitState.CLOSED
    at: float = -_INF
    generation: int = 0
    outcomes: tuple[bool, ...] = ()
    failures_in_a_row: int = 0
    open_for: float = 0.0
    open_until: float = 0.0
    probes: tuple[Probe, ...] = ()
    successes: int = 0

    @property
    def in_flight(self) -> tuple[Probe, ...]:
        """The probes that hold a lease."""
        return tuple(probe for probe in self.probes if probe.leased_until > self.at)

    @property
    def retry_after(self) -> float:
        """Seconds until a call may go out; 0 where one may go out now."""
        if self.state is CircuitState.OPEN:
            return max(self.open_until - self.at, 0.0)
        if len(self.in_flight) < self.policy.half_open_probes:
            return 0.0
        return min(probe.leased_until for probe in self.in_flight) - self.at

    def as_of(self, now: float) -> Circuit:
        """Look at the circuit at a later moment; time never runs backwards.

        Raises:
            ValueError: `now` is no finite number.
        """
        if not -_INF < now < _INF:
            raise ValueError(f"now={now} is no time; give the seconds of a monotonic clock")
        return replace(self, at=max(now, self.at))


@overload
def step(circuit: Circuit, event: Acquire, now: float) -> tuple[Circuit, Decision]: ...
@overload
def step(circuit: Circuit, event: Report, now: float) -> tuple[Circuit, None]: ...
def step(circuit: Circuit, event: Event, now: float) -> tuple[Circuit, Decision | None]:
    """Say what becomes of the circuit, and whether a call that asks may go out.

    Args:
        circuit: As it is.
        event: `Acquire` before a call; `Success`, `Failure`, `Rejected` or `Cancel` after it.
        now: Seconds of a monotonic clock. One that runs backwards is taken to stand still; the wall clock is never
            asked. What the clock does while the machine sleeps is the machine's affair: at worst a probe goes out
            late or early.

    Returns:
        The next circuit, and the decision on an `Acquire` (None on a report).

    Raises:
        ValueError: `now` is no finite number.
    """
    seen = circuit.as_of(now)
    if isinstance(event, Acquire):
        return _acquire(seen, event)
    return _report(seen, event), None


def _acquire(circuit: Circuit, event: Acquire) -> tuple[Circuit, Decision]:
    if circuit.state is CircuitState.OPEN and not circuit.retry_after:
        circuit = _enter(circuit, CircuitState.HALF_OPEN)
    holds_a_place = any(probe.id == event.id for probe in circuit.in_flight)
    wait = 0.0 if holds_a_place else circuit.retry_after
    if circuit.state is CircuitState.HALF_OPEN and not holds_a_place and not wait:
        circuit = _let_through(circuit, event.id)
    return circuit, Decision(
        allowed=not wait,
        state=circuit.state,
        retry_after=wait or None,
        generation=circuit.generation,
    )


def _let_through(circuit: Circuit, call: str) -> Circuit:
    lost = [probe for probe in circuit.probes if probe.leased_until <= circuit.at and probe.id != call]
    probe = Probe(call, circuit.at + circuit.policy.probe_lease_seconds)
    return replace(circuit, probes=(*lost[-LOST_KEPT:], *circuit.in_flight, probe))


def _report(circuit: Circuit, event: Report) -> Circuit:
    if event.generation not in {None, circuit.generation}:
        return circuit
    if circuit.state is CircuitState.CLOSED:
        return _count(circuit, event)
    if circuit.state is CircuitState.HALF_OPEN and any(probe.id == event.id for probe in circuit.probes):
        return _judge(circuit, event)
    return circuit


def _count(circuit: Circuit, event: Report) -> Circuit:
    """Take an answer into the window of a closed circuit."""
    if not isinstance(event, Success | Failure):
        return circuit
    failed = isinstance(event, Failure)
    counted = replace(
        circuit,
        outcomes=(*circuit.outcomes, failed)[-circuit.policy.window :],
        failures_in_a_row=circuit.failures_in_a_row + 1 if failed else 0,
    )
    return _open(counted) if failed and _is_too_much(counted) else counted


def _is_too_much(circuit: Circuit) -> bool:
    policy, calls = circuit.policy, len(circuit.outcomes)
    if circuit.failures_in_a_row >= policy.consecutive_failures:
        return True
    return calls >= policy.minimum_calls and sum(circuit.outcomes) / calls >= policy.failure_ratio


def _judge(circuit: Circuit, event: Report) -> Circuit:
    """Take the answer of a probe: a failure opens the circuit again, enough of the others close it."""
    if isinstance(event, Failure):
        return _open(circuit)
    went_well = not isinstance(event, Cancel)
    judged = replace(
        circuit,
        probes=tuple(probe for probe in circuit.probes if probe.id != event.id),
        successes=circuit.successes + went_well,
    )
    return _enter(judged, CircuitState.CLOSED) if judged.successes >= circuit.policy.successes_to_close else judged


def _open(circuit: Circuit) -> Circuit:
    policy = circuit.policy
    open_for = min(circuit.open_for * _GROWTH, policy.open_seconds_max) or policy.open_seconds
    return replace(_enter(circuit, CircuitState.OPEN), open_for=open_for, open_until=circuit.at + open_for)


def _enter(circuit: Circuit, state: CircuitState) -> Circuit:
    """Change the state: nothing is carried over but, until the circuit has closed, how long it was open."""
    return Circuit(
        policy=circuit.policy,
        state=state,
        at=circuit.at,
        generation=circuit.generation + 1,
        open_for=0.0 if state is CircuitState.CLOSED else circuit.open_for,
    )
