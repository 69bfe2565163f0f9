"""The judge: it reads a note and an answer, and nothing else."""

import json

import pytest

from otel_aml.demo.judge import RUBRIC_HASH, context_used
from otel_aml.demo.notes import BY_ID
from otel_aml.demo.signs import Sign, signs_denied_in, signs_in

NOTE = BY_ID["typ-structuring"]
USES = "Cash just under the reporting limit, paid in at several branches."

ANSWERS = [
    pytest.param(json.dumps({"why": "", "how": USES}), True, id="two of the note's signs"),
    pytest.param(json.dumps({"why": USES}), True, id="a draft that lacks a field"),
    pytest.param(USES, True, id="prose"),
    pytest.param(json.dumps({"how": "Cash just under the reporting limit."}), False, id="one sign only"),
    pytest.param(
        json.dumps({"how": "Many unrelated senders; the money then rests."}), False, id="another note's signs"
    ),
    pytest.param(json.dumps({"how": USES + " But not within a few days."}), False, id="denies a sign of the note"),
    pytest.param(json.dumps({"how": "No sign of many unrelated senders. " + USES}), True, id="denies another's sign"),
    pytest.param(json.dumps({"what": USES}), False, id="the signs stand outside the reasoning"),
    pytest.param(json.dumps([USES]), True, id="a list"),
    pytest.param("", False, id="nothing"),
]


@pytest.mark.parametrize(("answer", "is_used"), ANSWERS)
def test_the_judge_reads_the_reasoning(answer, is_used):
    """Used means affirmed in the why or the how, and not contradicted there."""
    assert context_used(NOTE, answer) is is_used


def test_a_note_with_one_sign_needs_that_one():
    """Two could never be met."""
    assert context_used(BY_ID["typ-smurfing"], "The cash was deposited by different people.")


def test_a_denied_sign_is_not_affirmed():
    """The words alone are not the meaning."""
    text = "There is no sign of many unrelated senders, and the money then rests."
    assert signs_in(text) == {Sign.STAYS_PUT}
    assert signs_denied_in(text) == {Sign.MANY_SENDERS}


def test_the_rubric_has_a_stable_hash():
    """Judgements are comparable only under one rubric."""
    assert len(RUBRIC_HASH) == 12
