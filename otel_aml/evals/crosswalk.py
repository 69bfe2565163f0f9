"""The six classes in the words of other taxonomies, and back. Names are facts; how they meet is our reading.

A name that is not in the list is unknown, and stays so. A meeting is `weak` where the two overlap only in part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from otel_aml.core.taxonomy import FailureClass

if TYPE_CHECKING:
    from collections.abc import Iterator

_T, _F, _H = FailureClass.TOOL_FAILURE, FailureClass.FORMAT_VIOLATION, FailureClass.HALLUCINATION
_R, _P, _M = FailureClass.RETRIEVAL_MISS, FailureClass.CONTEXT_POLLUTION, FailureClass.TYPOLOGY_MISJUDGE
_NO_LETTER: Final = re.compile(r"[\W_]+")


class Scheme(StrEnum):
    """A taxonomy of others."""

    TRAIL = "TRAIL"
    MAST = "MAST"
    AGENT_RX = "AgentRx"
    AGENT_ERROR_TAXONOMY = "AgentErrorTaxonomy"


SOURCES: Final = {
    Scheme.TRAIL: "arXiv 2505.08638",
    Scheme.MAST: "arXiv 2503.13657",
    Scheme.AGENT_RX: "arXiv 2602.02475, and the ten categories of its repository (commit 1e3080b)",
    Scheme.AGENT_ERROR_TAXONOMY: "arXiv 2509.25370, in the words of its benchmark AgentErrorBench",
}


@dataclass(frozen=True, slots=True)
class Meeting:
    """A name of another taxonomy, and our class; None where it lies outside the six.

    Args:
        weak: The two overlap only in part.
    """

    scheme: Scheme
    name: str
    failure_class: FailureClass | None
    weak: bool = False

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "scheme": str(self.scheme),
            "name": self.name,
            "class": None if self.failure_class is None else str(self.failure_class),
            "weak": self.weak,
            "source": SOURCES[self.scheme],
        }


_STRONG: Final[dict[Scheme, dict[FailureClass | None, tuple[str, ...]]]] = {
    Scheme.TRAIL: {
        _T: (
            "Environment Setup Errors",
            "Rate Limiting",
            "Authentication Errors",
            "Service Errors",
            "Resource Not Found",
            "Resource Exhaustion",
            "Timeout Issues",
            "Tool Definition Issues",
        ),
        _F: ("Formatting Errors",),
        _H: ("Language-only", "Tool-related"),
        _R: ("Poor Information Retrieval",),
        _P: ("Context Handling Failures", "Tool Output Misinterpretation", "Incorrect Memory Usage"),
        None: (
            "Instruction Non-compliance",
            "Goal Deviation",
            "Resource Abuse",
            "Task Orchestration",
            "Tool Selection Errors",
        ),
    },
    Scheme.MAST: {
        _P: (
            "FM-1.4 Loss of conversation history",
            "FM-2.1 Conversation reset",
            "FM-2.5 Ignored other agent's input",
        ),
        None: (
            "FM-1.1 Disobey task specification",
            "FM-1.2 Disobey role specification",
            "FM-1.3 Step repetition",
            "FM-1.5 Unaware of termination conditions",
            "FM-2.2 Fail to ask for clarification",
            "FM-2.3 Task derailment",
            "FM-2.4 Information withholding",
            "FM-3.1 Premature termination",
        ),
    },
    Scheme.AGENT_RX: {
        _T: ("System Failure",),
        _F: ("Invalid Invocation",),
        _H: ("Invention of New Information",),
        _P: ("Misinterpretation of Tool Output",),
        None: (
            "Instruction/Plan Adherence Failure",
            "Underspecified User Intent",
            "Intent Not Supported",
            "Guardrails Triggered",
            "Inconclusive",
        ),
    },
    Scheme.AGENT_ERROR_TAXONOMY: {
        _T: ("tool_execution_error", "environment_error", "llm_limit"),
        _F: ("format_error", "invalid_action", "parameter_error"),
        _H: ("hallucination",),
        _R: ("memory_retrieval_failure",),
        _P: ("over_simplification", "outcome_misinterpretation"),
        None: ("constraint_ignorance", "impossible_action", "inefficient_plan", "misalignment", "step_limit"),
    },
}
_WEAK: Final[dict[Scheme, dict[FailureClass, tuple[str, ...]]]] = {
    Scheme.TRAIL: {_M: ("Incorrect Problem Identification",)},
    Scheme.MAST: {
        _H: ("FM-2.6 Reasoning-action mismatch",),
        _M: ("FM-3.2 No or incomplete verification", "FM-3.3 Incorrect verification"),
    },
    Scheme.AGENT_RX: {_M: ("Intent-Plan Misalignment",)},
    Scheme.AGENT_ERROR_TAXONOMY: {_M: ("progress_misjudge", "causal_misattribution")},
}


def _all() -> Iterator[Meeting]:
    for scheme in Scheme:
        for failure_class, names in _STRONG[scheme].items():
            yield from (Meeting(scheme, name, failure_class) for name in names)
        for weak_class, names in _WEAK[scheme].items():
            yield from (Meeting(scheme, name, weak_class, weak=True) for name in names)


MEETINGS: Final = tuple(_all())


def names_of(failure_class: FailureClass) -> tuple[Meeting, ...]:
    """Say what others call a class; nothing where they have no word for it."""
    return tuple(each for each in MEETINGS if each.failure_class is failure_class)


def class_of(name: str, scheme: Scheme | None = None) -> tuple[Meeting, ...]:
    """Say which class a name of others belongs to; nothing where the name is unknown.

    Args:
        name: As the other taxonomy writes it, whatever the case and the punctuation; of MAST the number does (`1.4`).
        scheme: Only this taxonomy.
    """
    folded = _folded(name)
    return tuple(
        each for each in MEETINGS if (scheme is None or each.scheme is scheme) and folded and folded in _keys(each)
    )


def _keys(meeting: Meeting) -> frozenset[str]:
    keys = {_folded(meeting.name)}
    if meeting.scheme is Scheme.MAST:
        number, _, words = meeting.name.partition(" ")
        keys |= {_folded(number), _folded(number.removeprefix("FM-")), _folded(words)}
    return frozenset(keys)


def _folded(name: str) -> str:
    return _NO_LETTER.sub(" ", name.casefold()).strip()
