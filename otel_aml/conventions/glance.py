"""What can be told of a healthy span at a glance: whether the facts of its run need it at all.

Most spans of a healthy run change nothing: a call that worked, a model that called a tool it was offered, a span of the
app. Reading each of them in full would cost more than making it. So `glance` looks at a few keys and says, surely and
cheaply, that a span is dull; when in doubt it says that it matters, and `read` has the word.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import gen_ai, incidents, shapes, values
from otel_aml.conventions.marks import OUTPUT_TOOLS, RESULTS
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping


class Glance(IntEnum):
    """What a healthy span is worth."""

    NOTHING = 0
    """It changes nothing."""
    MAKES_A_RUN = 1
    """It changes nothing, but that there is a run: a call of a tool or a model that went well."""
    MATTERS = 2
    """It must be read."""


_MODELS: Final = frozenset({"chat", "generate_content", "text_completion", "LLM"})
_TOOLS: Final = frozenset({"execute_tool", "TOOL", "tool", "tools/call"})
_READ_ALWAYS: Final = frozenset({"invoke_agent", "retrieval", "vector_db_retrieve", "AGENT", "RETRIEVER", "agent"})
_CROWDED: Final = 128
"""The SDK's default limit of attributes: a span that has as many may have lost its kind."""
_RESULTS: Final = (names.GEN_AI_RESULT, names.OPENINFERENCE_OUTPUT, names.TRACELOOP_OUTPUT)
_GIVEN: Final = (names.GEN_AI_ARGUMENTS, names.OPENINFERENCE_INPUT, names.TRACELOOP_INPUT)
_TELLING: Final = frozenset(
    {
        names.ERROR_TYPE,
        names.CASE_ID,
        names.EVIDENCE_IDS,
        names.ANSWER_CITED_IDS,
        names.ANSWER_TYPOLOGY,
        names.ANSWER_VALID,
        names.GOLD_TYPOLOGY,
        names.GOLD_NOTES,
        names.JUDGE_CONTEXT_USED,
        names.STEP_CLASS,
        names.PYDANTIC_AI_FINAL,
        names.PYDANTIC_AI_DEFERRAL,
        names.PYDANTIC_AI_ATTEMPT,
        names.TRACELOOP_REQUEST,
    }
)
_MARK: Final = re.compile(r'"(?:error|isError|is_error|status|success|ok|response_type)"|\\u00')
_CALLED: Final = re.compile(r'"name"\s*:\s*"([^"]*)"')
_SENTENCES: Final = (*(sentence.starts for sentence in RESULTS), *shapes.RESULT_STARTS)

_OPERATION: Final = names.GEN_AI_OPERATION
_OTHER_WORDS: Final = (names.OPENINFERENCE_KIND, names.TRACELOOP_KIND, names.MCP_METHOD)
_SAYING: Final = _TELLING.union(_OTHER_WORDS, {_OPERATION, names.OPENINFERENCE_OUTPUT, names.TRACELOOP_OUTPUT})
_NOTHING: Final = Glance.NOTHING
_MAKES_A_RUN: Final = Glance.MAKES_A_RUN
_MATTERS: Final = Glance.MATTERS
_AGENT: Final = "invoke_agent"
_TOOL_CALL: Final = "execute_tool"
_RESULT: Final = names.GEN_AI_RESULT
_SUSPICIOUS: Final = frozenset({"{", *(sentence[:1] for sentence in _SENTENCES)})
"""First letters of results that may be a failure."""
_TELLING_AT_ROOT: Final = _TELLING.union(
    {
        names.OPENINFERENCE_KIND,
        names.OPENINFERENCE_OUTPUT,
        names.TRACELOOP_KIND,
        names.TRACELOOP_OUTPUT,
        names.MCP_METHOD,
        names.PYDANTIC_AI_MESSAGES,
    }
)
_NONE_SAID: Final = re.compile(r'"(?:\s|\\[nrtf])*(?:(?:None|null)?(?:\s|\\[nrtf])*"|\\u)')
"""A text in JSON that is empty or a word for none, or that begins as one might."""
_NONE_BEGINS: Final = ('""', '"None', '"null', '" ', '"\\', '"\t', '"\n')
"""What such a text begins with: to look for these first is ten times faster."""
_OPENINFERENCE: Final = names.OPENINFERENCE_KIND
_OUTPUT: Final = names.OPENINFERENCE_OUTPUT
_OUTPUT_TOO: Final = names.TRACELOOP_OUTPUT
_NUMBERED: Final = names.OPENINFERENCE_SAID
_NUMBERED_TOO: Final = names.TRACELOOP_SAID
_OUTPUTS: Final = (names.OPENINFERENCE_OUTPUT, names.TRACELOOP_OUTPUT)

KEPT: Final = frozenset(
    {
        names.GEN_AI_OPERATION,
        names.GEN_AI_TOOL,
        names.GEN_AI_MODEL,
        names.GEN_AI_AGENT,
        names.GEN_AI_ARGUMENTS,
        names.GEN_AI_TOOLS_OFFERED,
        names.OPENINFERENCE_KIND,
        names.OPENINFERENCE_TOOL,
        names.OPENINFERENCE_MODEL,
        names.OPENINFERENCE_INPUT,
        names.TRACELOOP_KIND,
        names.TRACELOOP_NAME,
        names.TRACELOOP_INPUT,
        names.STEP_KEY,
        names.MCP_METHOD,
        names.URL,
        names.OLD_URL,
        names.DB_QUERY,
        names.SERVER_ADDRESS,
        names.STEP_ID,
    }
)
"""What must be kept of a dull span, to read it after all once another span of its run went wrong."""


