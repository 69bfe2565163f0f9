"""No sequence of events leads an agent that follows its plans astray; a model goes through sequences of all kinds."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from otel_aml.core.circuit import Acquire, Cancel, Circuit, CircuitPolicy, CircuitState, Failure, Success, step
from otel_aml.core.recovery import Reason, RetryPolicy, StepError, plan_recovery
from otel_aml.core.taxonomy import FAILURES, TAXONOMY, FailureClass, RecoveryPath, Severity

OFTEN_TOOLS = st.sampled_from(
    [FailureClass.TOOL_FAILURE] * 4 + [FailureClass.FORMAT_VIOLATION] * 2 + list(FAILURES[2:])
)
CIRCUIT = CircuitPolicy(consecutive_failures=3, open_seconds=30, open_seconds_max=120, probe_lease_seconds=10)


class Agent(RuleBasedStateMachine):
    """Runs steps against one dependency, and does what the plans say: automatic ones at once, repairs itself."""

    @initialize(
        retries=st.integers(0, 2),
        fixes=st.integers(0, 2),
        idempotent=st.sampled_from([True, True, True, False, None]),
        base_ms=st.integers(1, 2_000),
    )
    def begin(self, retries, fixes, idempotent, base_ms):
        self.policy = RetryPolicy(retries=retries, fixes=fixes, base_ms=base_ms)
        self.idempotent = idempotent
        self.circuit = Circuit(policy=CIRCUIT)
        self.now = 0.0
        self.calls = 0
        self.out = None
        self.waits_until = None
        self.attempt = self.automatic = self.repaired = 0
        self.out_at_once = []
        self.steps_over = 0

    # --- what the world does ---

    @rule(seconds=st.floats(0.001, 200))
    def time_passes(self, seconds):
        self.now += seconds

    @precondition(lambda self: self.out is None)
    @rule(jitter=st.floats(0, 1))
    def call(self, jitter):
        """Make the call that is due: the first of a step, or the one that was planned."""
        if self.waits_until is not None and self.now < self.waits_until:
            self.now = self.waits_until
        self.waits_until = None
        self.calls += 1
        call = f"call-{self.calls}"
        self.circuit, decision = step(self.circuit, Acquire(call), self.now)
        if decision.allowed:
            self.out = (call, decision.generation)
            if decision.state is CircuitState.HALF_OPEN:
                self.out_at_once.append((call, self.now + CIRCUIT.probe_lease_seconds))
        else:
            assert decision.retry_after > 0, "a refusal without a time to come back would be a loop without waiting"
            self.fail_with("tool_failure", jitter=jitter, retriable=False, after_ms=None)

    @precondition(lambda self: self.out is not None)
    @rule()
    def goes_well(self):
        self.report(Success)
        self.next_step()

    @precondition(lambda self: self.out is not None)
    @rule()
    def is_cut(self):
        """Cancelled: nobody plans anything, and a probe gives its place back."""
        self.report(Cancel)
        self.next_step()

    @precondition(lambda self: self.out is not None)
    @rule()
    def is_lost(self):
        """The process that made the call dies, or never reports: only the lease ends it."""
        self.out = None
        self.next_step()

    @precondition(lambda self: self.out is not None)
    @rule(
        failure_class=OFTEN_TOOLS,
        retriable=st.sampled_from([True, True, True, False]),
        after_ms=st.sampled_from([None, None, None, 0, 700, 300_000, 300_001]),
        jitter=st.floats(0, 1),
    )
    def fails(self, failure_class, retriable, after_ms, jitter):
        self.report(Failure if failure_class is FailureClass.TOOL_FAILURE else Success)
        self.fail_with(failure_class, jitter=jitter, retriable=retriable, after_ms=after_ms)

    # --- what the agent does ---

    def report(self, kind):
        call, generation = self.out
        self.out = None
        self.circuit, _ = step(self.circuit, kind(call, generation), self.now)
        self.out_at_once = [each for each in self.out_at_once if each[0] != call]

    def fail_with(self, failure_class, *, jitter, retriable, after_ms):
        error = StepError(
            step_id="s",
            failure_class=FailureClass(failure_class),
            user_message="m",
            retriable=retriable and failure_class == FailureClass.TOOL_FAILURE,
            attempt=self.attempt,
            retry_after_ms=after_ms,
        )
        plan = plan_recovery(
            error, circuit=self.circuit.as_of(self.now), policy=self.policy, idempotent=self.idempotent
        )
        if TAXONOMY[error.failure_class].severity is Severity.CRITICAL:
            assert plan.path is RecoveryPath.HUMAN_TAKEOVER
            assert not plan.automatic
            assert plan.reason is Reason.CRITICAL
        if plan.automatic:
            assert error.retriable
            assert self.idempotent is True
            assert plan.wait_ms >= min(self.policy.base_ms, self.policy.cap_ms) > 0, "a loop without waiting"
            wait = plan.wait_ms_at(jitter)
            assert wait >= (after_ms or 0)
            self.automatic += 1
            self.attempt += 1
            self.waits_until = self.now + wait / 1_000
        elif plan.path is RecoveryPath.FIX_AND_RETRY:
            assert plan.repair is not None
            self.repaired += 1
            self.attempt += 1
        else:
            self.next_step()

    def next_step(self):
        self.attempt = self.automatic = self.repaired = 0
        self.waits_until = None
        self.steps_over += 1

    # --- what never happens ---

    @invariant()
    def not_more_than_the_policy_says(self):
        if hasattr(self, "policy"):
            assert self.automatic <= self.policy.retries
            assert self.repaired <= self.policy.fixes

    @invariant()
    def not_two_probes_at_once(self):
        if hasattr(self, "policy"):
            holding = [each for each in self.out_at_once if each[1] > self.now]
            assert self.circuit.state is not CircuitState.HALF_OPEN or len(holding) <= CIRCUIT.half_open_probes

    @invariant()
    def no_probe_is_lost_for_ever(self):
        """However it stands now: once the longest wait and a lease are over, a call gets through."""
        if hasattr(self, "policy"):
            later = self.now + CIRCUIT.open_seconds_max + CIRCUIT.probe_lease_seconds
            assert step(self.circuit, Acquire("later"), later)[1].allowed


Agent.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestAgent = Agent.TestCase
