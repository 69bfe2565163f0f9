"""Is a store whole after any kill? `ingest --append` killed at random points, started again, compared with one go.

    python benchmarks/kill_ingest.py [--kills 100] [--seed 1]

Prints how many kills hit a running command, and whether the tables are those of one go. Exit code 1 if they are not.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "offline"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from test_appending import COMMAND, add, killed, parts_of, tables

A_PART = 4


def main() -> int:
    """Kill a few times before each part goes in."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    rng = random.Random(given.seed)
    kills = rounds = differing = 0
    while kills < given.kills:
        with tempfile.TemporaryDirectory() as name:
            hits, same = one_round(Path(name), given.seed * 1_000 + rounds, rng)
        kills, rounds, differing = kills + hits, rounds + 1, differing + (not same)
        print(f"{kills} kills in {rounds} rounds, {differing} stores differ from one go", flush=True)
    return 1 if differing else 0


def one_round(folder: Path, seed: int, rng: random.Random) -> tuple[int, bool]:
    """Add three parts to one store; say how many kills hit, and whether it is as in one go."""
    (folder / "out").mkdir()
    kills, took = 0, 1.0
    for number, part in enumerate(parts_of(seed)):
        if number == 2:
            (folder / "a.jsonl").rename(folder / "a-1.jsonl")
        add(folder / "a.jsonl", *part)
        kills += sum(killed(folder, rng.uniform(0.2, 1.05) * took) for _ in range(A_PART))
        started = time.monotonic()
        subprocess.run([*COMMAND, "--append"], cwd=folder, check=True, capture_output=True)
        took = time.monotonic() - started
    whole = folder / "whole.duckdb"
    subprocess.run([*COMMAND[:-1], str(whole)], cwd=folder, check=True, capture_output=True)
    return kills, tables(folder / "out" / "store.duckdb") == tables(whole)


if __name__ == "__main__":
    raise SystemExit(main())
