"""From spans to facts: one module a vocabulary, none knowing another; this one folds them.

`read` says what one span means, `facts` what all spans of a run add up to, `runs` which spans make a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import aml, gen_ai, incidents, openinference, pydantic_ai, values
from otel_aml.conventions.contract import UNDECLARED, Contract
from otel_aml.conventions.folding import facts, is_run
from otel_aml.conventions.marks import FRAMEWORK_SCOPES, OUTPUT_TOOLS, Flow
from otel_aml.conventions.reading import NOTHING_DECLARED, Declared, Output, Reading
from otel_aml.conventions.roots import RunSpans, is_case, runs, says_agent
from otel_aml.core.steps import About, Incident, Kind, Sort, Step
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_aml.spans.model import SpanRecord

__all__ = [
    "FRAMEWORK_SCOPES",
    "KEPT_FROM_START",
    "NOTHING_DECLARED",
    "Contract",
    "Declared",
    "Reading",
    "RunSpans",
    "facts",
    "is_case",
    "is_run",
    "read",
    "runs",
    "says_agent",
]

KEPT_FROM_START: Final = (
    names.GEN_AI_OPERATION,
    names.OPENINFERENCE_KIND,
    names.GEN_AI_TOOL,
    names.GEN_AI_AGENT,
    names.CASE_ID,
    names.EVIDENCE_IDS,
)
"""What a span says at its start and the SDK's attribute limit could take away before its end."""

_OUTPUTS: Final = (
    (names.PYDANTIC_AI_FINAL, pydantic_ai.final_text),
    (names.GEN_AI_OUTPUT, gen_ai.final_text),
    (names.OPENINFERENCE_OUTPUT, openinference.final_text),
)
"""Where an agent or a model leaves its answer, the surest place first."""

_CALL_ARGUMENTS: Final = (names.GEN_AI_ARGUMENTS, names.OPENINFERENCE_INPUT, names.GEN_AI_QUERY)
_ARGUMENTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.TOOL: _CALL_ARGUMENTS,
    Kind.RETRIEVER: _CALL_ARGUMENTS,
    Kind.CLIENT: (names.URL, names.OLD_URL, names.DB_QUERY, names.SERVER_ADDRESS),
}
"""What tells two calls of the same name apart. Models get the whole conversation, which never stays the same."""


def read(span: SpanRecord, contract: Contract = UNDECLARED, *, in_flight: str = "") -> Reading:
    """Say what one span means.

    Args:
        span: The span, live or exported.
        contract: Where the app's own marks and extractors stand.
        in_flight: Qualified name of a BaseException on its way through the span as it ended.
    """
    attributes = span.attributes
    kind = _kind(span)
    result = _first(attributes, names.GEN_AI_RESULT, names.OPENINFERENCE_OUTPUT) if kind is Kind.TOOL else None
    ended = incidents.of(span, kind, result, in_flight=in_flight, failure_marks=contract.failure_marks)
    offered = gen_ai.offered_tools(attributes) if kind is Kind.MODEL else None
    incident = ended.incident or _unknown_tool(attributes, offered)
    asked_again = ended.flow is Flow.ASKED_AGAIN
    if asked_again and pydantic_ai.refused_arguments(attributes):
        asked_again, incident = False, _refused(attributes)
    step_id = values.text(attributes.get(names.STEP_ID) or attributes.get(names.STEP_FAILED_ID)) or ""
    return Reading(
        step=Step(
            span_id=span.span_id,
            parent_id=span.parent_id,
            kind=kind,
            name=_dependency(attributes, kind) or span.name,
            started_at=span.started_at,
            ended_at=span.started_at if span.ended_at is None else span.ended_at,
            arguments=values.digest(_first(attributes, *_ARGUMENTS.get(kind, ()))),
            incident=incident,
            asked_again=asked_again,
            paused=ended.flow is Flow.PAUSED or pydantic_ai.is_deferred(attributes),
            cut=ended.cut,
            open=span.ended_at is None,
            step_id=step_id,
        ),
        documents=_documents(attributes, contract) if kind is Kind.RETRIEVER else None,
        output=_output(span) if kind is not Kind.TOOL and kind is not Kind.RETRIEVER else None,
        opens_case=is_case(span.scope),
        offered=offered,
        answer_due=kind is Kind.AGENT and pydantic_ai.owes_answer(attributes),
        declared=aml.declared(attributes),
        agent=values.text(attributes.get(names.GEN_AI_AGENT)) or "",
        conversation=values.text(_first(attributes, names.GEN_AI_CONVERSATION, names.OPENINFERENCE_SESSION)) or "",
    )


def _first(attributes: Mapping[str, Any], *keys: str) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)


def _kind(span: SpanRecord) -> Kind:
    attributes = span.attributes
    found = gen_ai.kind(attributes) or openinference.kind(attributes) or pydantic_ai.kind(attributes)
    return found or (Kind.CLIENT if span.client else Kind.STEP)


def _dependency(attributes: Mapping[str, Any], kind: Kind) -> str | None:
    return gen_ai.dependency(attributes, kind) or openinference.dependency(attributes, kind)


def _output(span: SpanRecord) -> Output | None:
    for key, final in _OUTPUTS:
        value = span.attributes.get(key)
        if value is not None:
            return Output(value, final, is_last_word=span.scope == pydantic_ai.SCOPE)
    return None


def _documents(attributes: Mapping[str, Any], contract: Contract) -> frozenset[str] | None:
    found = gen_ai.document_ids(attributes)
    if found is None:
        found = openinference.document_ids(attributes)
    if found is None and contract.document_ids is not None:
        recorded = _first(attributes, names.OPENINFERENCE_OUTPUT, names.GEN_AI_RESULT)
        return None if recorded is None else frozenset(map(str, contract.document_ids(recorded)))
    return found


def _unknown_tool(attributes: Mapping[str, Any], offered: frozenset[str] | None) -> Incident | None:
    """Find a call of a tool that the model was not offered."""
    if offered is None or names.GEN_AI_OUTPUT not in attributes:
        return None
    known = offered | OUTPUT_TOOLS
    unknown = next((name for name in gen_ai.calls(attributes[names.GEN_AI_OUTPUT]) if name not in known), None)
    if unknown is None:
        return None
    return Incident(sort=Sort.REJECTED, about=About.TOOL_NAME, subject=unknown, error_type="unknown_tool")


def _refused(attributes: Mapping[str, Any]) -> Incident:
    is_answer = values.text(attributes.get(names.GEN_AI_TOOL)) in OUTPUT_TOOLS
    about = About.ANSWER if is_answer else About.ARGUMENTS
    return Incident(sort=Sort.REJECTED, about=about, error_type="invalid_arguments")
