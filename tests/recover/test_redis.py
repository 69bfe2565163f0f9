"""Circuits in a real Redis: shared, atomic, by the server's clock; killed, frozen and started again."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import threading
import time

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_aml.core.circuit import (
    Acquire,
    Cancel,
    Circuit,
    CircuitPolicy,
    CircuitState,
    Failure,
    Rejected,
    Success,
    step,
)
from otel_aml.recover import stores
from otel_aml.recover.breaker import CircuitBreaker
from otel_aml.recover.stores import RedisCircuitStore
from tests.recover import redis_server

CLOSED, OPEN, HALF_OPEN = CircuitState
SHORT = CircuitPolicy(consecutive_failures=1, open_seconds=1.0, open_seconds_max=4.0, probe_lease_seconds=600)
LONG = CircuitPolicy(consecutive_failures=3, open_seconds=600.0, open_seconds_max=600.0)
PATIENCE_SECONDS = 60


@pytest.fixture
def client(shared_redis):
    """A client of the server, which is emptied."""
    with redis.Redis.from_url(shared_redis.url) as made:
        made.flushall()
        yield made


@pytest.fixture
def store(shared_redis, client):
    made = RedisCircuitStore(shared_redis.url, timeout_seconds=30)
    yield made
    made.close()


def eventually(condition):
    """Wait until something holds, as long as it may take on a machine that is busy."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


def trip(breaker):
    for _ in range(breaker.policy.consecutive_failures):
        breaker.allow().failure()


class TestTogether:
    def test_what_one_process_learns_the_other_knows(self, shared_redis, store):
        """Two stores are two processes as far as the server can tell."""
        other = RedisCircuitStore(shared_redis.url, timeout_seconds=30)
        mine, theirs = (CircuitBreaker("screening", policy=LONG, store=each) for each in (store, other))
        mine.allow().failure()
        theirs.allow().failure()
        mine.allow().failure()
        refused = theirs.allow()
        assert (bool(refused), refused.state) == (False, OPEN)
        assert 590 < refused.retry_after <= 600
        assert theirs.circuit.state is OPEN
        assert store.is_shared
        assert store.stats() == {"shared": 4, "fallback": 0, "faults": {}}
        other.close()

    def test_dependencies_do_not_share(self, store):
        """One key each."""
        trip(CircuitBreaker("one", policy=LONG, store=store))
        assert CircuitBreaker("two", policy=LONG, store=store).allow()

    def test_a_key_is_gone_some_day(self, store, client):
        """Those of a tool that nobody calls any more do not stay for ever."""
        trip(CircuitBreaker("tool", policy=LONG, store=store))
        (key,) = client.keys("*")
        assert key == b"otel_aml:circuit:tool"
        assert 86_400 < client.ttl(key) <= 86_400 + 600 + 60

    def test_asking_a_closed_circuit_writes_nothing(self, store, client):
        """What is most frequent is cheapest."""
        assert CircuitBreaker("tool", policy=LONG, store=store).allow()
        assert client.keys("*") == []

    def test_a_server_that_lost_its_data_starts_afresh(self, store, client):
        """As a new one would."""
        breaker = CircuitBreaker("tool", policy=LONG, store=store)
        trip(breaker)
        client.flushall()
        assert breaker.allow()

    def test_a_client_of_ones_own(self, shared_redis, client):
        """Also one that decodes what it reads."""
        with redis.Redis.from_url(shared_redis.url, decode_responses=True) as decoding:
            store = RedisCircuitStore(client=decoding, prefix="bank:")
            breaker = CircuitBreaker("tool", policy=LONG, store=store)
            trip(breaker)
            assert (breaker.circuit.state, store.is_shared) == (OPEN, True)
            assert client.keys("*") == [b"bank:tool"]

    def test_a_key_that_holds_something_else(self, store, client, caplog):
        """The breaker works, in this process alone; the circuits of other dependencies go on being shared."""
        client.set("otel_aml:circuit:tool", "not a circuit")
        client.hset("otel_aml:circuit:spoilt", mapping={"state": "open", "open_until": "soon"})
        client.hset("otel_aml:circuit:foreign", mapping={"state": "running"})
        for name in ("tool", "spoilt", "foreign", "\ud800"):
            breaker = CircuitBreaker(name, policy=LONG, store=store)
            trip(breaker)
            assert not breaker.allow()
            assert store.is_shared
        taken = store.stats()
        assert taken["shared"] == 0
        assert set(taken["faults"]) == {"ResponseError", "UnicodeEncodeError"}
        CircuitBreaker("another", policy=LONG, store=store).allow().success()
        assert store.stats()["shared"] == 2
        assert caplog.text.isascii()

    def test_a_server_whose_clock_is_set_back(self, store, client):
        """No wait becomes longer than it was; here the clock stood an hour ahead when the circuit opened."""
        breaker = CircuitBreaker("tool", policy=LONG, store=store)
        trip(breaker)
        key = "otel_aml:circuit:tool"
        client.hset(key, "open_until", int(client.hget(key, "open_until")) + 3_600_000)
        assert breaker.allow().retry_after == 600


