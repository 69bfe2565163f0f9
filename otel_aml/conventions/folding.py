"""All that the spans of one run say, folded into the facts that the tree asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import answers
from otel_aml.conventions.answers import NOTHING_SAID, Said
from otel_aml.conventions.contract import UNDECLARED, Contract
from otel_aml.conventions.reading import NOTHING_DECLARED, Declared, Reading, Turn
from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.folding import fold_id, fold_label
from otel_aml.core.incidents import Resolved, resolve
from otel_aml.core.lineage import parents_first
from otel_aml.core.steps import CALLS, MAKES_A_RUN, About, Kind, Sort, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_EARLIER_ANSWERS: Final = 16
"""How many answers before the last are looked at."""
_NO_ANSWER: Final = frozenset({"", "None", "null"})
_SHORT: Final = 16
_MUCH_SOONER: Final = 4


def is_run(readings: Iterable[Reading]) -> bool:
    """Whether these spans make a run: one is an agent, a model, a tool or a retriever, or `case()` opened it."""
    return any(reading.step.kind in MAKES_A_RUN or reading.opens_case for reading in readings)


def conversation(readings: Iterable[Reading], root_id: str) -> str:
    """Name the conversation or thread that joins an interrupted run with its resumption, each a run of its own.

    Returns:
        What the root says, else the span that ended first and says one; empty where none does.
    """
    found = [reading for reading in readings if reading.conversation]
    first = min(found, key=lambda r: (r.step.span_id != root_id, r.step.ended_at, r.step.span_id), default=None)
    return "" if first is None else first.conversation


def facts(  # noqa: PLR0913 - each is known by itself, and all but two go by keyword
    readings: Sequence[Reading],
    root_id: str,
    *,
    contract: Contract | None = None,
    told: Declared = NOTHING_DECLARED,
    incomplete: bool = False,
    unseen: bool = False,
    thorough: bool = True,
    more_calls: bool = False,
    last_call_at: int = 0,
) -> Facts:
    """Fold the spans of one run into facts.

    Args:
        readings: What its spans say, in any order.
        root_id: The span id of its root.
        contract: The contract that applies to it; None if none does.
        told: What the app's handle or a gold line says; it wins over the spans' attributes, those over the contract.
        incomplete: Its root ended (or never ended) while spans below were open.
        unseen: Spans of the run were not read (a limit was hit).
        more_calls: Calls beside these were seen, and went well.
        last_call_at: When the last of these began, nanoseconds since the epoch.
        thorough: Read the answer also where nothing is known yet that it could be held against: labels may come later.

    Raises:
        Exception: Whatever a callable of the contract raises that is no ValueError.
    """
    folder = _Folder(readings, root_id, contract, told, last_call_at)
    return folder.facts(incomplete=incomplete, unseen=unseen, thorough=thorough, more_calls=more_calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a step stands: how many steps above it were recorded, and whether one of them is a call."""

    depth: int
    in_call: bool


