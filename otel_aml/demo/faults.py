"""Seeded faults: what goes wrong in which case, and the broken thing that makes it go wrong.

Faults act through the mechanism: a tool that is down really raises, a stale index really lacks the note. Nobody here
writes a verdict. Groups are dealt independently of each other, each from a shuffled deck, so that every fault gets
its share of the cases and no two of them go together, but for what one drags along (`SEEDED_CASCADES`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from otel_aml.core.taxonomy import FailureClass
from otel_aml.demo.cases import SeededCase, Typology, draw_cases
from otel_aml.demo.desk import Desk, fair_desk, rule_engine
from otel_aml.demo.model import Habits
from otel_aml.demo.notes import BY_ID, NOTES, Note
from otel_aml.demo.provider import Limits
from otel_aml.demo.retriever import TOP_K, Hit, Retriever, match_expression
from otel_aml.demo.rules import observe
from otel_aml.demo.signs import PHRASES, Sign, signs_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from otel_aml.demo.cases import CaseFile
    from otel_aml.demo.clock import Clock
    from otel_aml.demo.rules import Assessment, RuleArguments

ALWAYS: Final = 1_000
TIMEOUT_SECONDS: Final = 4.0
NOISE: Final = 3
"""So many entries of a search log get into a polluted index, as many as the model reads."""
WORDS_WHEN_DOWN: Final = 30
SIMULATED: Final = "simulated by the demo"

SEEDED_CASCADES: Final[tuple[tuple[FailureClass, FailureClass], ...]] = (
    (FailureClass.TOOL_FAILURE, FailureClass.HALLUCINATION),
    (FailureClass.RETRIEVAL_MISS, FailureClass.TYPOLOGY_MISJUDGE),
    (FailureClass.CONTEXT_POLLUTION, FailureClass.TYPOLOGY_MISJUDGE),
)
"""Which class drags which along; all other pairs of faults are independent."""


class RetrieverFault(StrEnum):
    """What can be wrong with the retrieval."""

    DOWN = "down"
    DOWN_ONCE = "down_once"
    STALE_INDEX = "stale_index"
    VAGUE_QUERY = "vague_query"
    POLLUTED_INDEX = "polluted_index"


class RulesFault(StrEnum):
    """What can be wrong with the rule engine, or with how it is called."""

    DOWN = "down"
    DOWN_ONCE = "down_once"
    BAD_ARGUMENTS_ONCE = "bad_arguments_once"


class ProviderFault(StrEnum):
    """What can be wrong with the model's provider."""

    DOWN = "down"
    BUSY_ONCE = "busy_once"


class FormFault(StrEnum):
    """What can be wrong with the form of the draft."""

    DROPS_FIELD = "drops_field"
    PROSE = "prose"
    REPAIRED = "repaired"
    LUCKY_REPAIR = "lucky_repair"
    """The first draft lacks a field and cites an invented transaction; the second happens to be right."""


class Ending(StrEnum):
    """How a run can end other than with its answer."""

    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    APPROVAL = "approval"
    PAGES_ON = "pages_on"


CUTS: Final = frozenset({Ending.CANCELLED, Ending.INTERRUPTED})
"""Endings that cut the run at the rule engine, which then has no other fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """What goes wrong in one case; by default nothing.

    Args:
        invents: The model adds an invented citation.
        misreads: The model settles for the wrong typology.
        invents_when_blind: The model invents when the rule engine gave it nothing to cite.
        follows_notes: The model takes the typology from the notes, right or wrong.
        dropped_field: What a broken draft lacks.
        readings: The typologies that a polluted index argues for.
    """

    retriever: RetrieverFault | None = None
    rules: RulesFault | None = None
    provider: ProviderFault | None = None
    form: FormFault | None = None
    ending: Ending | None = None
    invents: bool = False
    misreads: bool = False
    invents_when_blind: bool = False
    follows_notes: bool = False
    dropped_field: str = "where"
    readings: tuple[Typology, ...] = ()


@dataclass(frozen=True, slots=True)
class DemoCase:
    """A case and what goes wrong in it."""

    case: SeededCase
    plan: FaultPlan

    @property
    def case_id(self) -> str:
        """The case's id."""
        return self.case.file.case_id


RETRIEVER_RATES: Final[Mapping[RetrieverFault, float]] = MappingProxyType(
    {
        RetrieverFault.DOWN: 0.02,
        RetrieverFault.DOWN_ONCE: 0.04,
        RetrieverFault.STALE_INDEX: 0.06,
        RetrieverFault.VAGUE_QUERY: 0.05,
        RetrieverFault.POLLUTED_INDEX: 0.10,
    },
)
RULES_RATES: Final[Mapping[RulesFault, float]] = MappingProxyType(
    {RulesFault.DOWN: 0.10, RulesFault.DOWN_ONCE: 0.05, RulesFault.BAD_ARGUMENTS_ONCE: 0.04},
)
PROVIDER_RATES: Final[Mapping[ProviderFault, float]] = MappingProxyType(
    {ProviderFault.DOWN: 0.02, ProviderFault.BUSY_ONCE: 0.05},
)
FORM_RATES: Final[Mapping[FormFault, float]] = MappingProxyType(
    {FormFault.DROPS_FIELD: 0.04, FormFault.PROSE: 0.02, FormFault.REPAIRED: 0.05, FormFault.LUCKY_REPAIR: 0.015},
)
ENDING_RATES: Final[Mapping[Ending, float]] = MappingProxyType(
    {Ending.CANCELLED: 0.015, Ending.INTERRUPTED: 0.01, Ending.APPROVAL: 0.03, Ending.PAGES_ON: 0.02},
)
INVENTS_RATE: Final = 0.05
MISREADS_RATE: Final = 0.06
DRAGS_RATE: Final = 0.8
"""How often a model follows its notes, and how often it invents when it is blind."""

