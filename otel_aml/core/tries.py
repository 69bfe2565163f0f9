"""Calls that can stand for each other: which one made another good, and how often a call was tried again."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from otel_aml.core.steps import Kind, Sort, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NEVER: Final = 1 << 64
"""Later than any moment."""


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that can stand for each other.

    Args:
        kind: What they do.
        name: Their tool, retriever, client or agent; empty for models, since a fallback may be another one.
        parent_id: Of models and agents: what they work for. None for the rest: a tool is the same wherever it is
            called.
    """

    kind: Kind
    name: str
    parent_id: str | None = None


def group_of(step: Step) -> Group:
    """Say which calls can stand for a step."""
    if step.kind is Kind.MODEL:
        return Group(Kind.MODEL, "", step.parent_id)
    return Group(step.kind, step.name, step.parent_id if step.kind is Kind.AGENT else None)


class Tries:
    """The calls of one run, by what they can stand for; of its plain steps those whose errors the app noted."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._calls: dict[Group, dict[str | None, list[Step]]] = defaultdict(lambda: defaultdict(list))
        self._series: dict[tuple[Group, str | None], _Series] = {}
        steps = tuple(steps)
        noted = {step.name for step in steps if step.incident is not None and step.incident.noted}
        for step in steps:
            if step.kind is not Kind.STEP or step.name in noted:
                self._calls[group_of(step)][step.arguments].append(step)

    @property
    def tools(self) -> tuple[Group, ...]:
        """The tools that were called: where a plain step refused a call, its tool is not named."""
        return tuple(group for group in self._calls if group.kind is Kind.TOOL)

    def good_at(self, group: Group, *, arguments: str | None, after: int) -> int:
        """Say when the first good call of a group began that did not begin before a moment; NEVER if none did.

        Args:
            group: The calls to look at.
            arguments: Only calls with these, or with none recorded; None: with any.
            after: Nanoseconds since the epoch.
        """
        starts = self._of(group, arguments).good_starts
        position = bisect_left(starts, after)
        return starts[position] if position < len(starts) else NEVER

    def accepted_at(self, group: Group, *, after: int) -> int:
        """Say when the first call of a group began, after a moment, that was not rejected itself; NEVER if none did.

        What became of an accepted call is another matter: it ran.
        """
        starts = self._of(group, None).accepted_starts
        position = bisect_left(starts, after)
        return starts[position] if position < len(starts) else NEVER

    def attempts(self, step: Step, *, arguments: str | None) -> int:
        """Count the calls made again beside a failed one: since the last good call, until the next.

        Args:
            step: A call that did not end well.
            arguments: Only calls with these, or with none recorded, are tries of the same; None: all of its group.
        """
        return self._of(group_of(step), arguments).attempts.get(step.span_id, 0)

    def _of(self, group: Group, arguments: str | None) -> _Series:
        key = (group, arguments)
        if key not in self._series:
            by_arguments = self._calls.get(group, {})
            chosen = by_arguments if arguments is None else {arguments, None} & by_arguments.keys()
            calls = [call for each in chosen for call in by_arguments[each]]
            self._series[key] = _Series(tuple(sorted(calls, key=lambda call: (call.started_at, call.span_id))))
        return self._series[key]


@dataclass(frozen=True)
class _Series:
    """Tries of the same, in the order in which they began."""

    calls: tuple[Step, ...]

    @cached_property
    def good_starts(self) -> tuple[int, ...]:
        return tuple(call.started_at for call in self.calls if call.went_well)

    @cached_property
    def accepted_starts(self) -> tuple[int, ...]:
        return tuple(
            call.started_at
            for call in self.calls
            if not call.asked_again and (call.incident is None or call.incident.sort is not Sort.REJECTED)
        )

    @cached_property
    def attempts(self) -> Mapping[str, int]:
        """Count, for each failed call, the calls of its round that began once the round's first failure had ended.

        A round begins with a failed call and ends with a good one; calls that began beside the first are no retries.
        """
        counts: dict[str, int] = {}
        failed: list[Step] = []
        count, failed_at = 0, 0
        for call in self.calls:
            is_retry = bool(failed) and call.started_at >= failed_at
            count += is_retry
            if call.incident is not None:
                failed_at = min(failed_at, call.ended_at) if failed else call.ended_at
                failed.append(call)
            elif is_retry and call.went_well:
                counts.update({each.span_id: count for each in failed})
                failed, count = [], 0
        counts.update({each.span_id: count for each in failed})
        return counts
