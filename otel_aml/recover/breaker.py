"""A circuit breaker: a lock and a clock around `core.circuit`, for threads and for tasks.

    breaker = CircuitBreaker("get_transactions")

    with breaker.call():  # `async with` does the same; refused it raises CircuitOpen
        rows = fetch(case_id)

The lock is held while an event is booked, never during the call.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, overload
from weakref import WeakValueDictionary

from otel_aml.core.circuit import (
    Acquire,
    Cancel,
    Circuit,
    CircuitPolicy,
    CircuitState,
    Decision,
    Failure,
    Rejected,
    Success,
)
from otel_aml.errors import ConfigurationError, OtelAmlError
from otel_aml.recover.classifying import PROGRAM_FAULTS, is_passed_on, read
from otel_aml.recover.stores import ProcessCircuitStore, steady

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from otel_aml.core.circuit import Event, Report
    from otel_aml.recover.stores import CircuitStore, Kept

F = TypeVar("F", bound="Callable[..., Any]")
_LOG: Final = logging.getLogger("otel_aml")


class CircuitOpen(OtelAmlError):  # noqa: N818 - the name is the sentence
    """Say that a call was not let out.

    Args:
        dependency: The breaker's name.
        state: `open`, or `half_open` with all probes out.
        retry_after: Seconds until it is worth asking again.
    """

    def __init__(self, dependency: str, state: CircuitState, retry_after: float) -> None:
        super().__init__(f"the circuit of {dependency} is {state}; ask again in {retry_after:.1f} s")
        self.dependency = dependency
        self.state = state
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[CircuitOpen], tuple[str, CircuitState, float]]:
        """Travel between processes: its arguments are not its message."""
        return type(self), (self.dependency, self.state, self.retry_after)


def judge(error: BaseException) -> type[Report]:
    """Say what an exception means for the circuit of the dependency that was called.

    Returns:
        `Failure` where it tells that the dependency is not well, and where nobody knows. `Cancel` for what tells
        nothing of it: a cancellation, a framework's control flow, another circuit that is open, a mistake in the
        program. `Rejected` for an answer that is no good for reasons of our own: bad arguments, no permission, a broken
        schema.
    """
    if not isinstance(error, Exception) or isinstance(error, CircuitOpen) or is_passed_on(error):
        return Cancel
    if read(error).of_dependency:
        return Failure
    return Cancel if type(error).__module__ == "builtins" and isinstance(error, PROGRAM_FAULTS) else Rejected


class Permit:
    """The answer to one call that asked; true if it may go out. Report how the call went, once: more is ignored."""

    def __init__(self, breaker: CircuitBreaker, call: str, decision: Decision) -> None:
        self._breaker = breaker
        self._call = call
        self._decision = decision
        self._is_open = decision.allowed

    def __bool__(self) -> bool:
        """Whether the call may go out."""
        return self._decision.allowed

    @property
    def state(self) -> CircuitState:
        """The state that decided."""
        return self._decision.state

    @property
    def retry_after(self) -> float | None:
        """Seconds until it is worth asking again; None where the call may go out."""
        return self._decision.retry_after

    def success(self) -> None:
        """Report that the call went well."""
        self.report(Success)

    def failure(self, error: BaseException | None = None) -> None:
        """Report how the call failed.

        Args:
            error: What was raised; the breaker judges whether it counts. None: the dependency failed.
        """
        self.report(Failure if error is None else self._breaker.judge(error))

    def report(self, kind: type[Report]) -> None:
        """Report with one of `Success`, `Failure`, `Rejected` and `Cancel`."""
        event = self._settle(kind)
        if event is not None:
            self._breaker.step(event)

    async def report_async(self, kind: type[Report]) -> None:
        """Do the same without blocking the event loop."""
        event = self._settle(kind)
        if event is not None:
            await self._breaker.step_async(event)

    def _settle(self, kind: type[Report]) -> Report | None:
        is_open, self._is_open = self._is_open, False
        return kind(self._call, self._decision.generation) if is_open else None


class Call:
    """One guarded call, as a context manager: `with` or `async with`. Use it once."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        self._breaker = breaker
        self._permit: Permit | None = None

    def __enter__(self) -> Permit:
        """Ask; raises CircuitOpen where the call is refused."""
        return self._take(self._breaker.allow())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        """Report how the call went; what was raised goes on."""
        if self._permit is not None:
            self._permit.report(Success if error is None else self._breaker.judge(error))

    async def __aenter__(self) -> Permit:
        """Ask; raises CircuitOpen where the call is refused."""
        return self._take(await self._breaker.allow_async())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        """Report how the call went; what was raised goes on."""
        if self._permit is not None:
            await self._permit.report_async(Success if error is None else self._breaker.judge(error))

    def _take(self, permit: Permit) -> Permit:
        if not permit:
            raise CircuitOpen(self._breaker.name, permit.state, permit.retry_after or 0.0)
        self._permit = permit
        return permit


