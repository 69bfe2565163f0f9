"""When two texts name the same thing: folds what cannot change identity, and nothing more."""

from __future__ import annotations

from typing import Final

_HYPHENS: Final = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_PAIRS: Final = frozenset({"[]", "()", "{}", "<>", '""', "''", "``", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb"})


def _lower(text: str) -> str:
    """Lower the case, but keep letters that merely look like another (the Kelvin sign is no k)."""
    if text.isascii():
        return text.lower()
    return "".join(low if (low := letter.lower()).upper() == letter else letter for letter in text)


def fold_id(text: str) -> str:
    """Fold an id for comparison: case, white space, surrounding brackets or quotes, Unicode hyphens.

    Never edit distance, never prefixes, never look-alike letters: those can change identity.
    """
    folded = " ".join(_lower(text).translate(_HYPHENS).split())
    while folded[:1] + folded[1:][-1:] in _PAIRS:
        folded = folded[1:-1].strip()
    return folded


def fold_label(text: str) -> str:
    """Fold the name of a typology: as an id, with spaces, hyphens and underscores alike."""
    spaced = fold_id(text).replace("-", " ").replace("_", " ")
    return fold_id(spaced).replace(" ", "_")
