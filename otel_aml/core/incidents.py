"""What the incidents of a run add up to: which stand, which only echo another, which a later call made good.

Source:
    The rules under "What counts as an error" in `docs/taxonomy.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from otel_aml.core.facts import Failure
from otel_aml.core.lineage import parents_first
from otel_aml.core.steps import CALLS, About, Incident, Kind, Sort, Step
from otel_aml.core.tries import NEVER, Group, Tries, group_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What stands when all incidents of a run are weighed.

    Args:
        failed_calls: Calls that failed for good, the earliest to end first.
        broken_outputs: Rejected arguments, tool names and answers that nothing replaced.
        recovered_calls: Failed calls that were made good.
        recovered_outputs: Rejected outputs that were replaced.
        cancelled: The run was cut from outside.
        abandoned: The consumer of the run stopped reading.
        broken_at: Where the run's root, or one of its own agents, ended in an error for good; the first of them to end.
        paused: A step waits for a person.
        unexplained: A plain step ended in an error that no call below it had: it may have been a call itself.
    """

    failed_calls: tuple[Failure, ...] = ()
    broken_outputs: tuple[Failure, ...] = ()
    recovered_calls: tuple[Failure, ...] = ()
    recovered_outputs: tuple[Failure, ...] = ()
    cancelled: bool = False
    abandoned: bool = False
    broken_at: Failure | None = None
    paused: bool = False
    unexplained: bool = False


NOTHING: Final = Resolved()
PAUSED: Final = Resolved(paused=True)


def resolve(
    steps: Iterable[Step],
    root_id: str,
    *,
    entries: frozenset[str] = frozenset(),
    answer_accepted: bool = False,
) -> Resolved:
    """Weigh the incidents of one run.

    Args:
        steps: All steps of the run, its root among them (unless it never ended), in any order.
        root_id: The span id of the run root.
        entries: The span ids of the agents that the app itself called, where the root is not one but the app's own:
            what ends them ends the run.
        answer_accepted: The run's final answer is there and fits its schema, or no schema was declared.
    """
    steps = tuple(steps)
    paused = any(step.paused for step in steps)
    if not any(step.incident for step in steps):
        return PAUSED if paused else NOTHING
    return replace(_Run(steps, root_id, entries).resolve(answer_accepted=answer_accepted), paused=paused)


@dataclass(frozen=True, slots=True)
class _Above:
    """What the steps above one step hand down to it.

    Args:
        depth: How many of them were recorded.
        step_id: The step's name in the app, by the closest that has one.
        troubled: The closest that ended in an incident, and could repeat the one below.
        in_call: One of them is a call.
        is_called: A tool, or an agent that is itself below another, called for it.
        model_went_well: One of them is a model call that ended well: it fell back to another model.
    """

    depth: int = 0
    step_id: str = ""
    troubled: Step | None = None
    in_call: bool = False
    is_called: bool = False
    model_went_well: bool = False

    def handed_down_by(self, step: Step, *, is_top: bool) -> _Above:
        fell_back = step.kind is Kind.MODEL and step.went_well
        return _Above(
            depth=self.depth + 1,
            step_id=step.step_id or self.step_id,
            troubled=step if step.incident is not None else None if fell_back else self.troubled,
            in_call=self.in_call or step.kind in CALLS,
            is_called=self.is_called or step.kind is Kind.TOOL or (step.kind is Kind.AGENT and not is_top),
            model_went_well=self.model_went_well or fell_back,
        )


_TOP: Final = _Above()


