"""What a run adds up to as its root ends: the facts that the tree asks for."""

from __future__ import annotations

from asyncio import CancelledError
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, partial
from sys import exception
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import SpanKind, StatusCode

from otel_aml import conventions
from otel_aml.conventions import NOTHING_DECLARED
from otel_aml.conventions.glance import Glance, glance_at_root
from otel_aml.core.facts import Facts
from otel_aml.core.steps import Kind
from otel_aml.live.case import handle_of
from otel_aml.live.sketch import unfold
from otel_aml.spans.sdk import hex_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.sdk.trace import Span

    from otel_aml.conventions import Contract, Reading
    from otel_aml.live.case import CaseHandle
    from otel_aml.live.faults import Faults
    from otel_aml.live.runs import Run

_CALLING_OUT: Final[ContextVar[bool]] = ContextVar("otel_aml_calling_out", default=False)
"""Set while the app's own check of an answer runs: a run inside it does not call it again."""


def worth_of_root(run: Run, span: Span, attributes: Mapping[str, Any]) -> Glance:
    """Say what its root adds to a run; MATTERS as soon as any span of the run has to be read.

    Where a contract applies, what the root answered has to be read all the same.
    """
    if (
        run.readings
        or handle_of(run.root_id) is not None
        or exception() is not None
        or span.dropped_attributes
        or span.events
        or span.status.status_code is StatusCode.ERROR
        or span.kind is SpanKind.CLIENT
        or span.kind is SpanKind.PRODUCER
    ):
        return Glance.MATTERS
    return glance_at_root(attributes)


def facts_of_a_quiet_run(run: Run, *, incomplete: bool) -> Facts:
    """Say what a run adds up to if no span of it has to be read."""
    calls_known = (run.makes_a_run or run.shows_client) and not (incomplete or run.unseen)
    return _quiet(calls_known=calls_known, incomplete=incomplete)


@cache
def _quiet(*, calls_known: bool, incomplete: bool) -> Facts:
    return Facts(calls_known=calls_known, incomplete=incomplete)


def readings(run: Run, root: Reading, contract: Contract) -> Sequence[Reading]:
    """Gather what the spans of a run say, those that were passed over only where they count; none if it is no run.

    Args:
        run: The run.
        root: What its root says.
        contract: How spans are read.
    """
    found = [*run.readings, root]
    if not run.makes_a_run and not conventions.is_run(found):
        return ()
    if run.is_troubled or root.step.incident is not None or _needs_all(found, root):
        return [conventions.read(unfold(each), contract) for each in run.sketches] + found
    return found


def facts(
    run: Run, readings: Sequence[Reading], contract: Contract | None, faults: Faults, *, incomplete: bool
) -> Facts:
    """Fold what the spans of a run say, and what the app told of its case, into facts.

    Args:
        run: The run.
        readings: What its spans say.
        contract: The one that was declared for the whole process, if any.
        faults: Where it is noted that the app's own check of an answer failed.
        incomplete: A span below the root is open.
    """
    handle = handle_of(run.root_id)
    told = NOTHING_DECLARED if handle is None else handle.told
    applying = _applying(contract, run, readings, handle)
    fold = partial(
        conventions.facts,
        readings,
        hex_id(run.root_id),
        incomplete=incomplete,
        unseen=run.unseen,
        thorough=False,
        more_calls=run.makes_a_run or run.shows_client,
        last_call_at=run.last_call_at,
    )
    token = _CALLING_OUT.set(True)
    try:
        return fold(contract=applying, told=told)
    except (Exception, SystemExit, CancelledError, GeneratorExit) as error:  # noqa: BLE001 - the app's own check
        # It failed: its question stays open, and the answer is not touched again.
        faults.note("the app's own check of an answer", error)
        return fold(told=replace(told, answer=None, earlier_answers=()))
    finally:
        _CALLING_OUT.reset(token)


def _applying(
    contract: Contract | None, run: Run, readings: Sequence[Reading], handle: CaseHandle | None
) -> Contract | None:
    """Find the contract that applies: inside a case, or to an agent that it names; never within its own call."""
    if _CALLING_OUT.get():
        return None
    if handle is not None and handle.contract is not None:
        return handle.contract
    if contract is None or run.in_case:
        return contract
    return contract if contract.names({reading.agent for reading in readings if reading.agent}) else None


def _needs_all(found: Sequence[Reading], root: Reading) -> bool:
    """Whether it must be known of every span where it stands: to tell whose words a model's output are."""
    outputs = sum(reading.output is not None and reading.step.kind is Kind.MODEL for reading in found)
    return outputs > 1 or (outputs == 1 and root.output is None)
