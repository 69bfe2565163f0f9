from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

import pytest
from emptied import emptied
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_aml.core.taxonomy import FAILURES, TAXONOMY, prioritize

pytestmark = pytest.mark.slow

SIX = list(map(str, FAILURES))
EPOCH = datetime(2026, 1, 1)  # noqa: DTZ001 - as DuckDB gives a time without a zone
ANSWERS = ["fired", "clear", "unchecked"]

runs = st.lists(
    st.fixed_dictionaries(
        {
            "answers": st.tuples(*[st.sampled_from(ANSWERS)] * 6),
            "ending": st.sampled_from(["pass", "cancelled", "unclassified"]),
            "paused": st.booleans(),
            "path": st.none() | st.sampled_from(["auto_retry", "human_takeover"]),
            "outcome": st.sampled_from(["none", "recovered"]),
            "attempts": st.integers(0, 3),
            "error_spans": st.integers(0, 4),
            "recovered": st.lists(st.sampled_from(SIX[:2]), max_size=2),
        }
    ),
    max_size=12,
)


def nanoseconds(moment):
    return int((moment - datetime(1970, 1, 1)).total_seconds()) * 1_000_000_000  # noqa: DTZ001 - both without a zone


def class_of(run):
    return next((name for name, answer in zip(SIX, run["answers"], strict=True) if answer == "fired"), run["ending"])


def coverage_of(run):
    unchecked = run["answers"].count("unchecked")
    return "none" if unchecked == 6 else "partial" if unchecked else "full"


def asked(found, report, **values):
    """Fill the tables with these runs and ask a report."""
    ids = [{"trace_id": "t", "span_id": f"{place:016x}"} for place in range(len(found))]
    with emptied() as store:
        store.insert(
            "runs",
            [
                own
                | {
                    "class": class_of(run),
                    "is_failure": class_of(run) in SIX,
                    "findings": run.get("findings", []),
                    "unchecked": [],
                }
                | {"recovered": 0, "paused": run["paused"], "incomplete": False, "coverage": coverage_of(run)}
                | {"path": run["path"], "outcome": run["outcome"], "attempts": run["attempts"], "service": ""}
                | {
                    "started_ns": run.get("started_ns"),
                    "agent": "",
                    "decided_by": "replay",
                    "synthetic": False,
                    "error_spans": run["error_spans"],
                }
                for own, run in zip(ids, found, strict=True)
            ],
        )
        store.insert(
            "checks",
            [
                own | {"class": name, "answer": answer}
                for own, run in zip(ids, found, strict=True)
                for name, answer in zip(SIX, run["answers"], strict=True)
            ],
        )
        store.insert(
            "failures",
            [
                own | {"class": "tool_failure", "is_first": False} | each
                for own, run in zip(ids, found, strict=True)
                for each in run.get("tools", [])
            ],
        )
        store.insert(
            "failures",
            [
                own | {"class": name, "is_first": False, "is_recovered": True, "is_superseded": False}
                for own, run in zip(ids, found, strict=True)
                for name in run["recovered"]
            ],
        )
        return list(store.rows(f"reports/{report}", values))


@settings(max_examples=30)
@given(runs)
def test_taxonomy_frequency_is_what_a_plain_count_says(found):
    """Counts, rates and shares, from the same runs in plain Python."""
    rows = {row["class"]: row for row in asked(found, "taxonomy_frequency")}
    named = Counter("paused" if class_of(run) == "pass" and run["paused"] else class_of(run) for run in found)
    assert {name: row["run_count"] for name, row in rows.items() if row["run_count"]} == dict(named)
    in_the_six = sum(named[name] for name in SIX)
    for place, name in enumerate(SIX):
        decided = sum(run["answers"][place] != "unchecked" for run in found)
        row = rows[name]
        assert row["decided_count"] == decided
        assert row["finding_count"] == sum(run["answers"][place] == "fired" for run in found)
        assert row["recovered_count"] == sum(run["recovered"].count(name) for run in found)
        assert row["rate"] == (pytest.approx(named[name] / decided) if decided else None)
        assert row["share"] == (pytest.approx(named[name] / in_the_six) if in_the_six else None)
        assert (row["severity"], row["weight"]) == (
            TAXONOMY[FAILURES[place]].severity,
            TAXONOMY[FAILURES[place]].weight,
        )


