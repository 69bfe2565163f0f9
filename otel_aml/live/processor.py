"""The span processor: gathers what the spans of a run say, and writes the verdict on its root as that ends."""

# ruff: noqa: SLF001 - the short way of `on_start` and `on_end`, which says why

from __future__ import annotations

import os
import weakref
from sys import exception
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

from otel_aml import conventions
from otel_aml.conventions import Contract, Frameworks, Reading
from otel_aml.conventions.glance import Glance, glance
from otel_aml.live import end_hook, in_flight, stamp, weighing
from otel_aml.live.case import CASE_SPAN
from otel_aml.live.faults import Faults
from otel_aml.live.runs import Entry, Limits, Registry, Run, Started
from otel_aml.live.sketch import sketch
from otel_aml.spans import attributes as names
from otel_aml.spans.sdk import id_of, plain, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

    from otel_aml.core.facts import Facts
    from otel_aml.live.tally import Tally

_NO_CONTRACT: Final = Contract()
_ERROR: Final = StatusCode.ERROR
_INTERNAL: Final = SpanKind.INTERNAL
_MAKES_A_RUN: Final = Glance.MAKES_A_RUN
_MATTERS: Final = Glance.MATTERS
_NOTHING: Final = Glance.NOTHING
_OPERATION: Final = names.GEN_AI_OPERATION
_TOOL: Final = names.GEN_AI_TOOL
_OPENINFERENCE: Final = names.OPENINFERENCE_KIND
_TRACELOOP: Final = names.TRACELOOP_KIND
_NO_AGENTS: Final = frozenset({"chat", "text_completion", "execute_tool", "embeddings", "retrieval"})
"""Operations that are no agent's."""
_SPAN_ID: Final = 1
_IS_REMOTE: Final = 2
"""Places in the tuple that a `SpanContext` is."""


