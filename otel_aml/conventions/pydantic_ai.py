"""What pydantic-ai adds to GenAI: retries it asked for, calls it deferred, the final result.

Source:
    Runs recorded with pydantic-ai-slim 2.68.0, format versions 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_aml.conventions import values
from otel_aml.core.steps import Kind
from otel_aml.spans import attributes as names

SCOPE: Final = "pydantic-ai"


def kind(attributes: Mapping[str, Any]) -> Kind | None:
    """Know an attempt at a request, which carries no operation."""
    return Kind.MODEL if names.PYDANTIC_AI_ATTEMPT in attributes else None


def is_deferred(attributes: Mapping[str, Any]) -> bool:
    """Whether a call, or the whole run, waits for a person."""
    return names.PYDANTIC_AI_DEFERRAL in attributes or _asks_for_consent(attributes.get(names.PYDANTIC_AI_FINAL))


def _asks_for_consent(final: Any) -> bool:
    """Whether a final result is no answer, but the list of calls that a person must allow."""
    if not isinstance(final, str) or '"approvals"' not in final[: values.SCANNED_BYTES]:
        return False
    found = values.parsed(final, limit=values.ANSWER_BYTES)
    return isinstance(found, Mapping) and {"calls", "approvals"} <= found.keys()


def refused_arguments(attributes: Mapping[str, Any]) -> bool:
    """Whether the arguments of a call were refused before it ran."""
    return attributes.get(names.PYDANTIC_AI_RETRY_CAUSE) == "validation_error"


def owes_answer(attributes: Mapping[str, Any]) -> bool:
    """Whether the span is of an agent that records its answer, when it has one and content is not switched off."""
    messages = attributes.get(names.PYDANTIC_AI_MESSAGES)
    return isinstance(messages, str) and '"content"' in messages[: values.SCANNED_BYTES]


def final_text(recorded: Any) -> Any:
    """Read the final result as recorded; None where the run stopped for a person, and gave none."""
    if _asks_for_consent(recorded):
        return None
    return values.text(recorded) if isinstance(recorded, str) else recorded
