"""What does a breaker cost a call? Paired with the bare call, alone, with many threads, and through Redis.

    python benchmarks/circuit.py [--calls 20000] [--rounds 9]

Each round times a bare call and a guarded one right after it; the median of the differences is printed in
microseconds. Then ten threads sleep inside one breaker at once: a lock held during the call would add up to ten sleeps.
A redis-server on PATH is started on a free port; without one that part is skipped.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from otel_aml import CircuitBreaker
from otel_aml.recover.stores import RedisCircuitStore
from tests.recover import redis_server

THREADS = 10
SLEEP_SECONDS = 0.1


def timed(calls, call):
    """Seconds of so many calls."""
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - begin


def added_us(breaker, calls, rounds):
    """Microseconds that a guarded call takes more than a bare one: the median of the rounds."""

    def bare():
        return None

    guarded = breaker(bare)
    pairs = [(timed(calls, bare), timed(calls, guarded)) for _ in range(rounds)]
    return statistics.median((slow - fast) / calls * 1e6 for fast, slow in pairs)


def at_once(breaker):
    """How many sleeps long ten threads take that sleep once each."""
    sleep = breaker(lambda: time.sleep(SLEEP_SECONDS))
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        begin = time.perf_counter()
        for each in [pool.submit(sleep) for _ in range(THREADS)]:
            each.result()
    return (time.perf_counter() - begin) / SLEEP_SECONDS


def main():
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--calls", type=int, default=20_000)
    arguments.add_argument("--rounds", type=int, default=9)
    given = arguments.parse_args()
    print(f"this process: {added_us(CircuitBreaker('tool'), given.calls, given.rounds):.1f} us a call")
    print(f"{THREADS} threads at once: {at_once(CircuitBreaker('tool')):.2f} sleeps")
    if redis_server.PROGRAM is None:
        print("Redis: skipped, no redis-server on PATH")
        return
    with tempfile.TemporaryDirectory() as folder:
        server = redis_server.start(Path(folder))
        try:
            store = RedisCircuitStore(server.url)
            breaker = CircuitBreaker("tool", store=store)
            print(f"Redis: {added_us(breaker, given.calls // 20, given.rounds):.0f} us a call (two round trips)")
            print(f"{THREADS} threads at once: {at_once(breaker):.2f} sleeps")
            server.kill()
            print(f"Redis away: {added_us(breaker, given.calls // 20, given.rounds):.0f} us a call")
            store.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main()
