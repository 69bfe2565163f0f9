"""The spans of a trace become runs, and the runs get their facts, with the very functions that a live run uses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from otel_aml import conventions
from otel_aml.conventions import NOTHING_DECLARED, Contract, Declared
from otel_aml.core.facts import Facts
from otel_aml.core.folding import fold_id, fold_label
from otel_aml.core.taxonomy import FailureClass
from otel_aml.offline.clocks import aligned
from otel_aml.offline.online import Online, Weighed, read_online, weigh
from otel_aml.spans.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from otel_aml.conventions import Reading, RunSpans
    from otel_aml.offline.labels import Label
    from otel_aml.offline.store import Trace
    from otel_aml.spans.model import SpanRecord

GOLD: Final = "gold"
JUDGE: Final = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run with all that its verdict rests on.

    Args:
        span_id: Its root.
        case_id: The case, if the spans name one.
        conversation_id: The conversation or thread; it joins an interrupted run with its resumption.
        started_ns: Nanoseconds since the epoch.
        ended_ns: Nanoseconds since the epoch; None if the root never ended.
        facts: What the replay knows, and what labels say.
        online: The verdict that it got live.
        labelled: By check, who gave the label that it rests on.
        seen_only_live: The call that was blamed live shows no error once exported.
        seen_ns: When the spans ended that an answer, a retrieval or the live verdict points to, by their ids.
        error_spans: How many of its spans are in error: what a naive count would call failures.
    """

    trace_id: str
    span_id: str
    case_id: str | None = None
    conversation_id: str | None = None
    service: str = ""
    agent: str = ""
    started_ns: int = 0
    ended_ns: int | None = None
    synthetic: bool = False
    error_spans: int = 0
    facts: Facts = field(default_factory=Facts)
    online: Online | None = None
    labelled: Mapping[str, str] = field(default_factory=dict[str, str])
    seen_only_live: bool = False
    seen_ns: Mapping[str, int] = field(default_factory=dict[str, int])

    def weighed(self) -> Weighed:
        """Draw its verdict."""
        return weigh(self.facts, self.online, self.labelled, seen_only_live=self.seen_only_live)


def records(trace: Trace, contract: Contract | None = None) -> Iterator[RunRecord]:
    """Find the runs of one trace, ordered by their roots.

    Args:
        trace: Its distinct spans.
        contract: What the app declared; applies to every run unless it names agents.
    """
    spans = aligned(trace.spans)
    synthetic = any(stored.synthetic for stored in trace.spans)
    frameworks = () if contract is None else contract.frameworks
    for run in conventions.runs(spans, frameworks):
        readings = [
            conventions.read(span) if contract is None else conventions.read(span, contract) for span in run.spans
        ]
        if conventions.is_run(readings):
            yield _record(run, readings, contract, unseen=trace.dropped > 0, synthetic=synthetic)


def labelled(record: RunRecord, label: Label) -> RunRecord:
    """Lay a label over what the spans say."""
    facts, given = record.facts, dict(record.labelled)
    if label.typology is not None:
        facts = replace(facts, gold_typology=fold_label(label.typology))
        given[FailureClass.TYPOLOGY_MISJUDGE] = GOLD
    if label.evidence_ids is not None:
        facts = replace(facts, evidence_ids=frozenset(map(fold_id, label.evidence_ids)))
        given[FailureClass.HALLUCINATION] = GOLD
    if label.doc_ids is not None:
        facts = replace(facts, needed_notes=tuple(frozenset({fold_id(note)}) for note in sorted(label.doc_ids)))
        given[FailureClass.RETRIEVAL_MISS] = GOLD
    if label.context_used is not None:
        facts = replace(facts, context_used=label.context_used)
        given[FailureClass.CONTEXT_POLLUTION] = JUDGE
    return replace(record, facts=facts, labelled=given)


def _record(
    run: RunSpans,
    readings: list[Reading],
    contract: Contract | None,
    *,
    unseen: bool,
    synthetic: bool,
) -> RunRecord:
    root = next((span for span in run.spans if span.span_id == run.root_id), None)
    online = None if root is None else read_online(root.attributes)
    of_root = sorted(readings, key=lambda reading: (reading.step.span_id != run.root_id, -reading.step.ended_at))
    declared = _declared(of_root)
    agents = [reading.agent for reading in of_root if reading.agent]
    applies = contract if contract is None or contract.agents is None or contract.names(agents) else None
    facts = conventions.facts(
        readings,
        run.root_id,
        contract=applies,
        incomplete=run.incomplete or _stayed_incomplete(root, run.spans, online),
        unseen=unseen,
    )
    return RunRecord(
        trace_id=run.spans[0].trace_id,
        span_id=run.root_id,
        case_id=declared.case_id,
        conversation_id=conventions.conversation(readings, run.root_id) or None,
        service=(root or run.spans[0]).service,
        agent=agents[0] if agents else "",
        started_ns=min(span.started_at for span in run.spans) if root is None else root.started_at,
        ended_ns=None if root is None else root.ended_at,
        synthetic=synthetic or declared.synthetic,
        error_spans=sum(span.status is Status.ERROR for span in run.spans),
        facts=facts,
        online=online,
        seen_only_live=_is_seen_only_live(readings, online),
        seen_ns=_seen(run.spans, facts, online),
    )


def _seen(spans: Iterable[SpanRecord], facts: Facts, online: Online | None) -> dict[str, int]:
    """Say when what a verdict points to was seen, where its failure does not say itself: when its span ended."""
    live = "" if online is None or online.first is None else online.first.span_id
    pointed_at = {facts.answer_span_id, facts.retrieval_span_id, live}
    ended = {span.span_id: span.ended_at for span in spans if span.span_id in pointed_at}
    return {span_id: ended_at for span_id, ended_at in sorted(ended.items()) if ended_at is not None}


def _declared(readings: Iterable[Reading]) -> Declared:
    merged = NOTHING_DECLARED
    for reading in readings:
        merged = merged.over(reading.declared)
    return merged


def _is_seen_only_live(readings: Iterable[Reading], online: Online | None) -> bool:
    blamed = "" if online is None or online.first is None else online.first.span_id
    return any(reading.step.span_id == blamed and reading.step.incident is None for reading in readings)


def _stayed_incomplete(root: SpanRecord | None, spans: Iterable[SpanRecord], online: Online | None) -> bool:
    """Whether spans that were open when the root ended are still missing: none of the spans ended after it."""
    if online is None or not online.incomplete or root is None or root.ended_at is None:
        return False
    ended_at = root.ended_at
    return not any(span.ended_at is not None and span.ended_at > ended_at for span in spans)
