"""What can be told of a healthy span at a glance: whether the facts of its run need it at all.

Most spans of a healthy run change nothing: a call that worked, a model that called a tool it was offered, a span of the
app. Reading each of them in full would cost more than making it. So `glance` looks at a few keys and says, surely and
cheaply, that a span is dull; when in doubt it says that it matters, and `read` has the word.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import gen_ai, values
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
_TOOLS: Final = frozenset({"execute_tool", "TOOL"})
_READ_ALWAYS: Final = frozenset({"invoke_agent", "retrieval", "AGENT", "RETRIEVER"})
_RESULTS: Final = (names.GEN_AI_RESULT, names.OPENINFERENCE_OUTPUT)
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
    }
)
_MARK: Final = re.compile(r'"(?:error|isError|is_error|status|success|ok|response_type)"')
_CALLED: Final = re.compile(r'"name"\s*:\s*"([^"\\]*)"')
_SENTENCES: Final = tuple(sentence.starts for sentence in RESULTS)

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
        names.URL,
        names.OLD_URL,
        names.DB_QUERY,
        names.SERVER_ADDRESS,
        names.STEP_ID,
    }
)
"""What must be kept of a dull span, to read it after all once another span of its run went wrong."""


def glance(attributes: dict[str, Any]) -> Glance:
    """Look at a span that ended with no error, no event and nothing in flight.

    Args:
        attributes: All its attributes, as a plain dict.
    """
    if not _TELLING.isdisjoint(attributes):
        return Glance.MATTERS
    said = attributes.get(names.GEN_AI_OPERATION)
    if said is None:
        said = attributes.get(names.OPENINFERENCE_KIND)
        if said is None:
            return Glance.NOTHING
    if not isinstance(said, str) or said in _READ_ALWAYS:
        return Glance.MATTERS
    if said in _TOOLS:
        return Glance.MAKES_A_RUN if _is_plain_result(attributes) else Glance.MATTERS
    if said in _MODELS:
        return Glance.MAKES_A_RUN if _is_plain_turn(attributes) else Glance.MATTERS
    return Glance.NOTHING


def _is_plain_result(attributes: Mapping[str, Any]) -> bool:
    """Whether what a tool returned holds no mark of failure."""
    for key in _RESULTS:
        result = attributes.get(key)
        if result is not None:
            if not isinstance(result, str) or result.startswith(_SENTENCES):
                return False
            if result[:1] != "{":
                return True
            return len(result) <= values.SCANNED_BYTES and _MARK.search(result) is None
    return True


def _is_plain_turn(attributes: dict[str, Any]) -> bool:
    """Whether a model did no more than call tools that it was offered."""
    if names.OPENINFERENCE_OUTPUT in attributes:
        return False
    output = attributes.get(names.GEN_AI_OUTPUT)
    if output is None:
        return True
    if not isinstance(output, str) or '"tool_call"' not in output or len(output) > values.SCANNED_BYTES:
        return False
    called = _CALLED.findall(output)
    if not OUTPUT_TOOLS.isdisjoint(called):
        return False
    offered = gen_ai.offered_tools(attributes)
    return offered is None or offered.issuperset(called)
