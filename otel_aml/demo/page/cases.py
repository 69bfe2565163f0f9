"""The investigations that the demo's page deals: one in which all goes well, and one for each way to fail.

Faults act through the mechanism, as in the rest of the demo; a repair mends the mechanism, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final

from otel_aml.core.recovery import Repair
from otel_aml.demo.cases import CaseKind, draw_case
from otel_aml.demo.desk import fair_desk
from otel_aml.demo.faults import ALWAYS, NOISE, FailingRuleEngine, PollutedRetriever, misleading
from otel_aml.demo.model import Habits
from otel_aml.demo.notes import NOTES

if TYPE_CHECKING:
    from otel_aml.demo.cases import SeededCase
    from otel_aml.demo.desk import Desk
    from otel_aml.demo.page.investigation import Investigation


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCase:
    """A case, and what goes wrong in it.

    Args:
        habits: How the model misbehaves.
        calls_lost: So many calls of the rule engine get no answer.
        is_polluted: The index of notes holds its own search log.
    """

    case: SeededCase
    habits: Habits
    calls_lost: int = 0
    is_polluted: bool = False

    @property
    def id(self) -> str:
        """The case's id."""
        return self.case.file.case_id

    def desk(self, investigation: Investigation) -> Desk:
        """Lay out the desk as it is by now: what was repaired is mended, a service that was away may be back."""
        repairs = set(investigation.repairs)
        habits = replace(self.habits, vague_query=self.habits.vague_query and Repair.WIDEN_QUERY not in repairs)
        desk = fair_desk(habits=habits)
        lost = self.calls_lost - sum(investigation.tries.values())
        if lost > 0:
            desk = replace(desk, rule_engine=FailingRuleEngine(desk.clock, lost))
        if self.is_polluted and Repair.DROP_NOISE not in repairs:
            desk = replace(desk, retriever=PollutedRetriever(NOTES, misleading(self.case)[:NOISE]))
        return desk


_FAIR: Final = Habits(follows_notes=True)
_DEALT: Final = (
    (CaseKind.STRUCTURING, {"habits": _FAIR}),
    (CaseKind.FUNNEL_ACCOUNT, {"habits": _FAIR, "calls_lost": 1}),
    (CaseKind.FAN_OUT, {"habits": replace(_FAIR, dropped_field="where", broken_drafts=1)}),
    (CaseKind.RAPID_MOVEMENT, {"habits": replace(_FAIR, invents=ALWAYS)}),
    (CaseKind.CYCLE, {"habits": replace(_FAIR, vague_query=True)}),
    (CaseKind.FAN_IN, {"habits": Habits(), "is_polluted": True}),
    (CaseKind.GATHER_SCATTER, {"habits": replace(_FAIR, misreads=True)}),
)


def deal_page_cases(seed: int) -> tuple[PageCase, ...]:
    """Deal them; the same for the same seed."""
    return tuple(
        PageCase(case=_drawn(seed, number, kind), **given)  # type: ignore[arg-type]
        for number, (kind, given) in enumerate(_DEALT, start=1)
    )


def _drawn(seed: int, number: int, kind: CaseKind) -> SeededCase:
    """Draw until a case is of the kind."""
    rng = Random(f"{seed}:page:{number}")  # noqa: S311 - chance, not secrecy
    while True:
        case = draw_case(rng, seed=seed, number=number)
        if case.kind is kind:
            return case
