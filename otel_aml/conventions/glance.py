"""What can be told of a healthy span at a glance: whether the facts of its run need it at all.

Most spans of a healthy run change nothing: a call that worked, a model that called a tool it was offered, a span of the
app. Reading each of them in full would cost more than making it. So `glance` looks at a few keys and says, surely and
cheaply, that a span is dull; when in doubt it says that it matters, and `read` has the word.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import gen_ai, incidents, values
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
_SENTENCES: Final = tuple(sentence.starts for sentence in RESULTS)

_WORDS: Final = (names.GEN_AI_OPERATION, names.OPENINFERENCE_KIND, names.TRACELOOP_KIND, names.MCP_METHOD)
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
    if not _TELLING.isdisjoint(attributes):
        return Glance.MATTERS
    said = _said(attributes)
    if said is None:
        return Glance.MATTERS if len(attributes) >= _CROWDED else Glance.NOTHING
    if not isinstance(said, str) or said in _READ_ALWAYS:
        return Glance.MATTERS
    if said in _TOOLS:
        return Glance.MAKES_A_RUN if _is_plain_result(attributes) else Glance.MATTERS
    if said in _MODELS:
        return Glance.MAKES_A_RUN if _is_plain_turn(attributes, answer_tools) else Glance.MATTERS
    return Glance.MATTERS if _may_refuse(attributes) else Glance.NOTHING


def _said(attributes: Mapping[str, Any]) -> Any:
    """Find the word by which a span says what it did."""
    for key in _WORDS:
        said = attributes.get(key)
        if said is not None:
            return said
    return None


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


def _is_plain_turn(attributes: dict[str, Any], answer_tools: frozenset[str]) -> bool:
    """Whether a model did no more than call tools that it was offered."""
    if names.OPENINFERENCE_KIND in attributes or names.TRACELOOP_OUTPUT in attributes:
        return False
    output = attributes.get(names.GEN_AI_OUTPUT)
    if output is None:
        return True
    if not isinstance(output, str) or '"tool_call"' not in output or len(output) > values.SCANNED_BYTES:
        return False
    called = _CALLED.findall(output)
    if not answer_tools.isdisjoint(called):
        return False
    offered = gen_ai.offered_tools(attributes)
    return offered is None or offered.issuperset(called)
