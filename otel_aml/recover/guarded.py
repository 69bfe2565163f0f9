"""A guard around a step, for people who have no retry loop: it notes, plans, waits, tries again, or hands over.

    @guarded("get_transactions", execute="transient", idempotent=True, breaker=breaker)
    def get_transactions(case_id): ...

    with guarded("typology_assessment") as step:  # a block cannot be run again: noted and planned, never retried
        ...

    for attempt in guarded("get_transactions", execute="transient", idempotent=True):  # a block that can
        with attempt:
            rows = fetch(case_id)

By default it runs nothing by itself: it recommends. What is raised goes on as it is, once nothing more is tried.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from opentelemetry import trace

from otel_aml.core.recovery import DEFAULT_POLICY
from otel_aml.errors import ConfigurationError
from otel_aml.recover.breaker import CircuitOpen, is_async
from otel_aml.recover.keys import key_of
from otel_aml.recover.running import RunningStep, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Self

    from opentelemetry.trace import TracerProvider

    from otel_aml.core.recovery import RetryPolicy
    from otel_aml.core.taxonomy import FailureClass
    from otel_aml.recover.breaker import CircuitBreaker, Permit
    from otel_aml.recover.running import StepFailure, TakesTasks

F = TypeVar("F", bound="Callable[..., Any]")
_MS: Final = 1_000


def guarded(  # noqa: PLR0913 - all but the step go by keyword, and have a default
    step_id: str,
    *,
    execute: Literal["recommend", "transient"] = "recommend",
    idempotent: bool | None = None,
    policy: RetryPolicy = DEFAULT_POLICY,
    breaker: CircuitBreaker | None = None,
    dependency: str | None = None,
    takeover: TakesTasks | None = None,
    freeze: Callable[[], Mapping[str, Any]] | None = None,
    classify: Callable[[Exception], FailureClass | None] | None = None,
    fallback: Callable[[StepFailure], Any] | None = None,
    passes_on: tuple[type[BaseException], ...] = (),
    locale: str = "en",
    attempt: int = 0,
    tracer_provider: TracerProvider | None = None,
) -> Guard:
    """Guard a step: a decorator, a context manager, or a loop of attempts; each for functions and for coroutines.

    Cancellation (`asyncio.CancelledError`, `KeyboardInterrupt`, `GeneratorExit`, ...) and a framework's control flow
    go through untouched. A critical class is never tried again, whatever is set.

    Args:
        step_id: The step, in the app's own words; also the name of its span.
        execute: `recommend` runs nothing by itself. `transient` retries what may pass by itself, where the step is
            idempotent: at most `policy.retries` times, after a wait with full jitter, and within the retry budget of
            the dependency (one retry for ten calls in this process, three at the start).
        idempotent: Whether the step may be done twice.
        policy: How often, and how long to wait.
        breaker: Guards the dependency; a call that it refuses is not made, and raises `CircuitOpen`.
        dependency: What the step calls; by default the breaker's name, else the step. Never a case or a user: all
            guards of one dependency share one retry budget.
        takeover: Where a step goes that a person must take over.
        freeze: Called without arguments; gives what the task keeps, as arguments of `ApprovalTask`: `state`, `case_id`,
            `plan`, ... Where it raises, or gives what no task can keep, the step is handed over without.
        classify: Names the class of an exception that the app knows better; None leaves it to `classify_error`.
        fallback: Decorator only: gives what to return in the place of raising, once nothing more is tried.
        passes_on: Further exceptions that are no failure: they go through untouched.
        locale: Language of the user's message.
        attempt: Tries that a loop of the app has made already, from 0.
        tracer_provider: Where to open the step's span; by default the global one. Without one the notes go on the
            span that is current.

    Raises:
        ConfigurationError: The step is no text (a decorator without its parentheses), `execute` is neither, or is
            `transient` without a word on whether the step is idempotent.
    """
    if not isinstance(step_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"guarded() got {_named(step_id)} for the name of its step; give a text: @guarded('get_transactions')"
        )
    if execute not in {"recommend", "transient"}:
        raise ConfigurationError(f"execute={execute!r} is not known; give 'recommend' or 'transient'")
    if execute == "transient" and idempotent is None:
        raise ConfigurationError(
            f"guarded({step_id!r}, execute='transient') would do the step again by itself; say idempotent=True if that "
            "does no harm, or idempotent=False"
        )
    passes_on = _exceptions(passes_on)
    named = dependency or (step_id if breaker is None else breaker.name)
    return Guard(
        Settings(
            step_id=step_id,
            execute=execute,
            idempotent=idempotent,
            policy=policy,
            breaker=breaker,
            dependency=named,
            takeover=takeover,
            freeze=freeze,
            classify=classify,
            fallback=fallback,
            passes_on=passes_on,
            locale=locale,
            attempt=attempt,
            tracer_provider=tracer_provider,
        )
    )


def _named(found: object) -> str:
    return f"the function {found.__qualname__}" if inspect.isroutine(found) else f"a {type(found).__name__}"


class Guard:
    """A guarded step. Can be used again, and by many threads and tasks at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._blocks: list[Attempt] = []

    def __call__(self, function: F) -> F:
        """Guard every call of a function, or of a coroutine function.

        Raises:
            ConfigurationError: It is a generator: its call ends before its work begins.
        """
        wrap = _wrapped_async if is_async(function, "with guarded(...): ...") else _wrapped
        return cast("F", functools.wraps(function)(wrap(function, self._settings)))

    def __iter__(self) -> Iterator[Attempt]:
        """Go through the attempts: `for attempt in guarded(...):`, and the work in `with attempt:`."""
        return _attempts(RunningStep(self._settings))

    def __aiter__(self) -> AsyncIterator[Attempt]:
        """Do the same without blocking the event loop: `async for`, and `async with attempt:`."""
        return _attempts_async(RunningStep(self._settings))

    def __enter__(self) -> Attempt:
        """Guard one block, which cannot be run again."""
        return self._begin().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> bool:
        """Note how it ended; what was raised goes on."""
        attempt = self._end()
        return attempt is not None and attempt.__exit__(kind, error, frames)

    async def __aenter__(self) -> Attempt:
        """Guard one block, which cannot be run again."""
        return await self._begin().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> bool:
        """Note how it ended; what was raised goes on."""
        attempt = self._end()
        return attempt is not None and await attempt.__aexit__(kind, error, frames)

    def _begin(self) -> Attempt:
        attempt = Attempt(RunningStep(self._settings, can_repeat=False))
        self._blocks.append(attempt)
        _OPEN.set((*_OPEN.get(), attempt))
        return attempt

    def _end(self) -> Attempt | None:
        """Find the block that ends: the innermost of this guard in this context, else the last that it began at all.

        Blocks of generators end in any order, and what enters a block for an app (a framework's thread pool, a fixture)
        may leave it in another context than it entered it in.
        """
        mine = self._blocks
        for attempt in (*reversed(_OPEN.get()), *reversed(mine)):
            with contextlib.suppress(ValueError):  # it is another guard's, or was left already
                mine.remove(attempt)
                _OPEN.set(tuple(each for each in _OPEN.get() if each is not attempt))
                return attempt
        return None