class _Run:
    """The steps of one run, ordered and indexed."""

    def __init__(self, steps: tuple[Step, ...], root_id: str, entries: frozenset[str]) -> None:
        self.root_id = root_id
        tops = {root_id, *entries}
        self.above: dict[str, _Above] = {}
        self.with_models: set[str | None] = set()
        downwards = parents_first(steps)
        handed_down: dict[str | None, _Above] = {}
        for step in downwards:
            above = self.above[step.span_id] = handed_down.get(step.parent_id, _TOP)
            handed_down[step.span_id] = above.handed_down_by(step, is_top=step.span_id in tops)
        for step in reversed(downwards):
            if step.kind is Kind.MODEL or step.span_id in self.with_models:
                self.with_models.add(step.parent_id)
        self.steps = sorted(steps, key=lambda step: (step.ended_at, -self.above[step.span_id].depth, step.span_id))
        self.tries = Tries(steps)
        self.repeated_by = self._repeated_by(reversed(downwards))
        self.fatal = self._fatal()
        self.made_good = self._made_good(downwards)
        self.endings = tuple(self._endings())

    def resolve(self, *, answer_accepted: bool) -> Resolved:
        failed: list[Failure] = []
        rejected: list[Failure] = []
        recovered_calls: list[Failure] = []
        recovered_outputs: list[Failure] = []
        is_unexplained = False
        for step, incident in self._own_incidents():
            if incident.sort is Sort.REJECTED:
                is_good = self._is_replaced(step, incident, answer_accepted=answer_accepted)
                (recovered_outputs if is_good else rejected).append(self._failure(step, incident))
            elif self._is_failed_call(step, incident):
                is_good = step.span_id in self.made_good
                (recovered_calls if is_good else failed).append(self._failure(step, incident))
            else:
                is_unexplained = is_unexplained or self._may_be_a_call(step, incident)
        broken_at = next((ending for ending in self.endings if ending[1].sort is Sort.FAILED), None)
        return Resolved(
            failed_calls=tuple(failed or self._timed_out()),
            broken_outputs=tuple(rejected),
            recovered_calls=tuple(recovered_calls),
            recovered_outputs=tuple(recovered_outputs),
            cancelled=self._is_cancelled(answer_accepted=answer_accepted),
            abandoned=self._is_cut(Sort.ABANDONED),
            broken_at=self._failure(*broken_at) if broken_at else None,
            unexplained=is_unexplained,
        )

    def _repeated_by(self, upwards: Iterator[Step]) -> dict[str, Step]:
        """Find what repeats the incident of a step below: same type, same message, and nothing made good between.

        Only what counts by itself can be repeated: the failed HTTP call below a tool, or a span of the app there,
        tells no more than the tool does.
        """
        found: dict[str, Step] = {}
        good_at_below: dict[str, int] = {}
        for step in upwards:
            upper = self.above[step.span_id].troubled
            if step.incident is None or upper is None or upper.incident is None:
                continue
            counts = step.incident.sort is not Sort.FAILED or self._is_failed_call(step, step.incident)
            if not counts and step.span_id not in good_at_below:
                continue
            good_at = min(self._good_at(step), good_at_below.get(step.span_id, NEVER))
            if _repeats(upper.incident, step.incident) and (good_at >= upper.ended_at or upper.incident.noted):
                found[step.span_id] = upper
                good_at_below[upper.span_id] = max(good_at, good_at_below.get(upper.span_id, good_at))
        return found

    def _made_good(self, downwards: Iterable[Step]) -> frozenset[str]:
        """Find what a later call made good: the failed call itself, or one above that ended in the same error."""
        found: set[str] = set()
        fatal = set(self.fatal)
        for step in downwards:
            upper = self.repeated_by.get(step.span_id)
            if step.span_id in fatal or (upper is not None and upper.span_id in fatal):
                fatal.add(step.span_id)
                continue
            fell_back = step.kind is Kind.MODEL and self.above[step.span_id].model_went_well
            is_good = fell_back or self._tried_within(step) or self._good_at(step) < NEVER
            if is_good or (upper is not None and upper.span_id in found):
                found.add(step.span_id)
        return frozenset(found)

    def _fatal(self) -> frozenset[str]:
        """Find the call whose very error ended the run, though the same call went well in another branch.

        The root ended in it, word for word, without a span between that repeats it, and its parent did not go on.
        """
        top = next((step for step in self.steps if step.span_id == self.root_id), None)
        if top is None or top.kind in CALLS or top.incident is None or not top.incident.message:
            return frozenset()
        if any(upper is top for upper in self.repeated_by.values()):
            return frozenset()
        last_start: dict[str | None, int] = {}
        for step in self.steps:
            last_start[step.parent_id] = max(step.started_at, last_start.get(step.parent_id, step.started_at))
        said = (top.incident.short_type, top.incident.message)
        return frozenset(
            step.span_id
            for step in self.steps
            if step is not top
            and step.span_id not in self.repeated_by
            and step.incident is not None
            and (step.incident.short_type, step.incident.message) == said
            and self._is_failed_call(step, step.incident)
            and last_start[step.parent_id] < step.ended_at
        )

    def _tried_within(self, step: Step) -> bool:
        """Whether a guard says that a later try of the step worked, or its note lets one conclude that.

        A root or an agent that outlived an error which the app noted on it, about to try again: had that try failed
        too, it would have been noted once more, up to the note that no further try is made.
        """
        incident = step.incident
        if incident is not None and incident.made_good:
            return True
        if incident is None or not (incident.survived and incident.retrying):
            return False
        return step.span_id == self.root_id or step.kind is Kind.AGENT

    def _own_incidents(self) -> Iterator[tuple[Step, Incident]]:
        """Go through the incidents that are not the echo of another, the earliest to end first."""
        echoes = {step.span_id for step in self.repeated_by.values()}
        if self.fatal:
            echoes.add(self.root_id)
        unknown_tools = {
            step.incident.subject
            for step in self.steps
            if step.incident is not None and step.incident.about is About.TOOL_NAME and step.kind is not Kind.TOOL
        }
        for step in self.steps:
            if step.incident is None or step.span_id in echoes:
                continue
            if step.kind is Kind.TOOL and step.name in unknown_tools:
                continue
            yield step, step.incident

    def _endings(self) -> Iterator[tuple[Step, Incident]]:
        """Go through the incidents of the root, and of the run's own agents that no later agent made good."""
        for step in self.steps:
            is_root = step.span_id == self.root_id
            is_own_agent = step.kind is Kind.AGENT and not self.above[step.span_id].is_called
            if step.incident is None or step.incident.survived:
                continue
            if is_root or (is_own_agent and self._good_at(step) == NEVER):
                yield step, step.incident

    def _is_failed_call(self, step: Step, incident: Incident) -> bool:
        """Whether an incident is the failure of a call outside the model."""
        if incident.sort is not Sort.FAILED:
            return False
        if step.kind is Kind.CLIENT:
            return not self.above[step.span_id].in_call
        if step.kind is Kind.AGENT:
            return incident.of_provider and step.span_id not in self.with_models
        if step.kind is Kind.STEP and not incident.noted:
            return incident.of_provider and self._is_last_turn(step)
        return step.kind in CALLS or incident.noted

    def _may_be_a_call(self, step: Step, incident: Incident) -> bool:
        """Whether a plain step in error could be a call that nobody marked as one."""
        return (
            incident.sort is Sort.FAILED
            and step.kind is Kind.STEP
            and step.span_id != self.root_id
            and not self.above[step.span_id].in_call
        )

    def _is_last_turn(self, step: Step) -> bool:
        """Whether a step below the root shows no call of a model, and nothing began after it: the run died with it."""
        return step.span_id not in (self.root_id, *self.with_models) and self._is_last(step)

    def _is_last(self, step: Step) -> bool:
        return all(other.started_at < step.ended_at for other in self.steps)

    def _good_at(self, step: Step) -> int:
        """Say when a call began that made this one good; NEVER if none did."""
        return self.tries.good_at(group_of(step), arguments=step.arguments, after=step.ended_at)

    def _is_replaced(self, step: Step, incident: Incident, *, answer_accepted: bool) -> bool:
        """Whether a later output was accepted in the place of a rejected one."""
        if self._tried_within(step):
            return True
        if incident.about is About.ANSWER:
            is_last = step.kind is Kind.STEP and self._is_last(step)
            return answer_accepted and not is_last and all(ending is not step for ending, _ in self.endings)
        if incident.subject:
            tool = Group(Kind.TOOL, incident.subject)
            if incident.about is About.ARGUMENTS:
                return self.tries.accepted_at(tool, after=step.ended_at) < NEVER
            is_good = self.tries.good_at(tool, arguments=None, after=step.ended_at) < NEVER
            return is_good or self._chose_another(step)
        if step.kind is Kind.STEP:
            return self._calls_a_tool(after=step.ended_at)
        return self.tries.accepted_at(group_of(step), after=step.ended_at) < NEVER

    def _chose_another(self, step: Step) -> bool:
        """Whether a model was asked again after a call of a tool that does not exist, and then called one that does."""
        models = (each.started_at for each in self.steps if each.kind is Kind.MODEL)
        asked_at = min((moment for moment in models if moment >= step.ended_at), default=NEVER)
        return self._calls_a_tool(after=asked_at)

    def _calls_a_tool(self, *, after: int) -> bool:
        return any(self.tries.accepted_at(tool, after=after) < NEVER for tool in self.tries.tools)

    def _failure(self, step: Step, incident: Incident) -> Failure:
        is_failed = incident.sort is Sort.FAILED
        told = [incident, *self._noted_above(step)]
        return Failure(
            span_id=step.span_id,
            step_id=step.step_id or self.above[step.span_id].step_id,
            dependency=incident.subject or step.name,
            error_type=incident.error_type,
            retriable=incident.retriable and is_failed,
            attempts=max(
                self.tries.attempts(step, arguments=step.arguments if is_failed else None),
                *(each.tries for each in told),
            ),
            errors=max(incident.tries, 1) if incident.made_good else 1,
            needs_person=any(each.needs_person for each in told),
            circuit_state=next((each.circuit_state for each in told if each.circuit_state), ""),
            seen_at=step.ended_at,
            detail=incident.detail,
        )

    def _noted_above(self, step: Step) -> Iterator[Incident]:
        """Go through what was noted of the same error further up: by a guard around the call, say."""
        upper = self.repeated_by.get(step.span_id)
        while upper is not None and upper.incident is not None:
            if upper.incident.noted:
                yield upper.incident
            upper = self.repeated_by.get(upper.span_id)

    def _timed_out(self) -> Iterator[Failure]:
        """Blame a deadline that ended the run on the call that it cut: the call itself only looks cancelled."""
        deadline = next((incident for _, incident in self.endings if incident.error_type == "timeout"), None)
        cut = self._cut_calls()
        if deadline is not None and cut:
            yield self._failure(cut[0], deadline)

    def _is_cancelled(self, *, answer_accepted: bool) -> bool:
        """Whether the run was cut from outside."""
        if self._is_cut(Sort.CANCELLED):
            return True
        has_failed = any(incident.sort is Sort.FAILED for _, incident in self.endings)
        return not has_failed and not answer_accepted and bool(self._cut_calls())

    def _is_cut(self, sort: Sort) -> bool:
        """Whether the root was cut so, or an agent was; what an error of the run itself cut is only its victim."""
        if any(step.span_id == self.root_id and incident.sort is sort for step, incident in self.endings):
            return True
        sorts = {incident.sort for _, incident in self.endings}
        return sort in sorts and Sort.FAILED not in sorts

    def _cut_calls(self) -> list[Step]:
        """List the cancelled calls after which the run did not go on, the earliest to end first."""
        calls = [step for step in self.steps if step.kind in CALLS]
        last = max((call.started_at for call in calls), default=0)
        cut = (call for call in calls if call.incident is not None and call.incident.sort is Sort.CANCELLED)
        return [call for call in cut if call.ended_at > last or call.started_at == last]


def _repeats(upper: Incident, lower: Incident) -> bool:
    """Whether an incident above is that below: the same type, and the same message, where both have one."""
    if upper.sort is not lower.sort and Sort.FAILED not in (upper.sort, lower.sort):
        return False
    same_type = not upper.type or not lower.type or upper.short_type == lower.short_type
    same_type = same_type or (upper.noted and upper.error_type == lower.error_type)
    same_message = not upper.message or not lower.message or upper.message == lower.message
    return same_type and same_message
