"""A store of circuits whose Redis cannot be had, or answers nonsense; no server is needed here."""

from __future__ import annotations

import asyncio
import builtins
import logging
import os
import subprocess
import sys

import pytest
from opentelemetry import context

from otel_aml.core.circuit import CircuitPolicy, CircuitState
from otel_aml.errors import ConfigurationError
from otel_aml.recover import stores
from otel_aml.recover.breaker import CircuitBreaker
from otel_aml.recover.stores import RedisCircuitStore

CLOSED, OPEN, HALF_OPEN = CircuitState
POLICY = CircuitPolicy(consecutive_failures=3, open_seconds=30)
WELL = [1, 0, b"closed", 0, b"", 0, 0, 0, 0]


class Redis:
    """A client whose script gives, or raises, what it is told to."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0
        self.context = None

    def register_script(self, text):
        assert "redis.call('TIME')" in text, "the server's clock counts"
        return self.run

    def run(self, keys, args):
        self.asked += 1
        self.context = context.get_current()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self):
        self.is_closed = True


class Clock:
    """Monotonic seconds, moved by hand."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def guarded(client, clock):
    store = RedisCircuitStore(client=client, clock=clock)
    return store, CircuitBreaker("screening", policy=POLICY, store=store, clock=clock)


BROKEN = [
    pytest.param(ConnectionError("host 10.0.0.7"), id="away"),
    pytest.param(TimeoutError(), id="hanging"),
    pytest.param(RuntimeError("anything"), id="any other fault"),
    pytest.param([], id="no answer at all"),
    pytest.param(None, id="nothing"),
    pytest.param([1, 0, b"ajar", 0, b"", 0, 0, 0, 0], id="a state that does not exist"),
    pytest.param([*WELL, b"half a probe"], id="half a probe"),
    pytest.param([1, 0, b"\xff", 0, b"", 0, 0, 0, 0], id="no text"),
]


@pytest.mark.parametrize("answer", BROKEN)
def test_whatever_is_wrong_with_redis_the_breaker_works(answer, clock):
    """In this process alone, and no exception reaches the agent."""
    store, breaker = guarded(Redis(answer), clock)
    for _ in range(3):
        breaker.allow().failure()
    assert not breaker.allow()
    assert not store.is_shared
    assert (store.stats()["shared"], store.stats()["fallback"]) == (0, 7)
    clock.now += 30
    assert [bool(breaker.allow()) for _ in range(3)] == [True, False, False]


def test_redis_away_is_said_once_and_so_is_its_return(clock, caplog):
    """Without what the error says: that may hold an address."""
    caplog.set_level(logging.WARNING, logger="otel_aml")
    client = Redis(ConnectionError("secret-host"))
    _, breaker = guarded(client, clock)
    for _ in range(20):
        clock.now += 1
        breaker.allow().success()
    client.answers = [WELL]
    clock.now += 60
    breaker.allow()
    assert [record.getMessage() for record in caplog.records] == [
        "otel_aml: ConnectionError from Redis; circuits are kept in this process alone until it answers again",
        "otel_aml: Redis answers again; circuits are shared between processes again",
    ]


def test_a_redis_that_comes_and_goes_is_said_once_a_minute(clock, caplog):
    """And counted each time."""
    client = Redis(WELL)
    store, breaker = guarded(client, clock)
    for _ in range(4):
        client.answers = [ConnectionError()]
        breaker.allow()
        clock.now += 20
        client.answers = [WELL]
        breaker.allow()
    assert [record.getMessage().split()[1] for record in caplog.records] == ["ConnectionError", "Redis"] * 2
    assert store.stats() == {"shared": 4, "fallback": 4, "faults": {"ConnectionError": 4}}


def test_a_redis_that_is_away_is_asked_less_and_less(clock):
    """Each try costs the agent a time-out; twice a minute at the least, so that its return is noticed."""
    client = Redis(TimeoutError())
    store, breaker = guarded(client, clock)
    for _ in range(600):
        breaker.allow()
        clock.now += 0.5
    assert 10 <= client.asked <= 20
    assert store.stats()["faults"] == {"TimeoutError": client.asked}


