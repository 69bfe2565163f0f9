"""Runs as real frameworks recorded them get the verdict that a person gave them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import otlp
import pytest

from otel_aml.conventions import NOTHING_DECLARED, Contract, Declared, facts, is_run, read, runs
from otel_aml.core.tree import classify

FIXTURES = Path(__file__).parent.parent / "fixtures" / "spans"
LABELS = json.loads((FIXTURES / "labels.json").read_text())
RECORDINGS = [pytest.param(each, id=f"{each['file']}: {each['story']}") for each in LABELS["recordings"]]


def verdicts(recording, shuffle=None):
    """Replay one recording: (root span, verdict, spans by id) for each run, in the order of time."""
    contract = Contract(**LABELS["contracts"][recording["contract"]]) if recording["contract"] else None
    told = Declared(gold_typology=recording["gold"]) if recording["gold"] else NOTHING_DECLARED
    found = []
    for spans in otlp.traces(FIXTURES / recording["file"]).values():
        by_id = {span.span_id: span for span in spans}
        if shuffle is not None:
            shuffle(spans)
        for run in runs(spans):
            readings = [read(span, contract or Contract()) for span in run.spans]
            if is_run(readings):
                known = facts(readings, run.root_id, contract=contract, told=told, incomplete=run.incomplete)
                found.append((by_id[run.root_id], classify(known), by_id))
    return sorted(found, key=lambda each: each[0].started_at)


def summary(root, verdict, by_id):
    """Say of a verdict what the labels say."""
    first = verdict.first
    return {
        "root": root.name,
        "class": str(verdict.failure_class),
        "recovered": verdict.recovered,
        "paused": verdict.paused,
        "first": by_id[first.span_id].name if first else None,
        "dependency": (first.dependency or None) if first else None,
        "error_type": first.error_type if first else None,
    }


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_recorded_run_gets_the_right_verdict(recording):
    """What frameworks write is the edge that no unit test knows."""
    assert [summary(*each) for each in verdicts(recording)] == recording["runs"]


@pytest.mark.parametrize("recording", RECORDINGS)
def test_the_order_of_spans_does_not_matter(recording):
    """Batches are exported as they end, and files are shuffled."""
    shuffled = verdicts(recording, random.Random(7).shuffle)
    assert [summary(*each) for each in shuffled] == recording["runs"]