@settings(max_examples=30)
@given(runs)
def test_paused_and_cancelled_runs_enter_no_pass_rate(found):
    """Nor does a pass of which nothing was checked."""
    (row,) = (row for row in asked(found, "taxonomy_frequency") if row["class"] == "pass")
    passes = [run for run in found if class_of(run) == "pass" and not run["paused"] and coverage_of(run) != "none"]
    bad = [run for run in found if class_of(run) in [*SIX, "unclassified"]]
    whole = len(passes) + len(bad)
    assert row["decided_count"] == whole
    assert row["rate"] == (pytest.approx(len(passes) / whole) if whole else None)


@settings(max_examples=30)
@given(runs)
def test_the_pass_rate_is_that_of_the_row_of_passes_with_its_parts(found):
    """Passed of checked, so that a reader can do the sum; what ended and was not checked is seen."""
    (row,) = asked(found, "pass_rate")
    (passes,) = (row for row in asked(found, "taxonomy_frequency") if row["class"] == "pass")
    waiting = [run for run in found if class_of(run) == "pass" and run["paused"]]
    cancelled = [run for run in found if class_of(run) == "cancelled"]
    assert row["ended_count"] == len(found) - len(waiting) - len(cancelled)
    assert row["checked_count"] == passes["decided_count"]
    assert row["ended_count"] - row["checked_count"] == passes["run_count"] - row["passed_count"]
    assert row["rate"] == passes["rate"]
    assert row["rate"] == (pytest.approx(row["passed_count"] / row["checked_count"]) if row["checked_count"] else None)


@settings(max_examples=30)
@given(runs)
def test_the_gravest_is_repaired_first(found):
    """Whatever the counts say; and a finding that came second is not hidden."""
    rows = asked(found, "repair_order")
    firsts = Counter(class_of(run) for run in found)
    fired = {
        name for name, place in zip(SIX, range(6), strict=True) if any(r["answers"][place] == "fired" for r in found)
    }
    assert {row["class"]: row["run_count"] for row in rows} == {name: firsts[name] for name in fired}
    weights = [TAXONOMY[FAILURES[SIX.index(row["class"])]].weight for row in rows]
    assert weights == sorted(weights, reverse=True)
    first = [row["class"] for row in rows if row["run_count"]]
    queue = [str(each) for each in prioritize({each: firsts[str(each)] for each in FAILURES})]
    by_rank = {name: (-TAXONOMY[FAILURES[SIX.index(name)]].weight, -firsts[name]) for name in SIX}
    assert [by_rank[name] for name in first] == [by_rank[name] for name in queue]


@settings(max_examples=30)
@given(runs)
def test_recovery_outcomes_are_what_a_plain_count_says(found):
    """By path and outcome, the most frequent first."""
    groups = {}
    for run in found:
        if run["path"] is not None:
            groups.setdefault((run["path"], run["outcome"]), []).append(run["attempts"])
    rows = asked(found, "recovery_outcomes")
    assert {(row["path"], row["outcome"]): (row["run_count"], row["median_attempts"]) for row in rows} == {
        key: (len(attempts), median(attempts)) for key, attempts in groups.items()
    }
    assert [row["run_count"] for row in rows] == sorted((row["run_count"] for row in rows), reverse=True)


@settings(max_examples=30)
@given(runs)
def test_one_failure_a_run_is_less_than_every_symptom(found):
    """What a naive count would say, beside what is so."""
    ((row),) = asked(found, "inflation")
    assert row["first_failure_count"] == sum(class_of(run) in SIX for run in found)
    assert row["naive_count"] == sum(
        max(run["error_spans"], run["answers"][0] == "fired") + run["answers"][1:].count("fired") for run in found
    )
    assert row["naive_count"] >= row["first_failure_count"]


tools = st.fixed_dictionaries(
    {
        "dependency": st.sampled_from([None, "a", "b"]),
        "error_type": st.sampled_from([None, "timeout"]),
        "is_recovered": st.booleans(),
        "is_superseded": st.booleans(),
    }
)


@settings(max_examples=30)
@given(runs, st.lists(st.lists(tools, max_size=4), min_size=12, max_size=12))
def test_tool_failures_are_what_a_plain_count_says(found, failures):
    """A run counts once for each tool and way to fail; what was made good counts nowhere."""
    found = [run | {"tools": each, "recovered": []} for run, each in zip(found, failures, strict=False)]
    counted = Counter(
        key
        for run in found
        for key in {
            (each["dependency"], each["error_type"])
            for each in run["tools"]
            if not each["is_recovered"] and not each["is_superseded"]
        }
    )
    rows = asked(found, "tool_failures")
    assert {(row["dependency"], row["error_type"]): row["run_count"] for row in rows} == counted
    ranks = [(-row["run_count"], row["dependency"] or "~", row["error_type"] or "~") for row in rows]
    assert ranks == sorted(ranks)


