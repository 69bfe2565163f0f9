"""Where a run begins: at the span that `case()` opened, else an agent framework's outermost, else the local root."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from otel_aml.conventions import openllmetry, values
from otel_aml.conventions.kinds import kind
from otel_aml.conventions.marks import CLIENTS, FRAMEWORK_PREFIXES, FRAMEWORK_SCOPES
from otel_aml.core.lineage import parents_first
from otel_aml.core.steps import Kind
from otel_aml.core.taxonomy import FailureClass
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from otel_aml.spans.model import SpanRecord

SAYING = frozenset({names.GEN_AI_OPERATION, names.OPENINFERENCE_KIND, names.TRACELOOP_KIND})
"""Where alone a span can say that it is an agent."""
_VERDICT = frozenset({names.VERDICT, names.CLASS})
_CLASSES = frozenset(map(str, FailureClass))
_FRAMEWORKS = frozenset(FRAMEWORK_SCOPES)
_REMEMBERED = 1_024


def is_case(scope: str) -> bool:
    """Whether a span is one that `case()` opened; it is always a run of its own."""
    return scope == names.OUR_SCOPE


def carries_verdict(attributes: Mapping[str, Any]) -> bool:
    """Whether the processor wrote its verdict there; where little fitted, the class alone tells."""
    if _VERDICT.isdisjoint(attributes):
        return False
    if values.flag(attributes.get(names.VERDICT)) is True:
        return True
    return values.text(attributes.get(names.CLASS)) in _CLASSES


def is_framework(scope: str, frameworks: Iterable[str] = ()) -> bool:
    """Whether a scope is one of an agent framework, or one that the app says is."""
    return scope in _FRAMEWORKS or scope in frameworks or _watches_a_framework(scope)


@lru_cache(maxsize=256)
def _watches_a_framework(scope: str) -> bool:
    """Whether a scope is of an instrumentation for agents, of anything but a client."""
    prefix = next((each for each in FRAMEWORK_PREFIXES if scope.startswith(each)), None)
    return prefix is not None and scope.removeprefix(prefix).partition(".")[0] not in CLIENTS


class Frameworks(dict[str, bool]):
    """Says of each scope whether it is of an agent framework, and remembers it: a look-up for every span.

    Args:
        own: Further scopes that are.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        super().__init__()
        self._own = frozenset(own)

    def __missing__(self, scope: str) -> bool:
        found = is_framework(scope, self._own)
        if len(self) < _REMEMBERED:
            self[scope] = found
        return found


def says_agent(scope: str, attributes: Mapping[str, Any], frameworks: Iterable[str] = ()) -> bool:
    """Whether a span is of an agent framework, by its scope or by what its attributes say."""
    if is_framework(scope, frameworks):
        return True
    if SAYING.isdisjoint(attributes):
        return False
    return kind(attributes) is Kind.AGENT or openllmetry.is_workflow(attributes)


@dataclass(frozen=True, slots=True)
class RunSpans:
    """The spans of one run.

    Args:
        root_id: Its root; of a run whose root never ended, the id that its spans name as their parent.
        incomplete: The root never ended.
    """

    root_id: str
    spans: tuple[SpanRecord, ...]
    incomplete: bool = False


def runs(spans: Sequence[SpanRecord], frameworks: Iterable[str] = ()) -> tuple[RunSpans, ...]:
    """Part the distinct spans of one trace into runs, by the rule that fixes the run root when a span starts.

    A span that already carries a verdict is a root. Spans whose parent was never exported make one incomplete run
    together, unless their parent lies in another process or they are an agent's own root; those that began within the
    time of a case are a part of its run, which is incomplete.

    Args:
        spans: The distinct spans of one trace, in any order.
        frameworks: Further scopes of agent frameworks.

    Returns:
        The runs, ordered by root id; also those without an agent, model, tool or retriever.
    """
    by_id = {span.span_id: span for span in spans}
    extra = frozenset(frameworks)
    root_of: dict[str, str] = {}
    settled: set[str] = set()
    cut_off: set[str] = set()
    lost = _lost_root(spans, by_id)
    cases = tuple(span for span in spans if is_case(span.scope))
    for span in parents_first(spans):
        inherited = root_of.get(span.parent_id or "")
        starts_run = is_case(span.scope) or carries_verdict(span.attributes)
        if not starts_run and inherited is None and lost is not None and _is_lost(span, by_id):
            root_of[span.span_id] = root_id = _case_around(span, cases) or lost
            if says_agent(span.scope, span.attributes, extra):
                settled.add(root_id)
            if root_id != lost:
                cut_off.add(root_id)
            continue
        is_agent = starts_run or says_agent(span.scope, span.attributes, extra)
        if starts_run or inherited is None or (is_agent and inherited not in settled):
            root_of[span.span_id] = span.span_id
            if is_agent:
                settled.add(span.span_id)
        else:
            root_of[span.span_id] = inherited
    members: dict[str, list[SpanRecord]] = {}
    for span in spans:
        members.setdefault(root_of[span.span_id], []).append(span)
    return tuple(
        RunSpans(
            root_id,
            tuple(mine),
            incomplete=root_id in cut_off or root_id not in by_id or by_id[root_id].ended_at is None,
        )
        for root_id, mine in sorted(members.items())
    )


def _case_around(lost: SpanRecord, cases: Iterable[SpanRecord]) -> str | None:
    """Find the one case of the trace in whose time a span began; what hangs between them never ended."""
    around = [
        case.span_id
        for case in cases
        if case.started_at <= lost.started_at and (case.ended_at is None or lost.started_at <= case.ended_at)
    ]
    return around[0] if len(around) == 1 else None


def _is_lost(span: SpanRecord, by_id: Mapping[str, SpanRecord]) -> bool:
    """Whether the parent of a span was never exported, though it was in this process."""
    if span.parent_id is None or span.parent_id in by_id or span.remote_parent:
        return False
    return kind(span.attributes) is not Kind.AGENT and not span.server


def _lost_root(spans: Sequence[SpanRecord], by_id: Mapping[str, SpanRecord]) -> str | None:
    lost = [span for span in spans if _is_lost(span, by_id)]
    return min(lost, key=lambda span: (span.started_at, span.span_id)).parent_id if lost else None