class _Folder:
    """The readings of one run, with what was declared of it."""

    def __init__(
        self,
        readings: Sequence[Reading],
        root_id: str,
        contract: Contract | None,
        told: Declared,
        last_call_at: int,
    ) -> None:
        self.root_id = root_id
        self.entries = _entries(readings, root_id)
        readings = [_as_agent(reading) if reading.step.span_id in self.entries else reading for reading in readings]
        self.readings = sorted(readings, key=lambda r: (r.step.ended_at, r.step.started_at, r.step.span_id))
        self.last_call_at = last_call_at
        self.contract = contract or UNDECLARED
        self.is_contracted = contract is not None
        self._read: dict[str, Any] = {}
        self.by_id: Mapping[str, Reading] = {reading.step.span_id: reading for reading in readings}
        self.declared = told.over(self._attributes()).over(self.contract.declared())

    def facts(self, *, incomplete: bool, unseen: bool, thorough: bool, more_calls: bool) -> Facts:
        answer, answer_span_id = self._answer()
        is_asked = answer is not None and (thorough or self._can_check_answers())
        said = answers.read(answer, self.contract) if is_asked else NOTHING_SAID
        earlier = self._earlier(answer) if is_asked else ()
        is_valid = self.declared.schema_valid if self.declared.schema_valid is not None else said.valid
        declared = self.declared
        has_answer = answer is not None or declared.cited_ids is not None or declared.typology is not None
        giver = self.by_id.get(answer_span_id)
        is_draft = giver is not None and giver.step.kind is Kind.MODEL and not self._went_well()
        resolved = self._resolved(has_answer=has_answer and not is_draft, is_valid=is_valid)
        rejected = self._rejected_answers(earlier, is_accepted=answer is not None and is_valid is not False)
        retrieved, retrieval_span_id = self._retrieved()
        ending = self._ending(resolved, has_answer=has_answer)
        stopped_at = self._stopped_at() or Failure(span_id=self.root_id, error_type="no_answer")
        return Facts(
            failed_calls=resolved.failed_calls,
            broken_outputs=resolved.broken_outputs,
            recovered_calls=resolved.recovered_calls,
            recovered_outputs=resolved.recovered_outputs + rejected,
            calls_known=(more_calls or self._shows_calls())
            and not (
                incomplete or unseen or resolved.unexplained or any(reading.step.cut for reading in self.readings)
            ),
            answer_valid=is_valid,
            cited_ids=_folded(declared.cited_ids) if declared.cited_ids is not None else said.cited_ids,
            superseded_ids=_union(each.cited_ids for each in earlier),
            superseded_typologies=frozenset(each.typology for each in earlier if each.typology is not None),
            superseded_live=frozenset(reading.noted for reading in self.readings if reading.noted is not None),
            evidence_ids=_folded(declared.evidence_ids),
            needed_notes=_folded_notes(declared.needed_notes),
            retrieved_ids=retrieved,
            hides_documents=self._hides_documents(),
            context_used=declared.context_used,
            typology=_label(declared.typology) if declared.typology is not None else said.typology,
            gold_typology=_label(declared.gold_typology),
            ending=ending,
            broken_at=(resolved.broken_at or stopped_at) if ending is Ending.BROKEN else None,
            paused=resolved.paused or declared.paused,
            handed_over=any(reading.step.handed_over for reading in self.readings),
            incomplete=incomplete,
            answer_span_id=answer_span_id,
            retrieval_span_id=retrieval_span_id,
        )

    def _shows_calls(self) -> bool:
        """Whether the run shows any of its calls; an instrumentation may record agents alone."""
        return any(reading.step.kind in CALLS or reading.step.kind is Kind.CLIENT for reading in self.readings)

    def _can_check_answers(self) -> bool:
        """Whether anything is known that an answer can be held against."""
        declared = self.declared
        return self.is_contracted or declared.evidence_ids is not None or declared.gold_typology is not None

    def _attributes(self) -> Declared:
        """Merge what the attributes declare; the root knows best, then the spans that ended last."""
        root = self.by_id.get(self.root_id)
        merged = root.declared if root is not None else NOTHING_DECLARED
        for reading in reversed(self.readings):
            if reading.declared is not NOTHING_DECLARED:
                merged = merged.over(reading.declared)
        return merged

    def _resolved(self, *, has_answer: bool, is_valid: bool | None) -> Resolved:
        steps = [self._with_called_name(self._with_unknown_name(reading.step)) for reading in self.readings]
        is_done = self._went_well() and not self._owes_answer() and not self._left_a_cut_call()
        is_accepted = is_valid is not False and (has_answer or is_done)
        resolved = resolve(steps, self.root_id, entries=self.entries, answer_accepted=is_accepted)
        if self.contract.recovered == "failure":
            return replace(
                resolved,
                failed_calls=_by_time(resolved.failed_calls + resolved.recovered_calls),
                recovered_calls=(),
            )
        return resolved

    def _went_well(self) -> bool:
        """Whether the root ended well, and below a case the agent that ended last: the case's own end says little."""
        root = self.by_id.get(self.root_id)
        last = next((r for r in reversed(self.readings) if r.step.span_id in self.entries), root)
        return root is not None and last is not None and root.step.went_well and last.step.went_well

    def _left_a_cut_call(self) -> bool:
        """Whether the root ended without waiting for a call that was then cut, and no model saw what became of it."""
        root = self.by_id.get(self.root_id)
        cut = [
            reading.step
            for reading in self.readings
            if reading.step.kind in CALLS
            and reading.step.incident is not None
            and reading.step.incident.sort is Sort.CANCELLED
            and root is not None
            and reading.step.ended_at > root.step.ended_at
        ]
        began = max((step.started_at for step in cut), default=None)
        models = (reading.step for reading in self.readings if reading.step.kind is Kind.MODEL)
        return began is not None and all(step.started_at < began for step in models)

    def _with_unknown_name(self, step: Step) -> Step:
        """Take the error of a tool that no model was offered for what it is: a call of an unknown tool."""
        if step.kind is not Kind.TOOL or step.incident is None or step.incident.sort is not Sort.FAILED:
            return step
        models = (r for r in self.readings if r.step.kind is Kind.MODEL or r.offered is not None)
        offered = [reading.offered for reading in models]
        if not offered or any(names is None or step.name in names for names in offered):
            return step
        return replace(
            step, incident=replace(step.incident, sort=Sort.REJECTED, about=About.TOOL_NAME, error_type="unknown_tool")
        )

    def _with_called_name(self, step: Step) -> Step:
        """Name the tool whose arguments a plain step refused, where the model below it called just that one."""
        refused = step.incident
        if step.kind is not Kind.STEP or refused is None or refused.about is not About.ARGUMENTS or refused.subject:
            return step
        turns = (r.output.value for r in self.readings if r.output is not None and r.step.parent_id == step.span_id)
        called = {name for turn in turns if isinstance(turn, Turn) for name in turn.calls}
        return replace(step, incident=replace(refused, subject=called.pop())) if len(called) == 1 else step

    def _answer(self) -> tuple[Any, str]:
        """Find the run's answer, and the span that gave it: the app's own word, the root, an agent, the last model."""
        if self.declared.answer is not None:
            return self.declared.answer, self.root_id
        for reading in self._givers():
            if reading.output is None:
                continue
            found = self._given(reading)
            if found is not None and not _says_none(found):
                return found, reading.step.span_id
            if reading.step.span_id == self.root_id:
                break
        return None, self.root_id

    def _given(self, reading: Reading) -> Any:
        """Read what a span gave as an answer, once."""
        span_id = reading.step.span_id
        if span_id not in self._read:
            self._read[span_id] = None if reading.output is None else reading.output.read()
        return self._read[span_id]

    def _givers(self) -> Iterable[Reading]:
        """Order the spans that may hold the answer, the likeliest first."""
        root = self.by_id.get(self.root_id)
        if root is not None:
            yield root
        agents = (reading for reading in reversed(self.readings) if reading.step.kind is Kind.AGENT)
        yield from sorted(agents, key=lambda reading: self._places[reading.step.span_id].depth)
        yield from (reading for reading in reversed(self.readings) if self._is_own_model(reading))

    @cached_property
    def _places(self) -> Mapping[str, _Place]:
        """Say where each step stands, from the top down."""
        places: dict[str, _Place] = {}
        for step in parents_first(reading.step for reading in self.readings):
            above, upper = places.get(step.parent_id or ""), self.by_id.get(step.parent_id or "")
            if above is None or upper is None:
                places[step.span_id] = _Place(depth=0, in_call=False)
            else:
                in_call = above.in_call or upper.step.kind in CALLS
                places[step.span_id] = _Place(depth=above.depth + 1, in_call=in_call)
        return places

    def _is_own_model(self, reading: Reading) -> bool:
        """Whether it is a call of a model by the run's own agents, not by one that a tool called."""
        return (
            reading.output is not None
            and reading.step.kind is Kind.MODEL
            and not self._places[reading.step.span_id].in_call
        )

    def _earlier(self, answer: Any) -> tuple[Said, ...]:
        """Read the answers that were given before the last one: what the app told, else what the models wrote.

        A text that is no object is only an answer where a text ends the agent's loop; elsewhere a model may think
        aloud.
        """
        if answer is None:
            return ()
        told = self.declared.earlier_answers
        if told:
            return tuple(answers.read(each, self.contract) for each in told[-_EARLIER_ANSWERS:])
        candidates = [
            (found, reading.output.is_last_word)
            for reading in self.readings
            if self._is_own_model(reading) and reading.output is not None
            if (found := self._given(reading)) is not None
        ]
        said = [(answers.read(found, self.contract), is_last) for found, is_last in candidates[:-1][-_EARLIER_ANSWERS:]]
        return tuple(each for each, is_last in said if each.is_object or is_last)

    def _rejected_answers(self, earlier: tuple[Said, ...], *, is_accepted: bool) -> tuple[Failure, ...]:
        """Count earlier answers that broke the contract and were followed by one that did not.

        Those that the framework refused itself are incidents already.
        """
        if not is_accepted:
            return ()
        broken = sum(each.valid is False for each in earlier)
        incidents = (reading.step.incident for reading in self.readings)
        refused = sum(incident is not None and incident.about is About.ANSWER for incident in incidents)
        found = Failure(span_id=self.root_id, error_type="invalid_answer", attempts=len(earlier))
        return (found,) * max(broken - refused, 0)

    def _retrieved(self) -> tuple[frozenset[str] | None, str]:
        """Join what the retrievals returned, and name the last of them."""
        retrievals = [reading for reading in self.readings if reading.step.kind is Kind.RETRIEVER]
        last = retrievals[-1].step.span_id if retrievals else self.root_id
        if self.declared.retrieved_ids is not None:
            return _folded(self.declared.retrieved_ids), last
        known = [reading.documents for reading in retrievals if reading.documents is not None]
        return (_folded(frozenset[str]().union(*known)) if known else None), last

    def _hides_documents(self) -> bool:
        return self.declared.retrieved_ids is None and any(
            reading.step.kind is Kind.RETRIEVER and reading.documents is None and reading.step.incident is None
            for reading in self.readings
        )

    def _owes_answer(self) -> bool:
        root = self.by_id.get(self.root_id)
        if root is not None and root.step.kind is Kind.AGENT:
            return root.answer_due
        return any(reading.answer_due for reading in self.readings if self._places[reading.step.span_id].depth <= 1)

    def _gave_nothing(self) -> bool:
        """Whether the root recorded an answer that says there was none."""
        root = self.by_id.get(self.root_id)
        return root is not None and _says_none(self._given(root))

    def _was_left_hanging(self) -> bool:
        """Whether the run ended with a call at work: something cut it, though no span says what.

        The call has no result, nothing began after it, and the run ended much sooner after it than it had lasted: one
        that only asked for a person's consent returns at once.
        """
        calls = [reading for reading in self.readings if reading.step.kind in CALLS]
        tops = [self.by_id[span_id] for span_id in self.entries or {self.root_id} if span_id in self.by_id]
        if not tops or not calls or not any(r.step.kind is Kind.AGENT for r in self.readings):
            return False
        last = max(calls, key=lambda reading: (reading.step.started_at, reading.step.span_id))
        if last.step.started_at < self.last_call_at:
            return False
        lasted = last.step.ended_at - last.step.started_at
        return last.unanswered and (max(top.step.ended_at for top in tops) - last.step.ended_at) * _MUCH_SOONER < lasted

    def _ending(self, resolved: Resolved, *, has_answer: bool) -> Ending:
        if resolved.cancelled or (resolved.abandoned and not has_answer):
            return Ending.CANCELLED
        is_paused = resolved.paused or self.declared.paused
        if resolved.broken_at:
            return Ending.BROKEN
        if has_answer or is_paused:
            return Ending.ANSWERED
        if self._was_left_hanging():
            return Ending.CANCELLED
        is_broken = self._owes_answer() or self._gave_nothing() or self._stopped_at() is not None
        return Ending.BROKEN if is_broken else Ending.ANSWERED

    def _stopped_at(self) -> Failure | None:
        """Find the framework's own step that ended in an error after which nothing began: its agent may end well."""
        began = max((reading.step.started_at for reading in self.readings), default=0)
        for reading in self.readings:
            step, incident = reading.step, reading.step.incident
            is_last = step.ended_at > max(began, self.last_call_at) and step.span_id != self.root_id
            if not is_last or step.kind is not Kind.STEP or not reading.of_framework:
                continue
            if incident is not None and incident.sort is Sort.FAILED:
                return Failure(
                    span_id=step.span_id,
                    dependency=step.name,
                    error_type=incident.error_type,
                    seen_at=step.ended_at,
                    detail=incident.detail,
                )
        return None


