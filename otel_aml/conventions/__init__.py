"""From spans to facts: one module a vocabulary, none knowing another; this one folds them.

`read` says what one span means, `facts` what all spans of a run add up to, `runs` which spans make a run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import (
    aml,
    gen_ai,
    incidents,
    mcp,
    openinference,
    openllmetry,
    payloads,
    pydantic_ai,
    values,
)
from otel_aml.conventions.contract import UNDECLARED, Contract
from otel_aml.conventions.folding import conversation, facts, is_run
from otel_aml.conventions.kinds import is_model_too
from otel_aml.conventions.kinds import kind as kind_of
from otel_aml.conventions.marks import OUTPUT_TOOLS, Flow
from otel_aml.conventions.reading import NOTHING_DECLARED, Declared, Output, Reading, Turn
from otel_aml.conventions.roots import SAYING, Frameworks, RunSpans, is_case, is_framework, runs, says_agent
from otel_aml.core.steps import MAKES_A_RUN, About, Incident, Kind, Sort, Step
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_aml.spans.model import SpanRecord

__all__ = [
    "KEPT_FROM_START",
    "NOTHING_DECLARED",
    "SAYING",
    "Contract",
    "Declared",
    "Frameworks",
    "Reading",
    "RunSpans",
    "conversation",
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
    names.TRACELOOP_KIND,
    names.GEN_AI_TOOL,
    names.GEN_AI_AGENT,
    names.CASE_ID,
    names.EVIDENCE_IDS,
)
"""What a span says at its start and the SDK's attribute limit could take away before its end."""

_RESULTS: Final = (names.GEN_AI_RESULT, names.OPENINFERENCE_OUTPUT, names.TRACELOOP_OUTPUT)
"""Where a tool leaves what it returned."""

_CALL_ARGUMENTS: Final = (
    names.GEN_AI_ARGUMENTS,
    names.OPENINFERENCE_INPUT,
    names.TRACELOOP_INPUT,
    names.GEN_AI_QUERY,
)
_ARGUMENTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.TOOL: _CALL_ARGUMENTS,
    Kind.RETRIEVER: _CALL_ARGUMENTS,
    Kind.STEP: (names.STEP_KEY,),
    Kind.CLIENT: (names.URL, names.OLD_URL, names.DB_QUERY, names.SERVER_ADDRESS),
}
"""What tells two calls of the same name apart. Models get the whole conversation, which never stays the same."""

_CONVERSATIONS: Final = (
    names.GEN_AI_CONVERSATION,
    names.OPENINFERENCE_SESSION,
    names.TRACELOOP_THREAD,
    names.TRACELOOP_SESSION,
)
_DEPENDENCIES: Final = (Kind.TOOL, Kind.RETRIEVER)
NAMES_GIVEN: Final = (
    *gen_ai.NAMES.values(),
    *openinference.NAMES.values(),
    names.TRACELOOP_NAME,
    names.DEPENDENCY,
)
"""Where a span gives a name to a tool, a model, a retriever or an agent. Its own name may say anything."""
_NODES: Final = frozenset({Kind.STEP, Kind.AGENT})
"""What may be a node of a graph, and record what it added to the state."""


def read(span: SpanRecord, contract: Contract = UNDECLARED, *, in_flight: str = "") -> Reading:
    """Say what one span means.

    Args:
        span: The span, live or exported.
        contract: Where the app's own marks and extractors stand.
        in_flight: Qualified name of a BaseException on its way through the span as it ended.
    """
    attributes = span.attributes
    kind = _kind(span)
    result = _first(attributes, *_RESULTS) if kind is Kind.TOOL else None
    name = called(span, kind) or span.name
    ended = incidents.of(
        span,
        kind,
        result,
        tool=name,
        in_flight=in_flight,
        failure_marks=contract.failure_marks,
        control_flow=contract.control_flow,
    )
    turn = _turn(attributes) if kind is Kind.MODEL else None
    offered = _offered(attributes) if kind is Kind.MODEL or is_model_too(attributes, kind) else None
    incident = ended.incident or (_unknown_tool(attributes, turn, offered) if kind is Kind.MODEL else None)
    if kind in _NODES and incident is None and ended.flow is None:
        incident = incidents.of_update(_first(attributes, names.OPENINFERENCE_OUTPUT, names.TRACELOOP_OUTPUT))
    arguments = openllmetry.arguments(_first(attributes, *_ARGUMENTS.get(kind, ())))
    asked_again = ended.flow is Flow.ASKED_AGAIN
    if asked_again and pydantic_ai.refused_arguments(attributes):
        asked_again, incident = False, _refused(attributes)
    if kind is Kind.TOOL and name in contract.answer_tools and incident is None and ended.flow is None:
        kind = Kind.STEP  # it handed the answer over, and called nothing outside the model
    step_id = values.text(attributes.get(names.STEP_ID) or attributes.get(names.STEP_FAILED_ID)) or ""
    return Reading(
        step=Step(
            span_id=span.span_id,
            parent_id=span.parent_id,
            kind=kind,
            name=name,
            started_at=span.started_at,
            ended_at=span.started_at if span.ended_at is None else span.ended_at,
            arguments=values.digest(arguments),
            incident=incident,
            asked_again=asked_again,
            paused=ended.flow is Flow.PAUSED or pydantic_ai.is_deferred(attributes),
            handed_over=incidents.was_handed_over(attributes),
            cut=ended.cut and kind is not Kind.STEP,
            open=span.ended_at is None,
            step_id=step_id,
        ),
        documents=_documents(span, contract) if kind is Kind.RETRIEVER else None,
        output=_output(span, turn, contract.answer_tools) if kind not in _DEPENDENCIES else None,
        opens_case=is_case(span.scope),
        of_framework=is_framework(span.scope, contract.frameworks),
        unanswered=_is_unanswered(span, kind, arguments, result) and ended == incidents.WELL,
        offered=offered,
        answer_due=kind is Kind.AGENT and pydantic_ai.owes_answer(attributes),
        declared=aml.declared(attributes),
        agent=values.text(_first(attributes, names.GEN_AI_AGENT, names.OPENINFERENCE_AGENT)) or "",
        conversation=values.text(_first(attributes, *_CONVERSATIONS)) or "",
        noted=incidents.critical_class(attributes),
    )