def test_a_cluster(tmp_path):
    """Of one node here; a circuit is one key, and so is at home on one."""
    server = redis_server.start(tmp_path, "--cluster-enabled", "yes")
    try:
        with redis.Redis.from_url(server.url) as node:
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            eventually(lambda: "cluster_state:ok" in str(node.execute_command("CLUSTER", "INFO")))
        store = RedisCircuitStore(client=redis.RedisCluster.from_url(server.url))
        breaker = CircuitBreaker("tool", policy=LONG, store=store)
        trip(breaker)
        assert (breaker.circuit.state, store.stats()["fallback"]) == (OPEN, 0)
        store.close()
    finally:
        server.stop()


REPORTS = (Success, Failure, Rejected, Cancel)
NUMBERS = st.integers(1, 3)
POLICIES = st.builds(
    CircuitPolicy,
    window=st.integers(4, 6),
    minimum_calls=NUMBERS,
    failure_ratio=st.sampled_from([0.3, 0.5, 0.7, 1.0]),
    consecutive_failures=NUMBERS,
    open_seconds=st.sampled_from([0.5, 1.0]),
    open_seconds_max=st.sampled_from([1.0, 3.0]),
    half_open_probes=NUMBERS,
    successes_to_close=NUMBERS,
    probe_lease_seconds=st.sampled_from([0.25, 2.0]),
)
IDS = st.sampled_from(["a", "b c", "d%20", "é\n"])
GENERATIONS = st.none() | st.integers(0, 4)
EVENTS = st.builds(Acquire, IDS) | st.one_of(*(st.builds(each, IDS, GENERATIONS) for each in REPORTS))
HISTORIES = st.lists(st.tuples(EVENTS, st.sampled_from([0, 0, 1, 250, 500, 2000])), max_size=30)

TOLD_TIME = """
local server = redis
local redis = {call = function(name, ...)
    if name == 'TIME' then
        local told = tonumber(ARGV[#ARGV])
        return {tostring(math.floor(told / 1000)), tostring(told % 1000 * 1000)}
    end
    return server.call(name, ...)
end}
"""
"""In front of the script: a clock that the test moves."""


@settings(max_examples=150)
@given(policy=POLICIES, history=HISTORIES)
def test_the_script_decides_as_the_core_does(shared_redis, policy, history):
    """One machine, written twice: after every event of any history both say the same."""
    with redis.Redis.from_url(shared_redis.url, socket_timeout=PATIENCE_SECONDS) as client:
        client.delete("circuit")
        script = client.register_script(TOLD_TIME + stores._script())
        circuit, told = Circuit(policy=policy), 1_764_532_460_123
        for event, later in history:
            told += later
            circuit, decision = step(circuit, event, told / 1000)
            answer = script(keys=["circuit"], args=[*stores._arguments(policy, event), told])
            kept = stores._read(answer, policy, event, told / 1000)
            assert comparable(kept.circuit) == comparable(circuit)
            assert decided(kept.decision) == decided(decision)


def comparable(circuit):
    """All of a circuit, in whole milliseconds."""
    return (
        circuit.state,
        circuit.generation,
        circuit.outcomes,
        circuit.failures_in_a_row,
        circuit.successes,
        round(circuit.open_for * 1000),
        round(circuit.retry_after * 1000),
        [(probe.id, round((probe.leased_until - circuit.at) * 1000)) for probe in circuit.probes],
    )


