"""Recovery at scale: canaries in a million random errors, load added by retries, cost of a plan, a notice and a guard.

    python benchmarks/recovery.py [--errors 1000000] [--processes 2] [--calls 10000] [--rounds 9]

A canary is a secret word; one stands wherever an error can hold text (message, arguments, cause, group, notes, type
name, function name, headers, body, keys). None may be on any surface that a person sees; the run fails if one is.
Costs are medians of rounds, in microseconds; that of a guard is paired with the bare call in the same round.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import otel_aml
from otel_aml.recover import budget
from tests.recover.canaries import Canaries, surfaces

_BLOCK = 10_000


def search(seed: int) -> tuple[int, int, int]:
    """Make a block of errors: how many, how many texts were looked at, how many held a canary."""
    canaries, texts, leaks = Canaries(seed), 0, 0
    for _ in range(_BLOCK):
        raw, _words = canaries.error()
        shown = list(surfaces(raw, canaries.dice))
        texts += len(shown)
        leaks += bool(canaries.seen(shown))
    return _BLOCK, texts, leaks


def added_load(calls: int) -> tuple[int, int]:
    """Call a dependency that is down, under a guard that may retry: calls asked for, and calls made."""
    made = []

    @otel_aml.guarded(
        "down",
        execute="transient",
        idempotent=True,
        policy=otel_aml.RetryPolicy(base_ms=0),
        fallback=lambda failure: None,  # noqa: ARG005 - the failure is of no use here
    )
    def down() -> None:
        made.append(1)
        raise TimeoutError

    for _ in range(calls):
        down()
    return calls, len(made)


def microseconds(call: object, times: int = 2_000) -> float:
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times * 1e6


def costs(rounds: int) -> dict[str, float]:
    """Time the parts, and a guard around a call that works beside the bare call."""
    raised = TimeoutError("x")
    error = otel_aml.classify_error(raised, "s")
    plan = otel_aml.plan_recovery(error)

    def bare() -> int:
        return 1

    held = otel_aml.guarded("s")(bare)
    parts = {
        "classify_error": lambda: otel_aml.classify_error(raised, "s"),
        "plan_recovery": lambda: otel_aml.plan_recovery(error),
        "user_notice": lambda: otel_aml.user_notice(error, plan),
        "guarded call that works, beyond the bare one": None,
    }
    found: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(rounds):
        for name, part in parts.items():
            found[name].append(microseconds(held) - microseconds(bare) if part is None else microseconds(part))
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"otel_aml {otel_aml.__version__}, Python {platform.python_version()}")

    for name, cost in costs(options.rounds).items():
        print(f"{name}: {cost:.1f} us (median of {options.rounds} rounds)")

    budget._budgets.clear()  # noqa: SLF001 - a fresh process has none
    asked, made = added_load(options.calls)
    print(f"{asked} calls that all fail: {made - asked} retries, {(made - asked) / asked:.2%} added")

    started, errors, texts, leaks = time.perf_counter(), 0, 0, 0
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        blocks = -(-options.errors // _BLOCK)
        for done, looked_at, found in pool.imap_unordered(search, range(blocks)):
            errors, texts, leaks = errors + done, texts + looked_at, leaks + found
    seconds = time.perf_counter() - started
    print(f"{errors} errors with canaries: {texts} texts looked at, {leaks} leaks ({seconds:.0f} s)")
    return 1 if leaks or made - asked > asked / 10 else 0


if __name__ == "__main__":
    sys.exit(main())
