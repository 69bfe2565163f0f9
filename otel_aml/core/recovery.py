"""From an error at a step to what should be done about it: errors as data, a path per class, a person in control.

    step fails -> StepError
      a critical class?             -> human_takeover, always: no setting leads elsewhere
      its circuit lets nothing out? -> human_takeover, and when it is worth trying again
      retriable, tries left?        -> auto_retry after a wait (a step that may be done twice)
      else RECOVERY_MAP[class]      -> fix_and_retry with a named repair, at most so often -> human_takeover

Nothing here runs anything, reads a clock or draws a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from otel_aml.core.taxonomy import TAXONOMY, FailureClass, RecoveryPath, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_aml.core.circuit import Circuit, CircuitState

RETRIES: Final = 3
"""How often a transient failure is retried by default (four calls in all)."""
FIXES: Final = 2
"""How often an output is repaired by default."""
LONGEST_MS: Final = 366 * 24 * 3_600 * 1_000
"""A year: no wait is longer. No clock and no timer of the system has to bear more."""
_SECOND_MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """One error that the app caught at a step.

    Args:
        step_id: The step, as the app names it.
        failure_class: One of the six.
        user_message: What the user may read; from the catalogue in `core.messages`.
        technical_detail: For operators only; never part of a message, nor of what the error prints as.
        retriable: Whether the same call may succeed later. Only a call outside the model can: what a model wrote
            from the same input fails the same way.
        attempt: Tries already made after the first, from 0, whether of the same call or with a repair.
        error_type: How it failed in one word: `timeout`, `rate_limited`, ... or the exception's short name.
        retry_after_ms: The dependency's word on when to come back, in milliseconds; None where it said nothing.
        hint: What the model may be told to do better: places and rules of a schema, never a value.

    Raises:
        ValueError: The class is none of the six, a number is no whole one from 0 up, `retriable` is neither yes nor
            no, or an error is called retriable that is not a tool failure.
    """

    step_id: str
    failure_class: FailureClass
    user_message: str
    technical_detail: str = field(default="", repr=False)
    retriable: bool = False
    attempt: int = 0
    error_type: str = ""
    retry_after_ms: int | None = None
    hint: str = ""

    def __post_init__(self) -> None:
        if self.failure_class not in tuple(TAXONOMY):
            raise ValueError(f"a step cannot fail as {self.failure_class!r}; give one of {', '.join(TAXONOMY)}")
        # A NaN is less than no limit: it would be retried for ever.
        _whole("attempt", self.attempt)
        if self.retry_after_ms is not None:
            _whole("retry_after_ms", self.retry_after_ms)
        if not isinstance(self.retriable, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - the app's value
            raise ValueError(f"retriable={self.retriable!r} is neither True nor False")  # noqa: TRY004 - as the others
        if self.retriable and self.failure_class != FailureClass.TOOL_FAILURE:
            raise ValueError(
                f"a {self.failure_class} is not retriable: the same input fails the same way; "
                f"only a {FailureClass.TOOL_FAILURE} may be retried"
            )


class Repair(StrEnum):
    """What the agent should change before it runs a step again. Named here, run by the agent."""

    ADD_SCHEMA_ERRORS = "add_schema_errors"
    WIDEN_QUERY = "widen_query"
    NARROW_QUERY = "narrow_query"
    DROP_NOISE = "drop_noise"


REPAIRS: Final[Mapping[FailureClass, tuple[Repair, ...]]] = MappingProxyType(
    {
        FailureClass.FORMAT_VIOLATION: (Repair.ADD_SCHEMA_ERRORS,),
        FailureClass.RETRIEVAL_MISS: (Repair.WIDEN_QUERY,),
        FailureClass.CONTEXT_POLLUTION: (Repair.NARROW_QUERY, Repair.DROP_NOISE),
    },
)
"""The repairs of each class that can be repaired, in the order in which to try them; the last one repeats."""

REPAIR_TEXTS: Final[Mapping[Repair, str]] = MappingProxyType(
    {
        Repair.ADD_SCHEMA_ERRORS: "Your last output did not fit its schema. "
        "Give the whole output again, with these places put right:",
        Repair.WIDEN_QUERY: "The guidance that this step needs was not among the documents found. "
        "Search again with other and broader words, and take more documents.",
        Repair.NARROW_QUERY: "Guidance that this step needs was found, and the output does not follow it. "
        "Search again with narrower words, and follow what is found.",
        Repair.DROP_NOISE: "Guidance that this step needs was found, and the output does not follow it. "
        "Leave out the documents that do not belong to this step, and follow what remains.",
    },
)
"""What to tell the model along with a repair; of a broken schema the places follow."""


class Reason(StrEnum):
    """Why a plan is what it is."""

    CRITICAL = "critical"
    """A class of the highest severity: a person decides, always."""
    CIRCUIT_OPEN = "circuit_open"
    """The circuit of the dependency lets no call through."""
    TRANSIENT = "transient"
    """It may pass by itself."""
    NOT_RETRIABLE = "not_retriable"
    """The same call would fail the same way, or nobody knows."""
    NOT_IDEMPOTENT = "not_idempotent"
    """It may pass, but doing the step twice could do harm."""
    RETRY_AFTER_TOO_LONG = "retry_after_too_long"
    """The dependency asks for a longer wait than the policy allows."""
    RETRIES_USED_UP = "retries_used_up"
    BUDGET_USED_UP = "budget_used_up"
    """Retries of this dependency have used up what a process may add to its load."""
    REPAIRABLE = "repairable"
    """The output can be put right."""
    FIXES_USED_UP = "fixes_used_up"


def _whole(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name}={value!r} is no whole number from 0 up; give one")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and how long to wait. That a critical class goes to a person is no setting.

    Args:
        retries: Automatic retries of a transient failure at most, N.
        fixes: Runs with a repair at most, M.
        base_ms: The first wait, in milliseconds; it doubles with each retry.
        cap_ms: The longest wait, in milliseconds.
        retry_after_cap_ms: A dependency that asks for a longer wait than this gets no automatic retry.

    Raises:
        ValueError: One of them is no whole number, negative, or a wait longer than a year.
    """

    retries: int = RETRIES
    fixes: int = FIXES
    base_ms: int = 500
    cap_ms: int = 30_000
    retry_after_cap_ms: int = 300_000

    def __post_init__(self) -> None:
        for name in ("retries", "fixes"):
            _whole(name, getattr(self, name))
        for name in ("base_ms", "cap_ms", "retry_after_cap_ms"):
            _whole(name, getattr(self, name))
            if getattr(self, name) > LONGEST_MS:
                raise ValueError(f"{name} is longer than a year; give at most {LONGEST_MS}")


