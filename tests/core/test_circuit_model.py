"""A whole world around one circuit: calls that go out, answer, hang, are lost and come back late, in any order.

The model keeps its own books, by the words of the docs; the circuit must agree with them after each step.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

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
REPORTS = st.sampled_from([Success, Failure, Failure, Rejected, Cancel])


class World(RuleBasedStateMachine):
    """One circuit, its callers, and a clock in whole seconds."""

    calls = Bundle("calls")

    @initialize(
        probes=st.integers(1, 3),
        to_close=st.integers(1, 3),
        row=st.integers(1, 3),
        lease=st.integers(1, 5),
    )
    def begin(self, probes, to_close, row, lease):
        """Make the circuit, and the books."""
        self.policy = CircuitPolicy(
            window=4,
            minimum_calls=3,
            failure_ratio=0.5,
            consecutive_failures=row,
            open_seconds=4,
            open_seconds_max=10,
            half_open_probes=probes,
            successes_to_close=to_close,
            probe_lease_seconds=lease,
        )
        self.circuit = Circuit(policy=self.policy)
        self.now = 0
        self.asked = 0
        self.leases: dict[str, int] = {}
        self.lost: list[str] = []
        self.waits: list[int] = []
        self.opened_at = 0

    def settle(self, circuit):
        """Take the next state, and book what its change means."""
        before, self.circuit = self.circuit, circuit
        if circuit.state is before.state:
            return
        self.leases, self.lost = {}, []
        if circuit.state is OPEN:
            self.waits.append(circuit.open_until - self.now)
            self.opened_at = self.now
        elif circuit.state is CLOSED:
            self.waits = []

    @rule(seconds=st.integers(1, 6))
    def wait(self, seconds):
        """Let time pass; leases end."""
        self.now += seconds
        self.lost += [call for call, until in self.leases.items() if until <= self.now]
        self.leases = {call: until for call, until in self.leases.items() if until > self.now}

    @rule(target=calls)
    def ask(self):
        """Ask for a new call; the books know the answer."""
        call = f"call-{self.asked}"
        self.asked += 1
        waited = self.circuit.state is OPEN and self.now >= self.opened_at + self.waits[-1]
        is_free = len(self.leases) < self.policy.half_open_probes
        should = self.circuit.state is CLOSED or waited or (self.circuit.state is HALF_OPEN and is_free)
        circuit, decision = step(self.circuit, Acquire(call), self.now)
        self.settle(circuit)
        assert decision.allowed is should
        if not decision.allowed:
            return multiple()
        if circuit.state is HALF_OPEN:
            self.leases[call] = self.now + self.policy.probe_lease_seconds
            self.lost = self.lost[-LOST_KEPT:]
        return call, decision.generation

    @rule(call=consumes(calls), report=REPORTS)
    def answer(self, call, report):
        """Let one of the calls come back, in time or late."""
        self.book(call, report, knows_its_generation=True)

    @rule(call=consumes(calls))
    def lose(self, call):
        """Kill the caller: it never reports. Only the clock can give its place back."""

    @rule(call=calls, report=REPORTS)
    def answer_more_than_once(self, call, report):
        """Report, and stay known: it may report again."""
        self.book(call, report, knows_its_generation=True)

    @rule(report=REPORTS)
    def a_stranger_reports(self, report):
        """Nobody asked for this call; while the circuit is not closed it moves nothing."""
        if self.circuit.state is not CLOSED:
            self.book(("stranger", None), report, knows_its_generation=False)

    def book(self, call, report, *, knows_its_generation):
        """Report, and compare with what the books say must happen."""
        before = self.circuit
        name, generation = call
        is_probe = before.state is HALF_OPEN and (name in self.leases or name in self.lost)
        is_current = generation == before.generation if knows_its_generation else True
        circuit, nothing = step(before, report(name, generation), self.now)
        assert nothing is None
        self.settle(circuit)
        if before.state is CLOSED and is_current:
            assert circuit.state in ({CLOSED, OPEN} if report is Failure else {CLOSED})
        elif is_probe and is_current:
            expected = {Success: {HALF_OPEN, CLOSED}, Rejected: {HALF_OPEN, CLOSED}, Failure: {OPEN}}
            assert circuit.state in expected.get(report, {HALF_OPEN})
            if circuit.state is HALF_OPEN:
                assert circuit.successes == before.successes + (report is not Cancel)
            self.leases.pop(name, None)
            self.lost = [call for call in self.lost if call != name]
        else:
            assert circuit == before.as_of(self.now)

    @invariant()
    def never_more_probes_than_the_policy_says(self):
        """And just those that the books hold."""
        if not hasattr(self, "circuit"):
            return
        in_flight = {probe.id for probe in self.circuit.as_of(self.now).in_flight}
        assert in_flight == set(self.leases)
        assert len(in_flight) <= self.policy.half_open_probes

    @invariant()
    def waits_grow_up_to_the_cap(self):
        """Four seconds, eight, ten, ten."""
        if hasattr(self, "circuit"):
            assert self.waits == [4, 8, *[10] * len(self.waits)][: len(self.waits)]

    @invariant()
    def never_stuck(self):
        """Whoever waits as long as told gets through, even if nobody ever reports again."""
        if hasattr(self, "circuit"):
            wait = self.circuit.as_of(self.now).retry_after
            assert wait <= 10
            assert step(self.circuit, Acquire("one more"), self.now + wait)[1].allowed


TestWorld = World.TestCase
TestWorld.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
