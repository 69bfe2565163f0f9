"""The taxonomy: six classes of failure, three other values, and what is known of each.

The single source. The tree, the messages, `otel-aml explain` and the docs are drawn from `TAXONOMY`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class FailureClass(StrEnum):
    """What `failure.class` can hold. The first six are failures, in the order of the tree."""

    TOOL_FAILURE = "tool_failure"
    FORMAT_VIOLATION = "format_violation"
    HALLUCINATION = "hallucination"
    RETRIEVAL_MISS = "retrieval_miss"
    CONTEXT_POLLUTION = "context_pollution"
    TYPOLOGY_MISJUDGE = "typology_misjudge"
    PASS = "pass"  # noqa: S105 - a verdict, no password
    CANCELLED = "cancelled"
    UNCLASSIFIED = "unclassified"


class Severity(StrEnum):
    """How grave a failure is, lightest first."""

    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def weight(self) -> int:
        """The weight shown beside counts (never multiplied into them)."""
        return _WEIGHTS[self]


_WEIGHTS: Final[Mapping[Severity, int]] = MappingProxyType(
    {Severity.MEDIUM: 2, Severity.HIGH: 3, Severity.CRITICAL: 5},
)


class EvalType(StrEnum):
    """Who can tell that a check fired."""

    CODE = "code"
    JUDGE = "judge"
    CODE_AND_HUMAN_SAMPLE = "code + human sampling"


class RecoveryPath(StrEnum):
    """What is done about a failure."""

    AUTO_RETRY = "auto_retry"
    FIX_AND_RETRY = "fix_and_retry"
    HUMAN_TAKEOVER = "human_takeover"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSpec:
    """All that is known of one class.

    Args:
        definition: When the class is given.
        root_cause: Where the fault lies.
        boundary_vs: The classes it is confused with; `core.precedents` parts them.
        eval_type: Who can tell.
        severity: How grave, which also orders the repair queue.
        path: The first step of its recovery.
        path_note: How that path goes on, in words.
        metric: The product metric that the class closes.
    """

    failure_class: FailureClass
    definition: str
    root_cause: str
    boundary_vs: tuple[FailureClass, ...]
    eval_type: EvalType
    severity: Severity
    path: RecoveryPath
    path_note: str
    metric: str

    @property
    def weight(self) -> int:
        """The weight of the severity."""
        return self.severity.weight


_T, _F, _H = FailureClass.TOOL_FAILURE, FailureClass.FORMAT_VIOLATION, FailureClass.HALLUCINATION
_R, _P, _M = FailureClass.RETRIEVAL_MISS, FailureClass.CONTEXT_POLLUTION, FailureClass.TYPOLOGY_MISJUDGE

TAXONOMY: Final[Mapping[FailureClass, FailureSpec]] = MappingProxyType(
    {
        spec.failure_class: spec
        for spec in (
            FailureSpec(
                failure_class=_T,
                definition="a call to something outside the model (tool, retriever, model provider, rule engine, "
                "template renderer) ended in an error, and no later call made it good",
                root_cause="dependency: timeout, rate limit, 5xx, auth, crash",
                boundary_vs=(_F, _H, _R, _P, _M),
                eval_type=EvalType.CODE,
                severity=Severity.HIGH,
                path=RecoveryPath.AUTO_RETRY,
                path_note="while retriable and attempts < N, then human_takeover",
                metric="tool success rate",
            ),
            FailureSpec(
                failure_class=_F,
                definition="what the model wrote breaks a declared contract: the answer is not JSON, a mandatory "
                "field is missing, a tool's arguments do not fit its schema, a tool that does not exist is called",
                root_cause="model output vs. schema",
                boundary_vs=(_T, _H, _R, _P, _M),
                eval_type=EvalType.CODE,
                severity=Severity.MEDIUM,
                path=RecoveryPath.FIX_AND_RETRY,
                path_note="feed the validation errors back, at most M times, then human_takeover",
                metric="format compliance rate",
            ),
            FailureSpec(
                failure_class=_H,
                definition="the answer cites an evidence id (transaction id) that is not in the case",
                root_cause="the model invented evidence",
                boundary_vs=(_T, _F, _R, _P, _M),
                eval_type=EvalType.CODE,
                severity=Severity.CRITICAL,
                path=RecoveryPath.HUMAN_TAKEOVER,
                path_note="always",
                metric="citation traceability",
            ),
            FailureSpec(
                failure_class=_R,
                definition="a note that the case needs is not among the retrieved top-k",
                root_cause="index or query",
                boundary_vs=(_T, _F, _H, _P, _M),
                eval_type=EvalType.CODE,
                severity=Severity.MEDIUM,
                path=RecoveryPath.FIX_AND_RETRY,
                path_note="widen or rewrite the query, at most M times, then human_takeover",
                metric="recall@k on paraphrased queries",
            ),
            FailureSpec(
                failure_class=_P,
                definition="the needed note was retrieved, and the answer ignores or contradicts it",
                root_cause="noise drowned the evidence",
                boundary_vs=(_T, _F, _H, _R, _M),
                eval_type=EvalType.JUDGE,
                severity=Severity.MEDIUM,
                path=RecoveryPath.FIX_AND_RETRY,
                path_note="narrow the query, drop the noise, at most M times, then human_takeover",
                metric="judged context-use rate",
            ),
            FailureSpec(
                failure_class=_M,
                definition="the answer's typology differs from the gold label",
                root_cause="reasoning",
                boundary_vs=(_T, _F, _H, _R, _P),
                eval_type=EvalType.CODE_AND_HUMAN_SAMPLE,
                severity=Severity.CRITICAL,
                path=RecoveryPath.HUMAN_TAKEOVER,
                path_note="always",
                metric="typology recall, precision, false-positive rate",
            ),
        )
    },
)

FAILURES: Final[tuple[FailureClass, ...]] = tuple(TAXONOMY)
"""The six, in the order of the tree."""

OTHER_VALUES: Final[Mapping[FailureClass, str]] = MappingProxyType(
    {
        FailureClass.PASS: "none of the checks that could run found a failure; the coverage says whether that were "
        "all, some or none",
        FailureClass.CANCELLED: "the run was cut before it could fail or finish; never one of the six, never a pass",
        FailureClass.UNCLASSIFIED: "the run is known to be bad and none of the six checks fired",
    },
)


def gravest(classes: Iterable[FailureClass]) -> FailureClass | None:
    """Pick the gravest class; among equals the first in the order of the tree. None of none."""
    return max(
        classes,
        key=lambda failure_class: (TAXONOMY[failure_class].weight, -FAILURES.index(failure_class)),
        default=None,
    )


def prioritize(counts: Mapping[FailureClass, int]) -> tuple[FailureClass, ...]:
    """Order the repair queue: severity first, frequency second, the order of the tree last.

    Args:
        counts: Runs (or findings) by class; classes outside the six and classes without a count are left out.
    """
    return tuple(
        sorted(
            (failure_class for failure_class in FAILURES if counts.get(failure_class, 0) > 0),
            key=lambda failure_class: (-TAXONOMY[failure_class].weight, -counts[failure_class]),
        ),
    )
