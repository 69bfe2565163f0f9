"""Runs in a few words, and the cascades among them counted once more: plain loops, exact fractions, no SQL."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from statistics import median

from otel_aml.core.taxonomy import FAILURES

SIX = list(map(str, FAILURES))


@dataclass(frozen=True)
class Symptom:
    """One failure of a run; `at` in microseconds."""

    failure_class: str
    at: int | None = None
    error_type: str | None = None
    dependency: str | None = None
    recovered: bool = False
    superseded: bool = False

    @property
    def name(self):
        return " ".join(word for word in (self.error_type or self.failure_class, self.dependency) if word)


@dataclass(frozen=True)
class Run:
    symptoms: tuple = ()
    unchecked: frozenset = frozenset()
    case: str | None = None

    def items(self, grain):
        """What it has under a grain, and when it was seen first."""
        found = {}
        for each in self.symptoms:
            if each.superseded or each.failure_class in self.unchecked or (grain == "class" and each.recovered):
                continue
            item = (SIX.index(each.failure_class), each.failure_class if grain == "class" else each.name)
            found.setdefault(item, []).append(each.at)
        return {item: min((at for at in times if at is not None), default=None) for item, times in found.items()}


def fill(store, runs):
    """Put runs into the tables of a store."""
    numbered = [(f"{number:032x}", run) for number, run in enumerate(runs, start=1)]
    store.insert(
        "runs",
        [
            {"trace_id": trace_id, "span_id": "1", "class": "pass", "is_failure": False, "findings": []}
            | {"unchecked": sorted(run.unchecked, key=SIX.index), "recovered": 0, "paused": False, "incomplete": False}
            | {"outcome": "none", "attempts": 0, "coverage": "partial", "case_id": run.case, "service": "", "agent": ""}
            | {"decided_by": "replay", "synthetic": True, "error_spans": 0}
            for trace_id, run in numbered
        ],
    )
    store.insert(
        "failures",
        [
            {"trace_id": trace_id, "span_id": "1", "class": each.failure_class, "dependency": each.dependency}
            | {"error_type": each.error_type, "is_first": False, "is_recovered": each.recovered}
            | {"is_superseded": each.superseded, "seen_ns": None if each.at is None else each.at * 1_000}
            for trace_id, run in numbered
            for each in run.symptoms
        ],
    )


def emptied(store):
    """Make room for the next runs."""
    for table in ("runs", "failures"):
        store._connection.execute(f"delete from {table}")


def random_runs(seed):
    """Draw runs in which some symptoms hang together and some checks are undecided."""
    rng = random.Random(seed)
    rates = {name: rng.uniform(0.05, 0.6) for name in SIX}
    undecided, drags = rng.choice([0, 0, 0.1, 0.5]), rng.random()
    runs = []
    for _ in range(rng.randint(20, 150)):
        fired = {name for name in SIX if rng.random() < rates[name]}
        if SIX[0] in fired and rng.random() < drags:
            fired.add(SIX[2])
        symptoms = []
        for name in sorted(fired, key=SIX.index):
            at = rng.choice([None, 1_000, 2_000, 3_000, 4_000])
            kind, dependency = rng.choice([None, "timeout", "auth"]), rng.choice([None, "rules", "model"])
            recovered, superseded = rng.random() < 0.3, rng.random() < 0.1
            symptoms.append(Symptom(name, at, kind, dependency, recovered, superseded))
            if rng.random() < 0.3:
                symptoms.append(Symptom(name, rng.choice([None, 5_000]), "timeout", dependency))
        unchecked = frozenset(name for name in SIX if rng.random() < undecided)
        runs.append(Run(tuple(symptoms), unchecked, rng.choice([None, "C-1", "C-2", "C-3"])))
    return runs


@dataclass
class Pair:
    first: tuple
    second: tuple
    n: int = 0
    n_first: int = 0
    n_second: int = 0
    both: list = field(default_factory=list)


def tested_pairs(runs, grain, min_both):
    """All pairs that are tested, also those that never meet."""
    has = [run.items(grain) for run in runs]
    items = sorted({item for found in has for item in found})
    pairs = []
    for place, first in enumerate(items):
        for second in items[place + 1 :]:
            pair = Pair(first, second)
            for number, (run, found) in enumerate(zip(runs, has, strict=True)):
                if SIX[first[0]] in run.unchecked or SIX[second[0]] in run.unchecked:
                    continue
                pair.n += 1
                pair.n_first += first in found
                pair.n_second += second in found
                if first in found and second in found:
                    pair.both.append((found[first], found[second], run.case or number))
            if min(pair.n_first, pair.n_second) >= min_both:
                pairs.append(pair)
    return pairs


def fisher(n, n_cause, n_effect, n_both):
    """The upper tail, exactly."""
    ways = sum(comb(n_cause, k) * comb(n - n_cause, n_effect - k) for k in range(n_both, min(n_cause, n_effect) + 1))
    return Fraction(ways, comb(n, n_effect))


def sign_test(before, after):
    """Two-sided, exactly; None where there is no order at all."""
    n = before + after
    return min(Fraction(1), Fraction(2 * sum(comb(n, k) for k in range(min(before, after) + 1)), 2**n)) if n else None


def benjamini_hochberg(p_values):
    """The q values, in the order of the p values."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index], reverse=True)
    found, least = [None] * len(order), 1
    for rank, index in zip(range(len(order), 0, -1), order, strict=True):
        least = min(least, p_values[index] * len(order) / rank)
        found[index] = least
    return found


