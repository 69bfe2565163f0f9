"""The breaker between the agent's code and a dependency: threads, tasks, and what an exception means."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import os
import pickle
import threading
from types import SimpleNamespace

import pytest
from pydantic import BaseModel, ValidationError

from otel_aml.core.circuit import Acquire, Cancel, CircuitPolicy, CircuitState, Failure, Rejected, Success
from otel_aml.errors import ConfigurationError, OtelAmlError
from otel_aml.recover.breaker import CircuitBreaker, CircuitOpen, judge, states

CLOSED, OPEN, HALF_OPEN = CircuitState
POLICY = CircuitPolicy(consecutive_failures=3, open_seconds=30, open_seconds_max=120, probe_lease_seconds=10)


class Clock:
    """Monotonic seconds, moved by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return CircuitBreaker("screening", policy=POLICY, clock=clock)


def trip(breaker):
    for _ in range(breaker.policy.consecutive_failures):
        breaker.allow().failure()


def down():
    raise ConnectionError


class TestCalls:
    def test_a_call_that_goes_well_changes_nothing(self, breaker):
        """And its value comes back."""
        with breaker.call() as permit:
            assert permit
        assert (breaker.circuit.state, breaker.circuit.outcomes) == (CLOSED, (False,))

    def test_failures_go_on_and_open_the_circuit(self, breaker):
        """The app's own exception is what the app sees."""
        for _ in range(3):
            with pytest.raises(ConnectionError), breaker.call():
                down()
        with pytest.raises(CircuitOpen) as refused, breaker.call():
            pytest.fail("it was let out")
        assert refused.value.retry_after == 30
        assert (refused.value.dependency, refused.value.state) == ("screening", OPEN)
        assert str(refused.value) == "the circuit of screening is open; ask again in 30.0 s"

    def test_a_refusal_is_one_of_our_errors_and_travels(self, breaker):
        """Between processes too."""
        refusal = pickle.loads(pickle.dumps(CircuitOpen("screening", OPEN, 1.5)))
        assert isinstance(refusal, OtelAmlError)
        assert (refusal.dependency, refusal.state, refusal.retry_after) == ("screening", OPEN, 1.5)

    def test_asking_never_raises(self, breaker, clock):
        """For those who would rather look than catch."""
        trip(breaker)
        clock.now = 10
        permit = breaker.allow()
        assert (bool(permit), permit.state, permit.retry_after) == (False, OPEN, 20.0)
        permit.success()
        assert breaker.circuit.state is OPEN

    def test_a_permit_reports_once(self, breaker):
        """The first word counts."""
        permit = breaker.allow()
        permit.failure()
        permit.success()
        permit.failure()
        assert breaker.circuit.outcomes == (True,)

    def test_a_permit_judges_what_was_raised(self, breaker):
        """With the breaker's own judge."""
        for error in (ConnectionError(), ValueError(), None):
            breaker.allow().failure(error)
        assert breaker.circuit.outcomes == (True, True)

    def test_a_circuit_closes_again(self, breaker, clock):
        """After the wait, by its probe."""
        trip(breaker)
        clock.now = 30
        with breaker.call() as probe:
            assert probe.state is HALF_OPEN
            assert not breaker.allow()
        assert breaker.circuit.state is CLOSED

    def test_the_circuit_is_seen_as_of_now(self, breaker, clock):
        """A plan is made from it, without taking a place."""
        trip(breaker)
        clock.now = 12
        assert breaker.circuit.retry_after == 18
        clock.now = 31
        assert (breaker.circuit.retry_after, breaker.circuit.state) == (0, OPEN)
        assert breaker.allow()

    def test_breakers_do_not_share(self, clock):
        """Not even under one name: what is shared is a store."""
        one, other = (CircuitBreaker("screening", policy=POLICY, clock=clock) for _ in range(2))
        trip(one)
        assert other.allow()


class TestDecorating:
    def test_a_function(self, breaker):
        """It stays the same to look at."""

        @breaker
        def fetch(case, *, limit):
            """Fetch."""
            return [case] * limit

        assert fetch("C-1", limit=2) == ["C-1", "C-1"]
        assert (fetch.__name__, fetch.__doc__) == ("fetch", "Fetch.")
        assert breaker.circuit.outcomes == (False,)

    def test_a_coroutine_function(self, breaker):
        """Refused, it raises as the other does."""

        @breaker
        async def fetch():
            await asyncio.sleep(0)
            down()

        async def work():
            for _ in range(3):
                with pytest.raises(ConnectionError):
                    await fetch()
            with pytest.raises(CircuitOpen):
                await fetch()

        asyncio.run(work())

    def test_a_decorator_without_its_parentheses_is_refused(self):
        """Its function would be the name, and never run."""
        with pytest.raises(ConfigurationError, match=r"got a function for the name .*; give a text: @CircuitBreaker"):

            @CircuitBreaker
            def fetch():
                return 1

    def test_a_generator_is_refused(self, breaker):
        """Its call ends before its work begins, and would always go well."""

        def rows():
            yield

        async def rows_async():
            yield

        for function in (rows, rows_async):
            with pytest.raises(ConfigurationError, match=r"is a generator, .* guard the loop that reads it"):
                breaker(function)


