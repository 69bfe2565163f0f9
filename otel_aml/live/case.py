"""A case: the span that is the run root, and the handle by which the app tells what spans cannot.

What the handle is told feeds the verdict and leaves the process only as counts.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from opentelemetry import trace

from otel_aml.conventions import NOTHING_DECLARED, Declared
from otel_aml.conventions.aml import each_needed
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from opentelemetry.trace import TracerProvider

    from otel_aml.conventions import Contract

CASE_SPAN: Final = "case"
"""The name of the span that `case()` opens."""
_LOG: Final = logging.getLogger("otel_aml")
_EARLIER_ANSWERS: Final = 16
_HANDLES: Final[dict[int, CaseHandle]] = {}
_PROVIDERS: Final[WeakValueDictionary[int, TracerProvider]] = WeakValueDictionary()


class CaseHandle:
    """What the app tells of its run while `case()` is open; from any thread, and without ever raising."""

    def __init__(self, told: Declared, contract: Contract | None) -> None:
        self.told = told
        self.contract = contract

    def answer(self, value: Any) -> None:
        """Tell the answer: the text, a dict, or the pydantic model.

        The last one counts. Those before it are remembered (the last 16), so that an invented citation in one that a
        lucky retry replaced still brings a person in.
        """
        told = self.told
        earlier = told.earlier_answers if told.answer is None else (*told.earlier_answers, told.answer)
        self.told = replace(told, answer=value, earlier_answers=earlier[-_EARLIER_ANSWERS:])

    def retrieved(self, ids: Iterable[str]) -> None:
        """Tell which documents a retrieval returned; several retrievals add up."""
        found = _ids(ids)
        if found is not None:
            self.told = replace(self.told, retrieved_ids=found | (self.told.retrieved_ids or frozenset()))

    def paused(self) -> None:
        """Tell that the run stops here and waits for a person."""
        self.told = replace(self.told, paused=True)


def handle_of(span_id: int) -> CaseHandle | None:
    """Find the handle of a case that is open, by the id of its span."""
    return _HANDLES.get(span_id)


def remember(provider: TracerProvider) -> None:
    """Note a provider that carries the processor: `case()` opens its spans there if the global one is not set."""
    _PROVIDERS[id(provider)] = provider


@contextmanager
def case(  # noqa: PLR0913 - what a case can declare
    case_id: str,
    *,
    evidence_ids: Iterable[str] | None = None,
    relevant_doc_ids: Iterable[str] | None = None,
    relevant_any_of: Iterable[Iterable[str]] | None = None,
    contract: Contract | None = None,
    tracer_provider: TracerProvider | None = None,
) -> Generator[CaseHandle]:
    """Open a case: everything inside is one run, and this span is its root.

    Args:
        case_id: The case; it is exported as `aml.case.id`.
        evidence_ids: Every id that the answer may cite. None: not known; empty: a case without evidence.
        relevant_doc_ids: The notes that the case needs, where the app knows them.
        relevant_any_of: Sets of alternatives: one note of each is needed.
        contract: For this case in the place of the one given to `install()`.
        tracer_provider: Where to open the span; by default the global one, or, if none was set, the one that
            `install()` was given.
    """
    tracer = (tracer_provider or _default_provider()).get_tracer(names.OUR_SCOPE)
    span = tracer.start_span(CASE_SPAN, attributes={names.CASE_ID: _named(case_id)})
    handle = CaseHandle(_told(evidence_ids, relevant_doc_ids, relevant_any_of), contract)
    span_id = span.get_span_context().span_id
    if span.is_recording():
        _HANDLES[span_id] = handle
    try:
        with trace.use_span(span, end_on_exit=True):
            yield handle
    finally:
        _HANDLES.pop(span_id, None)


def _named(case_id: object) -> str:
    """Name a case, whatever the app calls it."""
    try:
        return str(case_id)
    except Exception:  # noqa: BLE001 - the app's object
        return type(case_id).__name__


def _default_provider() -> TracerProvider:
    current = trace.get_tracer_provider()
    if hasattr(current, "add_span_processor"):
        return current
    found = next(iter(_PROVIDERS.values()), None)
    if found is None:
        _warn_once()
        return current
    return found


@cache
def _warn_once() -> None:
    _LOG.warning(
        "otel_aml: case() was opened though nothing is installed, so that no verdict is written; "
        "call otel_aml.install() or otel_aml.configure(service_name=...) at the start"
    )


def _told(
    evidence_ids: Iterable[str] | None,
    relevant_doc_ids: Iterable[str] | None,
    relevant_any_of: Iterable[Iterable[str]] | None,
) -> Declared:
    evidence, needed = _ids(evidence_ids), each_needed(_ids(relevant_doc_ids))
    if relevant_any_of is not None:
        needed = (needed or ()) + tuple(found for each in relevant_any_of if (found := _ids(each)) is not None)
    if evidence is None and needed is None:
        return NOTHING_DECLARED
    return Declared(evidence_ids=evidence, needed_notes=needed)


def _ids(given: Iterable[str] | None) -> frozenset[str] | None:
    """Take ids as they come: a lone text is one id, what cannot be gone through is unknown."""
    if isinstance(given, str):
        return frozenset({given})
    try:
        return None if given is None else frozenset(map(str, given))
    except Exception:  # noqa: BLE001 - the app's value; unknown is the honest reading
        return None
