"""What the runs of some files amount to: findings by class, recall of the retrievals, the typologies against labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_aml.core.labels import NO_TYPOLOGY
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.core.tree import State
from otel_aml.evals.agreement import Proportion
from otel_aml.offline.analysis import analysed
from otel_aml.offline.replay import JUDGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_aml.offline.analysis import Given
    from otel_aml.offline.online import Weighed
    from otel_aml.offline.problems import Problem, Read
    from otel_aml.offline.replay import RunRecord

SHOWN: Final = 10
"""So many runs are named for each class."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A run to look at."""

    trace_id: str
    span_id: str
    case_id: str | None

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {"trace_id": self.trace_id, "span_id": self.span_id, "case_id": self.case_id}

    def __str__(self) -> str:
        """Name it in one word, or two where the case is known."""
        return self.trace_id if self.case_id is None else f"{self.trace_id} (case {self.case_id})"


@dataclass(slots=True)
class ClassTally:
    """One check over all runs.

    Args:
        fired: Runs in which it fired, first or not; of a critical class also where a later answer replaced it.
        decided: Runs in which it was decided.
        judged: Of these, by a word in a file of judged lines, which names its judge.
        runs: The first few in which it fired.
    """

    fired: int = 0
    decided: int = 0
    judged: int = 0
    runs: list[Sighting] = field(default_factory=list[Sighting])

    @property
    def rate(self) -> Proportion:
        """How many of the decided fired."""
        return Proportion(self.fired, self.decided)

    @property
    def clear(self) -> Proportion:
        """How many of the decided did not."""
        return Proportion(self.decided - self.fired, self.decided)


@dataclass(frozen=True, slots=True)
class TypologyRow:
    """One typology against the labels, one against the rest.

    Args:
        precision: Of the runs in which it was named, how many have it as their label.
        recall: Of the runs with this label, how many name it.
        false_positives: Of the runs with another label, how many name it.
    """

    typology: str
    precision: Proportion
    recall: Proportion
    false_positives: Proportion

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "typology": self.typology,
            "precision": self.precision.plain(),
            "recall": self.recall.plain(),
            "false_positive_rate": self.false_positives.plain(),
        }


@dataclass(slots=True)
class Typologies:
    """Pairs of a label and the answer's typology, both folded, counted."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def rows(self) -> tuple[TypologyRow, ...]:
        """Give each typology that is a label or was named, by its name."""
        names = sorted({name for pair in self.pairs for name in pair})
        return tuple(map(self._row, names))

    def _row(self, name: str) -> TypologyRow:
        both = self.pairs[name, name]
        labelled = sum(count for (gold, _), count in self.pairs.items() if gold == name)
        named = sum(count for (_, said), count in self.pairs.items() if said == name)
        others = self.pairs.total() - labelled
        return TypologyRow(name, Proportion(both, named), Proportion(both, labelled), Proportion(named - both, others))

    @property
    def recall(self) -> Proportion:
        """Of the runs in which there is a typology to be found, how many name it (micro-averaged)."""
        return self._share(lambda gold, _: gold not in NO_TYPOLOGY, lambda gold, said: gold == said)

    @property
    def precision(self) -> Proportion:
        """Of the runs in which a typology was named, how many name the right one (micro-averaged)."""
        return self._share(lambda _, said: said not in NO_TYPOLOGY, lambda gold, said: gold == said)

    @property
    def false_positives(self) -> Proportion:
        """Of the runs in which there is nothing to be found, how many name a typology."""
        return self._share(lambda gold, _: gold in NO_TYPOLOGY, lambda _, said: said not in NO_TYPOLOGY)

    def _share(self, among: Callable[[str, str], bool], hit: Callable[[str, str], bool]) -> Proportion:
        kept = [(pair, count) for pair, count in self.pairs.items() if among(*pair)]
        return Proportion(sum(count for pair, count in kept if hit(*pair)), sum(count for _, count in kept))


@dataclass(slots=True)
class Measures:
    """All of it, filled run by run.

    Args:
        notes_found: Needed notes that were retrieved, of the needed notes, over the runs in which that is known.
    """

    runs: int = 0
    classes: dict[FailureClass, ClassTally] = field(
        default_factory=lambda: {failure_class: ClassTally() for failure_class in FAILURES}
    )
    typologies: Typologies = field(default_factory=Typologies)
    needed_notes: int = 0
    found_notes: int = 0

    def add(self, record: RunRecord, weighed: Weighed) -> None:
        """Count one run."""
        self.runs += 1
        sighting = Sighting(record.trace_id, record.span_id, record.case_id)
        verdict = weighed.verdict
        for failure_class, answer, decided_by in zip(FAILURES, verdict.answers, weighed.decided_by, strict=True):
            tally = self.classes[failure_class]
            has_fired = answer.state is State.FIRED or f"{failure_class}:superseded" in verdict.findings
            if answer.state is not State.UNCHECKED or has_fired:
                tally.decided += 1
                tally.judged += decided_by == JUDGE
            if has_fired:
                tally.fired += 1
                if len(tally.runs) < SHOWN:
                    tally.runs.append(sighting)
        facts = record.facts
        if facts.typology is not None and facts.gold_typology is not None:
            self.typologies.pairs[facts.gold_typology, facts.typology] += 1
        if facts.needed_notes and facts.retrieved_ids is not None and not facts.hides_documents:
            self.needed_notes += len(facts.needed_notes)
            self.found_notes += sum(bool(each & facts.retrieved_ids) for each in facts.needed_notes)

    @property
    def recall_at_k(self) -> Proportion:
        """Of the needed notes, how many were among those retrieved."""
        return Proportion(self.found_notes, self.needed_notes)


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of some files, and what was read for them."""

    measures: Measures
    read: Read
    problems: tuple[Problem, ...]
    runless: int


def measure(given: Given, *, on_bytes: Callable[[int], None] | None = None) -> Measured:
    """Read what was given, draw the verdicts and count.

    Raises:
        InputError: Something cannot be read, or holds nothing that is understood.
    """
    measures = Measures()
    with analysed(given, on_bytes=on_bytes, on_run=measures.add) as analysis:
        return Measured(measures, analysis.read, analysis.problems, analysis.runless)