def decided(decision):
    if decision is None:
        return None
    wait = None if decision.retry_after is None else round(decision.retry_after * 1000)
    return decision.allowed, decision.state, wait, decision.generation


def tripped(store, rounds):
    """Make that many open circuits, and wait until each may be probed."""
    breakers = [CircuitBreaker(f"tool-{number}", policy=SHORT, store=store) for number in range(rounds)]
    for breaker in breakers:
        trip(breaker)
    time.sleep(SHORT.open_seconds + 0.5)
    return breakers


class TestOneProbe:
    @pytest.mark.slow
    def test_of_64_threads_a_thousand_times(self, store):
        """They share one store, and ask at once."""
        threads, rounds = 64, 1000
        breakers, allowed = tripped(store, rounds), []
        barrier = threading.Barrier(threads, timeout=PATIENCE_SECONDS)

        def ask():
            for breaker in breakers:
                barrier.wait()
                if breaker.allow():
                    allowed.append(breaker.name)

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for each in [pool.submit(ask) for _ in range(threads)]:
                each.result()
        assert sorted(allowed) == sorted(breaker.name for breaker in breakers)
        assert store.stats()["fallback"] == 0

    @pytest.mark.slow
    def test_of_8_processes_a_thousand_times(self, shared_redis, store):
        """Each has a store of its own; the server alone decides."""
        processes, rounds = 8, 1000
        tripped(store, rounds)
        spawn = multiprocessing.get_context("spawn")
        barrier, answers = spawn.Barrier(processes), spawn.Queue()
        workers = [
            spawn.Process(target=ask_each, args=(shared_redis.url, rounds, barrier, answers)) for _ in range(processes)
        ]
        for worker in workers:
            worker.start()
        found = [answers.get(timeout=300) for _ in workers]
        for worker in workers:
            worker.join()
        allowed = [name for names, _ in found for name in names]
        assert sorted(allowed) == sorted(f"tool-{number}" for number in range(rounds))
        assert [fallback for _, fallback in found] == [0] * processes


def ask_each(url, rounds, barrier, answers):
    """In a process of its own: ask for a probe of each circuit, when all others do."""
    store = RedisCircuitStore(url, timeout_seconds=30)
    breakers = [CircuitBreaker(f"tool-{number}", policy=SHORT, store=store) for number in range(rounds)]
    allowed = []
    for breaker in breakers:
        barrier.wait(300)
        if breaker.allow():
            allowed.append(breaker.name)
    answers.put((allowed, store.stats()["fallback"]))


def test_a_forked_child_asks_on_connections_of_its_own(store):
    """And not on its parent's, where the answers of both would mix."""
    breaker = CircuitBreaker("tool", policy=LONG, store=store)
    asyncio.run(breaker.allow_async())
    child = multiprocessing.get_context("fork").Process(target=fail_three_times, args=(breaker,))
    child.start()
    child.join()
    assert child.exitcode == 0
    refused = breaker.allow()
    assert (bool(refused), refused.state, store.is_shared) == (False, OPEN, True)


def fail_three_times(breaker):
    """In the child, from a thread and from a task."""
    breaker.allow().failure()
    breaker.allow().failure()

    async def work():
        permit = await breaker.allow_async()
        await permit.report_async(Failure)

    asyncio.run(work())
    assert breaker.circuit.state is OPEN


