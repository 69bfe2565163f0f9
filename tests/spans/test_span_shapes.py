"""One shape for every span; every name of an attribute stands in one place, once."""

from __future__ import annotations

import dataclasses

import pytest
from building import span

from otel_aml.spans import attributes
from otel_aml.spans.model import EMPTY, Event, Status

NAMES = {key: value for key, value in vars(attributes).items() if key.isupper() and isinstance(value, str)}
SHARED = {"STEP_FAILED_ID": "FIRST_STEP_ID"}


def test_each_name_stands_once():
    """Two constants of one name would drift apart; the step's id is the one that both a step and a verdict carry."""
    kept = [value for key, value in NAMES.items() if key not in SHARED]
    assert len(set(kept)) == len(kept)
    assert all(NAMES[key] == NAMES[other] for key, other in SHARED.items())


@pytest.mark.parametrize("key", ["VERDICT", "CLASS", "SEVERITY", "FINDINGS", "UNCHECKED", "COVERAGE"])
def test_what_is_written_has_our_prefix(key):
    """So that it can be found, and taken out."""
    assert NAMES[key].startswith("failure.")


def test_a_span_is_a_value():
    """Live and replayed spans are compared, and never changed."""
    assert span("a") == span("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        span("a").name = "other"
    assert span("a").attributes == {}
    assert Event("x").attributes is EMPTY
    assert {str(each) for each in Status} == {"unset", "ok", "error"}


def test_the_empty_mapping_stays_empty():
    """All spans without attributes share it."""
    with pytest.raises(TypeError):
        EMPTY["a"] = 1
