"""How large the page of a report is, and how long it takes from a ready store, beside the report without it.

python benchmarks/page.py                    the demo with 10,000 cases; it takes minutes to run them
python benchmarks/page.py --cases 500
python benchmarks/page.py --store runs.duckdb
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from otel_aml.demo import run
from otel_aml.offline import onepage, reports
from otel_aml.offline.analysis import Given, analysed, ingest

LARGEST_KIB = 300
LONGEST_SECONDS = 5
ROUNDS = 5


def made(folder, cases):
    run.write_demo(folder, seed=7, cases=cases)
    given = Given(files=[str(folder / run.TRACES)], gold=folder / run.GOLD, judged=folder / run.JUDGED)
    ingest(given, folder / "store.duckdb", keep_text=False, replace=False)
    return folder / "store.duckdb"


def timed(store, page):
    """Seconds without the page and with it, its size in KiB, and the number of runs."""
    start = time.perf_counter()
    with analysed(Given(files=[str(store)])) as analysis:
        found = reports.report(analysis)
        without = time.perf_counter() - start
        size = onepage.write(analysis, found, page)
        return without, time.perf_counter() - start, size / 1024, analysis.read.runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = given.store or made(folder, given.cases)
        rounds = [timed(store, folder / "page.html") for _ in range(ROUNDS)]
    without, whole = median(each[0] for each in rounds), median(each[1] for each in rounds)
    _, _, size, runs = rounds[0]
    print(f"{runs} runs: a page of {size:.0f} KiB (at most {LARGEST_KIB} wanted)")
    print(f"from a ready store {whole:.2f} s (at most {LONGEST_SECONDS} wanted), median of {ROUNDS}")
    print(f"the report without the page {without:.2f} s: the page is {whole / without:.2f} times that")
    return size <= LARGEST_KIB and whole <= LONGEST_SECONDS


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
