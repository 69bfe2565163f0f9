"""From exported runs to what a judge is asked: the notes that a case needs and that were retrieved, and the answer."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from otel_aml import conventions
from otel_aml.core.folding import fold_id
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.core.tree import State
from otel_aml.errors import InputError
from otel_aml.evals.jsonlines import read_lines
from otel_aml.evals.judging import Question
from otel_aml.offline.analysis import analysed
from otel_aml.offline.labels import read_contract
from otel_aml.offline.problems import Read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from otel_aml.conventions import Contract
    from otel_aml.core.facts import Facts
    from otel_aml.offline.analysis import Given
    from otel_aml.offline.online import Weighed
    from otel_aml.offline.problems import Problem
    from otel_aml.offline.replay import RunRecord
    from otel_aml.spans.model import SpanRecord

_RETRIEVAL: Final = FAILURES.index(FailureClass.RETRIEVAL_MISS)
NOT_RETRIEVED: Final = "without a retrieval that found the notes of its case"
NO_TEXT: Final = "whose notes have no text in the file of notes"
NO_ANSWER: Final = "whose answer was not recorded"


class Note(BaseModel):
    """One line of `notes.jsonl`: a note that a retriever finds, by its id, and what it says."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    doc_id: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]


@dataclass(slots=True)
class _Run:
    """A run to ask of; its answer is read in a second pass."""

    trace_id: str
    case_id: str | None
    notes: list[str]
    answer: str | None = None


@dataclass(slots=True)
class Gathered:
    """The questions, in the order of their runs.

    Args:
        left_out: How many runs have none, by the reason.
    """

    questions: list[Question] = field(default_factory=list[Question])
    left_out: Counter[str] = field(default_factory=Counter[str])
    read: Read = field(default_factory=Read)
    problems: tuple[Problem, ...] = ()
    runless: int = 0


@dataclass(slots=True)
class _Gathering:
    """The runs to ask of, by the span that gave the answer."""

    texts: Mapping[str, str]
    found: Gathered = field(default_factory=Gathered)
    runs: dict[tuple[str, str], _Run] = field(default_factory=dict[tuple[str, str], _Run])

    def take(self, record: RunRecord, weighed: Weighed) -> None:
        """Keep a run whose notes were retrieved; it is named by its case, where that is known, else by its trace."""
        facts = record.facts
        if weighed.verdict.answers[_RETRIEVAL].state is not State.CLEAR or not facts.needed_notes:
            self.found.left_out[NOT_RETRIEVED] += 1
            return
        notes = _texts(facts, self.texts)
        if notes is None:
            self.found.left_out[NO_TEXT] += 1
            return
        giver = facts.answer_span_id or record.span_id
        self.runs[record.trace_id, giver] = _Run(record.trace_id, record.case_id, notes)

    def ask(self) -> None:
        """Make the questions, once the answers are there."""
        for _, run in sorted(self.runs.items(), key=lambda each: each[0]):
            if run.answer is None:
                self.found.left_out[NO_ANSWER] += 1
                continue
            named = {"case_id": run.case_id} if run.case_id else {"trace_id": run.trace_id}
            self.found.questions.append(Question(**named, notes=run.notes, answer=run.answer))


def gather(given: Given, notes: Path, *, on_bytes: Callable[[int], None] | None = None) -> Gathered:
    """Find the runs of which it can be asked whether the answer rests on the notes.

    Args:
        given: Files, labels that name the notes of a case, a contract. A store keeps no answers.
        notes: Lines with `doc_id` and `text`.
        on_bytes: Told how many bytes were read, now and then.

    Raises:
        InputError: Something cannot be read, or holds nothing that is understood.
    """
    texts = {fold_id(note.doc_id): note.text for note in read_lines(notes, Note)}
    if not texts:
        raise InputError(f"no notes in {str(notes)!r}; each line has doc_id and text")
    contract = None if given.contract is None else read_contract(given.contract)
    gathering = _Gathering(texts)
    found = gathering.found
    with analysed(given, on_bytes=on_bytes, on_run=gathering.take) as analysis:
        for trace in analysis.store.traces():
            for stored in trace.spans:
                run = gathering.runs.get((trace.trace_id, stored.span.span_id))
                if run is not None:
                    run.answer = _answer(stored.span, contract)
        found.read, found.problems, found.runless = analysis.read, analysis.problems, analysis.runless
    gathering.ask()
    return found


def _texts(facts: Facts, texts: Mapping[str, str]) -> list[str] | None:
    """Give the texts of the needed notes that were retrieved; None where one of them has none."""
    found: list[str] = []
    for alternatives in facts.needed_notes or ():
        known = [texts[each] for each in sorted(alternatives & (facts.retrieved_ids or frozenset())) if each in texts]
        if not known:
            return None
        found += known[:1]
    return list(dict.fromkeys(found))


def _answer(span: SpanRecord, contract: Contract | None) -> str | None:
    output = (conventions.read(span) if contract is None else conventions.read(span, contract)).output
    answer: Any = None if output is None else output.read()
    if answer is None or answer == "":
        return None
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
