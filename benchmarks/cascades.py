"""What the report on cascades may claim: seeded ones found again, nothing found in chance, equal to three libraries.

python benchmarks/cascades.py                 all three; the last where scipy, statsmodels and mlxtend are installed
python benchmarks/cascades.py --seeds 10 --undecided 50 --tables 20
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests" / "queries"))

from pairs import SIX, emptied, fill, random_runs
from test_cascades import demo_pairs, undecided

from otel_aml import demo
from otel_aml.offline.store import Store

CLOSE = 1e-9
STRONG = 0.05


def asked(store, runs, *, grain="class", min_both=5):
    emptied(store)
    fill(store, runs)
    return [row for row in store.rows("reports/cascades", {"min_both": min_both}) if row["grain"] == grain]


def seeded(seeds):
    """Run the demo on each seed; count those in which the pairs are exactly the seeded cascades."""
    exact = 0
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            found = demo_pairs(Path(folder), seed)
        exact += found == set(demo.SEEDED_CASCADES)
        for word, pairs in (
            ("missing", set(demo.SEEDED_CASCADES) - found),
            ("more", found - set(demo.SEEDED_CASCADES)),
        ):
            if pairs:
                print(f"  seed {seed}: {word} {sorted(f'{cause} -> {effect}' for cause, effect in pairs)}")
    print(f"demo: exactly the seeded cascades in {exact} of {seeds} seeds (at least 95 % wanted)")
    return exact >= 0.95 * seeds


def chance(seeds):
    """Independent failures, four of five checks undecided."""
    with Store() as store:
        found = sum(any(row["q_value"] < STRONG for row in asked(store, undecided(seed))) for seed in range(seeds))
    print(f"chance: a pair in {found} of {seeds} seeds (at most 5 % wanted)")
    return found <= 0.05 * seeds


def libraries(tables):
    """Compare with what scipy, statsmodels and mlxtend say of the same tables."""
    try:
        import mlxtend  # noqa: F401 - asked for below
        from scipy.stats import binomtest, fisher_exact
        from statsmodels.stats.multitest import multipletests
    except ImportError as missing:
        print(f"libraries: {missing.name} is not installed, nothing compared")
        return True
    worst, pairs = dict.fromkeys(("p", "q", "lift", "leverage", "conviction", "support", "p_order", "q_order"), 0.0), 0
    with Store() as store:
        for seed in range(tables):
            runs = random_runs(seed)
            rows = asked(store, runs, min_both=1)
            p_values = []
            for row in rows:
                n, a, b, both = (row[name] for name in ("run_count", "n_cause", "n_effect", "n_both"))
                p_values.append(
                    fisher_exact([[both, a - both], [b - both, n - a - b + both]], alternative="greater")[1]
                )
                worst["p"] = max(worst["p"], abs(p_values[-1] - row["p_value"]))
                if row["p_order"] is not None:
                    order = binomtest(row["before_count"], row["before_count"] + row["after_count"]).pvalue
                    worst["p_order"] = max(worst["p_order"], abs(order - row["p_order"]))
                _compare_rules(row, runs, worst)
            if rows:
                never_met = [1.0] * (rows[0]["test_count"] - len(rows))
                for row, q_value in zip(rows, multipletests(p_values + never_met, method="fdr_bh")[1], strict=False):
                    worst["q"] = max(worst["q"], abs(q_value - row["q_value"]))
            ordered = [row for row in rows if row["p_order"] is not None]
            if ordered:
                q_orders = multipletests([row["p_order"] for row in ordered], method="fdr_bh")[1]
                for row, q_order in zip(ordered, q_orders, strict=True):
                    worst["q_order"] = max(worst["q_order"], abs(q_order - row["q_order"]))
            pairs += len(rows)
    print(f"libraries: {pairs} pairs of {tables} tables; largest differences:")
    print("  " + ", ".join(f"{name} {difference:.1e}" for name, difference in worst.items()))
    return max(worst.values()) <= CLOSE


def _compare_rules(row, runs, worst):
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    cause, effect = row["cause"], row["effect"]
    decided = [run.items("class") for run in runs if not {cause, effect} & run.unchecked]
    names = {name: (SIX.index(name), name) for name in (cause, effect)}
    frame = pd.DataFrame([{name: item in found for name, item in names.items()} for found in decided])
    rules = association_rules(fpgrowth(frame, min_support=1e-9, use_colnames=True), metric="support", min_threshold=0)
    (rule,) = (each for _, each in rules.iterrows() if each["antecedents"] == {cause})
    for name in ("support", "lift", "leverage"):
        worst[name] = max(worst[name], abs(rule[name] - row[name]))
    if row["conviction"] is not None:
        worst["conviction"] = max(worst["conviction"], abs(rule["conviction"] - row["conviction"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--undecided", type=int, default=500)
    parser.add_argument("--tables", type=int, default=200)
    given = parser.parse_args()
    held = []
    for measure, count in ((libraries, given.tables), (chance, given.undecided), (seeded, given.seeds)):
        started = time.monotonic()
        held.append(measure(count))
        print(f"  {time.monotonic() - started:.0f} s")
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
