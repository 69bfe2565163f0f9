"""From an error at a step to a plan: what would mislead is refused, and a person is always in control."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.core.circuit import Circuit, CircuitState, Probe
from otel_aml.core.recovery import (
    DEFAULT_POLICY,
    RECOVERY_MAP,
    REPAIR_TEXTS,
    REPAIRS,
    Reason,
    Repair,
    RetryPolicy,
    StepError,
    backoff_ms,
    path_of,
    plan_recovery,
    without_budget,
)
from otel_aml.core.taxonomy import FAILURES, TAXONOMY, FailureClass, RecoveryPath


def step_error(failure_class=FailureClass.TOOL_FAILURE, **more):
    """Build one."""
    return StepError(step_id="screening", failure_class=failure_class, user_message="Please wait.", **more)


def test_by_default_nothing_is_promised():
    """An unknown error is not retriable, and nobody has tried again yet."""
    error = step_error()
    assert (error.technical_detail, error.retriable, error.attempt) == ("", False, 0)


def test_it_cannot_be_changed():
    """It travels between parts of an app; what one reads the other wrote."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        step_error().attempt = 1


@pytest.mark.parametrize("failure_class", FAILURES)
@pytest.mark.parametrize("attempt", [0, 3])
def test_any_of_the_six_can_be_a_step_error(failure_class, attempt):
    """Attempts count from 0."""
    assert step_error(failure_class, attempt=attempt).attempt == attempt