class TestThreads:
    @pytest.mark.slow
    def test_exactly_one_of_64_threads_probes(self, clock):
        """A thousand times: the weak service never gets two."""
        threads, rounds, allowed = 64, 1000, []
        barrier = threading.Barrier(threads + 1)
        breakers = [CircuitBreaker("tool", policy=POLICY, clock=clock) for _ in range(rounds)]
        for breaker in breakers:
            trip(breaker)
        clock.now = 31

        def ask():
            for breaker in breakers:
                barrier.wait()
                if breaker.allow():
                    allowed.append(breaker)

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            asked = [pool.submit(ask) for _ in range(threads)]
            for _ in range(rounds):
                barrier.wait()
            for each in asked:
                each.result()
        assert len(allowed) == len(set(allowed)) == rounds

    def test_every_report_of_many_threads_counts(self):
        """None is lost between two that come at once."""
        breaker = CircuitBreaker("tool", policy=CircuitPolicy(window=100_000, consecutive_failures=100_000))

        def work():
            for _ in range(1000):
                with breaker.call():
                    pass

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for each in [pool.submit(work) for _ in range(8)]:
                each.result()
        assert len(breaker.circuit.outcomes) == 8000

    def test_calls_run_side_by_side(self, breaker):
        """No lock is held during a call: ten calls can all be in the middle at once."""
        everyone_is_in = threading.Barrier(10, timeout=30)

        def work():
            with breaker.call():
                everyone_is_in.wait()

        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            for each in [pool.submit(work) for _ in range(10)]:
                each.result()
        assert breaker.circuit.outcomes == (False,) * 10

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_lock_held_at_the_fork_does_not_stop_the_child(self, breaker):
        """Its thread is not there any more to give it back."""
        store = breaker._store
        held, done = threading.Event(), threading.Event()

        def hold():
            with store._lock:
                held.set()
                done.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(30)
        child = os.fork()
        if child == 0:
            os._exit(0 if breaker.allow() else 1)
        _, status = os.waitpid(child, 0)
        done.set()
        holder.join()
        assert os.waitstatus_to_exitcode(status) == 0


class TestTasks:
    def test_exactly_one_of_many_tasks_probes(self, breaker, clock):
        """Those that wait in the middle of their call hold nothing that others need."""
        trip(breaker)
        clock.now = 31

        async def ask():
            try:
                async with breaker.call():
                    await asyncio.sleep(0.01)
            except CircuitOpen:
                return 0
            return 1

        async def work():
            return await asyncio.gather(*(ask() for _ in range(100)))

        assert sum(asyncio.run(work())) == 1
        assert breaker.circuit.state is CLOSED

    def test_a_cancelled_probe_gives_its_place_back(self, breaker, clock):
        """The cancellation itself goes on untouched."""
        trip(breaker)
        clock.now = 31

        async def hang():
            async with breaker.call():
                await asyncio.Event().wait()

        async def work():
            task = asyncio.create_task(hang())
            await asyncio.sleep(0)
            assert not breaker.allow()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert task.cancelled()

        asyncio.run(work())
        assert breaker.circuit.state is HALF_OPEN
        assert breaker.allow()

    def test_a_deadline_inside_is_a_failure(self, breaker):
        """Outside it is a cancellation, which says nothing."""

        async def hang(*, inside):
            if inside:
                async with breaker.call(), asyncio.timeout(0.001):
                    await asyncio.Event().wait()
            else:
                async with asyncio.timeout(0.001), breaker.call():
                    await asyncio.Event().wait()

        for inside in (True, False):
            with pytest.raises(TimeoutError):
                asyncio.run(hang(inside=inside))
        assert breaker.circuit.outcomes == (True,)


class Answer(BaseModel):
    """Something with a schema."""

    typology: str


def schema_error():
    try:
        Answer.model_validate({})
    except ValidationError as error:
        return error


def json_error():
    try:
        json.loads("{")
    except json.JSONDecodeError as error:
        return error


def http_error(status, *, where="response"):
    """An exception as an HTTP client makes it."""
    error = type("HTTPStatusError", (Exception,), {"__module__": "client"})("no")
    if where == "response":
        error.response = SimpleNamespace(status_code=status)
    else:
        setattr(error, where, status)
    return error


class GraphInterrupt(Exception):
    """As LangGraph names the one with which it pauses."""


GraphInterrupt.__module__ = "langgraph.errors"

