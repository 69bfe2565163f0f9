"""Hypothesis strategies: facts of runs, and runs of steps, small enough to collide often."""

from __future__ import annotations

from itertools import combinations

from hypothesis import strategies as st

from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.steps import About, Incident, Kind, Sort, Step
from otel_aml.core.taxonomy import FailureClass

IDS = st.sampled_from(
    [frozenset(chosen) for size in range(4) for chosen in combinations(["tx-1", "tx-2", "tx-3"], size)]
)
LABELS = st.sampled_from(["structuring", "layering"])
NOTES = st.sampled_from([frozenset({"n-1"}), frozenset({"n-2"}), frozenset({"n-1", "n-2"})])
FAILURES = st.builds(
    Failure,
    span_id=st.sampled_from(["a", "b"]),
    error_type=st.sampled_from(["timeout", "auth"]),
    retriable=st.booleans(),
    attempts=st.integers(0, 4),
)
FEW_FAILURES = st.lists(FAILURES, max_size=2).map(tuple)


def maybe(strategy):
    """Draw a value, or None: not known."""
    return st.none() | strategy


def run_facts():
    """Draw what is known of a run."""
    return st.builds(
        Facts,
        failed_calls=FEW_FAILURES,
        broken_outputs=FEW_FAILURES,
        recovered_calls=FEW_FAILURES,
        recovered_outputs=FEW_FAILURES,
        calls_known=st.booleans(),
        answer_valid=maybe(st.booleans()),
        cited_ids=maybe(IDS),
        superseded_ids=IDS,
        superseded_typologies=st.sampled_from([frozenset(), frozenset({"structuring"}), frozenset({"layering"})]),
        superseded_live=st.sampled_from([frozenset(), frozenset({FailureClass.HALLUCINATION})]),
        evidence_ids=maybe(IDS),
        needed_notes=maybe(st.lists(NOTES, max_size=2).map(tuple)),
        retrieved_ids=maybe(NOTES | st.just(frozenset())),
        hides_documents=st.booleans(),
        context_used=maybe(st.booleans()),
        typology=maybe(LABELS),
        gold_typology=maybe(LABELS),
        ending=st.sampled_from(Ending),
        broken_at=maybe(FAILURES),
        paused=st.booleans(),
        incomplete=st.booleans(),
        answer_span_id=st.just("answer"),
        retrieval_span_id=st.just("retrieval"),
    )


INCIDENTS = st.builds(
    Incident,
    sort=st.sampled_from(Sort),
    type=st.sampled_from(["", "app.A", "B"]),
    message=st.sampled_from(["", "x", "y"]),
    error_type=st.sampled_from(["error", "timeout"]),
    about=st.sampled_from(About),
    subject=st.sampled_from(["", "t1"]),
    of_provider=st.booleans(),
)
ERRORS = st.builds(
    Incident,
    sort=st.just(Sort.FAILED),
    type=st.sampled_from(["app.A", "B"]),
    message=st.sampled_from(["x", "y"]),
    of_provider=st.booleans(),
)


@st.composite
def run_steps(draw, incidents=INCIDENTS, max_size=8):
    """Draw the steps of a run with the root `s0`: any shape, also with lost parents and circles."""
    count = draw(st.integers(1, max_size))
    parents = st.sampled_from([f"s{number}" for number in range(count)] + ["lost"])
    steps = []
    for number in range(count):
        started_at = draw(st.integers(0, 8))
        steps.append(
            Step(
                span_id=f"s{number}",
                parent_id=draw(parents) if number else None,
                kind=draw(st.sampled_from(Kind)),
                name=draw(st.sampled_from(["t1", "t2"])),
                started_at=started_at,
                ended_at=started_at + draw(st.integers(0, 4)),
                arguments=draw(st.sampled_from([None, "a", "b"])),
                incident=draw(maybe(incidents)),
                asked_again=draw(st.booleans()),
                paused=draw(st.integers(0, 5)) == 0,
                open=draw(st.integers(0, 5)) == 0,
                step_id=draw(st.sampled_from(["", "here"])),
            ),
        )
    return tuple(steps)
