"""The six questions, asked in order. Each answers fired, clear or unchecked; the first that fired names the run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.recovery import path_of
from otel_aml.core.taxonomy import FAILURES, TAXONOMY, FailureClass, RecoveryPath, Severity, gravest

if TYPE_CHECKING:
    from collections.abc import Callable


class State(StrEnum):
    """What a check says."""

    FIRED = "fired"
    CLEAR = "clear"
    UNCHECKED = "unchecked"


class Coverage(StrEnum):
    """How many of the six checks were decided."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


class Outcome(StrEnum):
    """What became of the recovery."""

    RECOVERED = "recovered"
    HANDED_OVER = "handed_over"
    EXHAUSTED = "exhausted"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one check says, with its evidence if it fired."""

    state: State
    first: Failure | None = None


CLEAR: Final = Answer(State.CLEAR)
UNCHECKED: Final = Answer(State.UNCHECKED)


def fired(first: Failure) -> Answer:
    """Answer with the evidence that made the check fire."""
    return Answer(State.FIRED, first)


def failed_dependency(facts: Facts) -> Answer:
    """Fire on a call outside the model that ended in an error which nothing later made good."""
    if facts.failed_calls:
        return fired(facts.failed_calls[0])
    return CLEAR if facts.calls_known else UNCHECKED


def broken_contract(facts: Facts) -> Answer:
    """Fire on an output of the model that broke its declared schema for good."""
    if facts.broken_outputs:
        return fired(facts.broken_outputs[0])
    if facts.answer_valid is None:
        return UNCHECKED
    if not facts.answer_valid:
        return fired(Failure(span_id=facts.answer_span_id, error_type="invalid_answer"))
    return CLEAR if facts.calls_known else UNCHECKED


def invented_citation(facts: Facts) -> Answer:
    """Fire on an id that the answer cites though the case does not hold it."""
    if facts.cited_ids is None or facts.evidence_ids is None:
        return UNCHECKED
    if facts.cited_ids <= facts.evidence_ids:
        return CLEAR
    return fired(Failure(span_id=facts.answer_span_id, error_type="unresolved_citation"))


def missing_note(facts: Facts) -> Answer:
    """Fire on a needed note that is not among those retrieved."""
    if facts.needed_notes is None or facts.retrieved_ids is None:
        return UNCHECKED
    if all(alternatives & facts.retrieved_ids for alternatives in facts.needed_notes):
        return CLEAR
    if facts.hides_documents:
        return UNCHECKED
    return fired(Failure(span_id=facts.retrieval_span_id, error_type="note_not_retrieved"))


def ignored_note(facts: Facts) -> Answer:
    """Fire on the judge's word that the answer ignores or contradicts a needed note that was retrieved."""
    if facts.context_used is None or not facts.needed_notes or missing_note(facts) is not CLEAR:
        return UNCHECKED
    if facts.context_used:
        return CLEAR
    return fired(Failure(span_id=facts.answer_span_id, error_type="context_not_used"))


def wrong_typology(facts: Facts) -> Answer:
    """Fire on a typology that differs from the gold label."""
    if facts.typology is None or facts.gold_typology is None:
        return UNCHECKED
    if facts.typology == facts.gold_typology:
        return CLEAR
    return fired(Failure(span_id=facts.answer_span_id, error_type="typology_differs"))


@dataclass(frozen=True, slots=True)
class Branch:
    """One question of the tree.

    Args:
        failure_class: The class that it names.
        question: The question in words.
        layer: The layer of the tree, from cheap and certain to dear and semantic.
        ask: Answers it.
    """

    failure_class: FailureClass
    question: str
    layer: str
    ask: Callable[[Facts], Answer]


