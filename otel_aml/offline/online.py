"""The verdict that a run got while it was live, read back from its span and merged with the replay, check by check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import values
from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.taxonomy import FAILURES, FailureClass, RecoveryPath
from otel_aml.core.tree import CLEAR, UNCHECKED, Answer, Outcome, State, Verdict, ask_all, conclude, fired, ignored_note
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

REPLAY: Final = "replay"
ONLINE: Final = "online"
_SUPERSEDED: Final = ":superseded"
_RECOVERED: Final = ":recovered"
_NO_ANSWER: Final = "no_answer"
_NOT_TOLD: Final = "not told"
_ENDINGS: Final = {FailureClass.CANCELLED: Ending.CANCELLED, FailureClass.UNCLASSIFIED: Ending.BROKEN}
_MISS: Final = FAILURES.index(FailureClass.RETRIEVAL_MISS)
_POLLUTION: Final = FAILURES.index(FailureClass.CONTEXT_POLLUTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Online:
    """A verdict as attributes.

    Args:
        unchecked: None where it was not written: then only the named class is decided.
        first: Where the first failure was seen, as far as it was written.
        outcome: As written, also by what came after the verdict.
    """

    failure_class: FailureClass
    findings: tuple[str, ...] = ()
    unchecked: tuple[str, ...] | None = None
    first: Failure | None = None
    outcome: str = ""
    recovered: int = 0
    paused: bool = False
    incomplete: bool = False

    def answer(self, failure_class: FailureClass) -> Answer:
        """Say what the verdict says of one check."""
        if failure_class in self.findings or failure_class is self.failure_class:
            is_first = failure_class is self.failure_class
            return fired((self.first if is_first else None) or Failure())
        if self.unchecked is None or failure_class in self.unchecked:
            return UNCHECKED
        return CLEAR


def read_online(attributes: Mapping[str, Any]) -> Online | None:
    """Read the verdict on a span; None if it carries none."""
    written = values.text(attributes.get(names.CLASS))
    if written is None:
        return None
    try:
        failure_class = FailureClass(written)
    except ValueError:
        return None
    path = values.text(attributes.get(names.PATH)) or ""
    return Online(
        failure_class=failure_class,
        findings=_texts(attributes.get(names.FINDINGS)) or (),
        unchecked=_texts(attributes.get(names.UNCHECKED)),
        first=Failure(
            span_id=values.text(attributes.get(names.FIRST_SPAN_ID)) or "",
            step_id=values.text(attributes.get(names.FIRST_STEP_ID)) or "",
            dependency=values.text(attributes.get(names.DEPENDENCY)) or "",
            error_type=values.text(attributes.get(names.FAILED_HOW)) or "",
            retriable=path == RecoveryPath.AUTO_RETRY,
            attempts=_number(attributes.get(names.ATTEMPTS)),
        ),
        outcome=values.text(attributes.get(names.OUTCOME)) or "",
        recovered=_number(attributes.get(names.RECOVERED)),
        paused=values.flag(attributes.get(names.PAUSED)) is True,
        incomplete=values.flag(attributes.get(names.INCOMPLETE)) is True,
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """The merged verdict of a run, and who decided each check (empty where nobody did)."""

    verdict: Verdict
    decided_by: tuple[str, ...]
    decided: str


def weigh(
    facts: Facts,
    online: Online | None,
    labelled: Mapping[str, str],
    *,
    seen_only_live: bool = False,
) -> Weighed:
    """Merge what the replay sees with what was seen live.

    A check that was decided beats one that is unchecked; where both decided, the later facts, those of the replay,
    win. A cancellation seen live stands unless a check fires.

    Args:
        facts: What the replay knows of the run, labels included.
        online: The verdict on its span, if there is one.
        labelled: By check, who gave the label that it rests on: `gold` or `judge`.
        seen_only_live: The call that was blamed live shows no error once exported: a deadline that looks like a cut.
    """
    answers: list[Answer] = []
    decided_by: list[str] = []
    for failure_class, answer in zip(FAILURES, ask_all(facts), strict=True):
        live = UNCHECKED if online is None else online.answer(failure_class)
        if answer.state is State.UNCHECKED or (
            seen_only_live and failure_class is FailureClass.TOOL_FAILURE and answer.state is State.CLEAR
        ):
            kept = answer if live.state is State.UNCHECKED else live
            answers.append(kept)
            decided_by.append("" if kept.state is State.UNCHECKED else ONLINE)
        else:
            answers.append(answer)
            decided_by.append(labelled.get(failure_class, REPLAY))
    _ask_judge(answers, decided_by, facts, labelled)
    verdict = conclude(tuple(answers), facts if online is None else _as_seen_live(facts, online))
    if online is not None and online.failure_class is verdict.failure_class:
        verdict = replace(verdict, outcome=_outcome(verdict.outcome, online.outcome))
    return Weighed(verdict, tuple(decided_by), _who(verdict, decided_by, facts))


def _ask_judge(answers: list[Answer], decided_by: list[str], facts: Facts, labelled: Mapping[str, str]) -> None:
    """Ask the judge's question again where only the live run knew that the needed note was retrieved."""
    if answers[_MISS].state is not State.CLEAR or decided_by[_MISS] != ONLINE or facts.context_used is None:
        return
    note = frozenset({_NOT_TOLD})
    answers[_POLLUTION] = ignored_note(replace(facts, needed_notes=(note,), retrieved_ids=note))
    decided_by[_POLLUTION] = labelled.get(FailureClass.CONTEXT_POLLUTION, REPLAY)