@settings(max_examples=30)
@given(runs)
def test_the_flow_of_recoveries_holds_every_run_with_a_path(found):
    """By what failed first; of a pass, by what was made good."""
    counted = Counter((class_of(run), run["path"], run["outcome"]) for run in found if run["path"] is not None)
    rows = asked(found, "recovery_flow")
    assert {(row["class"], row["path"], row["outcome"]): row["run_count"] for row in rows} == counted


@settings(max_examples=30)
@given(runs, st.sampled_from(SIX))
def test_only_a_pass_flows_under_what_was_made_good_in_it(found, made_good):
    """A run that was cancelled, or is bad for another reason, stays what its verdict says."""
    found = [run | {"findings": [f"{made_good}:recovered"]} for run in found]
    rows = asked(found, "recovery_flow")
    names = [class_of(run) for run in found if run["path"] is not None]
    counted = Counter(made_good if name == "pass" else name for name in names)
    flowing = Counter()
    for row in rows:
        flowing[row["class"]] += row["run_count"]
    assert flowing == counted


@settings(max_examples=30)
@given(runs)
def test_every_check_is_fired_clear_or_unchecked(found):
    """In each run, one of the three."""
    rows = asked(found, "check_coverage")
    assert [row["class"] for row in rows] == SIX
    for place, row in enumerate(rows):
        counts = Counter(run["answers"][place] for run in found)
        assert [row[f"{answer}_count"] for answer in ANSWERS] == [counts[answer] for answer in ANSWERS]


starts = st.lists(st.integers(0, 400 * 86_400) | st.integers(0, 90), min_size=12, max_size=12)


@settings(max_examples=20)
@given(runs, starts, st.integers(1, 48))
def test_the_trend_holds_every_run_once(found, seconds, most):
    """In stretches of one length, without a gap, never more than asked for, and no shorter length would do."""
    moments = [EPOCH + timedelta(seconds=each) for each in seconds]
    found = [run | {"started_ns": nanoseconds(moment)} for run, moment in zip(found, moments, strict=False)]
    rows = asked(found, "trend", most=most)
    named = Counter("paused" if class_of(run) == "pass" and run["paused"] else class_of(run) for run in found)
    totals = Counter()
    for row in rows:
        totals[row["class"]] += row["run_count"]
    assert totals == named
    stretches = sorted({row["started_at"] for row in rows})
    assert len(stretches) <= most
    assert len(rows) == len(stretches) * len(named)
    assert all((other - one).total_seconds() == rows[0]["seconds"] for one, other in pairwise(stretches))
    for row in rows:
        inside = [
            run
            for run, moment in zip(found, moments, strict=False)
            if row["started_at"] <= moment < row["started_at"] + timedelta(seconds=row["seconds"])
        ]
        named = Counter("paused" if class_of(run) == "pass" and run["paused"] else class_of(run) for run in inside)
        assert row["run_count"] == named[row["class"]]


def test_a_short_time_is_told_in_seconds_and_a_long_one_in_days():
    """The shortest of a list of lengths that gives few enough stretches."""
    lengths = {}
    for span in (10, 3_000, 40 * 86_400, 20 * 31_449_600):
        moments = (EPOCH, EPOCH + timedelta(seconds=span))
        plain = {"answers": ("fired",) * 6, "ending": "pass", "paused": False, "path": None, "outcome": "none"}
        more = {"attempts": 0, "error_spans": 0, "recovered": []}
        rows = asked([plain | more | {"started_ns": nanoseconds(moment)} for moment in moments], "trend", most=48)
        lengths[span] = rows[0]["seconds"]
    assert lengths == {10: 1, 3_000: 300, 40 * 86_400: 86_400, 20 * 31_449_600: 31_449_600}


def test_a_run_without_a_start_is_in_no_stretch():
    """Nothing is guessed."""
    plain = {"answers": ("clear",) * 6, "ending": "pass", "paused": False, "path": None, "outcome": "none"}
    assert asked([plain | {"attempts": 0, "error_spans": 0, "recovered": []}], "trend", most=48) == []
