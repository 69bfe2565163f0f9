"""How far a judge can be trusted: agreement with people, its errors, and the rate corrected for them.

A number that does not exist (0/0) is None, never 0 and never 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

LEVEL: Final = 0.95
ROUNDS: Final = 2_000
SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both in [0, 1]."""

    low: float
    high: float

    def plain(self) -> list[float]:
        """Give it as JSON shows it."""
        return [self.low, self.high]


@dataclass(frozen=True, slots=True)
class Proportion:
    """So many of so many."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None of nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Its Wilson interval at 95 %; None of nothing."""
        return wilson(self.count, self.of)

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        interval = self.interval
        return {
            "value": self.value,
            "count": self.count,
            "of": self.of,
            "interval": None if interval is None else interval.plain(),
        }


def wilson(count: int, of: int, *, level: float = LEVEL) -> Interval | None:
    """Give the score interval of a proportion, without continuity correction.

    Args:
        count: Successes, 0 to `of`.
        of: Trials.
        level: Confidence of the two-sided interval, between 0 and 1.

    Returns:
        The interval; None where there were no trials.

    Raises:
        ValueError: The counts or the level cannot be.

    Source:
        E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if not 0 <= count <= of:
        raise ValueError(f"{count} of {of} is no proportion")
    z = _z(level)
    if not of:
        return None
    share, scale = count / of, 1 + z * z / of
    centre = (share + z * z / (2 * of)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return Interval(0.0 if count == 0 else max(0.0, centre - half), 1.0 if count == of else min(1.0, centre + half))


def _z(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"a level of confidence lies between 0 and 1, not {level}")
    return NormalDist().inv_cdf((1 + level) / 2)


def cohens_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Say how far two raters agree beyond chance.

    Returns:
        At most 1; None where chance alone agrees always (both raters use one and the same category), or of nothing.

    Raises:
        ValueError: The two are not of the same length.

    Source:
        J. Cohen, A coefficient of agreement for nominal scales, 1960.
    """
    pairs = list(zip(one, other, strict=True))
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(left == right for left, right in pairs) * total
    left_counts, right_counts = Counter(one), Counter(other)
    by_chance = sum(left_counts[each] * right_counts[each] for each in left_counts)
    return None if by_chance == total * total else (observed - by_chance) / (total * total - by_chance)


