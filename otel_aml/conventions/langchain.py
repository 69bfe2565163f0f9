"""What LangChain and LangGraph write into a recorded value, whatever the vocabulary that carries it.

Source:
    Runs recorded with langchain 1.5.2, langchain-core 1.8.3 and langgraph 1.2.24, under OpenInference 0.1.80 (messages
    as `{"type", "data"}`) and OpenLLMetry 0.62.4 (messages as constructors, `{"lc", "id", "kwargs"}`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import shapes, values
from otel_aml.conventions.marks import BROKEN_CALLS, HANDED_OVER, OUTPUT_TOOLS, TOOL_MESSAGES, Sentence, sentence_in
from otel_aml.conventions.reading import Turn
from otel_aml.core.steps import About, Sort

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CLASSES: Final[Mapping[str, str]] = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "ToolMessage": "tool",
    "SystemMessage": "system",
}
_TYPES: Final = frozenset({*_CLASSES.values(), *_CLASSES})
_SOURCE: Final = "langchain-core 1.8.3, AIMessage.invalid_tool_calls"
_TOOL_DATA: Final = '{"type": "tool", "data":'
_WENT_WELL: Final = '"status": "success"}}'


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Args:
        type: `human`, `ai`, `tool` or `system`.
        fields: What it holds: `content`, `tool_calls`, `status`, ...
    """

    type: str
    fields: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Its text, joined where it comes in blocks."""
        content = self.fields.get("content")
        if isinstance(content, str):
            return content
        if not values.is_list(content):
            return ""
        return "".join(_block_text(block) for block in content)

    @property
    def calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls that it holds."""
        calls = self.fields.get("tool_calls")
        return tuple(filter(values.is_map, calls)) if values.is_list(calls) else ()

    @property
    def broken_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls that it holds whose arguments are no JSON: no tool runs for them."""
        calls = self.fields.get(BROKEN_CALLS)
        return tuple(filter(values.is_map, calls)) if values.is_list(calls) else ()


def message(value: Any) -> Message | None:
    """Read a message in any of its three forms; None where it is none."""
    if not values.is_map(value):
        return None
    path = value.get("id")
    if value.get("lc") == 1 and values.is_list(path) and path:
        type_, fields = _CLASSES.get(str(path[-1])), value.get("kwargs")
    else:
        said = value.get("type")
        type_ = said if isinstance(said, str) and said in _TYPES else None
        fields = value.get("data", value)
    if type_ is None or not values.is_map(fields) or "content" not in fields:
        return None
    return Message(_CLASSES.get(type_, type_), fields)


def turn(value: Any) -> Turn | None:
    """Say what a state, an update of one, a message or a model's result gives as an answer; None where it is none."""
    if values.is_map(value):
        if values.is_list(value.get("generations")):
            return _generated(value["generations"])
        if values.is_list(value.get("messages")):
            return _of_state(value)
    if values.is_list(value):
        return _of_commands(value)
    found = message(value)
    return None if found is None else _of_messages((found,))


def refusal(value: Any) -> tuple[Sentence, str] | None:
    """Find the sentence and the words by which a node refused what the model wrote, in what it added to the state.

    The whole state, which begins with what the person asked, repeats the words of earlier turns: it is left alone.
    """
    found = _added(value)
    if found is None or any(each.type == "human" for each in found):
        return None
    for each in reversed(found):
        broken = next(iter(each.broken_calls), None)
        if broken is not None:
            return _broken(broken)
        if each.type != "tool":
            continue
        said = sentence_in(TOOL_MESSAGES, each.text) or _refusal_by_shape(each)
        if said is not None:
            return said, each.text
    return None


def _broken(call: Mapping[str, Any]) -> tuple[Sentence, str]:
    """Word a call whose arguments are no JSON, which LangChain keeps apart without a sentence of its own."""
    said = Sentence(
        starts="",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        error_type="invalid_arguments",
        tool=values.text(call.get("name")) or "",
        source=_SOURCE,
    )
    return said, ""


def _refusal_by_shape(said: Message) -> Sentence | None:
    """Find a refusal in a tool message that stands as an error, or else names the very tool that it answers for."""
    tool = str(said.fields.get("name") or "")
    found = shapes.refusal(said.text, tool)
    if found is None or said.fields.get("status") == "error":
        return found
    return found if tool and found.tool == tool and said.text.startswith("Error: ") else None


def tool_result(value: Mapping[str, Any]) -> tuple[str, bool] | None:
    """Read what a tool returned, and whether its message says that it failed; None where it is no tool message."""
    inner = value.get("output")
    if isinstance(inner, str) and value.keys() <= {"output", "kwargs"}:
        return inner, False
    found = message(value) or message(inner)
    if found is None or found.type != "tool":
        return None
    return found.text, found.fields.get("status") == "error"


def went_well(result: str) -> bool:
    """Whether a tool message says so, that is too long to be read in full."""
    return result.startswith(_TOOL_DATA) and result.endswith(_WENT_WELL)


def arguments(value: Any) -> Any:
    """Take what a call was given out of its surroundings, which differ from call to call."""
    if not isinstance(value, str) or not value.startswith(('{"input_str":', '{"query":', '{"inputs":')):
        return value
    found = values.parsed(value)
    if not values.is_map(found) or "tags" not in found:
        return value
    for key in ("inputs", "input_str", "query"):
        if found.get(key) is not None:
            return found[key]
    return value


def _of_state(state: Mapping[str, Any]) -> Turn | None:
    messages = _messages(state["messages"])
    if messages is None:
        return None
    structured = state.get("structured_response")
    if structured is not None and not (values.is_map(structured) and "lc" in structured):
        return Turn(structured)
    return _of_messages(messages)


def _of_commands(updates: Sequence[Any]) -> Turn | None:
    """Read the updates that a node returned as commands."""
    last = updates[-1] if updates else None
    update = last.get("update") if values.is_map(last) and "graph" in last else None
    return _of_state(update) if values.is_map(update) and values.is_list(update.get("messages")) else None


def _messages(members: Sequence[Any]) -> tuple[Message, ...] | None:
    found = tuple(filter(None, map(message, members)))
    return found if found and len(found) == len(members) else None


def _added(value: Any) -> tuple[Message, ...] | None:
    if values.is_list(value):
        last = value[-1] if value else None
        value = last.get("update") if values.is_map(last) else None
    members = value.get("messages") if values.is_map(value) else None
    return _messages(members) if values.is_list(members) else None


def _of_messages(messages: tuple[Message, ...]) -> Turn:
    last = messages[-1]
    if last.type == "tool" and last.text.startswith(HANDED_OVER):
        asked = next((each for each in reversed(messages) if each.type == "ai"), last)
        return Turn(
            next((call.get("args") for call in asked.calls if call.get("name") == last.fields.get("name")), None)
        )
    if last.type not in ("ai", "tool"):
        return Turn(None)
    for call in last.calls:
        if call.get("name") in OUTPUT_TOOLS:
            return Turn(call.get("args"))
    calls = tuple(str(call.get("name")) for call in last.calls)
    return Turn(None if calls else last.text or None, calls)


def _generated(generations: Sequence[Any]) -> Turn | None:
    """Read the last of a model's results."""
    batch = generations[-1] if generations else None
    last = batch[-1] if values.is_list(batch) and batch else None
    if not values.is_map(last):
        return None
    found = message(last.get("message"))
    return Turn(values.text(last.get("text"))) if found is None else _of_messages((found,))


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text") if values.is_map(block) else None
    return text if isinstance(text, str) else ""