def test_the_circuit_goes_on_from_where_it_was_last_seen(clock):
    """Redis says that it is open, and is gone: it stays open here, and for as long."""
    client = Redis([0, 12_000, b"open", 7, b"", 0, 30_000, 12_000, 0])
    _, breaker = guarded(client, clock)
    assert breaker.allow().retry_after == 12
    client.answers = [ConnectionError()]
    clock.now += 5
    refused = breaker.allow()
    assert (bool(refused), refused.state, refused.retry_after) == (False, OPEN, 7)
    clock.now += 7
    assert breaker.allow().state is HALF_OPEN


def test_what_redis_says_is_read_whole(clock):
    """Its times become those of this process's clock; as bytes or as text."""
    for word in (lambda text: text, str.encode):
        answer = [0, 250, word("half_open"), 4, word("0110"), 2, 60_000, 0, 1, word("a%20b"), 250, word("c"), -1000]
        _, breaker = guarded(Redis(answer), clock)
        assert breaker.allow().retry_after == 0.25
        circuit = breaker.circuit
        assert (circuit.state, circuit.generation, circuit.at) == (HALF_OPEN, 4, clock.now)
        assert circuit.outcomes == (False, True, True, False)
        assert (circuit.failures_in_a_row, circuit.open_for, circuit.successes) == (2, 60.0, 1)
        assert [(probe.id, probe.leased_until - clock.now) for probe in circuit.probes] == [("a b", 0.25), ("c", -1.0)]


def test_instrumentation_is_told_to_look_away(clock):
    """Else every guarded call would bring spans of Redis into the agent's trace."""
    client = Redis(WELL)
    _, breaker = guarded(client, clock)
    before = context.get_current()
    breaker.allow()
    assert client.context.get(context._SUPPRESS_INSTRUMENTATION_KEY) is True
    assert context.get_current() == before


def test_an_interrupt_is_not_swallowed(clock):
    """Ctrl-C while Redis is asked."""
    _, breaker = guarded(Redis(KeyboardInterrupt()), clock)
    with pytest.raises(KeyboardInterrupt):
        breaker.allow()


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    """At once, not at the first call."""
    real = builtins.__import__
    monkeypatch.setattr(
        builtins,
        "__import__",
        lambda name, *rest: (_ for _ in ()).throw(ImportError) if name == "redis" else real(name, *rest),
    )
    with pytest.raises(ConfigurationError, match=r"no module named redis; pip install 'otel-aml\[redis\]'"):
        RedisCircuitStore()


def test_an_address_of_something_else_is_refused():
    """And the message shows one that would do."""
    with pytest.raises(ConfigurationError, match="no address of Redis; give one like redis://localhost:6379/0"):
        RedisCircuitStore("http://localhost:6379")


def test_an_address_is_not_repeated():
    """It may hold a password."""
    with pytest.raises(ConfigurationError) as refused:
        RedisCircuitStore("hunter2://localhost")
    assert "hunter2" not in str(refused.value)


def test_closing_closes_the_client(clock):
    """The one that was given, too."""
    client = Redis(WELL)
    store, _ = guarded(client, clock)
    store.close()
    assert client.is_closed


def test_a_task_that_asks_while_the_store_is_closed_gets_its_answer(clock):
    """The threads are gone; it asks itself."""
    store, breaker = guarded(Redis(WELL), clock)
    store._pool().shutdown()
    assert asyncio.run(breaker.allow_async())
    assert store.stats()["shared"] == 1


def test_the_words_of_all_events():
    """The script compares with these."""
    text = stores._script()
    assert {word for word in stores._WORDS.values() if f"'{word}'" in text} == {
        "acquire",
        "success",
        "failure",
        "cancel",
    }


def test_an_agent_loads_no_redis_for_a_breaker():
    """Import time is the agent's time."""
    code = "import sys\nfrom otel_aml.recover import breaker, stores\nprint('redis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "False"