class TestAway:
    def test_killed_in_the_middle_nobody_notices_but_the_log(self, own_redis, caplog):
        """Eight threads at work while Redis is killed and comes back: no exception, said once, shared again."""
        store = RedisCircuitStore(own_redis.url, timeout_seconds=30)
        breaker = CircuitBreaker("tool", policy=LONG, store=store)
        stop = threading.Event()

        def work():
            calls = 0
            while not stop.is_set():
                with breaker.call():
                    calls += 1
            return calls

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            working = [pool.submit(work) for _ in range(8)]
            eventually(lambda: store.stats()["shared"] > 100)
            own_redis.kill()
            eventually(lambda: store.stats()["fallback"] > 100)
            assert not store.is_shared
            own_redis.start()
            eventually(lambda: store.is_shared)
            shared = store.stats()["shared"]
            eventually(lambda: store.stats()["shared"] > shared + 100)
            stop.set()
            calls = sum(each.result() for each in working)
        stats = store.stats()
        assert stats["shared"] + stats["fallback"] == 2 * calls
        said = [record.getMessage() for record in caplog.records]
        away = [words for words in said if "in this process alone" in words]
        assert 1 <= len(away) == len(set(away)) == len(stats["faults"])
        assert said[-1].startswith("otel_aml: Redis answers again")
        store.close()

    def test_away_from_the_start(self, own_redis):
        """An agent starts although its Redis does not; it is taken up as it comes."""
        own_redis.kill()
        store = RedisCircuitStore(own_redis.url)
        breaker = CircuitBreaker("tool", policy=LONG, store=store)
        assert breaker.allow()
        assert not store.is_shared
        own_redis.start()
        eventually(lambda: breaker.allow() and store.is_shared)
        store.close()

    def test_frozen_it_does_not_stop_the_agent(self, own_redis):
        """It takes connections and says nothing: each call waits for the time-out at most, and few do."""
        store = RedisCircuitStore(own_redis.url, timeout_seconds=0.05)
        breaker = CircuitBreaker("tool", policy=LONG, store=store)
        breaker.allow().success()
        own_redis.freeze()
        for _ in range(50):
            breaker.allow().success()
        assert store.stats()["faults"] == {"TimeoutError": store.stats()["faults"]["TimeoutError"]}
        assert store.stats()["fallback"] >= 50
        own_redis.thaw()
        eventually(lambda: breaker.allow() and store.is_shared)
        store.close()

    def test_an_open_circuit_stays_open_without_redis(self, own_redis):
        """What was learned together is not forgotten alone."""
        store = RedisCircuitStore(own_redis.url)
        breaker = CircuitBreaker("tool", policy=LONG, store=store)
        trip(breaker)
        own_redis.kill()
        refused = breaker.allow()
        assert (bool(refused), refused.state) == (False, OPEN)
        assert not store.is_shared
        store.close()


class TestTasks:
    def test_exactly_one_of_many_tasks_probes(self, store):
        """And the circuit closes by it."""
        (breaker,) = tripped(store, 1)

        async def work():
            permits = await asyncio.gather(*(breaker.allow_async() for _ in range(50)))
            (probe,) = [permit for permit in permits if permit]
            await probe.report_async(Success)

        asyncio.run(work())
        assert breaker.circuit.state is CLOSED

    def test_the_event_loop_goes_on_while_redis_hangs(self, own_redis):
        """Other tasks are served in the meantime."""
        store = RedisCircuitStore(own_redis.url, timeout_seconds=PATIENCE_SECONDS)
        breaker = CircuitBreaker("tool", policy=LONG, store=store)

        async def work():
            assert await breaker.allow_async()
            own_redis.freeze()
            asking = asyncio.create_task(breaker.allow_async())
            for _ in range(50):
                await asyncio.sleep(0.001)
            assert not asking.done()
            own_redis.thaw()
            assert await asking

        asyncio.run(work())
        assert store.stats()["fallback"] == 0
        store.close()

    def test_a_task_cancelled_while_it_asks_gives_its_place_back(self, own_redis):
        """The server had let it through; nobody would ever report."""
        store = RedisCircuitStore(own_redis.url, timeout_seconds=PATIENCE_SECONDS)
        (breaker,) = tripped(store, 1)

        async def work():
            own_redis.freeze()
            asking = asyncio.create_task(breaker.allow_async())
            await asyncio.sleep(0.05)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            own_redis.thaw()

        asyncio.run(work())
        eventually(lambda: breaker.circuit.state is HALF_OPEN and not breaker.circuit.in_flight)
        assert breaker.allow()
        store.close()

    def test_a_report_arrives_although_its_task_is_cancelled(self, own_redis):
        """The answer is known; losing it would hold the place until the lease ends."""
        store = RedisCircuitStore(own_redis.url, timeout_seconds=PATIENCE_SECONDS)
        (breaker,) = tripped(store, 1)

        async def work():
            permit = await breaker.allow_async()
            own_redis.freeze()
            reporting = asyncio.create_task(permit.report_async(Success))
            await asyncio.sleep(0.05)
            reporting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reporting
            own_redis.thaw()

        asyncio.run(work())
        eventually(lambda: breaker.circuit.state is CLOSED)
        store.close()