def _entries(readings: Iterable[Reading], root_id: str) -> frozenset[str]:
    """Find the agents that the app called below a case: the outermost spans of frameworks there, and of agents."""
    by_id = {reading.step.span_id: reading for reading in readings}
    if root_id not in by_id or not by_id[root_id].opens_case:
        return frozenset()
    found: set[str] = set()
    inside: set[str] = set()
    for step in parents_first(reading.step for reading in by_id.values()):
        is_lost = step.parent_id not in by_id and step.span_id != root_id
        if step.parent_id in inside or (is_lost and step.kind is not Kind.AGENT):
            inside.add(step.span_id)  # of a parent that never ended nobody knows what it was
        elif step.kind is Kind.AGENT or (step.kind is Kind.STEP and by_id[step.span_id].of_framework):
            inside.add(step.span_id)
            found.add(step.span_id)
    return frozenset(found)


def _as_agent(reading: Reading) -> Reading:
    """Take the outermost span of a framework for what it is, whatever it calls itself."""
    if reading.step.kind is Kind.AGENT:
        return reading
    return replace(reading, step=replace(reading.step, kind=Kind.AGENT))


def _says_none(answer: Any) -> bool:
    """Whether an answer is only a word for none."""
    return isinstance(answer, str) and len(answer) <= _SHORT and answer.strip() in _NO_ANSWER


def _folded(found: frozenset[str] | None) -> frozenset[str] | None:
    return None if found is None else frozenset(map(fold_id, found))


def _folded_notes(notes: tuple[frozenset[str], ...] | None) -> tuple[frozenset[str], ...] | None:
    return None if notes is None else tuple(frozenset(map(fold_id, alternatives)) for alternatives in notes)


def _label(label: str | None) -> str | None:
    return None if label is None else fold_label(label)


def _union(sets: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return frozenset[str]().union(*(each for each in sets if each is not None))


def _by_time(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    return tuple(sorted(failures, key=lambda failure: (failure.seen_at, failure.span_id)))