REFUSED = [
    pytest.param(
        {"failure_class": FailureClass.PASS},
        r"cannot fail as .*'pass'.*; give one of tool_failure, format_violation, hallucination, ",
        id="a pass",
    ),
    pytest.param({"failure_class": FailureClass.CANCELLED}, "cannot fail as", id="a cancellation"),
    pytest.param({"failure_class": FailureClass.UNCLASSIFIED}, "cannot fail as", id="not classified"),
    pytest.param({"failure_class": []}, "cannot fail as", id="a class that cannot be hashed"),
    # NaN is below no limit and above none: such an error would be tried for ever, or waited for no time at all.
    *(
        pytest.param({name: value}, f"^{name}=.* is no whole number from 0 up; give one$", id=f"{name}={value}")
        for name in ("attempt", "retry_after_ms")
        for value in (-1, 0.5, float("nan"), float("inf"), True, "3")
    ),
    pytest.param({"retriable": "no"}, "^retriable='no' is neither True nor False$", id="a word for no, which is true"),
    *(
        pytest.param(
            {"failure_class": failure_class, "retriable": True},
            f"^a {failure_class} is not retriable: .* only a tool_failure may be retried$",
            id=f"a retriable {failure_class}",
        )
        for failure_class in FAILURES[1:]
    ),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_what_would_mislead_is_refused(given, says):
    """The message says what was found and what to do."""
    with pytest.raises(ValueError, match=says):
        step_error(**given)


def test_a_tool_failure_may_be_retriable():
    """The one class whose cause may pass by itself; also where it was read from a file."""
    assert step_error(retriable=True).retriable
    assert step_error("tool_failure", retriable=True).retriable


def test_a_wait_is_no_negative_number():
    """It would be a moment that is over."""
    with pytest.raises(ValueError, match=r"^retry_after_ms=-1 is no whole number from 0 up; give one$"):
        step_error(retry_after_ms=-1)


def test_a_wait_of_nothing_is_a_wait():
    """Some servers say 0: come back at once."""
    assert step_error(retry_after_ms=0).retry_after_ms == 0


# --- what is laid down ----------------------------------------------------------------------------------------------


def test_every_class_has_a_path():
    """Exactly those of the taxonomy, in its order."""
    assert list(RECOVERY_MAP.items()) == [
        (FailureClass.TOOL_FAILURE, RecoveryPath.AUTO_RETRY),
        (FailureClass.FORMAT_VIOLATION, RecoveryPath.FIX_AND_RETRY),
        (FailureClass.HALLUCINATION, RecoveryPath.HUMAN_TAKEOVER),
        (FailureClass.RETRIEVAL_MISS, RecoveryPath.FIX_AND_RETRY),
        (FailureClass.CONTEXT_POLLUTION, RecoveryPath.FIX_AND_RETRY),
        (FailureClass.TYPOLOGY_MISJUDGE, RecoveryPath.HUMAN_TAKEOVER),
    ]
    assert set(RECOVERY_MAP) == set(TAXONOMY)


def test_what_is_fixed_has_a_repair_and_every_repair_a_text():
    """A fix without a named repair would be the same call again."""
    assert set(REPAIRS) == {each for each, path in RECOVERY_MAP.items() if path is RecoveryPath.FIX_AND_RETRY}
    assert {repair for repairs in REPAIRS.values() for repair in repairs} == set(Repair) == set(REPAIR_TEXTS)


def test_the_defaults_are_those_of_the_contract():
    """Three retries (four calls), two fixes; five minutes is the longest wait that a server may ask for."""
    assert RetryPolicy() == DEFAULT_POLICY
    assert (DEFAULT_POLICY.retries, DEFAULT_POLICY.fixes) == (3, 2)
    assert (DEFAULT_POLICY.base_ms, DEFAULT_POLICY.cap_ms) == (500, 30_000)
    assert DEFAULT_POLICY.retry_after_cap_ms == 300_000


@pytest.mark.parametrize("name", ["retries", "fixes", "base_ms", "cap_ms", "retry_after_cap_ms"])
@pytest.mark.parametrize("value", [-1, 1.5, float("nan"), float("inf"), True, None, "3"])
def test_a_limit_that_is_no_number_of_things_is_refused(name, value):
    """At once, and by name."""
    with pytest.raises(ValueError, match=f"^{name}=.* is no whole number from 0 up; give one$"):
        RetryPolicy(**{name: value})


@pytest.mark.parametrize("name", ["base_ms", "cap_ms", "retry_after_cap_ms"])
def test_a_wait_that_no_timer_bears_is_refused(name):
    """Before anything fails: a sleep of centuries would raise in the place of the app's error."""
    year = 366 * 24 * 3_600 * 1_000
    assert getattr(RetryPolicy(**{name: year}), name) == year
    with pytest.raises(ValueError, match=f"^{name} is longer than a year; give at most {year}$"):
        RetryPolicy(**{name: year + 1})


def test_no_limit_is_about_critical_classes():
    """That they go to a person cannot be configured away."""
    assert [field.name for field in dataclasses.fields(RetryPolicy)] == [
        "retries",
        "fixes",
        "base_ms",
        "cap_ms",
        "retry_after_cap_ms",
    ]


# --- the wait -------------------------------------------------------------------------------------------------------

WAITS = [
    pytest.param(100, 60_000, 0, 100, id="the first wait is the base"),
    pytest.param(100, 60_000, 1, 200, id="it doubles"),
    pytest.param(100, 60_000, 2, 400, id="and doubles"),
    pytest.param(100, 60_000, 9, 51_200, id="the last below the cap"),
    pytest.param(100, 60_000, 10, 60_000, id="the cap"),
    pytest.param(100, 60_000, 1_023, 60_000, id="the last power of two that a float holds"),
    pytest.param(100, 60_000, 1_024, 60_000, id="the first that it does not"),
    pytest.param(100, 60_000, 1_000_000_000, 60_000, id="an outage of years"),
    pytest.param(0, 60_000, 5_000, 0, id="no base"),
    pytest.param(1, 1, 0, 1, id="the smallest cap"),
    pytest.param(5, 0, 3, 0, id="no cap"),
    pytest.param(1_000, 5_000, 200, 5_000, id="a low cap"),
    pytest.param(100, 50, 0, 50, id="a base above the cap"),
    pytest.param(1, 31_622_400_000, 10**9, 31_622_400_000, id="a cap of a year"),
]


@pytest.mark.parametrize(("base_ms", "cap_ms", "attempt", "wait_ms"), WAITS)
def test_the_wait_doubles_up_to_the_cap(base_ms, cap_ms, attempt, wait_ms):
    """However long an outage lasts."""
    assert backoff_ms(attempt, RetryPolicy(base_ms=base_ms, cap_ms=cap_ms)) == wait_ms


POLICIES = st.builds(
    RetryPolicy,
    retries=st.integers(0, 5),
    fixes=st.integers(0, 4),
    base_ms=st.integers(0, 10**6),
    cap_ms=st.integers(0, 10**7),
    retry_after_cap_ms=st.integers(0, 10**6),
)
JITTERS = st.floats(0, 1)


@given(attempt=st.integers(0, 10**9), policy=POLICIES, jitter=JITTERS)
def test_a_wait_is_bounded_and_never_falls(attempt, policy, jitter):
    """Jitter only shortens."""
    wait = backoff_ms(attempt, policy)
    assert 0 <= backoff_ms(attempt, policy, jitter=jitter) <= wait <= policy.cap_ms
    assert wait <= backoff_ms(attempt + 1, policy)
    assert backoff_ms(attempt, policy, jitter=1) == wait
    assert backoff_ms(attempt, policy, jitter=0) == 0
    assert isinstance(backoff_ms(attempt, policy, jitter=jitter), int)


def test_the_wait_is_drawn_evenly():
    """Full jitter: the draw is the share of the window."""
    policy = RetryPolicy(base_ms=1_000, cap_ms=1_000)
    assert [backoff_ms(0, policy, jitter=tenth / 10) for tenth in range(0, 11, 5)] == [0, 500, 1_000]


@pytest.mark.parametrize("jitter", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_draw_outside_the_window_is_refused(jitter):
    """Also where a plan is asked."""
    with pytest.raises(ValueError, match="outside"):
        backoff_ms(0, jitter=jitter)
    with pytest.raises(ValueError, match="outside"):
        plan_recovery(step_error(retriable=True)).wait_ms_at(jitter)


@pytest.mark.parametrize("attempt", [-1, 0.5, None])
def test_an_attempt_that_is_none_is_refused(attempt):
    """They are counted from 0."""
    with pytest.raises(ValueError, match="attempt="):
        backoff_ms(attempt)


# --- the plan -------------------------------------------------------------------------------------------------------


def circuit(state, wait=0.0):
    """Look at a circuit that lets the next call through after so many seconds."""
    probes = (Probe("probe", wait),) if wait and state == CircuitState.HALF_OPEN else ()
    return Circuit(state=CircuitState(state), at=0.0, open_until=wait, probes=probes)


CLOSED, PROBING = circuit("closed"), circuit("half_open")
PROBED, OPEN, WAITED = circuit("half_open", 12.5), circuit("open", 29.0), circuit("open")
FORMAT, CRITICAL = FailureClass.FORMAT_VIOLATION, [FailureClass.HALLUCINATION, FailureClass.TYPOLOGY_MISJUDGE]

PLANS = [
    pytest.param({"retriable": True}, {}, "auto_retry", "transient", 500, id="it may pass"),
    pytest.param({"retriable": True, "attempt": 2}, {}, "auto_retry", "transient", 2_000, id="the last retry"),
    pytest.param({"retriable": True, "attempt": 3}, {}, "human_takeover", "retries_used_up", 0, id="no retry left"),
    pytest.param({}, {}, "human_takeover", "not_retriable", 0, id="nobody knows whether it may pass"),
    pytest.param({"retriable": True}, {"idempotent": False}, "human_takeover", "not_idempotent", 0, id="do it once"),
    pytest.param({"retriable": True}, {"circuit": CLOSED}, "auto_retry", "transient", 500, id="a closed circuit"),
    pytest.param({"retriable": True}, {"circuit": PROBING}, "auto_retry", "transient", 500, id="a probe may go out"),
    pytest.param({"retriable": True}, {"circuit": WAITED}, "auto_retry", "transient", 500, id="its wait is over"),
    pytest.param({"retriable": True}, {"circuit": PROBED}, "human_takeover", "circuit_open", 0, id="a probe is out"),
    pytest.param({"retriable": True}, {"circuit": OPEN}, "human_takeover", "circuit_open", 0, id="an open circuit"),
    pytest.param({}, {"circuit": OPEN}, "human_takeover", "circuit_open", 0, id="open, and not retriable"),
    pytest.param(
        {"retriable": True, "retry_after_ms": 300_000}, {}, "auto_retry", "transient", 300_500, id="five minutes"
    ),
    pytest.param(
        {"retriable": True, "retry_after_ms": 300_001},
        {},
        "human_takeover",
        "retry_after_too_long",
        0,
        id="longer than five minutes",
    ),
    pytest.param({"failure_class": FORMAT}, {}, "fix_and_retry", "repairable", 0, id="a broken format"),
    pytest.param({"failure_class": FORMAT, "attempt": 1}, {}, "fix_and_retry", "repairable", 0, id="the last fix"),
    pytest.param({"failure_class": FORMAT, "attempt": 2}, {}, "human_takeover", "fixes_used_up", 0, id="no fix left"),
    pytest.param(
        {"failure_class": FORMAT}, {"circuit": OPEN}, "human_takeover", "circuit_open", 0, id="nothing to ask"
    ),
    pytest.param(
        {"failure_class": FORMAT}, {"idempotent": False}, "fix_and_retry", "repairable", 0, id="a fix is another call"
    ),
    *(
        pytest.param({"failure_class": each}, {"circuit": seen}, "human_takeover", "critical", 0, id=f"{each}")
        for each in CRITICAL
        for seen in (None, OPEN)
    ),
]


@pytest.mark.parametrize(("error", "more", "path", "reason", "wait_ms"), PLANS)
def test_a_path_per_class_and_why(error, more, path, reason, wait_ms):
    """The table of the docs."""
    plan = plan_recovery(step_error(**error), **more)
    assert (plan.path, plan.reason, plan.wait_ms) == (path, reason, wait_ms)


@pytest.mark.parametrize(("idempotent", "automatic"), [(True, True), (None, False)])
def test_only_what_is_known_to_be_idempotent_is_automatic(idempotent, automatic):
    """Not knowing is enough to recommend, and too little to act."""
    assert plan_recovery(step_error(retriable=True), idempotent=idempotent).automatic is automatic


AFTER = [
    pytest.param({}, None, None, id="nobody said"),
    pytest.param({"retry_after_ms": 700}, None, 700, id="the dependency said"),
    pytest.param({}, OPEN, 29_000, id="the circuit says"),
    pytest.param({"retry_after_ms": 60_000}, OPEN, 60_000, id="both, the longer one counts"),
    pytest.param({"retry_after_ms": 0}, None, None, id="at once is no wait"),
    pytest.param({}, circuit("open", 0.0001), 1, id="a part of a millisecond is one"),
    pytest.param({"retry_after_ms": 900}, CLOSED, 900, id="a closed circuit says nothing"),
]


@pytest.mark.parametrize(("error", "seen", "after_ms"), AFTER)
def test_a_person_is_told_when_trying_is_of_use(error, seen, after_ms):
    """So that nobody, and no loop, knocks on a closed door."""
    assert plan_recovery(step_error(**error), circuit=seen).retry_after_ms == after_ms


@pytest.mark.parametrize("seen", [None, CLOSED, PROBING, OPEN])
@pytest.mark.parametrize("failure_class", FAILURES)
def test_the_plan_says_what_the_circuit_was(failure_class, seen):
    """It stands beside the verdict."""
    plan = plan_recovery(step_error(failure_class), circuit=seen)
    retried = plan_recovery(step_error(retriable=True), circuit=seen)
    assert plan.circuit_state is retried.circuit_state is (seen and seen.state)


REPAIRED = [
    pytest.param(FORMAT, 0, "add_schema_errors", id="a broken format"),
    pytest.param(FORMAT, 1, "add_schema_errors", id="broken again"),
    pytest.param(FailureClass.RETRIEVAL_MISS, 0, "widen_query", id="a missed note"),
    pytest.param(FailureClass.CONTEXT_POLLUTION, 0, "narrow_query", id="an ignored note"),
    pytest.param(FailureClass.CONTEXT_POLLUTION, 1, "drop_noise", id="ignored again"),
    pytest.param(FailureClass.CONTEXT_POLLUTION, 3, "drop_noise", id="and again"),
]


@pytest.mark.parametrize(("failure_class", "attempt", "repair"), REPAIRED)
def test_a_fix_names_its_repair(failure_class, attempt, repair):
    """With the words for the model; a repair that did not help gives way to the next."""
    plan = plan_recovery(step_error(failure_class, attempt=attempt), policy=RetryPolicy(fixes=4))
    assert plan.repair == repair
    assert plan.repair_text == REPAIR_TEXTS[repair]
    assert not plan.automatic


def test_the_broken_places_are_told_to_the_model():
    """So that it need not guess what was wrong."""
    plan = plan_recovery(step_error(FORMAT, hint="- typology: Field required"))
    assert plan.repair_text == f"{REPAIR_TEXTS[Repair.ADD_SCHEMA_ERRORS]}\n- typology: Field required"


def test_a_wait_is_drawn_above_what_the_dependency_asked_for():
    """Those who were told the same moment do not all come back at it."""
    plan = plan_recovery(step_error(retriable=True, retry_after_ms=10_000))
    assert [plan.wait_ms_at(jitter) for jitter in (0, 0.5, 1)] == [10_000, 10_250, 10_500]
    plan = plan_recovery(step_error(retriable=True))
    assert [plan.wait_ms_at(jitter) for jitter in (0, 0.5, 1)] == [0, 250, 500]


def test_a_plan_without_a_wait_waits_for_nothing():
    """What a person does is not timed."""
    assert plan_recovery(step_error(retry_after_ms=5_000)).wait_ms_at(1) == 0


ERRORS = st.builds(
    lambda failure_class, retriable, attempt, after: step_error(
        failure_class,
        retriable=retriable and failure_class is FailureClass.TOOL_FAILURE,
        attempt=attempt,
        retry_after_ms=after,
    ),
    st.sampled_from(FAILURES),
    st.booleans(),
    st.integers(0, 8),
    st.none() | st.integers(0, 10**6),
)
CIRCUITS = st.none() | st.builds(circuit, st.sampled_from(CircuitState), st.floats(0, 1_000))


@given(error=ERRORS, seen=CIRCUITS, policy=POLICIES, idempotent=st.sampled_from([True, False, None]))
def test_the_laws_of_a_plan(error, seen, policy, idempotent):
    """Over all that can be asked."""
    plan = plan_recovery(error, circuit=seen, policy=policy, idempotent=idempotent)
    spec = TAXONOMY[error.failure_class]
    is_refused = seen is not None and seen.retry_after > 0
    if spec.severity == "critical" or is_refused:
        assert plan.path is RecoveryPath.HUMAN_TAKEOVER
    if plan.path is RecoveryPath.AUTO_RETRY:
        assert error.retriable
        assert error.attempt < policy.retries
        assert idempotent is not False
        assert (error.retry_after_ms or 0) <= policy.retry_after_cap_ms
        assert (error.retry_after_ms or 0) <= plan.wait_ms <= policy.retry_after_cap_ms + policy.cap_ms
    else:
        assert plan.wait_ms == 0
    if plan.path is RecoveryPath.FIX_AND_RETRY:
        assert error.attempt < policy.fixes
    assert (plan.repair is not None) is (plan.path is RecoveryPath.FIX_AND_RETRY) is bool(plan.repair_text)
    assert plan.automatic is (plan.path is RecoveryPath.AUTO_RETRY and idempotent is True)
    if is_refused:
        assert plan.retry_after_ms >= seen.retry_after * 1_000
    if not is_refused and policy == DEFAULT_POLICY and plan.reason in {"transient", "repairable"}:
        assert plan.path is path_of(error.failure_class, retriable=error.retriable, attempt=error.attempt)


@given(error=ERRORS, policy=POLICIES, idempotent=st.sampled_from([None, True]))
def test_a_retry_that_the_budget_does_not_pay_for_goes_to_a_person(error, policy, idempotent):
    """Nothing of it is run by itself; when to try again, and the circuit, are told as before."""
    plan = plan_recovery(error, policy=policy, idempotent=idempotent)
    given_up = without_budget(plan)
    assert (given_up.path, given_up.reason) == (RecoveryPath.HUMAN_TAKEOVER, Reason.BUDGET_USED_UP)
    assert not given_up.automatic
    assert given_up.wait_ms == 0
    assert (given_up.retry_after_ms, given_up.circuit_state) == (plan.retry_after_ms, plan.circuit_state)


@given(error=ERRORS, policy=POLICIES, jitter=JITTERS)
def test_a_drawn_wait_lies_in_its_window(error, policy, jitter):
    """Never before the dependency wants to be asked again."""
    plan = plan_recovery(error, policy=policy)
    wait = plan.wait_ms_at(jitter)
    assert 0 <= wait <= plan.wait_ms
    if plan.path is RecoveryPath.AUTO_RETRY:
        assert wait >= (error.retry_after_ms or 0)


@pytest.mark.parametrize("failure_class", FAILURES)
@pytest.mark.parametrize("retriable", [True, False])
@pytest.mark.parametrize("attempt", range(5))
def test_the_verdict_of_a_run_and_the_plan_at_a_step_agree(failure_class, retriable, attempt):
    """One rule, asked from two places."""
    is_retriable = retriable and failure_class is FailureClass.TOOL_FAILURE
    plan = plan_recovery(step_error(failure_class, retriable=is_retriable, attempt=attempt))
    assert path_of(failure_class, retriable=is_retriable, attempt=attempt) is plan.path