DROPPABLE: Final = ("notice", "who", "what", "when", "where")
"""Fields that a broken draft can lack; its reasoning, label and citations stay."""

F = TypeVar("F", bound=StrEnum)


def _quota(rate: float, count: int) -> int:
    return min(count, max(1, round(rate * count)))


def _deal(
    rng: Random,
    rates: Mapping[F, float],
    cases: Sequence[SeededCase],
    *,
    suits: Callable[[F, SeededCase], bool] = lambda _fault, _case: True,
) -> tuple[F | None, ...]:
    """Deal each fault of a group to its share of the cases that it suits, at most one to a case."""
    dealt: list[F | None] = [None] * len(cases)
    deck = list(range(len(cases)))
    rng.shuffle(deck)
    for fault, rate in rates.items():
        free = [index for index in deck if dealt[index] is None and suits(fault, cases[index])]
        for index in free[: _quota(rate, len(cases))]:
            dealt[index] = fault
    return tuple(dealt)


def _deal_yes(rng: Random, rate: float, count: int) -> tuple[bool, ...]:
    deck = [index < _quota(rate, count) for index in range(count)]
    rng.shuffle(deck)
    return tuple(deck)


def _suits_retrieval(fault: RetrieverFault, case: SeededCase) -> bool:
    """Say whether a fault of the retrieval matters: where a note is needed; a vague query where it misleads, too."""
    if fault in {RetrieverFault.DOWN, RetrieverFault.DOWN_ONCE}:
        return True
    return bool(case.needed_notes) and (fault is not RetrieverFault.VAGUE_QUERY or case.typology is not Typology.NONE)


def misleading(case: SeededCase) -> tuple[Typology, ...]:
    """Name the typologies whose notes share no sign with a case or with the notes it needs."""
    shared = frozenset(observe(case.file)).union(*(signs_in(BY_ID[needed].text) for needed in case.needed_notes))
    return tuple(
        note.typology
        for note in NOTES
        if note.typology not in {None, Typology.NONE} and note.typology and not signs_in(note.text) & shared
    )


def _readings(rng: Random, case: SeededCase) -> tuple[Typology, ...]:
    return tuple(rng.sample(misleading(case), NOISE))


def deal(seed: int, count: int) -> tuple[DemoCase, ...]:
    """Draw cases and deal out what goes wrong in them; the same for the same seed and count."""
    cases = draw_cases(Random(f"{seed}:cases"), seed=seed, count=count)  # noqa: S311 - chance, not secrecy
    rng = Random(f"{seed}:faults")  # noqa: S311 - chance, not secrecy
    retriever = _deal(rng, RETRIEVER_RATES, cases, suits=_suits_retrieval)
    rules = _deal(rng, RULES_RATES, cases)
    provider = _deal(rng, PROVIDER_RATES, cases)
    form = _deal(rng, FORM_RATES, cases)
    ending = _deal(rng, ENDING_RATES, cases)
    invents = _deal_yes(rng, INVENTS_RATE, count)
    misreads = _deal_yes(rng, MISREADS_RATE, count)
    blind = _deal_yes(rng, DRAGS_RATE, count)
    follows = _deal_yes(rng, DRAGS_RATE, count)
    return tuple(
        DemoCase(
            case,
            FaultPlan(
                retriever=retriever[index],
                rules=None if ending[index] in CUTS else rules[index],
                provider=provider[index],
                form=form[index],
                ending=ending[index],
                invents=invents[index],
                misreads=misreads[index],
                invents_when_blind=blind[index],
                follows_notes=follows[index],
                dropped_field=rng.choice(DROPPABLE),
                readings=_readings(rng, case) if retriever[index] is RetrieverFault.POLLUTED_INDEX else (),
            ),
        )
        for index, case in enumerate(cases)
    )


@dataclass(slots=True)
class FailingRetriever:
    """Cannot be reached, so many times."""

    inner: Retriever
    clock: Clock
    failures_left: int

    def search(self, query: str, *, top_k: int = TOP_K) -> tuple[Hit, ...]:
        """Fail or find."""
        if self.failures_left > 0:
            self.failures_left -= 1
            self.clock.wait(1.0)
            raise ConnectionError("the index of notes cannot be reached")
        return self.inner.search(query, top_k=top_k)