_OPEN: Final[ContextVar[tuple[Attempt, ...]]] = ContextVar("otel_aml_guarded", default=())
"""The blocks that this thread or task is in, the innermost last."""


class Attempt:
    """One attempt at a step, as a context manager: `with` or `async with`."""

    def __init__(self, step: RunningStep) -> None:
        self._step = step
        self._scope: Any = None
        self._permit: Permit | None = None

    @property
    def number(self) -> int:
        """Tries made before this one, from 0."""
        return self._step.attempt

    @property
    def failure(self) -> StepFailure | None:
        """What became of the step, once it failed for good; None before, and where it did not."""
        return self._step.failure

    def __enter__(self) -> Self:
        """Ask the breaker, and begin.

        Raises:
            CircuitOpen: The breaker refuses the call.
        """
        breaker = self._step.settings.breaker
        self._admitted(None if breaker is None else breaker.allow())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> bool:
        """Note how it ended. True: what was raised is kept back, since another attempt follows."""
        self._leave()
        if self._permit is not None:
            self._permit.report(self._step.report(error))
        return self._step.ended(error)

    async def __aenter__(self) -> Self:
        """Do the same without blocking the event loop."""
        breaker = self._step.settings.breaker
        self._admitted(None if breaker is None else await breaker.allow_async())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> bool:
        """Do the same without blocking the event loop."""
        self._leave()
        if self._permit is not None:
            await self._permit.report_async(self._step.report(error))
        if self._step.may_block(error):
            return await asyncio.to_thread(self._step.ended, error)
        return self._step.ended(error)

    def _admitted(self, permit: Permit | None) -> None:
        self._permit = permit
        self._step.begin()
        if permit is not None and not permit:
            self._permit = None
            refusal = CircuitOpen(self._step.settings.dependency, permit.state, permit.retry_after or 0.0)
            self._step.ended(refusal)
            raise refusal
        self._scope = trace.use_span(
            self._step.span, end_on_exit=False, record_exception=False, set_status_on_exception=False
        )
        self._scope.__enter__()

    def _leave(self) -> None:
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.__exit__(None, None, None)


def _wrapped(function: Callable[..., Any], settings: Settings) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        step = RunningStep(settings, key_of(args, kwargs))
        try:
            for attempt in _attempts(step):
                with attempt:
                    return function(*args, **kwargs)
        except Exception:
            if step.failure is None or settings.fallback is None:
                raise
            return settings.fallback(step.failure)

    return wrapped


def _wrapped_async(function: Callable[..., Any], settings: Settings) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        step = RunningStep(settings, key_of(args, kwargs))
        try:
            async for attempt in _attempts_async(step):
                async with attempt:
                    return await function(*args, **kwargs)
        except Exception:
            if step.failure is None or settings.fallback is None:
                raise
            found = settings.fallback(step.failure)
            return await found if inspect.isawaitable(found) else found

    return wrapped


def _attempts(step: RunningStep) -> Iterator[Attempt]:
    try:
        while not step.is_over:
            if step.wait_ms:
                time.sleep(step.wait_ms / _MS)
            begun = step.begun
            yield Attempt(step)
            if step.begun == begun:
                return  # nobody entered it: there is nothing to wait for
    finally:
        step.end()


async def _attempts_async(step: RunningStep) -> AsyncIterator[Attempt]:
    try:
        while not step.is_over:
            if step.wait_ms:
                await asyncio.sleep(step.wait_ms / _MS)
            begun = step.begun
            yield Attempt(step)
            if step.begun == begun:
                return  # nobody entered it: there is nothing to wait for
    finally:
        step.end()


def _exceptions(given: object) -> tuple[type[BaseException], ...]:
    """Check what is to go through untouched, before a step fails."""
    found = cast("tuple[object, ...]", given) if isinstance(given, tuple) else (given,)
    if not all(isinstance(each, type) and issubclass(each, BaseException) for each in found):
        raise ConfigurationError(f"passes_on={given!r} holds something else than exceptions; give their classes")
    return cast("tuple[type[BaseException], ...]", found)