class FailureSpanProcessor(SpanProcessor):
    """Gives each agent run, as it ends, exactly one first-failure class, on its root span.

    Every span goes on to the next processor untouched. Where it stands among the processors does not matter.

    Args:
        contract: What the app declares of its answers.
        limits: What is held at most.
    """

    def __init__(self, *, contract: Contract | None = None, limits: Limits | None = None) -> None:
        self._registry = Registry(limits or Limits())
        self._by_span = self._registry.by_span
        self._steps = self._registry.limits.steps
        self._faults = Faults()
        self._ending: set[int] = set()
        self._spans_seen = 0
        self._spans_late = 0
        self._unstamped = 0
        self._is_shut = False
        self.tally: Tally | None = None
        self._know_contract(contract)
        self._writes_on_ending = end_hook.on_ending_writes()
        _drop_inherited_after_fork(self._registry)

    # --- the SDK's calls: nothing may leave them -----------------------------------------------------------------
    #
    # The first two begin with the short way that nearly every span goes: it is paid for each span of the app, so it
    # calls next to nothing, and reads the span where the SDK keeps things; through the SDK's properties alone it would
    # cost more than twice as much (`benchmarks/overhead.py`). On an SDK that keeps them elsewhere, an AttributeError
    # sends every span the long way, which asks the properties.

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's signature
        """Know to which run a span belongs; take hold of the end of a run root."""
        try:
            try:
                peeked: Any = span
                parent = peeked._parent
                if parent is not None and not parent[_IS_REMOTE]:
                    run = self._by_span.get(parent[_SPAN_ID])
                    if type(run) is tuple:
                        run = run[0]
                    if type(run) is Run and exception() is None:
                        attributes = peeked.attributes.copy()
                        said = attributes.get(_OPERATION)
                        if (
                            peeked._name != CASE_SPAN
                            if run.takes_all
                            else (said is None or said in _NO_AGENTS)
                            and _OPENINFERENCE not in attributes
                            and _TRACELOOP not in attributes
                            and not self._scopes[peeked._instrumentation_scope._name]
                        ):
                            spans = run.spans
                            if len(spans) < self._steps:
                                span_id = peeked._context[_SPAN_ID]
                                spans.append(span_id)
                                self._by_span[span_id] = run if said is None else (run, said)
                                if run.is_closed:
                                    self._by_span.pop(span_id, None)
                                return
            except (AttributeError, TypeError):
                pass
            self._start(span)
        except Exception as error:  # noqa: BLE001 - nothing of ours raises into the app
            self._faults.note("on_start", error)

    def on_end(self, span: ReadableSpan) -> None:
        """Gather what an ended span says."""
        self._spans_seen += 1
        try:
            try:
                peeked: Any = span
                span_id = peeked._context[_SPAN_ID]
                run = self._by_span.get(span_id)
                if (
                    run is not None
                    and not peeked._events._dq
                    and peeked._status._status_code is not _ERROR
                    and exception() is None
                ):
                    attributes = peeked.attributes.copy()
                    if type(run) is tuple and _OPERATION in attributes:
                        run = run[0]
                    if type(run) is Run and self._glances:
                        worth = glance(attributes, self._answer_tools)
                        if worth is not _MATTERS:
                            if worth is _MAKES_A_RUN and _TOOL in attributes and not run.readings:
                                run.makes_a_run = True
                                run.last_call_at = max(run.last_call_at, peeked._start_time)
                            elif worth is not _NOTHING or run.readings or peeked._kind is not _INTERNAL:
                                self._pass_over(run, span, span_id, attributes, worth)
                            self._by_span[span_id] = run.root_id
                            if run.is_closed:
                                self._by_span.pop(span_id, None)
                            return
            except (AttributeError, TypeError):
                pass
            self._end(span)
        except Exception as error:  # noqa: BLE001 - nothing of ours raises into the app
            self._faults.note("on_end", error)

    def _on_ending(self, span: Span) -> None:
        """Write the verdict here, on an SDK where that works (see `end_hook`)."""
        if self._writes_on_ending and self._registry.root(id_of(span)) is not None:
            self._finish(span, span.end_time or 0)

    def shutdown(self) -> None:
        """Hold nothing back: roots that are still open are counted, and what ends later is a counted no-op."""
        self._is_shut = True
        self._registry.drop_all("shutdown")

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the SDK's signature
        """Say that nothing is held back."""
        return True

    # --- what it knows of itself ---------------------------------------------------------------------------------

    def declare(self, contract: Contract | None) -> None:
        """Replace the contract; None leaves it as it is."""
        if contract is not None:
            self._know_contract(contract)

    def stats(self) -> Mapping[str, Any]:
        """Count what it did.

        Returns:
            `spans_seen` and `spans_late` (ended after their run, or of none); `runs_started`, `runs_classified`,
            `runs_dropped` (by reason) and `runs_open`, of which the first is always the sum of the others;
            `unstamped` (runs whose root had no room for an attribute); `faults` of our own.
        """
        return self._counted(self._registry.counts())

    def glimpse(self) -> Mapping[str, Any]:
        """Give `stats()` without waiting for anything; its numbers may then be of slightly different moments."""
        return self._counted(self._registry.glimpse())

    def _counted(self, counts: tuple[int, int, dict[str, int], int]) -> Mapping[str, Any]:
        started, classified, dropped, still_open = counts
        return {
            "spans_seen": self._spans_seen,
            "spans_late": self._spans_late,
            "runs_started": started,
            "runs_classified": classified,
            "runs_dropped": dropped,
            "runs_open": still_open,
            "unstamped": self._unstamped,
            "faults": self._faults.count,
        }

    def _know_contract(self, contract: Contract | None) -> None:
        self.contract = contract
        self._reading_contract = contract or _NO_CONTRACT
        self._glances = not self._reading_contract.failure_marks
        self._answer_tools = self._reading_contract.answer_tools
        self._scopes = Frameworks({*self._reading_contract.frameworks, names.OUR_SCOPE})

    # --- the work ------------------------------------------------------------------------------------------------

    def _start(self, span: Span) -> None:
        if self._is_shut:
            return
        parent, attributes = span.parent, plain(span.attributes)
        if parent is None or parent.is_remote:
            self._open(span, attributes, is_settled=self._says_agent(span, attributes))
            return
        run = self._registry.run_of(parent.span_id)
        if run is not None and run.is_settled and span.name != CASE_SPAN:
            self._join(run, span, attributes)
        elif _opens_case(span) or ((run is None or not run.is_settled) and self._says_agent(span, attributes)):
            self._open(span, attributes, is_settled=True)
        elif run is not None:
            self._join(run, span, attributes)

    def _says_agent(self, span: Span, attributes: Mapping[str, Any]) -> bool:
        scope = span.instrumentation_scope
        return (scope is not None and self._scopes[scope.name]) or conventions.says_agent("", attributes)

    def _open(self, span: Span, attributes: Mapping[str, Any], *, is_settled: bool) -> None:
        span_id = id_of(span)
        if self._registry.root(span_id) is not None:
            return
        run = Run(
            span_id,
            is_settled=is_settled,
            in_case=_opens_case(span),
            in_flight=in_flight.identity(),
            at_start=attributes,
        )
        self._registry.open(run)
        if not self._writes_on_ending:
            end_hook.attach(span, self._finish)

    def _join(self, run: Run, span: Span, attributes: Mapping[str, Any]) -> None:
        span_id, parent, entry = id_of(span), span.parent, False
        if run.in_case and len(run.agents) < self._steps and self._says_agent(span, attributes):
            run.agents.add(span_id)
            entry = parent is not None and parent.span_id not in run.agents
        started = Entry if entry else Started
        self._registry.join(span_id, started(run, attributes.get(_OPERATION), in_flight.identity()))

    def _end(self, span: ReadableSpan) -> None:
        span_id = id_of(span)
        started = self._registry.started(span_id)
        if started is not None:
            self._gather(started, span, span_id)
        elif span_id in self._ending:
            self._ending.discard(span_id)
        else:
            self._spans_late += 1

    def _gather(self, started: Started, span: ReadableSpan, span_id: int) -> None:
        """Keep what an ended span says: a sketch of a dull one, the reading of one that matters."""
        run = started.run
        try:
            attributes = plain(span.attributes)
            if started.said is not None and _OPERATION not in attributes:
                attributes[_OPERATION] = started.said
            cut_by = in_flight.cut_by(started.in_flight)
            is_plain = span.status.status_code is not _ERROR and not span.events and not cut_by
            if is_plain and self._glances and not isinstance(started, Entry):
                worth = glance(attributes, self._answer_tools)
                if worth is not _MATTERS:
                    self._pass_over(run, span, span_id, attributes, worth)
                    return
            run.add(self._read(span, attributes, cut_by), limit=self._steps)
        except Exception:
            run.unseen = True
            raise
        finally:
            self._registry.leave(run, span_id)

    def _pass_over(self, run: Run, span: ReadableSpan, span_id: int, attributes: dict[str, Any], worth: Glance) -> None:
        """Keep a sketch of a dull span, where anything that matters could still need it.

        What ended before the first that matters stands above none of it, and makes none of it good. Only of the models
        one is needed for each place and choice of tools: for the tools that they were offered, and since an agent
        without any model is a case apart.
        """
        if worth is _MAKES_A_RUN:
            run.makes_a_run = True
            started_at = span.start_time or 0
            run.last_call_at = max(run.last_call_at, started_at)
            if not run.readings:
                if _TOOL in attributes:
                    return
                parent, offered = span.parent, attributes.get(names.GEN_AI_TOOLS_OFFERED)
                model = (None if parent is None else parent.span_id, offered)
                if model == run.last_model:
                    return
                run.last_model = model
        else:
            if span.kind is SpanKind.CLIENT or span.kind is SpanKind.PRODUCER:
                run.shows_client = True
            if not run.readings:
                return
        if len(run.sketches) + len(run.readings) < self._steps:
            run.sketches.append(sketch(run, span, span_id, attributes, worth))
        else:
            run.unseen = True

    def _read(
        self, span: ReadableSpan, attributes: Mapping[str, Any], cut_by: str, *, ended_at: int | None = None
    ) -> Reading:
        found = record(span, attributes, ended_at=ended_at)
        return conventions.read(found, self._reading_contract, in_flight=cut_by)

    def _finish(self, span: Span, ended_at: int) -> None:
        """Classify the run of a root that is about to end, and write the verdict."""
        span_id = id_of(span)
        run = self._registry.root(span_id)
        if run is None:
            return
        self._ending.add(span_id)
        try:
            self._conclude(run, span, ended_at)
        except Exception as error:  # noqa: BLE001 - nothing of ours raises into the app
            self._registry.drop(run, "fault")
            self._faults.note("end of a run", error)
        except BaseException:
            self._registry.drop(run, "fault")
            raise

    def _conclude(self, run: Run, span: Span, ended_at: int) -> None:
        present = plain(span.attributes)
        worth = weighing.worth_of_root(run, span, present) if self._glances else _MATTERS
        facts: Facts | None = None
        if worth is _MATTERS or (self.contract is not None and (run.makes_a_run or worth is _MAKES_A_RUN)):
            facts = self._weighed(run, span, present, ended_at)
        elif worth is _MAKES_A_RUN or run.makes_a_run:
            facts = weighing.facts_of_a_quiet_run(run, incomplete=self._registry.is_incomplete(run))
        if facts is None:
            self._registry.forget(run)
            return
        verdict = stamp.verdict_on(facts)
        if not self._registry.classify(run):
            return
        written = stamp.fitting(verdict, present, stamp.room_of(span))
        if written:
            span.set_attributes(written)
        else:
            self._unstamped += 1
        if self.tally is not None:
            self.tally.add(verdict, facts)

    def _weighed(self, run: Run, span: Span, present: Mapping[str, Any], ended_at: int) -> Facts | None:
        """Read what has to be read, and fold it into facts; None if it is no run of an agent."""
        attributes = {**run.at_start, **present} if span.dropped_attributes else present
        root = self._read(span, attributes, in_flight.cut_by(run.in_flight), ended_at=ended_at)
        readings = weighing.readings(run, root, self._reading_contract)
        if not readings:
            return None
        incomplete = self._registry.is_incomplete(run)
        return weighing.facts(run, readings, self.contract, self._faults, incomplete=incomplete)


def _opens_case(span: Span) -> bool:
    scope = span.instrumentation_scope
    return span.name == CASE_SPAN and scope is not None and conventions.is_case(scope.name)


def _drop_inherited_after_fork(registry: Registry) -> None:
    """In a forked child the open runs are the parent's, and the lock may be held by a thread that is not there."""
    if not hasattr(os, "register_at_fork"):
        return
    reference = weakref.ref(registry)

    def in_child() -> None:
        found = reference()
        if found is not None:
            found.after_fork()

    os.register_at_fork(after_in_child=in_child)
