"""The vocabulary of OpenLLMetry (Traceloop), where it says more than GenAI, or says it otherwise.

Source:
    Runs recorded with opentelemetry-instrumentation-langchain 0.62.4; the numbered completions of the versions before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import langchain, numbered, payloads, values
from otel_aml.conventions.marks import OUTPUT_TOOLS
from otel_aml.conventions.reading import Turn
from otel_aml.core.steps import Kind
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPERATIONS: Final[Mapping[str, Kind]] = {"vector_db_retrieve": Kind.RETRIEVER, "execute_task": Kind.STEP}
_KINDS: Final[Mapping[str, Kind]] = {"agent": Kind.AGENT, "tool": Kind.TOOL, "workflow": Kind.STEP, "task": Kind.STEP}
_REQUESTS: Final = frozenset({"chat", "completion"})
_FRAMEWORK: Final = frozenset({"workflow", "agent"})


def kind(attributes: Mapping[str, Any]) -> Kind | None:
    """Say what the span did; None if it does not speak this vocabulary.

    The operation comes first: a retriever is of the kind `task`, and its operation tells what it is.
    """
    operation = attributes.get(names.GEN_AI_OPERATION)
    if operation is not None:
        return _OPERATIONS.get(operation) if isinstance(operation, str) else None
    said = attributes.get(names.TRACELOOP_KIND)
    if said is not None:
        return _KINDS.get(said, Kind.STEP) if isinstance(said, str) else None
    request = attributes.get(names.TRACELOOP_REQUEST)
    if request is None:
        return None
    return Kind.MODEL if isinstance(request, str) and request in _REQUESTS else Kind.STEP


def is_workflow(attributes: Mapping[str, Any]) -> bool:
    """Whether the span is the outermost one of what the app declared as a workflow or an agent."""
    said = attributes.get(names.TRACELOOP_KIND)
    return isinstance(said, str) and said in _FRAMEWORK


def dependency(attributes: Mapping[str, Any], of: Kind) -> str | None:
    """Name the tool, retriever or agent."""
    return values.text(attributes.get(names.TRACELOOP_NAME)) if of in (Kind.TOOL, Kind.RETRIEVER, Kind.AGENT) else None


def arguments(recorded: Any) -> Any:
    """Read what a call was given, without the run's own marks around it."""
    return langchain.arguments(recorded)


def document_ids(attributes: Mapping[str, Any]) -> frozenset[str] | None:
    """List what a retrieval returned; None where it was not recorded, or a document has no id."""
    return payloads.document_ids(attributes.get(names.TRACELOOP_OUTPUT))


def turn(attributes: Mapping[str, Any]) -> Turn | None:
    """Say what a model gave, by its numbered completions; None where there are none."""
    completions = numbered.below(attributes, names.TRACELOOP_SAID)
    if not completions:
        return None
    last = completions[-1]
    calls = numbered.below(last, "tool_calls")
    named = tuple(values.text(call.get("name")) or "" for call in calls)
    for name, call in zip(named, calls, strict=True):
        if name in OUTPUT_TOOLS:
            return Turn(values.text(call.get("arguments")))
    return Turn(None if named else values.text(last.get("content")) or None, named)


def offered_tools(attributes: Mapping[str, Any]) -> frozenset[str] | None:
    """Name the tools that a model was offered; None where that is not recorded."""
    tools = numbered.below(attributes, names.TRACELOOP_TOOLS_OFFERED)
    found = [values.text(tool.get("name")) for tool in tools]
    return frozenset(name for name in found if name is not None) if found and None not in found else None


def final_text(recorded: Any) -> Any:
    """Read the answer out of an output, which is always JSON; None where it holds none, or was cut."""
    if not isinstance(recorded, str) or len(recorded) > values.ANSWER_BYTES:
        return recorded
    if recorded[:1] == '"':
        try:
            return json.loads(recorded)
        except ValueError:
            return None
    found = payloads.turn(recorded)
    if found is not None:
        return found.final
    is_cut = recorded[:1] in "[{" and values.parsed(recorded, limit=values.ANSWER_BYTES) is None
    return None if is_cut else values.text(recorded)