BRANCHES: Final[tuple[Branch, ...]] = (
    Branch(
        FailureClass.TOOL_FAILURE,
        "Did a call outside the model end in an error that nothing later made good?",
        "deterministic",
        failed_dependency,
    ),
    Branch(
        FailureClass.FORMAT_VIOLATION,
        "Does what the model wrote break its declared schema?",
        "deterministic",
        broken_contract,
    ),
    Branch(
        FailureClass.HALLUCINATION,
        "Does the answer cite an id that the case does not hold?",
        "evidence",
        invented_citation,
    ),
    Branch(
        FailureClass.RETRIEVAL_MISS,
        "Is a needed note missing from the retrieved top-k?",
        "retrieval",
        missing_note,
    ),
    Branch(
        FailureClass.CONTEXT_POLLUTION,
        "Was it retrieved, and did the answer ignore or contradict it (the judge's word)?",
        "retrieval",
        ignored_note,
    ),
    Branch(
        FailureClass.TYPOLOGY_MISJUDGE,
        "Does the predicted typology differ from the gold label?",
        "semantic",
        wrong_typology,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The one verdict of a run.

    Args:
        failure_class: One of the nine values.
        severity: Of the gravest finding; None on a pass.
        findings: Every check that fired, in the order of the tree, then what was recovered
            (`tool_failure:recovered`) or replaced by a later answer (`hallucination:superseded`).
        answers: What each of the six checks says.
        first: Where and how the first failure was seen; of an unclassified run where it broke; else None.
        path: What to do, chosen from the gravest finding; None where nothing failed.
        outcome: What became of it so far.
        attempts: Attempts made after the first.
        circuit_state: Of the dependency that failed, or whose failure was made good; empty where none guards it.
        recovered: How many errors of the run were made good.
        cited: How many ids the answer cites; None if not known.
        unresolved: How many of them the case does not hold; None if not known.
    """

    failure_class: FailureClass
    severity: Severity | None
    findings: tuple[str, ...]
    answers: tuple[Answer, ...]
    first: Failure | None
    path: RecoveryPath | None
    outcome: Outcome
    attempts: int
    recovered: int
    paused: bool
    incomplete: bool
    cited: int | None = None
    unresolved: int | None = None
    circuit_state: str = ""

    @property
    def unchecked(self) -> tuple[FailureClass, ...]:
        """The checks that could not run, in the order of the tree."""
        return tuple(
            failure_class
            for failure_class, answer in zip(FAILURES, self.answers, strict=True)
            if answer.state is State.UNCHECKED
        )

    @property
    def coverage(self) -> Coverage:
        """Whether all, some or none of the checks were decided."""
        unchecked = len(self.unchecked)
        if unchecked == len(FAILURES):
            return Coverage.NONE
        return Coverage.PARTIAL if unchecked else Coverage.FULL


def ask_all(facts: Facts) -> tuple[Answer, ...]:
    """Ask every question of the tree, in order."""
    return tuple(branch.ask(facts) for branch in BRANCHES)


def classify(facts: Facts) -> Verdict:
    """Ask every question; the first that fired names the run, the gravest decides the path."""
    return conclude(ask_all(facts), facts)


def conclude(answers: tuple[Answer, ...], facts: Facts) -> Verdict:
    """Draw the verdict from the answers of the six checks.

    Args:
        answers: One a check, in the order of the tree; usually `ask_all(facts)`, or that merged with the answers
            that the run got while it was live.
        facts: What else is known of the run.
    """
    standing = tuple(
        failure_class for failure_class, answer in zip(FAILURES, answers, strict=True) if answer.state is State.FIRED
    )
    first = next((answer.first for answer in answers if answer.state is State.FIRED), None)
    replaced = _replaced(facts, standing)
    recovered = facts.recovered_calls + facts.recovered_outputs
    failure_class = standing[0] if standing else _without_failure(facts.ending)
    grave = gravest((*standing, *replaced))
    attempts = _attempts(first, recovered)
    unresolved = None
    if facts.cited_ids is not None and facts.evidence_ids is not None:
        unresolved = len(facts.cited_ids - facts.evidence_ids)
    if failure_class is FailureClass.UNCLASSIFIED:
        first = facts.broken_at
    return Verdict(
        failure_class=failure_class,
        severity=TAXONOMY[grave].severity if grave else None,
        findings=_findings(standing, replaced, facts),
        answers=answers,
        first=first,
        path=_path(failure_class, grave, first, facts),
        outcome=_outcome(
            failure_class,
            attempts,
            handed_over=facts.paused or facts.handed_over,
            any_recovered=bool(recovered),
        ),
        attempts=attempts,
        recovered=sum(failure.errors for failure in recovered),
        paused=facts.paused,
        incomplete=facts.incomplete,
        cited=None if facts.cited_ids is None else len(facts.cited_ids),
        unresolved=unresolved,
        circuit_state=first.circuit_state if first is not None else _circuit_state(recovered),
    )


def _without_failure(ending: Ending) -> FailureClass:
    if ending is Ending.CANCELLED:
        return FailureClass.CANCELLED
    return FailureClass.UNCLASSIFIED if ending is Ending.BROKEN else FailureClass.PASS


def _replaced(facts: Facts, standing: tuple[FailureClass, ...]) -> tuple[FailureClass, ...]:
    """Find the critical findings in earlier answers that a later answer replaced."""
    invented = facts.evidence_ids is not None and not facts.superseded_ids <= facts.evidence_ids
    misjudged = facts.gold_typology is not None and not facts.superseded_typologies <= {facts.gold_typology}
    candidates = ((FailureClass.HALLUCINATION, invented), (FailureClass.TYPOLOGY_MISJUDGE, misjudged))
    return tuple(
        found
        for found, is_found in candidates
        if (is_found or found in facts.superseded_live) and found not in standing
    )


def _findings(
    standing: tuple[FailureClass, ...],
    replaced: tuple[FailureClass, ...],
    facts: Facts,
) -> tuple[str, ...]:
    notes: dict[FailureClass, list[str]] = {failure_class: [] for failure_class in FAILURES}
    for failure_class in standing:
        notes[failure_class].append(str(failure_class))
    if facts.recovered_calls:
        notes[FailureClass.TOOL_FAILURE].append(f"{FailureClass.TOOL_FAILURE}:recovered")
    if facts.recovered_outputs:
        notes[FailureClass.FORMAT_VIOLATION].append(f"{FailureClass.FORMAT_VIOLATION}:recovered")
    for failure_class in replaced:
        notes[failure_class].append(f"{failure_class}:superseded")
    return tuple(note for failure_class in FAILURES for note in notes[failure_class])


def _attempts(first: Failure | None, recovered: tuple[Failure, ...]) -> int:
    if first is not None:
        return first.attempts
    return max((failure.attempts for failure in recovered), default=0)


def _circuit_state(recovered: tuple[Failure, ...]) -> str:
    return next((failure.circuit_state for failure in reversed(recovered) if failure.circuit_state), "")


def _path(
    failure_class: FailureClass,
    grave: FailureClass | None,
    first: Failure | None,
    facts: Facts,
) -> RecoveryPath | None:
    if grave is None or first is None:
        return _path_without_failure(failure_class, grave, facts)
    if first.needs_person:
        return RecoveryPath.HUMAN_TAKEOVER
    return path_of(grave, retriable=first.retriable, attempt=first.attempts)


def _path_without_failure(
    failure_class: FailureClass,
    grave: FailureClass | None,
    facts: Facts,
) -> RecoveryPath | None:
    """Say what is done where no check fired: a person for what is bad or was replaced, else what was done already."""
    if grave is not None or failure_class is FailureClass.UNCLASSIFIED:
        return RecoveryPath.HUMAN_TAKEOVER
    if facts.recovered_calls:
        return RecoveryPath.AUTO_RETRY
    return RecoveryPath.FIX_AND_RETRY if facts.recovered_outputs else None


def _outcome(failure_class: FailureClass, attempts: int, *, handed_over: bool, any_recovered: bool) -> Outcome:
    if failure_class not in TAXONOMY:
        return Outcome.RECOVERED if any_recovered and failure_class is FailureClass.PASS else Outcome.NONE
    if handed_over:
        return Outcome.HANDED_OVER
    return Outcome.EXHAUSTED if attempts else Outcome.NONE
