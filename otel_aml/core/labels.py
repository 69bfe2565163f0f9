"""A label against a prediction: what one labelled run adds to precision and recall of the typologies."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

NO_TYPOLOGY: Final = frozenset({"", "none"})
"""Labels, folded, that say that there is nothing to be found."""


class LabelOutcome(StrEnum):
    """What a prediction is to a label."""

    TRUE_POSITIVE = "tp"
    FALSE_POSITIVE = "fp"
    FALSE_NEGATIVE = "fn"


def label_outcomes(typology: str | None, gold: str | None) -> tuple[LabelOutcome, ...]:
    """Say what one labelled run counts as, over all typologies (micro-averaged).

    A typology in the place of another is wrong twice: a false positive of the one, a false negative of the other. A
    run without anything to be found in which nothing was found counts as none of the three.

    Args:
        typology: The answer's, folded. None: not known, which is no answer that could be wrong.
        gold: The label, folded. None: no label.
    """
    if typology is None or gold is None:
        return ()
    if typology == gold:
        return () if gold in NO_TYPOLOGY else (LabelOutcome.TRUE_POSITIVE,)
    found = () if typology in NO_TYPOLOGY else (LabelOutcome.FALSE_POSITIVE,)
    missed = () if gold in NO_TYPOLOGY else (LabelOutcome.FALSE_NEGATIVE,)
    return found + missed
