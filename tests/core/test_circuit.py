"""The circuit, driven by hand: what opens it, what closes it, who is let through."""

from __future__ import annotations

import dataclasses
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.core.circuit import (
    LOST_KEPT,
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

CLOSED, OPEN, HALF_OPEN = CircuitState
THREE_IN_A_ROW = CircuitPolicy(
    consecutive_failures=3,
    open_seconds=30,
    open_seconds_max=120,
    probe_lease_seconds=10,
)
BY_RATIO = CircuitPolicy(window=10, minimum_calls=4, failure_ratio=0.5, consecutive_failures=100)
REPORTS = {"s": Success, "f": Failure, "r": Rejected, "c": Cancel}


def calls(circuit, letters, *, at=0.0):
    """Make a call for each letter, which says how it goes; one second apart."""
    for number, letter in enumerate(letters):
        circuit, decision = step(circuit, Acquire(f"call-{number}"), at + number)
        assert decision.allowed, f"call {number} of {letters} was refused"
        circuit, _ = step(circuit, REPORTS[letter](f"call-{number}", decision.generation), at + number)
    return circuit


def tripped(policy=THREE_IN_A_ROW):
    """Open a circuit: its third failure comes at second 2."""
    return calls(Circuit(policy=policy), "fff")


def half_open(policy=THREE_IN_A_ROW, *, probe="probe", at=32.0):
    """Let the wait of a tripped circuit pass, and one probe through."""
    circuit, decision = step(tripped(policy), Acquire(probe), at)
    assert (decision.allowed, decision.state) == (True, HALF_OPEN)
    return circuit


OPENING = [
    pytest.param(THREE_IN_A_ROW, "ff", CLOSED, id="one failure short"),
    pytest.param(THREE_IN_A_ROW, "fff", OPEN, id="three in a row"),
    pytest.param(THREE_IN_A_ROW, "ffsff", CLOSED, id="a success in between"),
    pytest.param(THREE_IN_A_ROW, "ffsfff", OPEN, id="and three after it"),
    pytest.param(THREE_IN_A_ROW, "rrrrrrrrrrrr", CLOSED, id="bad input never counts"),
    pytest.param(THREE_IN_A_ROW, "cccccccccccc", CLOSED, id="nor does what was given up"),
    pytest.param(THREE_IN_A_ROW, "frfcf", OPEN, id="neither breaks a row of failures"),
    pytest.param(BY_RATIO, "fff", CLOSED, id="below the minimum of calls"),
    pytest.param(BY_RATIO, "fsff", OPEN, id="three of four failed"),
    pytest.param(BY_RATIO, "ffsf", OPEN, id="the fourth call decides"),
    pytest.param(BY_RATIO, "ssff", OPEN, id="exactly half"),
    pytest.param(BY_RATIO, "sssff", CLOSED, id="two of five"),
    pytest.param(BY_RATIO, "fffs", CLOSED, id="a success opens nothing"),
    pytest.param(BY_RATIO, "fffsf", OPEN, id="but the next failure does"),
    pytest.param(BY_RATIO, "frrrf", CLOSED, id="bad input is no call of the window"),
    pytest.param(BY_RATIO, "ssssssssssffff", CLOSED, id="four of the last ten"),
    pytest.param(BY_RATIO, "ssssssssssfffff", OPEN, id="five of the last ten"),
    pytest.param(BY_RATIO, "fffssssssssssffff", CLOSED, id="old failures have left the window"),
    pytest.param(
        CircuitPolicy(window=10, minimum_calls=10, failure_ratio=0.7, consecutive_failures=9),
        "sssfffffff",
        OPEN,
        id="seven tenths, where 0.7 times ten is a little more than seven",
    ),
    pytest.param(
        CircuitPolicy(window=2, minimum_calls=2, failure_ratio=1, consecutive_failures=3), "ff", OPEN, id="all of two"
    ),
]


@pytest.mark.parametrize(("policy", "letters", "state"), OPENING)
def test_when_it_opens(policy, letters, state):
    """Only failures of the dependency count: in a row, or as a share of enough calls."""
    assert calls(Circuit(policy=policy), letters).state is state


def test_half_the_calls_failing_opens_the_default_circuit():
    """A circuit that only counts failures in a row never opens at fifty per cent."""
    assert calls(Circuit(), "sfsfsfsfs").state is CLOSED
    assert calls(Circuit(), "sfsfsfsfsf").state is OPEN


def test_the_defaults():
    """They are in the docs."""
    policy = CircuitPolicy()
    assert dataclasses.astuple(policy) == (20, 10, 0.5, 5, 30.0, 300.0, 1, 1, 60.0)
    assert Circuit() == Circuit(policy=policy, state=CLOSED)
    assert calls(Circuit(), "ffff").state is CLOSED
    assert calls(Circuit(), "fffff").state is OPEN


def test_a_refused_call_is_told_when_to_come_back():
    """And so no loop spins."""
    circuit, decision = step(tripped(), Acquire("d"), 3.0)
    assert (decision.allowed, decision.state, decision.retry_after) == (False, OPEN, 29.0)
    assert circuit.retry_after == 29.0


def test_the_wall_clock_is_never_asked(monkeypatch):
    """Whether it steps back an hour or forward a day: only the time that the caller passes counts."""
    circuit = tripped()
    for offset in (-3600, 86_400):
        monkeypatch.setattr(time, "time", lambda offset=offset: 1_000_000 + offset)
        circuit, decision = step(circuit, Acquire("early"), 31.9)
        assert (decision.allowed, decision.state) == (False, OPEN)
    monkeypatch.setattr(time, "time", lambda: 1_000_000 - 3600)
    circuit, decision = step(circuit, Acquire("probe"), 32.1)
    assert (decision.allowed, decision.state) == (True, HALF_OPEN)


def test_time_that_runs_backwards_stands_still():
    """Two threads read the clock and take the lock in the other order."""
    circuit, decision = step(tripped(), Acquire("d"), -1000.0)
    assert (circuit.at, decision.retry_after) == (2.0, 30.0)
    circuit, decision = step(half_open(), Acquire("late"), 0.0)
    assert (circuit.at, decision.retry_after) == (32.0, 10.0)


@pytest.mark.parametrize("now", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_time_is_refused(now):
    """One NaN would stop the clock for good."""
    with pytest.raises(ValueError, match=rf"^now={now} is no time; give the seconds of a monotonic clock$"):
        step(Circuit(), Acquire("a"), now)


def test_a_clock_may_start_anywhere():
    """Below zero too."""
    assert step(Circuit(), Acquire("a"), -5.0)[0].at == -5.0


def test_exactly_one_probe_while_half_open():
    """The weak service does not get the full load: the others are told when the lease ends."""
    circuit = half_open()
    for number in range(1, 20):
        circuit, decision = step(circuit, Acquire(f"x{number}"), 32.0 + number / 1000)
        assert (decision.allowed, decision.state) == (False, HALF_OPEN)
        assert decision.retry_after == pytest.approx(10 - number / 1000)
    circuit, _ = step(circuit, Success("probe", circuit.generation), 41.0)
    assert circuit.state is CLOSED
    assert step(circuit, Acquire("z"), 41.0)[1].allowed


def test_exactly_as_many_probes_as_the_policy_says():
    """One that is back makes room for another."""
    circuit = half_open(dataclasses.replace(THREE_IN_A_ROW, half_open_probes=3, successes_to_close=3), probe="p0")
    allowed = []
    for number in range(1, 6):
        circuit, decision = step(circuit, Acquire(f"p{number}"), 32.0 + number)
        allowed.append(decision.allowed)
    assert allowed == [True, True, False, False, False]
    assert decision.retry_after == 5.0, "the first lease is the first to end"
    circuit, _ = step(circuit, Success("p1"), 38.0)
    assert [probe.id for probe in circuit.in_flight] == ["p0", "p2"]
    circuit, decision = step(circuit, Acquire("p6"), 38.0)
    assert (decision.allowed, circuit.successes) == (True, 1)
    circuit, _ = step(circuit, Success("p0"), 38.0)
    circuit, _ = step(circuit, Success("p2"), 38.0)
    assert circuit.state is CLOSED


PROBES = [
    pytest.param(Success, CLOSED, True, id="it went well"),
    pytest.param(Rejected, CLOSED, True, id="an answer that is no good shows that the service is up"),
    pytest.param(Failure, OPEN, False, id="one failed probe is enough"),
    pytest.param(Cancel, HALF_OPEN, True, id="given up: the next one probes"),
]


@pytest.mark.parametrize(("report", "state", "allows"), PROBES)
def test_what_a_probe_says(report, state, allows):
    """It is the one call that the circuit listens to while half open."""
    circuit, nothing = step(half_open(), report("probe"), 33.0)
    assert (circuit.state, nothing) == (state, None)
    circuit, decision = step(circuit, Acquire("next"), 33.0)
    assert (decision.allowed, decision.state) == (allows, state)


def test_a_closed_circuit_starts_afresh():
    """What happened before it opened is not held against it."""
    circuit, _ = step(half_open(), Success("probe"), 33.0)
    assert circuit == Circuit(policy=THREE_IN_A_ROW, at=33.0, generation=3)
    assert calls(circuit, "ff", at=34.0).state is CLOSED
    assert calls(circuit, "fff", at=34.0).open_for == 30


def test_it_waits_longer_each_time_a_probe_fails():
    """Twice as long, up to the cap; from the moment the probe failed."""
    circuit, waits, now = tripped(), [], 2.0
    for number in range(5):
        waits.append(circuit.open_until - now)
        refused, decision = step(circuit, Acquire("early"), circuit.open_until - 0.5)
        assert (decision.allowed, decision.retry_after) == (False, 0.5)
        circuit, decision = step(refused, Acquire(f"p{number}"), circuit.open_until)
        assert decision.allowed
        now = circuit.at + 1
        circuit, _ = step(circuit, Failure(f"p{number}"), now)
    assert waits == [30, 60, 120, 120, 120]


def test_a_lost_probe_gives_its_place_back():
    """Its process was killed, say: without a lease the circuit would be stuck half open for ever."""
    circuit = half_open()
    circuit, decision = step(circuit, Acquire("early"), 41.9)
    assert not decision.allowed
    circuit, decision = step(circuit, Acquire("second"), 42.0)
    assert (decision.allowed, [probe.id for probe in circuit.in_flight]) == (True, ["second"])


@pytest.mark.parametrize(("report", "state"), [(Success, CLOSED), (Failure, OPEN), (Cancel, HALF_OPEN)])
def test_the_answer_of_a_slow_probe_counts(report, state):
    """Where every call takes longer than the lease the circuit would else never close."""
    circuit, _ = step(half_open(), Acquire("second"), 42.0)
    circuit, _ = step(circuit, report("probe"), 47.0)
    assert circuit.state is state
    if state is HALF_OPEN:
        assert [probe.id for probe in circuit.probes] == ["second"]


def test_only_so_many_lost_probes_are_remembered():
    """The state stays small, whatever happens; the latest are kept."""
    circuit = half_open(probe="p0")
    for number in range(1, 3 * LOST_KEPT):
        circuit, _ = step(circuit, Acquire(f"p{number}"), 32.0 + 10 * number)
    first = 2 * LOST_KEPT - 1
    assert [probe.id for probe in circuit.probes] == [f"p{number}" for number in range(first, 3 * LOST_KEPT)]
    assert step(circuit, Success(f"p{first - 1}"), 999.0)[0].state is HALF_OPEN
    assert step(circuit, Success(f"p{first}"), 999.0)[0].state is CLOSED


def test_asking_twice_takes_one_place():
    """A client that sends its request again after a broken connection does not lose the probe to itself."""
    circuit = half_open()
    again, decision = step(circuit, Acquire("probe"), 33.0)
    assert decision.allowed
    assert again == dataclasses.replace(circuit, at=33.0), "nor does it keep the place for longer"
    later, decision = step(circuit, Acquire("probe"), 42.0)
    assert decision.allowed
    assert [(probe.id, probe.leased_until) for probe in later.probes] == [("probe", 52.0)]


def test_a_probe_counts_once():
    """However often it reports."""
    circuit = half_open(dataclasses.replace(THREE_IN_A_ROW, successes_to_close=2))
    for _ in range(3):
        circuit, _ = step(circuit, Success("probe"), 33.0)
    assert (circuit.state, circuit.successes) == (HALF_OPEN, 1)


LATE = [
    pytest.param(tripped(), id="open"),
    pytest.param(half_open(), id="half open"),
    pytest.param(step(half_open(), Success("probe"), 33.0)[0], id="closed again"),
]


@pytest.mark.parametrize("circuit", LATE)
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("call", ["hung", "probe"])
def test_an_answer_from_before_says_nothing_of_now(circuit, report, call):
    """Fifty calls that hung while it opened time out after it has closed; they must not open it again."""
    assert step(circuit, report(call, 0), 33.0)[0] == dataclasses.replace(circuit, at=33.0)


@pytest.mark.parametrize("circuit", LATE[:2])
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_only_a_probe_moves_a_circuit_that_is_not_closed(circuit, report):
    """Where the caller does not know the generation, the id tells."""
    assert step(circuit, report("hung"), 33.0)[0] == dataclasses.replace(circuit, at=33.0)


def test_each_change_of_state_is_a_generation():
    """Asking and being refused is none."""
    circuit = tripped()
    assert circuit.generation == 1
    circuit, decision = step(circuit, Acquire("early"), 3.0)
    assert decision.generation == 1
    circuit, decision = step(circuit, Acquire("probe"), 32.0)
    assert decision.generation == circuit.generation == 2


def test_dependencies_do_not_share_a_circuit():
    """A value: nothing is kept anywhere else."""
    assert tripped().state is OPEN
    assert step(Circuit(policy=THREE_IN_A_ROW), Acquire("l"), 54.0)[1].allowed


def test_looking_at_it_later_changes_only_the_time():
    """So a plan can be made from a circuit without asking for a place."""
    circuit = tripped().as_of(20.0)
    assert (circuit.retry_after, circuit.state) == (12.0, OPEN)
    assert (circuit.as_of(500.0).retry_after, circuit.as_of(500.0).state) == (0.0, OPEN)
    assert Circuit().retry_after == 0.0
    assert half_open().as_of(41.0).retry_after == 1.0
    assert half_open().as_of(42.0).retry_after == 0.0


REFUSED = [
    *(
        pytest.param({name: value}, rf"^{name}={value} must be a whole number, at least 1$", id=f"{name}={value}")
        for name in ("window", "minimum_calls", "consecutive_failures", "half_open_probes", "successes_to_close")
        for value in (0, -1, 2.5, float("nan"))
    ),
    *(
        pytest.param(
            {name: value}, rf"^{name}={re.escape(str(value))} must be above 0 and at most a year$", id=f"{name}={value}"
        )
        for name in ("open_seconds", "open_seconds_max", "probe_lease_seconds")
        for value in (0, -1, float("nan"), float("inf"), 1e306)
    ),
    *(
        pytest.param({"failure_ratio": value}, rf"^failure_ratio={value} must lie in \(0, 1\]$", id=f"ratio {value}")
        for value in (0, -0.5, 1.5, float("nan"))
    ),
    pytest.param({"minimum_calls": 21}, "^minimum_calls=21 is more than window=20: the ratio could open nothing$"),
    pytest.param({"open_seconds": 301}, "^open_seconds_max=300.0 is less than open_seconds=301$"),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_a_policy_that_cannot_work_is_refused(given, says):
    """At once, and the message says which number."""
    with pytest.raises(ValueError, match=says):
        CircuitPolicy(**given)


SMALLEST = CircuitPolicy(
    window=1,
    minimum_calls=1,
    failure_ratio=1,
    consecutive_failures=1,
    open_seconds=0.001,
    open_seconds_max=0.001,
    probe_lease_seconds=0.001,
)


def test_the_smallest_policy():
    """The bounds themselves are allowed."""
    assert calls(Circuit(policy=SMALLEST), "f").state is OPEN


NUMBERS = st.integers(1, 4)
SECONDS = st.sampled_from([0.5, 1.0, 3.0])
POLICIES = st.builds(
    CircuitPolicy,
    window=st.integers(4, 6),
    minimum_calls=NUMBERS,
    failure_ratio=st.sampled_from([0.25, 0.5, 1.0]),
    consecutive_failures=NUMBERS,
    open_seconds=SECONDS,
    open_seconds_max=st.sampled_from([3.0, 10.0]),
    half_open_probes=NUMBERS,
    successes_to_close=NUMBERS,
    probe_lease_seconds=SECONDS,
)
IDS = st.sampled_from(["a", "b", "c"])
GENERATIONS = st.none() | st.integers(0, 5)
EVENTS = st.builds(Acquire, IDS) | st.one_of(*(st.builds(each, IDS, GENERATIONS) for each in REPORTS.values()))
LATER = st.sampled_from([0.0, 0.0, 0.5, 1.0, 5.0])
HISTORIES = st.lists(st.tuples(EVENTS, LATER), max_size=40)


def after(policy, history):
    """Walk through a history; yields each circuit, the event, the next circuit and the decision."""
    circuit, now = Circuit(policy=policy), 0.0
    for event, later in history:
        now += later
        following, decision = step(circuit, event, now)
        yield circuit, event, following, decision
        circuit = following


ARROWS = {(CLOSED, OPEN), (OPEN, HALF_OPEN), (HALF_OPEN, OPEN), (HALF_OPEN, CLOSED)}


@given(policy=POLICIES, history=HISTORIES)
def test_laws_of_every_state_that_can_be_reached(policy, history):
    """Whatever happens in whatever order: no other arrow, no more probes, no refusal without a time, no growth."""
    for circuit, event, following, decision in after(policy, history):
        assert following.state is circuit.state or (circuit.state, following.state) in ARROWS
        assert following.generation == circuit.generation + (following.state is not circuit.state)
        assert len(following.in_flight) <= policy.half_open_probes
        assert len(following.probes) <= policy.half_open_probes + LOST_KEPT
        assert len(following.outcomes) <= policy.window
        assert (following.state is HALF_OPEN) or not following.probes
        assert following.successes < policy.successes_to_close
        assert following.open_for in {
            0.0,
            *(min(policy.open_seconds * 2**n, policy.open_seconds_max) for n in range(6)),
        }
        assert (decision is None) is not isinstance(event, Acquire)
        if decision is not None:
            assert decision.state is following.state
            assert decision.generation == following.generation
            assert decision.allowed is (decision.retry_after is None)
            assert decision.allowed or decision.retry_after > 0
            assert decision.allowed is not (circuit.as_of(following.at).retry_after > 0) or event.id in {
                probe.id for probe in circuit.as_of(following.at).in_flight
            }


@given(policy=POLICIES, history=HISTORIES)
def test_a_refused_call_that_comes_back_in_time_is_let_through(policy, history):
    """Never stuck: from any state, whoever waits as long as told gets through, if no one was faster."""
    circuit = ([following for _, _, following, _ in after(policy, history)] or [Circuit(policy=policy, at=0.0)])[-1]
    circuit, decision = step(circuit, Acquire("me"), circuit.at)
    if not decision.allowed:
        assert decision.retry_after <= max(policy.open_seconds_max, policy.probe_lease_seconds)
        assert step(circuit, Acquire("me"), circuit.at + decision.retry_after)[1].allowed


@given(policy=POLICIES, history=HISTORIES)
def test_without_a_failure_it_stays_closed(policy, history):
    """Our own bad arguments and what was given up open nothing, in any number."""
    harmless = [(event, later) for event, later in history if not isinstance(event, Failure)]
    assert all(following.state is CLOSED for _, _, following, _ in after(policy, harmless))
