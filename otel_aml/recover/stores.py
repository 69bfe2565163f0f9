"""Where circuits are kept: in this process, or in Redis for all processes that guard the same dependency."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast
from urllib.parse import quote, unquote
from weakref import WeakSet

from opentelemetry import context as otel_context

from otel_aml.core.circuit import (
    LOST_KEPT,
    Acquire,
    Cancel,
    Circuit,
    CircuitPolicy,
    CircuitState,
    Decision,
    Failure,
    Probe,
    Rejected,
    Success,
    step,
)
from otel_aml.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from otel_aml.core.circuit import Event

_LOG: Final = logging.getLogger("otel_aml")
_MS: Final = 1000.0
_DAY_MS: Final = 86_400_000
_LINE: Final = "redis"
_SILENCE_SECONDS: Final = 60.0


def steady(clock: Callable[[], float]) -> Callable[[], float]:
    """Make a clock that never raises of the app's: where that is broken, or tells no finite number, it stands still."""
    last = 0.0

    def now() -> float:
        nonlocal last
        with contextlib.suppress(Exception):
            told = float(clock())
            if isfinite(told):
                last = told
        return last

    return now


class Kept(NamedTuple):
    """What a store answers.

    Args:
        circuit: The circuit after the event, by this process's clock.
        decision: On an `Acquire`; None on a report.
    """

    circuit: Circuit
    decision: Decision | None


class CircuitStore(Protocol):
    """Keeps the circuits of a breaker. None of its methods ever raises."""

    def step(self, name: str, policy: CircuitPolicy, event: Event, now: float) -> Kept:
        """Take one event into the circuit of a dependency, in one piece, whoever else does so at the same time.

        Args:
            name: The dependency.
            policy: When its circuit opens and closes.
            event: What happened.
            now: Seconds of this process's monotonic clock.
        """
        ...

    async def step_async(self, name: str, policy: CircuitPolicy, event: Event, now: float) -> Kept:
        """Do the same without blocking the event loop. Where the caller is cancelled, a place taken is given back."""
        ...

    def last(self, name: str, policy: CircuitPolicy) -> Circuit:
        """Give the circuit as it was last seen here; asks nobody."""
        ...


class ProcessCircuitStore:
    """Circuits of this process alone: with N worker processes a dependency has N circuits."""

    def __init__(self) -> None:
        self._circuits: dict[str, Circuit] = {}
        # The garbage collector or a signal may end a call in the middle of our own work, on the same thread.
        self._lock = threading.RLock()
        _ALL.add(self)

    def step(self, name: str, policy: CircuitPolicy, event: Event, now: float) -> Kept:
        """Take one event into the circuit of a dependency."""
        with self._lock:
            circuit, decision = step(self.last(name, policy), event, now)
            self._circuits[name] = circuit
        return Kept(circuit, decision)

    async def step_async(self, name: str, policy: CircuitPolicy, event: Event, now: float) -> Kept:
        """Do the same: there is nothing to wait for."""
        return self.step(name, policy, event, now)

    def last(self, name: str, policy: CircuitPolicy) -> Circuit:
        """Give the circuit as it is."""
        return self._circuits.get(name) or Circuit(policy=policy)

    def put(self, name: str, circuit: Circuit) -> None:
        """Take a circuit over as it is now elsewhere."""
        with self._lock:
            self._circuits[name] = circuit

    def after_fork(self) -> None:
        """In a forked child: the lock may be held by a thread that is not there."""
        self._lock = threading.RLock()


_WORDS: Final[Mapping[type[Event], str]] = {
    Acquire: "acquire",
    Success: "success",
    Failure: "failure",
    Rejected: "rejected",
    Cancel: "cancel",
}


