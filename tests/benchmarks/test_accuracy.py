"""The script that measures accuracy measures what it says, on data made here in the shape of others'."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

import accuracy
import labelled_traces

from otel_aml.conventions import marks
from otel_aml.spans.model import Status


def nested(name, kind, *children, status="Ok", **more):
    """Build a span as TRAIL nests them."""
    attributes = {"openinference.span.kind": kind} | more.pop("attributes", {})
    return {
        "span_id": name,
        "span_name": name,
        "timestamp": "2025-03-19T16:41:21.150000Z",
        "duration": "PT0H0M2.5S",
        "status_code": status,
        "status_message": more.pop("message", ""),
        "span_attributes": attributes,
        "events": more.pop("events", []),
        "child_spans": list(children),
    }


def raised(type_, message):
    """Build an exception event as TRAIL writes it."""
    return [{"Name": "exception", "Attributes": {"exception.type": type_, "exception.message": message}}]


TOOL = {"tool.name": "search"}
DOWN = nested("t", "TOOL", status="Error", attributes=TOOL, events=raised("ConnectionError", "down"), message="down")
MISFIT = nested(
    "t",
    "TOOL",
    status="Error",
    attributes=TOOL,
    events=raised("TypeError", "search() got an unexpected keyword argument 'q'"),
    message="search() got an unexpected keyword argument 'q'",
)
FINE = nested("t", "TOOL", attributes=TOOL)


@pytest.fixture
def trail(tmp_path):
    """Three traces and their annotations, each in a file of its own."""
    told = {"down": (DOWN, "Service Errors"), "misfit": (MISFIT, "Formatting Errors"), "fine": (FINE, None)}
    for name, (call, category) in told.items():
        trace = {"trace_id": name, "spans": [nested("r", "CHAIN", nested("a", "AGENT", call))]}
        errors = [] if category is None else [{"category": category, "location": "t", "impact": "HIGH"}]
        for folder, value in (("data", trace), ("annotations", {"trace_id": name, "errors": errors})):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return tmp_path


def test_nested_spans_become_ours(trail):
    """With their parents, times, status and exceptions."""
    (trace,) = labelled_traces._objects(trail / "data" / "down.json")
    found = {span.span_id: span for span in labelled_traces.spans(trace)}
    assert {name: span.parent_id for name, span in found.items()} == {"r": None, "a": "r", "t": "a"}
    assert found["t"].ended_at - found["t"].started_at == 2_500_000_000
    assert found["t"].status is Status.ERROR
    assert found["t"].events[0].attributes["exception.type"] == "ConnectionError"


def test_each_trace_is_held_against_its_annotations(trail):
    """Arguments that do not fit are a format violation, as annotators say; a tool that is down is a tool failure."""
    ones = dict.fromkeys(("format_violation", "pass", "tool_failure"), (1, 1, 1))
    assert labelled_traces.counts(trail) == ones


def test_the_script_prints_them(trail, monkeypatch, capsys):
    """Where a variable names the folder."""
    monkeypatch.setenv("OTEL_AML_TRAIL", str(trail))
    monkeypatch.setattr(sys, "argv", ["accuracy.py"])
    assert accuracy.main() == 0
    printed = capsys.readouterr().out
    assert "OTEL_AML_TRAIL: 3 traces" in printed
    assert "always `pass`: 0.333 (1/3" in printed


def test_the_recordings_of_the_tests_are_read_right():
    """All of them are labelled, and the verdict is the label."""
    found = list(accuracy.judged(accuracy.DEFAULT))
    assert found
    assert all(run.said in run.right for run in found)


def test_what_a_framework_is_left_without_is_taken_away_and_given_back():
    """Its sentences, its names and its scope."""
    before = (marks.STATUSES, marks.CONTROL_FLOW, marks.REJECTED_ANSWER)
    with accuracy.without("smolagents"):
        assert not any(each.source.startswith("smolagents") for each in marks.STATUSES)
        assert "AgentParsingError" not in marks.REJECTED_ANSWER
        assert not any("smolagents" in scope for scope in accuracy.roots._FRAMEWORKS)
    with accuracy.without("pydantic-ai"):
        assert "pydantic_ai.exceptions.ModelRetry" not in marks.CONTROL_FLOW
    assert before == (marks.STATUSES, marks.CONTROL_FLOW, marks.REJECTED_ANSWER)


@pytest.mark.parametrize(
    ("hits", "of", "interval"),
    [(0, 0, None), (63, 63, (0.9425, 1.0)), (8, 17, (0.2617, 0.6904)), (0, 5, (0.0, 0.4345))],
)
def test_intervals_are_wilson_s(hits, of, interval):
    """Worked by hand from the formula."""
    assert accuracy.wilson(hits, of) == (interval and pytest.approx(interval, abs=1e-4))