def glance(attributes: dict[str, Any], answer_tools: frozenset[str] = OUTPUT_TOOLS) -> Glance:
    """Look at a span that ended with no error, no event and nothing in flight.

    Args:
        attributes: All its attributes, as a plain dict.
        answer_tools: Names of calls that hand an answer over.
    """
    said = attributes.get(_OPERATION)
    if said is None:
        if _SAYING.isdisjoint(attributes):
            return _MATTERS if len(attributes) >= _CROWDED else _NOTHING
        said = _said_elsewhere(attributes)
    if not _TELLING.isdisjoint(attributes) or not isinstance(said, str):
        return _MATTERS
    if said == _TOOL_CALL:
        result = attributes.get(_RESULT)
        if isinstance(result, str) and result[:1] not in _SUSPICIOUS:
            return _MAKES_A_RUN
    if said in _TOOLS:
        return _MAKES_A_RUN if _is_plain_result(attributes) else _MATTERS
    if said in _MODELS:
        return _MAKES_A_RUN if _is_plain_turn(attributes, answer_tools) else _MATTERS
    return _MATTERS if said in _READ_ALWAYS or _may_refuse(attributes) else _NOTHING


def glance_at_root(attributes: Mapping[str, Any]) -> Glance:
    """Look at the root of a run in which no other span matters; as `glance`, but what it answered is not read.

    NOTHING of a plain step, MAKES_A_RUN of an agent, MATTERS where what it says could change the verdict of a run
    without a contract, a case or a label: also an answer that may be a word for none.
    """
    if not _TELLING_AT_ROOT.isdisjoint(attributes) or len(attributes) >= _CROWDED:
        return _MATTERS
    said, output = attributes.get(names.GEN_AI_OPERATION), attributes.get(names.GEN_AI_OUTPUT)
    if said is None:
        return _NOTHING if output is None else _MATTERS
    return _MAKES_A_RUN if said == _AGENT and (output is None or _says_something(output)) else _MATTERS


def _says_something(output: object) -> bool:
    """Whether an output is sure not to be a word for none."""
    if not isinstance(output, str):
        return False
    return not any(begin in output for begin in _NONE_BEGINS) or _NONE_SAID.search(output) is None


def _said_elsewhere(attributes: Mapping[str, Any]) -> Any:
    """Find the word by which a span of another vocabulary than GenAI says what it did."""
    return next((said for key in _OTHER_WORDS if (said := attributes.get(key)) is not None), None)


@lru_cache(maxsize=64)
def _calling(tools: frozenset[str]) -> re.Pattern[str]:
    """Make the pattern that finds a call of one of some tools, once for each contract."""
    return re.compile(rf'"name"\s*:\s*"(?:{"|".join(map(re.escape, sorted(tools)))})"')


def _may_refuse(attributes: Mapping[str, Any]) -> bool:
    """Whether a plain step may hold a framework's word that it refused what the model wrote."""
    for key in _OUTPUTS:
        value = attributes.get(key)
        if value is not None:
            return isinstance(value, str) and incidents.has_refusal(value)
    return False


def _is_plain_result(attributes: Mapping[str, Any]) -> bool:
    """Whether what a tool returned is there, if its arguments are, and holds no mark of failure."""
    for key in _RESULTS:
        result = attributes.get(key)
        if result is not None:
            if not isinstance(result, str) or result.startswith(_SENTENCES):
                return False
            if result[:1] != "{":
                return True
            return len(result) <= values.SCANNED_BYTES and _MARK.search(result) is None
    return all(attributes.get(key) is None for key in _GIVEN)


def _has_numbered(attributes: Mapping[str, Any]) -> bool:
    """Whether a model's messages may be numbered; all names at once are searched faster than one by one."""
    keys = "\n".join(attributes)
    return _NUMBERED in keys or _NUMBERED_TOO in keys


def _is_plain_turn(attributes: dict[str, Any], answer_tools: frozenset[str]) -> bool:
    """Whether a model did no more than call tools that it was offered."""
    if _OPENINFERENCE in attributes or _OUTPUT in attributes or _OUTPUT_TOO in attributes:
        return False
    output = attributes.get(names.GEN_AI_OUTPUT)
    if output is None:
        return not _has_numbered(attributes)
    if not isinstance(output, str) or '"tool_call"' not in output or len(output) > values.SCANNED_BYTES:
        return False
    if any(map(output.__contains__, answer_tools)) and _calling(answer_tools).search(output) is not None:
        return False
    return attributes.get(names.GEN_AI_TOOLS_OFFERED) is None or _calls_what_was_offered(attributes, output)


def _calls_what_was_offered(attributes: dict[str, Any], output: str) -> bool:
    """Whether each call in a model's output is one of a tool that it was offered."""
    offered = gen_ai.offered_tools(attributes)
    if _has_numbered(attributes):
        return False
    return offered is None or offered.issuperset(_CALLED.findall(output))