def _as_seen_live(facts: Facts, online: Online) -> Facts:
    """Add to the facts what only the live run could know: how it ended, paused, recovered, what was replaced."""
    ending, broken_at = facts.ending, facts.broken_at
    if online.failure_class is FailureClass.CANCELLED:
        ending, broken_at = Ending.CANCELLED, None
    elif online.failure_class is FailureClass.UNCLASSIFIED and ending is Ending.ANSWERED:
        ending, broken_at = Ending.BROKEN, online.first
    elif online.failure_class is FailureClass.PASS and broken_at is not None and broken_at.error_type == _NO_ANSWER:
        ending, broken_at = Ending.ANSWERED, None
    replayed = sum(failure.errors for failure in facts.recovered_calls + facts.recovered_outputs)
    unseen = (Failure(),) * max(online.recovered - replayed, 0)
    lacks_outputs = f"{FailureClass.FORMAT_VIOLATION}{_RECOVERED}" in online.findings and not facts.recovered_outputs
    lacks_calls = f"{FailureClass.TOOL_FAILURE}{_RECOVERED}" in online.findings and not facts.recovered_calls
    return replace(
        facts,
        ending=ending,
        broken_at=broken_at,
        paused=facts.paused or online.paused,
        superseded_live=facts.superseded_live
        | frozenset(each for each in FAILURES if f"{each}{_SUPERSEDED}" in online.findings),
        recovered_outputs=unseen if lacks_outputs else facts.recovered_outputs,
        recovered_calls=unseen if lacks_calls and not lacks_outputs else facts.recovered_calls,
    )


def _outcome(replayed: Outcome, written: str) -> Outcome:
    """Take the outcome that was written live where it says more than the spans can tell."""
    try:
        live = Outcome(written)
    except ValueError:
        return replayed
    return replayed if live is Outcome.NONE else live


def _who(verdict: Verdict, decided_by: list[str], facts: Facts) -> str:
    if verdict.failure_class in FAILURES:
        return decided_by[FAILURES.index(verdict.failure_class)]
    ending = _ENDINGS.get(verdict.failure_class)
    if ending is not None:
        return REPLAY if facts.ending is ending else ONLINE
    return ONLINE if set(decided_by) <= {ONLINE, ""} and ONLINE in decided_by else REPLAY


def _texts(value: Any) -> tuple[str, ...] | None:
    members = values.parsed(value)
    if not values.is_list(members):
        return None
    return tuple(str(member) for member in members)


def _number(value: Any) -> int:
    word = values.text(value)
    return int(word) if word is not None and word.isdecimal() else 0
