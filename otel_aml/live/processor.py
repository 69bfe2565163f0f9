"""The span processor: gathers what the spans of a run say, and writes the verdict on its root as that ends."""

from __future__ import annotations

import os
import sys
import weakref
from asyncio import CancelledError
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import SpanLimits, SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

from otel_aml import conventions
from otel_aml.conventions import Contract, Declared, Reading
from otel_aml.conventions.glance import Glance, glance
from otel_aml.core.steps import Kind
from otel_aml.live import end_hook, stamp
from otel_aml.live.case import CASE_SPAN, CaseHandle, handle_of
from otel_aml.live.faults import Faults
from otel_aml.live.runs import Limits, Registry, Run, Started
from otel_aml.live.sketch import sketch, unfold
from otel_aml.spans import attributes as names
from otel_aml.spans.sdk import hex_id, id_of, plain, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

    from otel_aml.core.facts import Facts
    from otel_aml.live.tally import Tally

_NO_CONTRACT: Final = Contract()
_CALLING_OUT: Final[ContextVar[bool]] = ContextVar("otel_aml_calling_out", default=False)
"""Set while the app's own check of an answer runs: a run inside it does not call it again."""


class FailureSpanProcessor(SpanProcessor):
    """Gives each agent run, as it ends, exactly one first-failure class, on its root span.

    Every span goes on to the next processor untouched. Where it stands among the processors does not matter.

    Args:
        contract: What the app declares of its answers.
        limits: What is held at most.
    """

    def __init__(self, *, contract: Contract | None = None, limits: Limits | None = None) -> None:
        self.contract = contract
        self._reading_contract = contract or _NO_CONTRACT
        self._registry = Registry(limits or Limits())
        self._faults = Faults()
        self._ending: set[int] = set()
        self._spans_seen = 0
        self._spans_late = 0
        self._unstamped = 0
        self._is_shut = False
        self.tally: Tally | None = None
        self._glances = not self._reading_contract.failure_marks
        self._writes_on_ending = end_hook.on_ending_writes()
        _drop_inherited_after_fork(self._registry)

    # --- the SDK's calls: nothing may leave them -----------------------------------------------------------------

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's signature
        """Know to which run a span belongs; take hold of the end of a run root."""
        if self._is_shut:
            return
        try:
            self._start(span)
        except Exception as error:  # noqa: BLE001 - nothing of ours raises into the app
            self._faults.note("on_start", error)

    def on_end(self, span: ReadableSpan) -> None:
        """Gather what an ended span says."""
        self._spans_seen += 1
        try:
            span_id = id_of(span)
            run = self._registry.by_span.get(span_id)
            if run is not None and span_id in run.open:
                self._gather(run, span, span_id)
            elif span_id in self._ending:
                self._ending.discard(span_id)
            else:
                self._spans_late += 1
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
            self.contract = self._reading_contract = contract
            self._glances = not contract.failure_marks

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

    # --- the work ------------------------------------------------------------------------------------------------

    def _start(self, span: Span) -> None:
        parent = span.parent
        if parent is None or parent.is_remote:
            self._open(span, is_settled=self._says_agent(span))
            return
        run = self._registry.by_span.get(parent.span_id)
        if run is not None and run.is_settled and span.name != CASE_SPAN:
            self._join(run, span)
        elif _opens_case(span) or ((run is None or not run.is_settled) and self._says_agent(span)):
            self._open(span, is_settled=True)
        elif run is not None:
            self._join(run, span)

    def _says_agent(self, span: Span) -> bool:
        scope = span.instrumentation_scope
        name = "" if scope is None else scope.name
        return conventions.is_case(name) or conventions.says_agent(
            name, plain(span.attributes), self._reading_contract.frameworks
        )

    def _open(self, span: Span, *, is_settled: bool) -> None:
        span_id = id_of(span)
        if self._registry.root(span_id) is not None:
            return
        run = Run(span_id, is_settled=is_settled, in_case=_opens_case(span))
        run.at_start = Started(in_flight=_id_in_flight(), attributes=plain(span.attributes))
        self._registry.open(run)
        if not self._writes_on_ending:
            end_hook.attach(span, self._finish)

    def _join(self, run: Run, span: Span) -> None:
        attributes = span.attributes
        said = None if attributes is None else attributes.get(names.GEN_AI_OPERATION)
        in_flight = _id_in_flight()
        if not in_flight and (said is None or isinstance(said, str)):
            started = _started(said)
        else:
            started = Started(said, in_flight)
        self._registry.join(run, id_of(span), started)
        if run.in_case and len(run.agents) < self._registry.limits.steps and self._says_agent(span):
            run.agents.add(id_of(span))
            if span.parent is not None and span.parent.span_id not in run.agents:
                run.entries.add(id_of(span))

    def _gather(self, run: Run, span: ReadableSpan, span_id: int) -> None:
        """Keep what an ended span says: a sketch of a dull one, the reading of one that matters."""
        try:
            attributes = plain(span.attributes)
            started = run.open[span_id]
            if started.said is not None and names.GEN_AI_OPERATION not in attributes:
                attributes[names.GEN_AI_OPERATION] = started.said
            in_flight = _in_flight(started)
            is_plain = span.status.status_code is not StatusCode.ERROR and not span.events and not in_flight
            if is_plain and self._glances and span_id not in run.entries:
                worth = glance(attributes, self._reading_contract.answer_tools)
                if worth is not Glance.MATTERS:
                    self._pass_over(run, span, span_id, attributes, worth)
                    return
            run.add(self._read(span, attributes, in_flight), limit=self._registry.limits.steps)
        except Exception:
            run.unseen = True
            raise
        finally:
            self._registry.leave(run, span_id)

    def _pass_over(self, run: Run, span: ReadableSpan, span_id: int, attributes: dict[str, Any], worth: Glance) -> None:
        """Keep a sketch of a dull span, where anything that matters could still need it.

        What ended before the first that matters stands above none of it, and makes none of it good. Models alone are
        needed from the start: for the tools that they were offered, and since an agent without any is a case apart.
        """
        if worth is Glance.MAKES_A_RUN:
            run.makes_a_run = True
            run.last_call_at = max(run.last_call_at, span.start_time or 0)
        elif span.kind is SpanKind.CLIENT or span.kind is SpanKind.PRODUCER:
            run.shows_client = True
        if not run.readings and not (worth is Glance.MAKES_A_RUN and names.GEN_AI_TOOL not in attributes):
            return
        if len(run.sketches) + len(run.readings) < self._registry.limits.steps:
            run.sketches.append(sketch(run, span, span_id, attributes, worth))
        else:
            run.unseen = True

    def _read(
        self, span: ReadableSpan, attributes: Mapping[str, Any], in_flight: str, *, ended_at: int | None = None
    ) -> Reading:
        found = record(span, attributes, ended_at=ended_at)
        return conventions.read(found, self._reading_contract, in_flight=in_flight)

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
        attributes = {**run.at_start.attributes, **present} if span.dropped_attributes else present
        root = self._read(span, attributes, _in_flight(run.at_start), ended_at=ended_at)
        readings = [*run.readings, root]
        if not run.makes_a_run and not conventions.is_run(readings):
            self._registry.forget(run)
            return
        if run.is_troubled or root.step.incident is not None or _needs_all(readings, root):
            readings = [conventions.read(unfold(each), self._reading_contract) for each in run.sketches] + readings
        facts = self._facts(run, readings)
        verdict = stamp.verdict_on(facts)
        if not self._registry.classify(run):
            return
        written = stamp.fitting(verdict, present, _room(span))
        if written:
            span.set_attributes(written)
        else:
            self._unstamped += 1
        if self.tally is not None:
            self.tally.add(verdict, facts)

    def _facts(self, run: Run, readings: Sequence[Reading]) -> Facts:
        handle = handle_of(run.root_id)
        told = Declared() if handle is None else handle.told
        contract = self._contract_of(run, readings, handle)
        fold = partial(
            conventions.facts,
            readings,
            hex_id(run.root_id),
            incomplete=bool(run.open),
            unseen=run.unseen,
            thorough=False,
            more_calls=run.makes_a_run or run.shows_client,
            last_call_at=run.last_call_at,
        )
        token = _CALLING_OUT.set(True)
        try:
            return fold(contract=contract, told=told)
        except (Exception, SystemExit, CancelledError, GeneratorExit) as error:  # noqa: BLE001 - the app's own check
            # It failed: its question stays open, and the answer is not touched again.
            self._faults.note("the app's own check of an answer", error)
            return fold(told=replace(told, answer=None, earlier_answers=()))
        finally:
            _CALLING_OUT.reset(token)

    def _contract_of(self, run: Run, readings: Sequence[Reading], handle: CaseHandle | None) -> Contract | None:
        """Find the contract that applies: inside a case, or to an agent that it names; never within its own call."""
        if _CALLING_OUT.get():
            return None
        if handle is not None and handle.contract is not None:
            return handle.contract
        contract = self.contract
        if contract is None or run.in_case:
            return contract
        return contract if contract.names({reading.agent for reading in readings if reading.agent}) else None