class RedisCircuitStore:
    """Circuits that all processes share: each event is one script on the server, by the server's clock.

    Where Redis does not answer, the circuit goes on in this process from where it was last seen, and that is said: one
    warning as it goes away and one as it is back (each kind of fault once a minute at most), and the counts of
    `stats()`. Meanwhile Redis is tried again at growing intervals, as any dependency is behind a circuit; as soon as it
    answers, its word holds again.

    Args:
        url: Where Redis is, as `redis.Redis.from_url` takes it.
        client: A client of your own instead (`redis.Redis`, `redis.RedisCluster`, one of a Sentinel), with timeouts of
            its own.
        prefix: What the keys start with; one hash per dependency, which is gone a day after its last event.
        timeout_seconds: How long to wait for Redis, for a connection as for an answer.
        clock: Monotonic seconds, to time the tries.

    Raises:
        ConfigurationError: The extra `redis` is not installed, or the URL is none of Redis.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        *,
        client: Any = None,
        prefix: str = "otel_aml:circuit:",
        timeout_seconds: float = 0.25,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._client = _client(url, timeout_seconds) if client is None else client
        self._prefix = prefix
        self._clock = steady(clock)
        self._script = self._client.register_script(_script())
        self._here = ProcessCircuitStore()
        self._line = ProcessCircuitStore()
        self._line_policy = CircuitPolicy(
            consecutive_failures=1,
            open_seconds=1.0,
            open_seconds_max=30.0,
            probe_lease_seconds=max(10 * timeout_seconds, 1.0),
        )
        self._taken_there = self._taken_here = 0
        self._faults: dict[str, int] = {}
        self._said_at: dict[str, float] = {}
        self._is_away = False
        self._lock = threading.RLock()
        self._threads: ThreadPoolExecutor | None = None
        _ALL.add(self)

    @property
    def is_shared(self) -> bool:
        """Whether the last answer was Redis's. False: each process is on its own for now."""
        return self._line.last(_LINE, self._line_policy).state is CircuitState.CLOSED

    def stats(self) -> dict[str, Any]:
        """Count the events that Redis took (`shared`) and those taken here (`fallback`), and its faults by kind."""
        with self._lock:
            return {"shared": self._taken_there, "fallback": self._taken_here, "faults": dict(self._faults)}

    def step(self, name: str, policy: CircuitPolicy, event: Event, now: float) -> Kept:
        """Take one event into the circuit of a dependency, on the server; here where that does not answer."""
        kept = self._ask(name, policy, event, now)
        with self._lock:
            self._taken_there += kept is not None
            self._taken_here += kept is None
        if kept is None:
            return self._here.step(name, policy, event, now)
        self._here.put(name, kept.circuit)
        return kept

    async def step_async(self, name: str, policy: CircuitPolicy, event: Event, now: float) -> Kept:
        """Do the same on a thread of the store's own, so that a slow Redis does not block the event loop."""
        import asyncio

        try:
            asked = self._pool().submit(self.step, name, policy, event, now)
        except RuntimeError:  # it was closed just now, or the interpreter ends
            return self.step(name, policy, event, now)

        def give_back() -> None:
            decision = asked.result().decision
            if decision is not None and decision.allowed:
                self.step(name, policy, Cancel(event.id, decision.generation), now)

        try:
            return await asyncio.shield(asyncio.wrap_future(asked))
        except asyncio.CancelledError:
            with contextlib.suppress(RuntimeError):
                self._pool().submit(give_back)
            raise

    def last(self, name: str, policy: CircuitPolicy) -> Circuit:
        """Give the circuit as this process last saw it; asks nobody."""
        return self._here.last(name, policy)

    def close(self) -> None:
        """Close the connections. The store can be used again."""
        self._client.close()
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True)

    def after_fork(self) -> None:
        """In a forked child: locks and threads are the parent's."""
        self._lock = threading.RLock()
        self._threads = None

    def _ask(self, name: str, policy: CircuitPolicy, event: Event, now: float) -> Kept | None:
        """Ask the server; None where it does not answer, or did not lately."""
        try_ = Acquire(os.urandom(8).hex())
        decision = self._line.step(_LINE, self._line_policy, try_, self._clock()).decision
        if decision is None or not decision.allowed:
            return None
        token = otel_context.attach(otel_context.set_value(_SUPPRESS, value=True))
        try:
            answer = self._script(keys=[self._prefix + name], args=_arguments(policy, event))
            kept = _read(answer, policy, event, now)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with Redis is no matter of the agent's
            kind = Rejected if _is_of_one_key(error) else Failure
            self._line.step(_LINE, self._line_policy, kind(try_.id, decision.generation), self._clock())
            self._went_away(type(error).__name__)
            return None
        finally:
            otel_context.detach(token)
        self._line.step(_LINE, self._line_policy, Success(try_.id, decision.generation), self._clock())
        if self._is_away:
            self._is_away = False
            _say("Redis answers again; circuits are shared between processes again")
        return kept

    def _went_away(self, kind: str) -> None:
        """Count a fault of Redis, and say it unless its kind was said within the last minute."""
        now = self._clock()
        with self._lock:
            self._faults[kind] = self._faults.get(kind, 0) + 1
            is_news = now - self._said_at.get(kind, -_SILENCE_SECONDS) >= _SILENCE_SECONDS
            if is_news:
                self._said_at[kind] = now
                self._is_away = True
        if is_news:
            _say(f"{kind} from Redis; circuits are kept in this process alone until it answers again")

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                from concurrent.futures import ThreadPoolExecutor

                self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="otel_aml-circuit")
            return self._threads