@dataclass(frozen=True, slots=True)
class Confusion:
    """What a judge said against what people said; positive is the failure that is asked for.

    Args:
        tp: Both say that it failed.
        fp: Only the judge does.
        fn: Only the people do.
        tn: Neither does.
    """

    tp: int
    fp: int
    fn: int
    tn: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """Count pairs of a label and a judge's word, true where it failed."""
        counts = Counter(pairs)
        return cls(tp=counts[True, True], fp=counts[False, True], fn=counts[True, False], tn=counts[False, False])

    @property
    def total(self) -> int:
        """How many labels."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def agreement(self) -> Proportion:
        """Raw agreement."""
        return Proportion(self.tp + self.tn, self.total)

    @property
    def prevalence(self) -> Proportion:
        """How many failed by the people's word."""
        return Proportion(self.tp + self.fn, self.total)

    @property
    def tpr(self) -> Proportion:
        """True-positive rate: of what failed, how much the judge finds."""
        return Proportion(self.tp, self.tp + self.fn)

    @property
    def tnr(self) -> Proportion:
        """True-negative rate: of what is fine, how much the judge lets pass."""
        return Proportion(self.tn, self.tn + self.fp)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, as `cohens_kappa` gives it of the pairs."""
        total = self.total
        judged = self.tp + self.fp
        failed = self.tp + self.fn
        by_chance = judged * failed + (total - judged) * (total - failed)
        if by_chance == total * total:
            return None
        return ((self.tp + self.tn) * total - by_chance) / (total * total - by_chance)

    @property
    def baselines(self) -> dict[str, float | None]:
        """Raw agreement of a judge that always says the same."""
        share = self.prevalence.value
        return {"always_failed": share, "always_fine": None if share is None else 1 - share}

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "labels": self.total,
            "confusion": {"tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn},
            "agreement": self.agreement.plain(),
            "prevalence": self.prevalence.plain(),
            "kappa": self.kappa,
            "tpr": self.tpr.plain(),
            "tnr": self.tnr.plain(),
            "baselines": self.baselines,
        }


def rogan_gladen(observed: float | None, tpr: float | None, tnr: float | None) -> float | None:
    """Correct a rate that a fallible judge saw.

    Returns:
        The rate, cut to [0, 1]; None where something is unknown, or the judge is no better than chance
        (`tpr + tnr <= 1`).

    Source:
        W. J. Rogan and B. Gladen, Estimating prevalence from the results of a screening test, 1978.
    """
    if observed is None or tpr is None or tnr is None or tpr + tnr <= 1:
        return None
    return min(1.0, max(0.0, (observed + tnr - 1) / (tpr + tnr - 1)))


@dataclass(frozen=True, slots=True)
class Corrected:
    """A rate corrected for the judge's errors.

    Args:
        value: 0 to 1; None where it does not exist.
        interval: By the bootstrap; None where that gave nothing.
        observed: What the judge saw, uncorrected.
        rounds: Bootstrap rounds.
        dropped: Rounds in which the judge was no better than chance, which say nothing.
    """

    value: float | None
    interval: Interval | None
    observed: Proportion
    rounds: int
    dropped: int

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "value": self.value,
            "interval": None if self.interval is None else self.interval.plain(),
            "observed": self.observed.plain(),
            "rounds": self.rounds,
            "dropped_rounds": self.dropped,
        }


def corrected_rate(
    labelled: Confusion, unlabelled: Proportion, *, level: float = LEVEL, rounds: int = ROUNDS, seed: int = SEED
) -> Corrected:
    """Estimate how many of the unlabelled runs failed, with an interval that knows both sources of chance.

    Each round draws both sets anew: the labels, which are few and make the judge's error rates uncertain, and the
    unlabelled runs. Rates are drawn around estimates with half a case added on either side: 30 of 30 does not show
    that a judge is never wrong, and drawing from it as it stands would.

    Args:
        labelled: The judge against people, on held-out labels.
        unlabelled: What the judge said of the rest: so many failed of so many.
        level: Confidence.
        rounds: How often to draw.
        seed: The same seed gives the same interval.
    """
    value = rogan_gladen(unlabelled.value, labelled.tpr.value, labelled.tnr.value)
    if value is None:
        return Corrected(None, None, unlabelled, 0, 0)
    rng = Random(seed)  # noqa: S311 - chance, not secrecy
    draw = [_Binomial(each) for each in (unlabelled, labelled.tpr, labelled.tnr)]
    drawn = (rogan_gladen(*(each.share(rng) for each in draw)) for _ in range(rounds))
    kept = sorted(each for each in drawn if each is not None)
    interval = Interval(_quantile(kept, (1 - level) / 2), _quantile(kept, (1 + level) / 2)) if kept else None
    return Corrected(value, interval, unlabelled, rounds, rounds - len(kept))


class _Binomial:
    """Draws shares of a binomial by its cumulative distribution, which is worked out once."""

    def __init__(self, seen: Proportion) -> None:
        self._of = seen.of
        chance = (seen.count + 0.5) / (seen.of + 1)
        whole = math.lgamma(seen.of + 1)
        self._cumulative = list(
            accumulate(
                math.exp(
                    whole
                    - math.lgamma(count + 1)
                    - math.lgamma(seen.of - count + 1)
                    + count * math.log(chance)
                    + (seen.of - count) * math.log1p(-chance)
                )
                for count in range(seen.of + 1)
            )
        )

    def share(self, rng: Random) -> float:
        """Draw one."""
        return min(bisect_left(self._cumulative, rng.random()), self._of) / self._of


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Read a quantile off sorted values, between neighbours in proportion."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