@lru_cache(maxsize=64)
def _started(said: str | None) -> Started:
    """Make once what nearly all spans start with."""
    return Started(said)


def _opens_case(span: Span) -> bool:
    scope = span.instrumentation_scope
    return span.name == CASE_SPAN and scope is not None and conventions.is_case(scope.name)


def _needs_all(readings: Sequence[Reading], root: Reading) -> bool:
    """Whether it must be known of every span where it stands: to tell whose words a model's output are."""
    outputs = sum(reading.output is not None and reading.step.kind is Kind.MODEL for reading in readings)
    return outputs > 1 or (outputs == 1 and root.output is None)


def _id_in_flight() -> int:
    error = sys.exc_info()[1]
    return 0 if error is None else id(error)


def _in_flight(started: Started) -> str:
    """Name the exception that cuts a span and that no status shows: one that is no Exception and began inside it."""
    error = sys.exc_info()[1]
    if error is None or isinstance(error, Exception) or id(error) == started.in_flight:
        return ""
    kind = type(error)
    return f"{kind.__module__}.{kind.__qualname__}"


def _room(span: Span) -> stamp.Room:
    """Say how many attributes a span can hold, and how long.

    The SDK tells its limits nowhere in public; where its own place for them is gone, those of the environment hold.
    """
    limits = getattr(span, "_limits", None) or SpanLimits()
    count = getattr(limits, "max_span_attributes", None)
    length = getattr(limits, "max_span_attribute_length", None)
    return stamp.Room(count if isinstance(count, int) else None, length if isinstance(length, int) else None)


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