def _is_of_one_key(error: Exception) -> bool:
    """Whether only this circuit cannot be kept in Redis: something else has its key, or its name is no text.

    The others must not be kept from being shared by it. Redis's own words are those of a script that fails.
    """
    if isinstance(error, UnicodeEncodeError):
        return True
    return type(error).__name__ == "ResponseError" and any(sign in str(error) for sign in ("WRONGTYPE", "user_script"))


_ALL: Final[WeakSet[ProcessCircuitStore | RedisCircuitStore]] = WeakSet()
_SUPPRESS: Final[str] = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")


def _after_fork() -> None:
    for store in list(_ALL):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _say(words: str) -> None:
    with contextlib.suppress(Exception):  # a broken log handler must not reach the app
        _LOG.warning("otel_aml: %s", repr(words)[1:-1])  # names and Redis's words are from outside


def _script() -> str:
    from importlib import resources

    return (resources.files("otel_aml.recover") / "circuit.lua").read_text(encoding="utf-8")


def _client(url: str, timeout_seconds: float) -> Any:
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise ConfigurationError("no module named redis; pip install 'otel-aml[redis]'") from error
    try:
        return cast("Any", redis.Redis).from_url(
            url,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise ConfigurationError("the url is no address of Redis; give one like redis://localhost:6379/0") from error


def _arguments(policy: CircuitPolicy, event: Event) -> list[str | int | float]:
    generation = None if isinstance(event, Acquire) else event.generation
    wait, longest, lease = (
        max(round(seconds * _MS), 1)
        for seconds in (policy.open_seconds, policy.open_seconds_max, policy.probe_lease_seconds)
    )
    return [
        _WORDS[type(event)],
        quote(event.id, safe=""),
        "" if generation is None else generation,
        policy.window,
        policy.minimum_calls,
        policy.failure_ratio,
        policy.consecutive_failures,
        wait,
        longest,
        policy.half_open_probes,
        policy.successes_to_close,
        lease,
        LOST_KEPT,
        _DAY_MS + longest + lease,
    ]


def _read(answer: Sequence[Any], policy: CircuitPolicy, event: Event, now: float) -> Kept:
    """Read the server's answer; its times become those of this process's clock."""
    allowed, wait, state, generation, outcomes, row, open_for, open_left, successes, *probes = answer
    circuit = Circuit(
        policy=policy,
        state=CircuitState(_text(state)),
        at=now,
        generation=int(generation),
        outcomes=tuple(outcome == "1" for outcome in _text(outcomes)),
        failures_in_a_row=int(row),
        open_for=int(open_for) / _MS,
        open_until=now + int(open_left) / _MS,
        probes=tuple(
            Probe(unquote(_text(call)), now + int(left) / _MS)
            for call, left in zip(probes[::2], probes[1::2], strict=True)
        ),
        successes=int(successes),
    )
    if not isinstance(event, Acquire):
        return Kept(circuit, None)
    return Kept(
        circuit,
        Decision(
            allowed=bool(allowed),
            state=circuit.state,
            retry_after=None if allowed else int(wait) / _MS,
            generation=circuit.generation,
        ),
    )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
