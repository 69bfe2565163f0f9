"""Names the first failure of every AI agent run, on the run's own OpenTelemetry spans.

    import otel_aml

    otel_aml.install()

The offline half (`otel_aml.offline`) is imported by name, so that an agent never loads DuckDB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_aml.conventions import Contract
from otel_aml.core.circuit import Circuit, CircuitPolicy, CircuitState
from otel_aml.core.facts import Facts
from otel_aml.core.recovery import RECOVERY_MAP, RecoveryPlan, RetryPolicy, StepError, backoff_ms, plan_recovery
from otel_aml.core.taxonomy import FailureClass, RecoveryPath, Severity
from otel_aml.core.tree import Verdict, classify
from otel_aml.errors import OtelAmlError
from otel_aml.live.case import case
from otel_aml.live.install import configure, install
from otel_aml.live.metrics import observe_circuits
from otel_aml.live.processor import FailureSpanProcessor
from otel_aml.recover.breaker import CircuitBreaker, states
from otel_aml.recover.classifying import classify_error
from otel_aml.recover.guarded import guarded
from otel_aml.recover.notice import UserNotice, user_notice
from otel_aml.recover.steps import step_error

if TYPE_CHECKING:
    from otel_aml.recover.takeover import ApprovalTask, TakeoverQueue

__all__ = [
    "RECOVERY_MAP",
    "ApprovalTask",
    "Circuit",
    "CircuitBreaker",
    "CircuitPolicy",
    "CircuitState",
    "Contract",
    "Facts",
    "FailureClass",
    "FailureSpanProcessor",
    "OtelAmlError",
    "RecoveryPath",
    "RecoveryPlan",
    "RetryPolicy",
    "Severity",
    "StepError",
    "TakeoverQueue",
    "UserNotice",
    "Verdict",
    "__version__",
    "backoff_ms",
    "case",
    "classify",
    "classify_error",
    "configure",
    "guarded",
    "install",
    "plan_recovery",
    "step_error",
    "user_notice",
]

__version__: Final = "0.1.0"

observe_circuits(states)

_ONLY_WHEN_ASKED_FOR: Final = frozenset({"ApprovalTask", "TakeoverQueue"})


def __getattr__(name: str) -> object:
    """Load the takeover queue when it is asked for: most agents hand nothing over."""
    if name not in _ONLY_WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from otel_aml.recover import takeover

    return getattr(takeover, name)
