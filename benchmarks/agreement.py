"""Do live and replay agree? Random runs, classified as they end, and again from stripped, shuffled, doubled lines.

    python benchmarks/agreement.py [--runs 100000] [--seed 1]

Prints how many runs agree in class, findings, unchecked checks and first span, and the first that do not. Exit code 1
if any does not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import agreement

A_BATCH = 10_000


def main() -> int:
    """Compare batch by batch, so that memory stays bounded."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    classes: Counter[str] = Counter()
    compared = differing = 0
    for start in range(0, given.runs, A_BATCH):
        seed = given.seed * 1_000_000 + start
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            live = agreement.live(folder, seed, min(A_BATCH, given.runs - start))
            agreement.disturb(folder, seed)
            replayed = agreement.replayed(folder)
        for key in live.keys() | replayed.keys():
            compared += 1
            if live.get(key) != replayed.get(key):
                differing += 1
                if differing <= 10:
                    print(f"seed {seed}, run {key}: live {live.get(key)}, replayed {replayed.get(key)}")
        classes.update(each.failure_class for each in live.values())
        print(f"{compared} runs compared, {differing} differ", flush=True)
    print(", ".join(f"{name} {count}" for name, count in classes.most_common()))
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
