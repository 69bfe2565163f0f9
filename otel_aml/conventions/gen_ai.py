"""The vocabulary of OpenTelemetry GenAI: semantic-conventions-genai 0.1 and the names before it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import values
from otel_aml.conventions.marks import HANDED_OVER, OUTPUT_TOOLS
from otel_aml.core.steps import Kind
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KINDS: Final[Mapping[str, Kind]] = {
    "invoke_agent": Kind.AGENT,
    "chat": Kind.MODEL,
    "generate_content": Kind.MODEL,
    "text_completion": Kind.MODEL,
    "execute_tool": Kind.TOOL,
    "retrieval": Kind.RETRIEVER,
}


def kind(attributes: Mapping[str, Any]) -> Kind | None:
    """Say what the span did; None if it does not speak this vocabulary. Other operations are plain steps."""
    operation = attributes.get(names.GEN_AI_OPERATION)
    if operation is None:
        return None
    return _KINDS.get(operation, Kind.STEP) if isinstance(operation, str) else None


def dependency(attributes: Mapping[str, Any], of: Kind) -> str | None:
    """Name the tool, model, retriever or agent."""
    key = NAMES.get(of)
    return values.text(attributes.get(key)) if key else None


NAMES: Final[Mapping[Kind, str]] = {
    Kind.AGENT: names.GEN_AI_AGENT,
    Kind.MODEL: names.GEN_AI_MODEL,
    Kind.TOOL: names.GEN_AI_TOOL,
    Kind.RETRIEVER: names.GEN_AI_DATA_SOURCE,
}


def document_ids(attributes: Mapping[str, Any]) -> frozenset[str] | None:
    """List what a retrieval returned; None where it was not recorded, or a document has no id."""
    documents = values.parsed(attributes.get(names.GEN_AI_DOCUMENTS), limit=values.ANSWER_BYTES)
    if not values.is_list(documents):
        return None
    found = [document.get("id") if values.is_map(document) else None for document in documents]
    return None if None in found else values.ids(found)


def final_text(messages: Any, answer_tools: frozenset[str] = OUTPUT_TOOLS) -> Any:
    """Read the final answer out of `gen_ai.output.messages`.

    Args:
        messages: As recorded.
        answer_tools: Names of calls that hand an answer over.

    Returns:
        The arguments of a call that hands an answer over (`final_result`), or that the framework says it took for the
        answer; the text of the last message; None where the last message calls a tool or holds no text.
    """
    from_last = _messages_from_last(messages)
    last = next(from_last, None)
    if last is None:
        return None
    accepted = _accepted_call(last)
    if accepted is not None:
        return next((p.get("arguments") for each in from_last for p in _parts(each) if p.get("id") == accepted), None)
    texts: list[str] = []
    calls = False
    for part in _parts(last):
        if part.get("type") == "tool_call":
            if part.get("name") in answer_tools:
                return part.get("arguments")
            calls = True
        elif part.get("type") == "text" and isinstance(part.get("content"), str):
            texts.append(part["content"])
    return None if calls or not texts else "".join(texts)


def _accepted_call(message: Mapping[str, Any]) -> str | None:
    """Name the call whose arguments the framework took for the answer, if that is what a tool's message says."""
    for part in _parts(message):
        said = part.get("response", part.get("result"))
        if part.get("type") == "tool_call_response" and isinstance(said, str) and said.startswith(HANDED_OVER):
            return values.text(part.get("id"))
    return None


def calls(messages: Any) -> tuple[str, ...]:
    """Name the tools that the model called, in order."""
    if isinstance(messages, str) and '"tool_call"' not in messages:
        return ()
    return tuple(
        name
        for message in _messages_from_last(messages)
        for part in _parts(message)
        if part.get("type") == "tool_call" and isinstance(name := part.get("name"), str)
    )


def offered_tools(attributes: Mapping[str, Any]) -> frozenset[str] | None:
    """Name the tools that the model was offered; None where that is not recorded."""
    definitions = attributes.get(names.GEN_AI_TOOLS_OFFERED)
    if isinstance(definitions, str):
        return _offered_in(definitions)
    return _names_of(definitions)


@lru_cache(maxsize=128)
def _offered_in(definitions: str) -> frozenset[str] | None:
    """Read the names once: an agent offers the same tools at each turn."""
    return _names_of(values.parsed(definitions, limit=values.ANSWER_BYTES))


def _names_of(definitions: Any) -> frozenset[str] | None:
    if not values.is_list(definitions):
        return None
    found = [_tool_name(definition) for definition in definitions]
    return None if None in found else frozenset(name for name in found if name is not None)


def _tool_name(definition: Any) -> str | None:
    if not values.is_map(definition):
        return None
    inner = definition.get("function")
    name = definition.get("name", inner.get("name") if values.is_map(inner) else None)
    return name if isinstance(name, str) else None


def _messages_from_last(messages: Any) -> Iterator[Mapping[str, Any]]:
    found = values.parsed(messages, limit=values.ANSWER_BYTES)
    if values.is_list(found):
        yield from (message for message in reversed(found) if values.is_map(message))


def _parts(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = message.get("parts")
    if values.is_list(parts):
        yield from (part for part in parts if values.is_map(part))