@dataclass(frozen=True, slots=True)
class PollutedRetriever:
    """Has its own search log in the index: entries that repeat the query and argue for something else."""

    shelf: tuple[Note, ...]
    readings: tuple[Typology, ...]

    def search(self, query: str, *, top_k: int = TOP_K) -> tuple[Hit, ...]:
        """Find notes, the log's entries first."""
        return Retriever((*self.shelf, *log_entries(query, self.readings))).search(query, top_k=top_k)


def log_entries(query: str, readings: Iterable[Typology]) -> tuple[Note, ...]:
    """Write the entries of a search log: the words of the query, then what somebody took the case for."""
    words = " ".join(sorted(match_expression(query).replace('"', "").split(" OR ")))
    signs = {note.typology: signs_in(note.text) for note in NOTES}
    return tuple(
        Note(
            f"log-{number:02d}",
            "Search log",
            reading,
            f"{words}. Closed earlier: {'; '.join(PHRASES[sign] for sign in Sign if sign in signs[reading])}.",
        )
        for number, reading in enumerate(readings, start=1)
    )


@dataclass(slots=True)
class FailingRuleEngine:
    """Does not answer in time, so many times."""

    clock: Clock
    failures_left: int

    def __call__(self, file: CaseFile, arguments: RuleArguments) -> Assessment:
        """Time out or assess."""
        if self.failures_left > 0:
            self.failures_left -= 1
            self.clock.wait(TIMEOUT_SECONDS)
            raise TimeoutError(f"the rule engine gave no answer within {TIMEOUT_SECONDS:.0f} s")
        return rule_engine(file, arguments)


@dataclass(frozen=True, slots=True)
class CutRuleEngine:
    """Is where the run stands when somebody cuts it; the cut is marked, so that a real one is not mistaken for it."""

    cut: type[BaseException]

    def __call__(self, file: CaseFile, arguments: RuleArguments) -> Assessment:  # noqa: ARG002 - never looked at
        """Raise what cuts the run."""
        raise self.cut(SIMULATED)


def habits_of(plan: FaultPlan) -> Habits:
    """Say how the model behaves under a plan."""
    form = plan.form
    once = int(form in {FormFault.REPAIRED, FormFault.LUCKY_REPAIR})
    return Habits(
        follows_notes=plan.follows_notes,
        vague_query=plan.retriever is RetrieverFault.VAGUE_QUERY,
        bad_arguments=int(plan.rules is RulesFault.BAD_ARGUMENTS_ONCE),
        pages_on=plan.ending is Ending.PAGES_ON,
        dropped_field=plan.dropped_field,
        writes_prose=form is FormFault.PROSE,
        broken_drafts=ALWAYS if form in {FormFault.DROPS_FIELD, FormFault.PROSE} else once,
        invents=ALWAYS if plan.invents else int(form is FormFault.LUCKY_REPAIR),
        invents_when_blind=plan.invents_when_blind,
        misreads=plan.misreads,
    )


def limits_of(plan: FaultPlan) -> Limits:
    """Say what the provider allows under a plan."""
    return Limits(
        words_per_call=WORDS_WHEN_DOWN if plan.provider is ProviderFault.DOWN else ALWAYS * ALWAYS,
        busy_calls=int(plan.provider is ProviderFault.BUSY_ONCE),
    )


def desk_for(demo_case: DemoCase) -> Desk:
    """Lay out the desk of a case, with what is broken in it."""
    plan = demo_case.plan
    desk = fair_desk(habits=habits_of(plan), limits=limits_of(plan))
    return _break_rules(_break_retrieval(desk, demo_case), plan)


def _break_retrieval(desk: Desk, demo_case: DemoCase) -> Desk:
    plan, needed = demo_case.plan, demo_case.case.needed_notes
    match plan.retriever:
        case RetrieverFault.DOWN:
            return replace(desk, retriever=FailingRetriever(Retriever(NOTES), desk.clock, ALWAYS))
        case RetrieverFault.DOWN_ONCE:
            return replace(desk, retriever=FailingRetriever(Retriever(NOTES), desk.clock, 1))
        case RetrieverFault.STALE_INDEX:
            shelf = tuple(note for note in NOTES if note.note_id not in needed)
            return replace(desk, retriever=Retriever(shelf))
        case RetrieverFault.POLLUTED_INDEX:
            return replace(desk, retriever=PollutedRetriever(NOTES, plan.readings))
        case RetrieverFault.VAGUE_QUERY | None:
            return desk


def _break_rules(desk: Desk, plan: FaultPlan) -> Desk:
    desk = replace(desk, needs_approval=plan.ending is Ending.APPROVAL)
    if plan.ending is Ending.CANCELLED:
        return replace(desk, rule_engine=CutRuleEngine(asyncio.CancelledError))
    if plan.ending is Ending.INTERRUPTED:
        return replace(desk, rule_engine=CutRuleEngine(KeyboardInterrupt))
    if plan.rules in {RulesFault.DOWN, RulesFault.DOWN_ONCE}:
        times = ALWAYS if plan.rules is RulesFault.DOWN else 1
        return replace(desk, rule_engine=FailingRuleEngine(desk.clock, times))
    return desk
