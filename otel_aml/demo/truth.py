"""What the verdict on a case must be, said by the generator from its plan, before anything runs.

The plan says what goes wrong; here stands what follows from it by the taxonomy once labels and the judge's words are
merged in. Tests hold the demo's verdicts against it, run by run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.demo.faults import CUTS, Ending, FormFault, ProviderFault, RetrieverFault, RulesFault

if TYPE_CHECKING:
    from otel_aml.demo.faults import DemoCase, FaultPlan

MISSES: Final = frozenset({RetrieverFault.STALE_INDEX, RetrieverFault.VAGUE_QUERY})
LASTING: Final = frozenset({FormFault.DROPS_FIELD, FormFault.PROSE})
PASSING: Final = frozenset({FormFault.REPAIRED, FormFault.LUCKY_REPAIR})


@dataclass(frozen=True, slots=True)
class Truth:
    """The verdict that a case must get.

    Args:
        findings: As in `failure.findings`: in the order of the tree, with `:recovered` and `:superseded`.
    """

    failure_class: FailureClass
    findings: tuple[str, ...]
    paused: bool

    @property
    def recovered(self) -> bool:
        """Whether an error of the run was made good."""
        return any(finding.endswith(":recovered") for finding in self.findings)


def truth(demo_case: DemoCase) -> Truth:
    """Say what the verdict on a case must be."""
    plan = demo_case.plan
    findings = _findings(plan)
    standing = next((found for found in FAILURES if found in findings), None)
    return Truth(standing or _without_failure(plan), findings, plan.ending is Ending.APPROVAL)


def _without_failure(plan: FaultPlan) -> FailureClass:
    if plan.ending in CUTS:
        return FailureClass.CANCELLED
    return FailureClass.UNCLASSIFIED if plan.ending is Ending.PAGES_ON else FailureClass.PASS


def _findings(plan: FaultPlan) -> tuple[str, ...]:
    fired = {
        f"{FailureClass.TOOL_FAILURE}": _tool_failed(plan),
        f"{FailureClass.TOOL_FAILURE}:recovered": _tool_recovered(plan),
        f"{FailureClass.FORMAT_VIOLATION}": _answers(plan) and plan.form in LASTING,
        f"{FailureClass.FORMAT_VIOLATION}:recovered": _form_recovered(plan),
        f"{FailureClass.HALLUCINATION}": _invents(plan),
        f"{FailureClass.HALLUCINATION}:superseded": _invention_replaced(plan),
        f"{FailureClass.RETRIEVAL_MISS}": plan.retriever in MISSES,
        f"{FailureClass.CONTEXT_POLLUTION}": _answers(plan) and plan.retriever is RetrieverFault.POLLUTED_INDEX,
        f"{FailureClass.TYPOLOGY_MISJUDGE}": _misjudges(plan),
    }
    return tuple(finding for finding, has_fired in fired.items() if has_fired)


def _drafts(plan: FaultPlan) -> bool:
    """Say whether the run comes as far as the draft."""
    return plan.ending is None


def _answers(plan: FaultPlan) -> bool:
    return _drafts(plan) and plan.provider is not ProviderFault.DOWN


def _is_readable(plan: FaultPlan) -> bool:
    """Say whether citations and typology can be read from the answer."""
    return _answers(plan) and plan.form is not FormFault.PROSE


def _is_blind(plan: FaultPlan) -> bool:
    """Say whether the rule engine was asked and gave nothing."""
    return plan.rules is RulesFault.DOWN


def _tool_failed(plan: FaultPlan) -> bool:
    provider_is_down = _drafts(plan) and plan.provider is ProviderFault.DOWN
    return plan.retriever is RetrieverFault.DOWN or _is_blind(plan) or provider_is_down


def _tool_recovered(plan: FaultPlan) -> bool:
    """Say whether a retry worked, or a smaller model stepped in when the larger one's window was used up."""
    a_retry_worked = plan.retriever is RetrieverFault.DOWN_ONCE or plan.rules is RulesFault.DOWN_ONCE
    provider_had_room = _drafts(plan) and plan.provider is ProviderFault.BUSY_ONCE
    fallback_stepped_in = _is_blind(plan) and (_answers(plan) or plan.ending is Ending.PAGES_ON)
    return a_retry_worked or provider_had_room or fallback_stepped_in


def _form_recovered(plan: FaultPlan) -> bool:
    return plan.rules is RulesFault.BAD_ARGUMENTS_ONCE or (_answers(plan) and plan.form in PASSING)


def _invents(plan: FaultPlan) -> bool:
    return _is_readable(plan) and (plan.invents or (_is_blind(plan) and plan.invents_when_blind))


def _invention_replaced(plan: FaultPlan) -> bool:
    return _answers(plan) and plan.form is FormFault.LUCKY_REPAIR and not _invents(plan)


def _misjudges(plan: FaultPlan) -> bool:
    misled = plan.retriever in {*MISSES, RetrieverFault.POLLUTED_INDEX} and plan.follows_notes
    return _is_readable(plan) and (plan.misreads or misled)
