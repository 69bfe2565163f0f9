"""What the answer of a run says: does it fit, whom does it cite, which typology does it give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import values
from otel_aml.core.folding import fold_id, fold_label

if TYPE_CHECKING:
    from otel_aml.conventions.contract import Contract


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one answer says.

    Args:
        valid: Whether it fits the declared schema; None where no schema is declared or it was cut.
        cited_ids: Folded; None where unknown.
        typology: Folded; None where unknown.
        is_object: Whether it could be read as an object.
    """

    valid: bool | None = None
    cited_ids: frozenset[str] | None = None
    typology: str | None = None
    is_object: bool = False


NOTHING_SAID: Final = Said()


def read(answer: Any, contract: Contract) -> Said:
    """Read one answer.

    Args:
        answer: A text, or the object that the app itself handed over.
        contract: What is declared of answers; `UNDECLARED` if nothing is.
    """
    value: Any = answer
    if isinstance(answer, str):
        if len(answer) > values.ANSWER_BYTES:
            return NOTHING_SAID
        value = values.strict_object(answer if contract.strict else values.without_fence(answer))
        if value is None:
            return Said(valid=False) if contract.has_schema and not _fits_as_text(answer, contract) else NOTHING_SAID
    elif hasattr(answer, "model_dump"):
        value = answer.model_dump(mode="json")
    cited = contract.cited(value)
    typology = contract.typology_of(value)
    return Said(
        valid=contract.accepts(value),
        cited_ids=None if cited is None else frozenset(map(fold_id, cited)),
        typology=None if typology is None else fold_label(typology),
        is_object=isinstance(value, Mapping),
    )


def _fits_as_text(answer: str, contract: Contract) -> bool:
    """Whether an answer that is no JSON object is what the schema asks for (a plain text, a list)."""
    found = values.parsed(answer, limit=values.ANSWER_BYTES)
    if isinstance(found, Mapping):
        return False
    return contract.accepts(answer if found is None else found) is True
