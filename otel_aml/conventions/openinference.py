"""The vocabulary of OpenInference: kinds, names, arguments, results and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import values
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
_NAMES: Final[Mapping[Kind, str]] = {Kind.MODEL: names.OPENINFERENCE_MODEL, Kind.TOOL: names.OPENINFERENCE_TOOL}


def kind(attributes: Mapping[str, Any]) -> Kind | None:
    """Say what the span did; None if it does not speak this vocabulary. Other kinds are plain steps."""
    recorded = attributes.get(names.OPENINFERENCE_KIND)
    if recorded is None:
        return None
    return _KINDS.get(recorded, Kind.STEP) if isinstance(recorded, str) else None


def dependency(attributes: Mapping[str, Any], of: Kind) -> str | None:
    """Name the tool or model."""
    key = _NAMES.get(of)
    return values.text(attributes.get(key)) if key else None


def document_ids(attributes: Mapping[str, Any]) -> frozenset[str] | None:
    """List what a retrieval returned; None where it was not recorded, or a document has no id."""
    prefix = f"{names.OPENINFERENCE_DOCUMENTS}."
    numbers = {key[len(prefix) :].split(".", 1)[0] for key in attributes if key.startswith(prefix)}
    if not numbers:
        empty = values.parsed(attributes.get(names.OPENINFERENCE_DOCUMENTS))
        return frozenset() if values.is_list(empty) and not empty else None
    found = [values.text(attributes.get(f"{prefix}{number}.document.id")) for number in numbers]
    return None if None in found else frozenset(each for each in found if each is not None)


def final_text(recorded: Any) -> Any:
    """Read the answer as recorded; None where it is hidden."""
    return values.text(recorded) if isinstance(recorded, str) else recorded
