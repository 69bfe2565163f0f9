from collections import Counter
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_aml.core.taxonomy import FAILURES, TAXONOMY, prioritize
from otel_aml.offline.store import Store

SIX = list(map(str, FAILURES))
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


def class_of(run):
    return next((name for name, answer in zip(SIX, run["answers"], strict=True) if answer == "fired"), run["ending"])


def coverage_of(run):
    unchecked = run["answers"].count("unchecked")
    return "none" if unchecked == 6 else "partial" if unchecked else "full"


def asked(found, report):
    """Fill the tables with these runs and ask a report."""
    ids = [{"trace_id": "t", "span_id": f"{place:016x}"} for place in range(len(found))]
    with Store() as store:
        store.insert(
            "runs",
            [
                own
                | {"class": class_of(run), "is_failure": class_of(run) in SIX, "findings": [], "unchecked": []}
                | {"recovered": 0, "paused": run["paused"], "incomplete": False, "coverage": coverage_of(run)}
                | {"path": run["path"], "outcome": run["outcome"], "attempts": run["attempts"], "service": ""}
                | {"agent": "", "decided_by": "replay", "synthetic": False, "error_spans": run["error_spans"]}
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
        return list(store.rows(f"reports/{report}"))


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
