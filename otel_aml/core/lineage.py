"""Who stands above whom: the steps of a run from the top down, in one pass, safe from circles and lost parents."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_aml.core.steps import Step


def parents_first(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Order steps so that each follows its parent, whatever order they come in.

    Steps whose parents run in a circle are entered at their smallest span id.

    Args:
        steps: Steps with distinct span ids.
    """
    by_id = {step.span_id: step for step in steps}
    below: dict[str | None, list[str]] = defaultdict(list)
    for span_id in sorted(by_id):
        below[by_id[span_id].parent_id].append(span_id)
    ordered: list[Step] = []
    waiting = deque(sorted(by_id, key=lambda span_id: (by_id[span_id].parent_id in by_id, span_id)))
    seen: set[str] = set()
    while waiting:
        span_id = waiting.popleft()
        if span_id not in seen:
            seen.add(span_id)
            ordered.append(by_id[span_id])
            waiting.extendleft(reversed(below[span_id]))
    return tuple(ordered)