DEFAULT_POLICY: Final = RetryPolicy()


def backoff_ms(attempt: int, policy: RetryPolicy = DEFAULT_POLICY, *, jitter: float = 1.0) -> int:
    """Say how long to wait before the next retry.

    Args:
        attempt: Retries already made, from 0.
        policy: Limits of the wait.
        jitter: Where in the window to land, in [0, 1]; the caller draws it. 1 is the end of the window.

    Returns:
        Milliseconds, from 0 up to `policy.cap_ms`; without jitter never less than for the attempt before.

    Raises:
        ValueError: `attempt` is no whole number from 0 up, or `jitter` lies outside [0, 1].

    Source:
        "Full jitter", M. Brooker, Exponential Backoff and Jitter, AWS, 2015.
    """
    _whole("attempt", attempt)
    if not 0 <= jitter <= 1:
        raise ValueError(f"jitter={jitter!r} lies outside [0, 1]")
    doublings = min(attempt, policy.cap_ms.bit_length())
    window = min(policy.base_ms << doublings, policy.cap_ms)
    return window if jitter == 1 else int(window * jitter)


RECOVERY_MAP: Final[Mapping[FailureClass, RecoveryPath]] = MappingProxyType(
    {failure_class: spec.path for failure_class, spec in TAXONOMY.items()},
)
"""The first step of each class's recovery. Where it is used up, or cannot be taken, a person takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPlan:
    """What should be done about one error. A recommendation: nothing of it has been run.

    Args:
        path: What to do.
        reason: Why.
        automatic: It may be done without asking anybody: a retry of a step that is known to be idempotent.
        wait_ms: Wait at most so long before it, in milliseconds; the draw is the caller's (`wait_ms_at`).
        retry_after_ms: Before that it is no use trying, in milliseconds from now; None where nobody said so.
        repair: What to change, where the path is `fix_and_retry`.
        repair_text: What to tell the model along with it; holds no value of the case, the tools or the model.
        circuit_state: That of the dependency's circuit; None where none was given.
    """

    path: RecoveryPath
    reason: Reason
    automatic: bool = False
    wait_ms: int = 0
    retry_after_ms: int | None = None
    repair: Repair | None = None
    repair_text: str = ""
    circuit_state: CircuitState | None = None

    def wait_ms_at(self, jitter: float) -> int:
        """Place the wait between what the dependency asked for and `wait_ms`.

        Those who were told the same moment to come back do not all come back at that moment.

        Args:
            jitter: Where in the window to land, in [0, 1]; the caller draws it.

        Raises:
            ValueError: `jitter` lies outside [0, 1].
        """
        if not 0 <= jitter <= 1:
            raise ValueError(f"jitter={jitter!r} lies outside [0, 1]")
        floor = min(self.retry_after_ms or 0, self.wait_ms)
        return floor + int((self.wait_ms - floor) * jitter)


def plan_recovery(
    error: StepError,
    *,
    circuit: Circuit | None = None,
    policy: RetryPolicy = DEFAULT_POLICY,
    idempotent: bool | None = None,
) -> RecoveryPlan:
    """Plan what to do about an error at a step.

    Args:
        error: What happened.
        circuit: That of the dependency which the step called, as of now; None where nothing guards it.
        policy: How often, and how long to wait.
        idempotent: Whether the step may be done twice. None: nobody knows, so a retry may be recommended but is not
            `automatic`. False: no retry is recommended.

    Returns:
        The plan. For a critical class it is `human_takeover` whatever else holds.
    """
    state = None if circuit is None else circuit.state
    refused_for_ms = 0 if circuit is None else _ceil(circuit.retry_after * _SECOND_MS)
    reason = _reason(
        error.failure_class,
        retriable=error.retriable,
        attempt=error.attempt,
        policy=policy,
        is_refused=refused_for_ms > 0,
        idempotent=idempotent,
        retry_after_ms=error.retry_after_ms or 0,
    )
    if reason is Reason.TRANSIENT:
        return RecoveryPlan(
            path=_PATHS[reason],
            reason=reason,
            automatic=idempotent is True,
            wait_ms=(error.retry_after_ms or 0) + backoff_ms(error.attempt, policy),
            retry_after_ms=error.retry_after_ms,
            circuit_state=state,
        )
    if reason is Reason.REPAIRABLE:
        repairs = REPAIRS[error.failure_class]
        repair = repairs[min(error.attempt, len(repairs) - 1)]
        return RecoveryPlan(
            path=_PATHS[reason],
            reason=reason,
            repair=repair,
            repair_text="\n".join(filter(None, (REPAIR_TEXTS[repair], error.hint))),
            circuit_state=state,
        )
    return RecoveryPlan(
        path=RecoveryPath.HUMAN_TAKEOVER,
        reason=reason,
        retry_after_ms=max(refused_for_ms, error.retry_after_ms or 0) or None,
        circuit_state=state,
    )


def without_budget(plan: RecoveryPlan) -> RecoveryPlan:
    """Give a retry up that the process's retry budget does not pay for: a person has it, and can try later."""
    return replace(plan, path=RecoveryPath.HUMAN_TAKEOVER, reason=Reason.BUDGET_USED_UP, automatic=False, wait_ms=0)


