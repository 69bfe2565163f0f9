"""What the checks need to know of one run. Every fact may be unknown, and unknown is never a pass."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_aml.core.taxonomy import FailureClass


class Ending(StrEnum):
    """How a run ended."""

    ANSWERED = "answered"
    """It gave an answer, or nothing says that it should have given one."""
    CANCELLED = "cancelled"
    """It was cut from outside."""
    BROKEN = "broken"
    """It ended in an error of its own, or without the answer that it owed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure, where it was seen.

    Args:
        span_id: 16 hex digits, where it was seen.
        step_id: The step, if the app named it.
        dependency: The tool, retriever or model that failed.
        error_type: How: `timeout`, `rate_limited`, `unavailable`, `auth`, ... or the exception's own name.
        retriable: Whether the same call may succeed later. False where that is not known.
        attempts: Calls of the same kind made after the first.
        errors: How many errors it stands for: a guard notes those that a later try made good as one.
        needs_person: The app has said that a person should take over.
        circuit_state: That of the dependency's circuit, where one guards it; else empty.
        seen_at: When the span ended, nanoseconds since the epoch.
        detail: Technical words for operators: type, redacted message and place of the exception.
    """

    span_id: str = ""
    step_id: str = ""
    dependency: str = ""
    error_type: str = ""
    retriable: bool = False
    attempts: int = 0
    errors: int = 1
    needs_person: bool = False
    circuit_state: str = ""
    seen_at: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of one run.

    Args:
        failed_calls: Calls outside the model that failed for good, the earliest to end first.
        broken_outputs: What the model wrote that broke a contract for good, the earliest first.
        recovered_calls: Failed calls that a later call made good.
        recovered_outputs: Rejected outputs that a later output replaced.
        calls_known: Whether all calls of the run were seen to their end. False: an absence of errors proves nothing.
        answer_valid: Whether the answer fits its declared schema. None: no schema, or no answer to look at.
        cited_ids: The ids that the answer cites, folded. None: not known.
        superseded_ids: Ids cited by earlier answers, which a later answer replaced.
        superseded_typologies: Typologies of earlier answers, which a later answer replaced.
        superseded_live: Critical classes that only the live verdict saw in answers that a later answer replaced, or
            that the app itself noted at a step: never the verdict, never taken back.
        evidence_ids: Every id of the case, folded. None: not known; empty: a case without evidence.
        needed_notes: Notes that the case needs; each a set of alternatives. None: not known.
        retrieved_ids: What the run's retrievals returned. None: no retrieval was recorded, or its ids were not.
        hides_documents: A retrieval answered without telling what it found: what seems to be missing may be there.
        context_used: The judge's word: False means ignored or contradicted. None: not asked, or not sure.
        typology: The answer's typology, folded. None: not known.
        gold_typology: The right one. None: no label.
        ending: How the run ended.
        broken_at: Where it broke, if its ending is BROKEN.
        paused: It waits for a person.
        handed_over: A step of it was handed over to a person.
        incomplete: Its root ended (or never ended) while spans below were open.
        answer_span_id: Where the answer was seen: the run root, unless a span below gave it.
        retrieval_span_id: Where the last retrieval was seen.
    """

    failed_calls: tuple[Failure, ...] = ()
    broken_outputs: tuple[Failure, ...] = ()
    recovered_calls: tuple[Failure, ...] = ()
    recovered_outputs: tuple[Failure, ...] = ()
    calls_known: bool = True
    answer_valid: bool | None = None
    cited_ids: frozenset[str] | None = None
    superseded_ids: frozenset[str] = frozenset()
    superseded_typologies: frozenset[str] = frozenset()
    superseded_live: frozenset[FailureClass] = frozenset()
    evidence_ids: frozenset[str] | None = None
    needed_notes: tuple[frozenset[str], ...] | None = None
    retrieved_ids: frozenset[str] | None = None
    hides_documents: bool = False
    context_used: bool | None = None
    typology: str | None = None
    gold_typology: str | None = None
    ending: Ending = Ending.ANSWERED
    broken_at: Failure | None = None
    paused: bool = False
    handed_over: bool = False
    incomplete: bool = False
    answer_span_id: str = ""
    retrieval_span_id: str = ""
