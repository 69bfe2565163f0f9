"""What a span did, asked of each vocabulary in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import gen_ai, mcp, openinference, openllmetry, pydantic_ai
from otel_aml.core.steps import Kind
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

_AGENT_SPAN: Final = "invoke_agent "
_MODEL_OPERATION: Final = "generate_content"


def kind(attributes: Mapping[str, Any], *, name: str = "", is_cut: bool = False) -> Kind | None:
    """Say what a span did; None if it speaks none of the vocabularies.

    Args:
        attributes: The span's.
        name: The span's name. Under OpenInference 1.0.5 all model calls of a Google ADK agent are written onto the
            agent's own span, and make it look like one of them; its name stays.
        is_cut: Attributes were lost to the SDK's limit.
    """
    if name.startswith(_AGENT_SPAN) and attributes.get(names.GEN_AI_OPERATION) == _MODEL_OPERATION:
        return Kind.AGENT
    found = (
        openllmetry.kind(attributes)
        or gen_ai.kind(attributes)
        or openinference.kind(attributes)
        or mcp.kind(attributes)
        or pydantic_ai.kind(attributes)
    )
    return openinference.kind_of_rest(attributes) if found is None and is_cut else found


def is_model_too(attributes: Mapping[str, Any], kind: Kind) -> bool:
    """Whether the model calls of an agent were written onto its own span."""
    return kind is Kind.AGENT and attributes.get(names.GEN_AI_OPERATION) == _MODEL_OPERATION