def _first(attributes: Mapping[str, Any], *keys: str) -> Any:
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            return value
    return None


def _kind(span: SpanRecord) -> Kind:
    found = kind_of(span.attributes, name=span.name, is_cut=bool(span.dropped_attributes))
    return found or (Kind.CLIENT if span.client else Kind.STEP)


def called(span: SpanRecord, kind: Kind) -> str | None:
    """Say which tool, model or retriever a span called; None where only the span itself has a name."""
    if kind not in MAKES_A_RUN:
        return None
    attributes = span.attributes
    return (
        gen_ai.dependency(attributes, kind)
        or openinference.dependency(attributes, kind)
        or openllmetry.dependency(attributes, kind)
        or mcp.dependency(attributes, kind, span.name)
    )


def _turn(attributes: Mapping[str, Any]) -> Turn | None:
    """Read what a model said from its numbered messages, which GenAI writes as one text instead."""
    return openinference.turn(attributes) or openllmetry.turn(attributes)


def _offered(attributes: Mapping[str, Any]) -> frozenset[str] | None:
    found = gen_ai.offered_tools(attributes)
    if found is None:
        found = openinference.offered_tools(attributes)
    return openllmetry.offered_tools(attributes) if found is None else found


def _final(turn: Turn) -> Any:
    return turn.final


def _output(span: SpanRecord, turn: Turn | None, answer_tools: frozenset[str]) -> Output | None:
    """Find where an agent, a model or a step left its answer, the surest place first."""
    attributes = span.attributes
    is_last_word = span.scope == pydantic_ai.SCOPE
    value = attributes.get(names.PYDANTIC_AI_FINAL)
    if value is not None:
        return Output(value, pydantic_ai.final_text, is_last_word=is_last_word)
    value = attributes.get(names.GEN_AI_OUTPUT)
    if value is not None:
        return Output(value, partial(gen_ai.final_text, answer_tools=answer_tools), is_last_word=is_last_word)
    if turn is not None:
        return Output(turn, _final)
    value = attributes.get(names.OPENINFERENCE_OUTPUT)
    if value is not None:
        final = openinference.final_json if openinference.is_json(attributes) else openinference.final_text
        return None if _is_too_long(value) else Output(value, final)
    value = attributes.get(names.TRACELOOP_OUTPUT)
    return None if value is None or _is_too_long(value) else Output(value, openllmetry.final_text)


def _is_too_long(value: Any) -> bool:
    """Whether a graph's state is too long to read: its last model then has the word."""
    return isinstance(value, str) and len(value) > values.ANSWER_BYTES and payloads.is_state(value)


def _is_unanswered(span: SpanRecord, kind: Kind, arguments: Any, result: Any) -> bool:
    """Whether a call's arguments were recorded but no result; of a dull span neither result nor scope was kept."""
    return kind is Kind.TOOL and result is None and arguments is not None and bool(span.scope) and not span.client


def _documents(span: SpanRecord, contract: Contract) -> frozenset[str] | None:
    attributes = span.attributes
    found = gen_ai.document_ids(attributes)
    if found is None:
        found = openinference.document_ids(attributes, is_cut=bool(span.dropped_attributes))
    if found is None:
        found = openllmetry.document_ids(attributes)
    if found is None and contract.document_ids is not None:
        recorded = _first(attributes, names.OPENINFERENCE_OUTPUT, names.GEN_AI_RESULT, names.TRACELOOP_OUTPUT)
        return None if recorded is None else frozenset(map(str, contract.document_ids(recorded)))
    return found


def _unknown_tool(attributes: Mapping[str, Any], turn: Turn | None, offered: frozenset[str] | None) -> Incident | None:
    """Find a call of a tool that the model was not offered."""
    if offered is None:
        return None
    known = offered | OUTPUT_TOOLS
    called = gen_ai.calls(attributes.get(names.GEN_AI_OUTPUT)) if turn is None else turn.calls
    unknown = next((name for name in called if name not in known), None)
    if not unknown:
        return None
    return Incident(sort=Sort.REJECTED, about=About.TOOL_NAME, subject=unknown, error_type="unknown_tool")


def _refused(attributes: Mapping[str, Any]) -> Incident:
    is_answer = values.text(attributes.get(names.GEN_AI_TOOL)) in OUTPUT_TOOLS
    about = About.ANSWER if is_answer else About.ARGUMENTS
    return Incident(sort=Sort.REJECTED, about=about, error_type="invalid_arguments")