def recount(runs, grain, min_both):
    """The rows of the report, by cause and effect (each with the place of its class)."""
    pairs = tested_pairs(runs, grain, min_both)
    q_values = benjamini_hochberg([fisher(pair.n, pair.n_first, pair.n_second, len(pair.both)) for pair in pairs])
    rows = {}
    for pair, q_value in zip(pairs, q_values, strict=True):
        if len(pair.both) >= min_both:
            key, row = _row(pair)
            rows[key] = row | {"q_value": q_value, "test_count": len(pairs)}
    ordered = [key for key, row in rows.items() if row["p_order"] is not None]
    for key, q_order in zip(ordered, benjamini_hochberg([rows[key]["p_order"] for key in ordered]), strict=True):
        rows[key]["q_order"] = q_order
    return rows


def _row(pair):
    known = [(first, second) for first, second, _ in pair.both if first is not None and second is not None]
    first_first = sum(first < second for first, second in known)
    second_first = sum(first > second for first, second in known)
    turned = second_first > first_first
    cause, effect = (pair.second, pair.first) if turned else (pair.first, pair.second)
    n_cause, n_effect = (pair.n_second, pair.n_first) if turned else (pair.n_first, pair.n_second)
    n, n_both = pair.n, len(pair.both)
    before, after = max(first_first, second_first), min(first_first, second_first)
    lag = median(second - first for first, second in known) / 1e3 if known else None
    row = {
        "run_count": n,
        "n_cause": n_cause,
        "n_effect": n_effect,
        "n_both": n_both,
        "support": Fraction(n_both, n),
        "confidence": Fraction(n_both, n_cause),
        "lift": Fraction(n * n_both, n_cause * n_effect),
        "max_lift": Fraction(n, max(n_cause, n_effect)),
        "leverage": Fraction(n_both, n) - Fraction(n_cause * n_effect, n * n),
        "conviction": (1 - Fraction(n_effect, n)) / (1 - Fraction(n_both, n_cause)) if n_both < n_cause else None,
        "p_value": fisher(n, n_cause, n_effect, n_both),
        "before_count": before,
        "after_count": after,
        "tie_count": n_both - before - after,
        "p_order": sign_test(before, after),
        "q_order": None,
        "median_lag_ms": -lag if turned and lag is not None else lag,
        "case_count": len({case for *_, case in pair.both}),
    }
    return (cause, effect), row
