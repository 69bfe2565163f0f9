"""Our own words for the domain, on the run root or the span that knows: case, evidence, answer, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import values
from otel_aml.conventions.reading import NOTHING_DECLARED, Declared
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_DECLARING: Final = frozenset(
    {
        names.CASE_ID,
        names.EVIDENCE_IDS,
        names.GOLD_NOTES,
        names.ANSWER_CITED_IDS,
        names.ANSWER_TYPOLOGY,
        names.ANSWER_VALID,
        names.GOLD_TYPOLOGY,
        names.JUDGE_CONTEXT_USED,
        names.SYNTHETIC,
    }
)


def each_needed(notes: Iterable[str] | None) -> tuple[frozenset[str], ...] | None:
    """Ask for every one of these notes; None stays None."""
    return None if notes is None else tuple(frozenset({note}) for note in sorted(notes))


def declared(attributes: Mapping[str, Any]) -> Declared:
    """Read what the attributes under `aml.` declare."""
    if _DECLARING.isdisjoint(attributes):
        return NOTHING_DECLARED
    return Declared(
        case_id=values.text(attributes.get(names.CASE_ID)),
        evidence_ids=values.ids(attributes.get(names.EVIDENCE_IDS)),
        needed_notes=each_needed(values.ids(attributes.get(names.GOLD_NOTES))),
        cited_ids=values.ids(attributes.get(names.ANSWER_CITED_IDS)),
        typology=values.text(attributes.get(names.ANSWER_TYPOLOGY)),
        schema_valid=values.flag(attributes.get(names.ANSWER_VALID)),
        gold_typology=values.text(attributes.get(names.GOLD_TYPOLOGY)),
        context_used=values.flag(attributes.get(names.JUDGE_CONTEXT_USED)),
        synthetic=values.flag(attributes.get(names.SYNTHETIC)) is True,
    )
