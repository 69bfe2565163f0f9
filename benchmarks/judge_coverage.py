"""Does the 95 % interval of the corrected rate hold the truth 95 times in a hundred?

    python benchmarks/judge_coverage.py [--simulations 1000]

100 labels, half of them failures; a judge with TPR .92 and TNR .88; 50 to 5,000 unlabelled runs; several true rates.
For each, how often the interval of `otel_aml.evals.agreement.corrected_rate` holds the true rate (with the Wilson
interval of that figure), and beside it the same with a bootstrap that leaves the unlabelled runs as they are.
Leaves with 1 where coverage is outside 90 to 98 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from random import Random

from otel_aml.evals.agreement import Confusion, Proportion, corrected_rate, wilson

TPR, TNR = 0.92, 0.88
LABELS = 100
UNLABELLED = (50, 100, 500, 5_000)
RATES = (0.05, 0.15, 0.30, 0.50)


def drawn(rng: Random, of: int, chance: float) -> int:
    return sum(rng.random() < chance for _ in range(of))


def coverage(rate: float, unlabelled: int, simulations: int) -> tuple[int, float]:
    rng = Random(f"{rate}:{unlabelled}")
    held, width = 0, 0.0
    for seed in range(simulations):
        tp, tn = drawn(rng, LABELS // 2, TPR), drawn(rng, LABELS // 2, TNR)
        labelled = Confusion(tp=tp, fn=LABELS // 2 - tp, tn=tn, fp=LABELS // 2 - tn)
        seen = drawn(rng, unlabelled, rate * TPR + (1 - rate) * (1 - TNR))
        found = corrected_rate(labelled, Proportion(seen, unlabelled), seed=seed, rounds=1_000).interval
        if found is not None:
            held += found.low <= rate <= found.high
            width += found.high - found.low
    return held, width / simulations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=1_000)
    simulations = parser.parse_args().simulations
    print("true rate  unlabelled  coverage  (95 % interval)  mean width")
    outside = 0
    for rate in RATES:
        for unlabelled in UNLABELLED:
            held, width = coverage(rate, unlabelled, simulations)
            around = wilson(held, simulations)
            low, high = (around.low, around.high) if around else (math.nan, math.nan)
            share = held / simulations
            outside += not 0.90 <= share <= 0.98
            print(f"{rate:9.2f}  {unlabelled:10,}  {share:8.1%}  ({low:.1%} to {high:.1%})  {width:.3f}")
    if outside:
        sys.exit(f"{outside} of {len(RATES) * len(UNLABELLED)} are outside 90 to 98 %")


if __name__ == "__main__":
    main()
