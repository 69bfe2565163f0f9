"""What one span says, once its vocabulary is understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_aml.core.steps import Step
    from otel_aml.core.taxonomy import FailureClass


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model, an agent or a graph gave in its last turn.

    Args:
        final: The answer, a text or an object; None where it gave none.
        calls: The tools that it called instead, in order.
    """

    final: Any
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """What a model or an agent gave, as recorded; parsed only when a run is weighed.

    Args:
        value: As recorded.
        final: Reads the final text or object out of `value`; None if it holds none (a call of a tool, say).
        is_last_word: A text that calls no tool ends the loop of this agent: one that did not was rejected.
    """

    value: Any
    final: Callable[[Any], Any]
    is_last_word: bool = False

    def read(self) -> Any:
        """Read the final answer in it; None if it holds none."""
        return self.final(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What was declared of a run: by attributes, by the app's handle, by gold lines, by a contract. None: nothing.

    Args:
        evidence_ids: As given, not yet folded.
        needed_notes: Each a set of alternatives.
        retrieved_ids: What the app says was retrieved.
        answer: The answer as the app gave it.
        earlier_answers: Answers that the app gave before that one.
        context_used: The judge's word.
    """

    case_id: str | None = None
    evidence_ids: frozenset[str] | None = None
    needed_notes: tuple[frozenset[str], ...] | None = None
    retrieved_ids: frozenset[str] | None = None
    answer: Any = None
    earlier_answers: tuple[Any, ...] = ()
    cited_ids: frozenset[str] | None = None
    typology: str | None = None
    schema_valid: bool | None = None
    gold_typology: str | None = None
    context_used: bool | None = None
    paused: bool = False
    synthetic: bool = False

    def over(self, earlier: Declared) -> Declared:
        """Lay these over what was declared before: what is known here wins."""
        if earlier is NOTHING_DECLARED:
            return self
        if self is NOTHING_DECLARED:
            return earlier
        return Declared(
            case_id=self.case_id if self.case_id is not None else earlier.case_id,
            evidence_ids=self.evidence_ids if self.evidence_ids is not None else earlier.evidence_ids,
            needed_notes=self.needed_notes if self.needed_notes is not None else earlier.needed_notes,
            retrieved_ids=self.retrieved_ids if self.retrieved_ids is not None else earlier.retrieved_ids,
            answer=self.answer if self.answer is not None else earlier.answer,
            earlier_answers=self.earlier_answers or earlier.earlier_answers,
            cited_ids=self.cited_ids if self.cited_ids is not None else earlier.cited_ids,
            typology=self.typology if self.typology is not None else earlier.typology,
            schema_valid=self.schema_valid if self.schema_valid is not None else earlier.schema_valid,
            gold_typology=self.gold_typology if self.gold_typology is not None else earlier.gold_typology,
            context_used=self.context_used if self.context_used is not None else earlier.context_used,
            paused=self.paused or earlier.paused,
            synthetic=self.synthetic or earlier.synthetic,
        )


NOTHING_DECLARED: Final = Declared()


@dataclass(slots=True, kw_only=True, unsafe_hash=True)  # never changed; `frozen` would make each cost 3 times as much
class Reading:
    """What one span says.

    Args:
        step: The step, in our own vocabulary.
        documents: Ids of what a retrieval returned; None where it is no retrieval or its ids are not recorded.
        output: What a model or an agent gave; None where nothing was recorded.
        opens_case: It is a span that `case()` opened, which is always a run.
        of_framework: It is a span of an agent framework, by its scope.
        unanswered: A call of a tool whose arguments were recorded, but neither a result nor an error.
        offered: The tools that a model was offered; None where that is not recorded.
        answer_due: An agent of an instrumentation that records answers: without one the run ended without an answer.
        declared: What attributes under `aml.` say.
        agent: The agent's name.
        conversation: The conversation or thread that joins an interrupted run with its resumption.
        noted: The critical class that the app noted at this step.
    """

    step: Step
    documents: frozenset[str] | None = None
    output: Output | None = None
    opens_case: bool = False
    of_framework: bool = False
    unanswered: bool = False
    offered: frozenset[str] | None = None
    answer_due: bool = False
    declared: Declared = field(default=NOTHING_DECLARED)
    agent: str = ""
    conversation: str = ""
    noted: FailureClass | None = None
