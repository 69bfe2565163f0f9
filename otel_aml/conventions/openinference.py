"""The vocabulary of OpenInference: kinds, names, arguments, results, messages, offered tools and documents.

Source:
    OpenInference semantic conventions 0.1.42, and runs recorded with the instrumentations of LangChain 0.1.80, OpenAI
    0.1.66, OpenAI Agents 2.6.0, Google ADK 1.0.5 and CrewAI 1.1.21.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import numbered, payloads, values
from otel_aml.conventions.marks import OUTPUT_TOOLS
from otel_aml.conventions.reading import Turn
from otel_aml.core.steps import Kind
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: Final[Mapping[str, Kind]] = {
    "AGENT": Kind.AGENT,
    "LLM": Kind.MODEL,
    "TOOL": Kind.TOOL,
    "RETRIEVER": Kind.RETRIEVER,
}
NAMES: Final[Mapping[Kind, str]] = {
    Kind.MODEL: names.OPENINFERENCE_MODEL,
    Kind.TOOL: names.OPENINFERENCE_TOOL,
    Kind.AGENT: names.OPENINFERENCE_AGENT,
}
_JSON: Final = "application/json"
_FUNCTION: Final = "tool_call.function."


def kind(attributes: Mapping[str, Any]) -> Kind | None:
    """Say what the span did; None if it does not speak this vocabulary. Other kinds are plain steps."""
    recorded = attributes.get(names.OPENINFERENCE_KIND)
    if recorded is None:
        return None
    return _KINDS.get(recorded, Kind.STEP) if isinstance(recorded, str) else None


def kind_of_rest(attributes: Mapping[str, Any]) -> Kind | None:
    """Know a span whose kind the SDK's attribute limit took away, the oldest attributes first, by what it kept."""
    if names.OPENINFERENCE_MODEL in attributes or _has(attributes, names.OPENINFERENCE_SAID):
        return Kind.MODEL
    return Kind.RETRIEVER if _has(attributes, names.OPENINFERENCE_DOCUMENTS) else None


def dependency(attributes: Mapping[str, Any], of: Kind) -> str | None:
    """Name the tool, model or agent."""
    key = NAMES.get(of)
    return values.text(attributes.get(key)) if key else None


def document_ids(attributes: Mapping[str, Any], *, is_cut: bool = False) -> frozenset[str] | None:
    """List what a retrieval returned; None where it was not recorded, or a document has no id.

    Args:
        attributes: The span's.
        is_cut: Attributes were lost: numbered documents may be missing, so only the output as a whole counts.
    """
    whole = payloads.document_ids(attributes.get(names.OPENINFERENCE_OUTPUT))
    documents = () if is_cut else numbered.below(attributes, names.OPENINFERENCE_DOCUMENTS)
    known = [_ids_of(document) for document in documents]
    if known and all(known):
        return frozenset[str]().union(*known) | (whole or frozenset())
    if whole is not None or documents:
        return whole
    empty = values.parsed(attributes.get(names.OPENINFERENCE_DOCUMENTS))
    return frozenset() if values.is_list(empty) and not empty else None


def turn(attributes: Mapping[str, Any]) -> Turn | None:
    """Say what a model gave, by its numbered messages; None where there are none to see."""
    messages = numbered.below(attributes, names.OPENINFERENCE_SAID)
    if not messages:
        return None
    said = [_said(message) for message in messages]
    given = next((each for each in said if each.final is not None and each.calls), None)
    if given is not None:
        return Turn(given.final)
    calls = tuple(name for each in said for name in each.calls)
    texts = [each.final for each in said if each.final is not None]
    return Turn(None if calls or not texts else "".join(texts), calls)


def offered_tools(attributes: Mapping[str, Any]) -> frozenset[str] | None:
    """Name the tools that a model was offered; None where that is not recorded."""
    schemas = [tool.get("tool.json_schema") for tool in numbered.below(attributes, names.OPENINFERENCE_TOOLS_OFFERED)]
    found = [_name_in(schema) if isinstance(schema, str) else None for schema in schemas]
    return frozenset(name for name in found if name is not None) if found and None not in found else None


def final_text(recorded: Any) -> Any:
    """Read the answer as recorded; None where it is hidden, or a graph's state holds none."""
    found = payloads.turn(recorded)
    if found is not None:
        return found.final
    return values.text(recorded) if isinstance(recorded, str) else recorded


def final_json(recorded: Any) -> Any:
    """Read an answer that is said to be JSON; None where it is hidden, or was cut so that it is JSON no more."""
    if isinstance(recorded, str) and len(recorded) <= values.ANSWER_BYTES and recorded[:1] in "[{":
        return None if values.parsed(recorded, limit=values.ANSWER_BYTES) is None else final_text(recorded)
    return final_text(recorded)


def is_json(attributes: Mapping[str, Any]) -> bool:
    """Whether the span says that its output is JSON."""
    return attributes.get(names.OPENINFERENCE_OUTPUT_TYPE) == _JSON


def _has(attributes: Mapping[str, Any], name: str) -> bool:
    prefix = f"{name}."
    return any(key.startswith(prefix) for key in attributes)


def _ids_of(document: Mapping[str, Any]) -> frozenset[str]:
    metadata = document.get("document.metadata")
    return payloads.ids_of({"id": document.get("document.id"), "metadata": metadata})


def _said(message: Mapping[str, Any]) -> Turn:
    """Read one message: its text, the tools that it calls, or the arguments of the call that hands an answer over."""
    calls = numbered.below(message, "message.tool_calls")
    named = tuple(values.text(call.get(f"{_FUNCTION}name")) or "" for call in calls)
    for name, call in zip(named, calls, strict=True):
        if name in OUTPUT_TOOLS:
            return Turn(values.text(call.get(f"{_FUNCTION}arguments")), named)
    text = values.text(message.get("message.content"))
    if not text:
        parts = numbered.below(message, "message.contents")
        text = "".join(values.text(part.get("message_content.text")) or "" for part in parts)
    return Turn(None if named else text or None, named)


@lru_cache(maxsize=256)
def _name_in(schema: str) -> str | None:
    """Read the name once: an agent offers the same tools at each turn."""
    found = values.parsed(schema)
    if not values.is_map(found):
        return None
    inner = found.get("function")
    name = found.get("name", inner.get("name") if values.is_map(inner) else None)
    return name if isinstance(name, str) else None
