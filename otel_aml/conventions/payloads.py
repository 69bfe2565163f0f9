"""What a recorded value holds once unwrapped: an answer, a tool's result, documents; whoever recorded it.

A vocabulary says under which key an output stands. What stands there is the framework's own object as JSON: a state of
LangGraph, a response of a model's API, an event of Google ADK. Anything else is taken as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import langchain, values
from otel_aml.conventions.marks import DOCUMENT_IDS, OUTPUT_TOOLS
from otel_aml.conventions.reading import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STATES: Final = ('{"messages":', '{"outputs":', '[{"graph":')
_NO_TURN: Final = Turn(None)


def is_state(value: Any) -> bool:
    """Whether a text is the state of a graph, which grows with the conversation and may be too long to read."""
    return isinstance(value, str) and value.startswith(_STATES)


def update_of(value: Any) -> Any:
    """Read what a node gave, without the callback's surroundings."""
    found = values.parsed(value, limit=values.ANSWER_BYTES)
    return found["outputs"] if _is_callback(found) else found


def turn(value: Any) -> Turn | None:
    """Say what an output gives as an answer; None where it is no object that is known here, but the answer itself."""
    found = values.parsed(value, limit=values.ANSWER_BYTES)
    if found is None:
        return None
    if _is_callback(found):
        return turn(found["outputs"]) or Turn(found["outputs"])
    if not values.is_map(found):
        return langchain.turn(found)
    return langchain.turn(found) or _of_choices(found) or _of_items(found) or _of_parts(found)


def document_ids(value: Any) -> frozenset[str] | None:
    """List the documents that a retriever's output holds; None where there are none to see, or one has no id."""
    found = values.parsed(value, limit=values.ANSWER_BYTES)
    documents = found.get("documents") if values.is_map(found) else found
    if not values.is_list(documents):
        return None
    known = [ids_of(document) for document in documents]
    return None if not all(known) else frozenset[str]().union(*known)


def ids_of(document: Any) -> frozenset[str]:
    """List the names that a document goes by: its own id, and that in its metadata."""
    if not values.is_map(document):
        return frozenset()
    metadata = values.parsed(document.get("metadata"))
    places: tuple[Any, ...] = (document.get("id"), document.get("document_id"))
    if values.is_map(metadata):
        places += tuple(metadata.get(key) for key in DOCUMENT_IDS)
    return frozenset(found for place in places if (found := values.text(place)))


def _is_callback(found: Any) -> bool:
    return values.is_map(found) and "outputs" in found and found.keys() <= {"outputs", "kwargs"}


def _of_choices(found: Mapping[str, Any]) -> Turn | None:
    """Read a chat completion (openai 3.57.0)."""
    choices = found.get("choices")
    first = choices[0] if values.is_list(choices) and choices else None
    message = first.get("message") if values.is_map(first) else None
    if not values.is_map(message):
        return None
    calls = message.get("tool_calls")
    if values.is_list(calls) and calls:
        return Turn(None, tuple(_called(call) for call in calls))
    content = message.get("content")
    return Turn(content if isinstance(content, str) else None)


def _called(call: Any) -> str:
    function = call.get("function") if values.is_map(call) else None
    return str(function.get("name")) if values.is_map(function) else ""


def _of_items(found: Mapping[str, Any]) -> Turn | None:
    """Read a response (openai 3.57.0, its Responses API)."""
    items = found.get("output")
    if found.get("object") != "response" or not values.is_list(items):
        return None
    items = tuple(filter(values.is_map, items))
    calls = tuple(str(item.get("name")) for item in items if item.get("type") == "function_call")
    texts = [
        str(part.get("text"))
        for item in items
        if item.get("type") == "message" and values.is_list(item.get("content"))
        for part in item["content"]
        if values.is_map(part) and part.get("type") == "output_text"
    ]
    return Turn(None if calls or not texts else "".join(texts), calls)


def _of_parts(found: Mapping[str, Any]) -> Turn | None:
    """Read a response or an event of Gemini's shape (google-adk 2.13.0)."""
    content = found.get("content")
    parts = content.get("parts") if values.is_map(content) else None
    return _joined(tuple(filter(values.is_map, parts))) if values.is_list(parts) else None


def _joined(parts: Sequence[Mapping[str, Any]]) -> Turn:
    calls = [call for part in parts if values.is_map(call := part.get("function_call"))]
    given = next((call.get("args") for call in calls if call.get("name") in OUTPUT_TOOLS), None)
    if given is not None:
        return Turn(given)
    if calls:
        return Turn(None, tuple(str(call.get("name")) for call in calls))
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    return Turn("".join(texts)) if texts else _NO_TURN