JUDGED = [
    pytest.param(TimeoutError(), Failure, id="a timeout"),
    pytest.param(ConnectionResetError(), Failure, id="a reset connection"),
    pytest.param(RuntimeError("boom"), Failure, id="what nobody knows"),
    *(pytest.param(http_error(code), Failure, id=f"HTTP {code}") for code in (408, 425, 429, 500, 502, 503, 504)),
    *(pytest.param(http_error(code), Rejected, id=f"HTTP {code}") for code in (400, 401, 403, 404, 409, 422)),
    pytest.param(http_error(404, where="status"), Rejected, id="a status of its own"),
    pytest.param(http_error(503, where="code"), Failure, id="a code"),
    pytest.param(http_error("E42", where="code"), Failure, id="a code that is no status"),
    pytest.param(http_error(7, where="code"), Failure, id="a number that is no status"),
    pytest.param(PermissionError(), Rejected, id="no permission"),
    pytest.param(schema_error(), Rejected, id="a broken schema"),
    pytest.param(json_error(), Rejected, id="no JSON"),
    pytest.param(ValueError("tx-1"), Cancel, id="a mistake: ValueError"),
    pytest.param(KeyError("tx-1"), Cancel, id="a mistake: KeyError"),
    pytest.param(TypeError(), Cancel, id="a mistake: TypeError"),
    pytest.param(asyncio.CancelledError(), Cancel, id="a cancelled task"),
    pytest.param(concurrent.futures.CancelledError(), Cancel, id="a cancelled future"),
    pytest.param(KeyboardInterrupt(), Cancel, id="Ctrl-C"),
    pytest.param(GeneratorExit(), Cancel, id="nobody reads any more"),
    pytest.param(GraphInterrupt(), Cancel, id="a pause for a person"),
    pytest.param(CircuitOpen("inner", OPEN, 1.0), Cancel, id="another circuit is open"),
]


@pytest.mark.parametrize(("error", "report"), JUDGED)
def test_what_an_exception_means(error, report):
    """Only the dependency's own failures count against it."""
    assert judge(error) is report


def test_a_judge_of_ones_own():
    """It knows the dependency."""
    breaker = CircuitBreaker("tool", policy=POLICY, judge=lambda error: Failure if "down" in str(error) else Rejected)
    for words in ("down", "busy", "down"):
        with pytest.raises(RuntimeError), breaker.call():
            raise RuntimeError(words)
    assert breaker.circuit.outcomes == (True, True)


def test_a_judge_that_raises_does_not_replace_the_error():
    """The app sees its own."""

    def broken(error):
        raise ZeroDivisionError

    breaker = CircuitBreaker("tool", policy=POLICY, judge=broken)
    with pytest.raises(ConnectionError), breaker.call():
        down()
    assert breaker.circuit.outcomes == (True,)


def test_events_of_ones_own(breaker):
    """For a loop that makes its own ids; the event of the core goes in as it is."""
    decision = breaker.step(Acquire("mine"))
    breaker.step(Failure("mine", decision.generation))
    assert breaker.circuit.outcomes == (True,)

    async def work():
        decision = await breaker.step_async(Acquire("mine"))
        await breaker.step_async(Success("mine", decision.generation))

    asyncio.run(work())
    assert breaker.circuit.outcomes == (True, False)


def test_each_change_of_state_is_said_once(breaker, clock, caplog):
    """Not each refused call."""
    caplog.set_level(logging.INFO, logger="otel_aml")
    trip(breaker)
    for _ in range(5):
        breaker.allow()
    clock.now = 30
    breaker.allow().success()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "otel_aml: the circuit of screening is open, asks again in 30.0 s"),
        ("INFO", "otel_aml: the circuit of screening is half_open"),
        ("INFO", "otel_aml: the circuit of screening is closed"),
    ]


def test_the_states_of_all_breakers_by_name(clock):
    """For the metrics: of several of one name that which lets least out, and nothing of those that are gone."""
    names = ("up", "down", "trying", "twice", "twice", "gone")
    up, down, trying, one, other, gone = (CircuitBreaker(f"seen-{name}", policy=POLICY, clock=clock) for name in names)
    for breaker in (trying, one):
        trip(breaker)
    clock.now = 31
    assert trying.allow()
    assert one.allow()
    for breaker in (down, other):
        trip(breaker)
    del gone, breaker
    seen = {name: state for name, state in states().items() if name.startswith("seen-")}
    assert seen == {"seen-up": CLOSED, "seen-down": OPEN, "seen-trying": HALF_OPEN, "seen-twice": OPEN}
    assert up


def test_a_broken_log_handler_does_not_reach_the_app(breaker, monkeypatch):
    """It is the app's, and so is the call."""

    class Broken(logging.Filter):
        def filter(self, record):
            raise RuntimeError

    logger, broken = logging.getLogger("otel_aml"), Broken()
    logger.addFilter(broken)
    try:
        trip(breaker)
    finally:
        logger.removeFilter(broken)
    assert breaker.circuit.state is OPEN
