"""How fast are secrets taken out, and does the time stay linear whatever the text?

    python benchmarks/redaction.py [--mib 8] [--runs 3]

First MB/s over OTLP JSON lines of realistic spans, beside `json.loads` of the same lines; clean ones, and ones in which
each run has a secret. Then the worst text of each rule at two sizes, the second eight times the first: linear time is
eight times as long, quadratic sixty-four. Leaves with 1 where it is more than twice linear.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time

from ingest import A_RUN, a_run, text

from otel_aml.core.redaction import redact
from otel_aml.offline.redacting import LineRedaction

FACTOR = 8
SMALL = 16_000
MOST = 2.0
SECRETS = ("jane.doe@example.com", "postgres://app:s3cr3t@db/x", "DE89370400440532013000", "password=hunter2")
WORST = {
    "a word": "a",
    "jwt": "eyJ",
    "jwt, dots": "eyJaaaaaaaa.",
    "keys": "sk-",
    "keys, apart": "AKIA ",
    "slack webhook": "hooks.slack.com/",
    "url password": "://a:",
    "url password, at": "://a:b@",
    "url password, long": "://a:" + "b" * 300 + " ",
    "bearer": "bearer ",
    "basic": "basic YWJj ",
    "secret": "password=",
    "secret, spaces": "token :  ",
    "secret, quotes": "secret\"'\\",
    "mail": "a@",
    "mail, dots": "a@b.",
    "mail, long": "a" * 80 + "@" + "b" * 240 + " ",
    "digits": "4",
    "digits, apart": "4 ",
    "social security": "123-45-",
    "telephone": "+1 ",
    "telephone, brackets": "+1(((((((",
    "iban": "DE89 ",
    "iban, whole": "DE893704004405320130",
    "private key": "-----BEGIN PRIVATE KEY-----",
    "private key, body": "-----BEGIN PRIVATE KEY-----\nMIIE-",
    "percent": "%25",
    "percent, apart": "%40 ",
    "base64": "cGFzc3dvcmQ9",
    "base64, apart": "cGFzc3dvcmQ9aHVudGVyMg== ",
    "escapes": "\\n\\u0041",
}


def spent(work):
    started = time.process_time()
    work()
    return time.process_time() - started


def lines(mib, *, dirty):
    """OTLP JSON lines of about so many MiB."""
    rng, found, size, number = random.Random(1), [], 0, 0
    texts = [text(rng, 2_000) for _ in range(64)]
    while size < mib * 2**20:
        spans = [span for each in range(16) for span in a_run(rng, number + each, texts)]
        number += 16
        if dirty:
            for each, span in enumerate(spans[::A_RUN]):
                span["status"] = {"code": 2, "message": f"failed for {SECRETS[each % len(SECRETS)]}"}
        request = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "b"}, "spans": spans}]}]}
        found.append(json.dumps(request).encode())
        size += len(found[-1])
    return found


def spent_on_each(work, found):
    return spent(lambda: [work(line) for line in found])


def speed(mib, runs):
    for dirty in (False, True):
        found = lines(mib, dirty=dirty)
        size = sum(map(len, found)) / 1e6
        works = [LineRedaction() for _ in range(runs)]
        ours = min(spent_on_each(work.redact, found) for work in works)
        parsing = min(spent_on_each(json.loads, found) for _ in works)
        name, replaced = "a secret a run" if dirty else "clean", works[0].redaction.replaced.total()
        print(f"{name:16} {size / ours:7.1f} MB/s, {ours / parsing:5.1f} times json.loads; replaced {replaced}")


def growth(runs):
    worst = 0.0
    for name, piece in WORST.items():
        small, large = (piece * (size // len(piece)) for size in (SMALL, SMALL * FACTOR))
        first = min(spent_on_each(redact, [small]) for _ in range(runs))
        second = min(spent_on_each(redact, [large]) for _ in range(runs))
        ratio = second / first / FACTOR
        worst = max(worst, ratio)
        print(f"{name:22} {second * 1e3:9.1f} ms for {len(large) / 1e3:.0f} kB; {ratio:5.2f} times linear")
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    speed(options.mib, options.runs)
    worst = growth(options.runs)
    print(f"worst: {worst:.2f} times linear")
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()