def path_of(failure_class: FailureClass, *, retriable: bool, attempt: int) -> RecoveryPath:
    """Say what is done about a failure, as far as its class and the tries made tell, by the default policy."""
    return _PATHS.get(_reason(failure_class, retriable=retriable, attempt=attempt), RecoveryPath.HUMAN_TAKEOVER)


_PATHS: Final[Mapping[Reason, RecoveryPath]] = MappingProxyType(
    {Reason.TRANSIENT: RecoveryPath.AUTO_RETRY, Reason.REPAIRABLE: RecoveryPath.FIX_AND_RETRY},
)
"""Where a reason leads; all others lead to a person."""


def _reason(  # noqa: PLR0913 - all that a plan hangs on
    failure_class: FailureClass,
    *,
    retriable: bool,
    attempt: int,
    policy: RetryPolicy = DEFAULT_POLICY,
    is_refused: bool = False,
    idempotent: bool | None = None,
    retry_after_ms: int = 0,
) -> Reason:
    """Find why a plan will be what it is: the first question whose answer is yes."""
    is_repairable = failure_class in REPAIRS
    questions = (
        (TAXONOMY[failure_class].severity is Severity.CRITICAL, Reason.CRITICAL),
        (is_refused, Reason.CIRCUIT_OPEN),
        (is_repairable and attempt < policy.fixes, Reason.REPAIRABLE),
        (is_repairable, Reason.FIXES_USED_UP),
        (not retriable, Reason.NOT_RETRIABLE),
        (idempotent is False, Reason.NOT_IDEMPOTENT),
        (attempt >= policy.retries, Reason.RETRIES_USED_UP),
        (retry_after_ms > policy.retry_after_cap_ms, Reason.RETRY_AFTER_TOO_LONG),
    )
    return next((reason for answer, reason in questions if answer), Reason.TRANSIENT)


def _ceil(number: float) -> int:
    return -int(-number // 1)
