"""The verdict of a run seen twice: while it was live, and again from its exported spans with later facts.

Merged per check: a check that was decided beats one that is unchecked; where both decided, the later facts win. A
cancellation seen live stands unless a check fires: no exported span shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.core.tree import CLEAR, Answer, State, Verdict, ask_all, conclude, fired, ignored_note

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Online:
    """What the processor wrote on the run root.

    Args:
        failure_class: What it named the run.
        states: What each check said; one that is missing was not told.
        first: Where it saw the first failure.
        superseded: Critical classes in answers that a later answer replaced.
        recovered_classes: The classes of the errors that were made good.
        recovered: How many they were.
        cited: How many ids the answer cites; None if not known.
        unresolved: How many of them the case does not hold; None if not known.
        paused: The run waits for a person.
    """

    failure_class: FailureClass
    states: Mapping[FailureClass, State]
    first: Failure | None = None
    superseded: frozenset[FailureClass] = frozenset()
    recovered_classes: frozenset[FailureClass] = frozenset()
    recovered: int = 0
    cited: int | None = None
    unresolved: int | None = None
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merged verdict, and the checks that only the processor decided."""

    verdict: Verdict
    decided_online: frozenset[FailureClass] = frozenset()


def merge(facts: Facts, online: Online | None, *, seen_only_live: bool = False) -> Merged:
    """Classify a run from its exported spans, and keep what only the processor could see.

    Args:
        facts: What the exported spans and later labels say.
        online: What the processor wrote; None if it wrote nothing.
        seen_only_live: The call that it blamed shows no error once exported: a deadline that looks like a cut.
    """
    answers = ask_all(facts)
    if online is None:
        return Merged(verdict=conclude(answers, facts))
    kept = {
        failure_class: _online_answer(failure_class, online)
        for failure_class, answer in zip(FAILURES, answers, strict=True)
        if _is_kept(failure_class, answer, online, seen_only_live=seen_only_live)
    }
    if kept.get(FailureClass.RETRIEVAL_MISS) is CLEAR and facts.context_used is not None:
        kept.setdefault(FailureClass.CONTEXT_POLLUTION, _judged(facts))
    merged = tuple(kept.get(failure_class, answer) for failure_class, answer in zip(FAILURES, answers, strict=True))
    verdict = conclude(merged, _with_live(facts, online))
    if verdict.cited is None or verdict.unresolved is None:
        verdict = replace(verdict, cited=online.cited, unresolved=online.unresolved)
    return Merged(verdict=verdict, decided_online=frozenset(kept))


def _is_kept(failure_class: FailureClass, answer: Answer, online: Online, *, seen_only_live: bool) -> bool:
    state = online.states.get(failure_class, State.UNCHECKED)
    if answer.state is State.UNCHECKED:
        return state is not State.UNCHECKED
    is_blamed = failure_class is FailureClass.TOOL_FAILURE and state is State.FIRED
    return is_blamed and seen_only_live and answer.state is State.CLEAR


def _online_answer(failure_class: FailureClass, online: Online) -> Answer:
    if online.states[failure_class] is State.CLEAR:
        return CLEAR
    is_first = failure_class is online.failure_class and online.first is not None
    return fired(online.first if is_first and online.first is not None else Failure())


def _judged(facts: Facts) -> Answer:
    """Ask the judge's question where only the processor knew that the needed note was retrieved."""
    note = frozenset({"the needed note"})
    return ignored_note(replace(facts, needed_notes=(note,), retrieved_ids=note))


def _with_live(facts: Facts, online: Online) -> Facts:
    """Add to the facts of a replay what no exported span shows."""
    ending = Ending.CANCELLED if online.failure_class is FailureClass.CANCELLED else facts.ending
    more = online.recovered - len(facts.recovered_calls) - len(facts.recovered_outputs)
    unseen = (Failure(),) * max(more, 0)
    missing_outputs = FailureClass.FORMAT_VIOLATION in online.recovered_classes and not facts.recovered_outputs
    missing_calls = FailureClass.TOOL_FAILURE in online.recovered_classes and not facts.recovered_calls
    return replace(
        facts,
        ending=ending,
        paused=facts.paused or online.paused,
        superseded_live=online.superseded,
        recovered_outputs=unseen if missing_outputs else facts.recovered_outputs,
        recovered_calls=unseen if missing_calls and not missing_outputs else facts.recovered_calls,
    )