class CircuitBreaker:
    """Guards one dependency. Share one instance between all threads and tasks that call it.

    It is also a decorator, for functions and for coroutine functions.

    Args:
        name: The dependency: a tool or a service, never a case or a user.
        policy: When it opens and closes.
        store: Where the circuit is kept: by default in this process, of this breaker alone. `RedisCircuitStore` shares
            it between processes.
        clock: Monotonic seconds.
        judge: Says what an exception means for the circuit: one of `Failure`, `Rejected` and `Cancel`.

    Raises:
        ConfigurationError: The name is no text (a decorator without its parentheses).
    """

    def __init__(
        self,
        name: str,
        *,
        policy: CircuitPolicy | None = None,
        store: CircuitStore | None = None,
        clock: Callable[[], float] = monotonic,
        judge: Callable[[BaseException], type[Report]] = judge,
    ) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"CircuitBreaker() got a {type(name).__name__} for the name of its dependency; "
                "give a text: @CircuitBreaker('get_transactions')"
            )
        self.name = name
        self.policy = CircuitPolicy() if policy is None else policy
        self._store: CircuitStore = ProcessCircuitStore() if store is None else store
        self._clock = steady(clock)
        self._judge = judge
        self._said = CircuitState.CLOSED
        _BREAKERS[id(self)] = self

    @property
    def circuit(self) -> Circuit:
        """The circuit as of now, as this process last saw it; asks nobody and takes no place."""
        return self._store.last(self.name, self.policy).as_of(self._clock())

    def allow(self) -> Permit:
        """Ask whether a call may go out. Never raises; report on the permit how the call went."""
        call = _new_id()
        return Permit(self, call, self.step(Acquire(call)))

    async def allow_async(self) -> Permit:
        """Do the same without blocking the event loop."""
        call = _new_id()
        return Permit(self, call, await self.step_async(Acquire(call)))

    def call(self) -> Call:
        """Guard one call: `with breaker.call(): ...`, or `async with`.

        A deadline belongs inside: a cancellation from outside says nothing of the dependency.

        Raises:
            CircuitOpen: On entering, where the call is refused.
        """
        return Call(self)

    def __call__(self, function: F) -> F:
        """Guard every call of a function, or of a coroutine function.

        Raises:
            ConfigurationError: It is a generator: its call ends before its work begins.
        """
        if is_async(function, "with breaker.call(): ..."):

            @functools.wraps(function)
            async def wrapped_async(*args: Any, **kwargs: Any) -> Any:
                async with self.call():
                    return await function(*args, **kwargs)

            return cast("F", wrapped_async)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.call():
                return function(*args, **kwargs)

        return cast("F", wrapped)

    def judge(self, error: BaseException) -> type[Report]:
        """Say what an exception means for the circuit. A judge that says nothing of use has cleared no dependency."""
        try:
            found = self._judge(error)
        except Exception:  # noqa: BLE001 - the app's judge must not replace the app's error
            return Failure
        return found if found in _REPORTS else Failure

    @overload
    def step(self, event: Acquire) -> Decision: ...
    @overload
    def step(self, event: Report) -> None: ...
    def step(self, event: Event) -> Decision | None:
        """Take one event of `core.circuit`, for those who make their own; `allow` and `call` do it for all others."""
        return self._seen(self._store.step(self.name, self.policy, event, self._clock()))

    @overload
    async def step_async(self, event: Acquire) -> Decision: ...
    @overload
    async def step_async(self, event: Report) -> None: ...
    async def step_async(self, event: Event) -> Decision | None:
        """Do the same without blocking the event loop."""
        return self._seen(await self._store.step_async(self.name, self.policy, event, self._clock()))

    def _seen(self, kept: Kept) -> Decision | None:
        """Log a change of state once, as far as this process sees it."""
        circuit = kept.circuit
        before, self._said = self._said, circuit.state
        if before is not circuit.state:
            _say(self.name, circuit)
        return kept.decision


_REPORTS: Final = (Success, Failure, Rejected, Cancel)
_BREAKERS: Final[WeakValueDictionary[int, CircuitBreaker]] = WeakValueDictionary()
_GRAVER: Final = (CircuitState.CLOSED, CircuitState.HALF_OPEN, CircuitState.OPEN)


def states() -> dict[str, CircuitState]:
    """Give the state of every breaker in this process by its name; of several of one name that which lets least out."""
    found: dict[str, CircuitState] = {}
    for reference in _BREAKERS.valuerefs():
        breaker = reference()
        if breaker is not None:
            found[breaker.name] = max(breaker.circuit.state, found.get(breaker.name, _GRAVER[0]), key=_GRAVER.index)
    return found


def is_async(function: Callable[..., Any], instead: str) -> bool:
    """Whether the call of a function, or of an object that can be called, has to be awaited.

    Args:
        function: What is to be guarded.
        instead: How to guard a generator.

    Raises:
        ConfigurationError: It is a generator: its call ends before its work begins.
    """
    while isinstance(function, functools.partial):
        function = function.func
    forms = (function, getattr(type(function), "__call__", None))  # noqa: B004 - what it is, not whether it is
    if any(map(inspect.isgeneratorfunction, forms)) or any(map(inspect.isasyncgenfunction, forms)):
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise ConfigurationError(
            f"{name} is a generator, whose call ends before its work begins; guard the loop that reads it: {instead}"
        )
    return any(map(inspect.iscoroutinefunction, forms))


def _new_id() -> str:
    return os.urandom(8).hex()


def _say(name: str, circuit: Circuit) -> None:
    level = logging.WARNING if circuit.state is CircuitState.OPEN else logging.INFO
    wait = f", asks again in {circuit.retry_after:.1f} s" if circuit.state is CircuitState.OPEN else ""
    told = repr(name)[1:-1]  # a line of a log holds neither a line break nor half a character
    with contextlib.suppress(Exception):  # a broken log handler must not reach the app
        _LOG.log(level, "otel_aml: the circuit of %s is %s%s", told, circuit.state, wait)
