"""Who stands above whom: the steps of a run from the top down, in one pass, safe from circles and lost parents."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable


class HasParent(Protocol):
    """A step, or a span."""

    @property
    def span_id(self) -> str:
        """16 hex digits."""
        ...

    @property
    def parent_id(self) -> str | None:
        """16 hex digits; None for a root."""
        ...


Each = TypeVar("Each", bound=HasParent)


def parents_first(steps: Iterable[Each]) -> tuple[Each, ...]:
    """Order steps so that each follows its parent, whatever order they come in.

    Steps whose parents run in a circle are entered at their smallest span id.

    Args:
        steps: Steps (or spans) with distinct span ids.
    """
    by_id = {step.span_id: step for step in steps}
    below: dict[str | None, list[str]] = defaultdict(list)
    tops: list[str] = []
    rest: list[str] = []
    for span_id in sorted(by_id):
        parent_id = by_id[span_id].parent_id
        below[parent_id].append(span_id)
        (rest if parent_id in by_id else tops).append(span_id)
    ordered: list[Each] = []
    waiting = deque(tops + rest)
    while waiting:
        span_id = waiting.popleft()
        step = by_id.pop(span_id, None)
        if step is not None:
            ordered.append(step)
            if span_id in below:
                waiting.extendleft(reversed(below[span_id]))
    return tuple(ordered)
