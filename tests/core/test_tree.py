"""The six questions, asked in order: the first that fired names the run, the gravest decides the path."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import run_facts

from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.precedents import between
from otel_aml.core.taxonomy import FAILURES, TAXONOMY, FailureClass, RecoveryPath, Severity
from otel_aml.core.tree import (
    BRANCHES,
    CLEAR,
    UNCHECKED,
    Coverage,
    Outcome,
    State,
    ask_all,
    classify,
    conclude,
    fired,
)

TOOL, FORMAT, INVENTED, MISSED, IGNORED, MISJUDGED = FAILURES
ASK = {branch.failure_class: branch.ask for branch in BRANCHES}
NOTE = (frozenset({"n-1", "n-1b"}), frozenset({"n-2"}))
TIMEOUT = Failure(span_id="tool", dependency="search", error_type="timeout", retriable=True)


def ids(*members):
    """Build a set of ids."""
    return frozenset(members)


ANSWERS = [
    pytest.param(TOOL, Facts(), "clear", id="no call failed"),
    pytest.param(TOOL, Facts(calls_known=False), "unchecked", id="not all calls were seen"),
    pytest.param(TOOL, Facts(failed_calls=(TIMEOUT,)), "fired", id="a call failed"),
    pytest.param(TOOL, Facts(failed_calls=(TIMEOUT,), calls_known=False), "fired", id="a call failed, others unseen"),
    pytest.param(TOOL, Facts(recovered_calls=(TIMEOUT,)), "clear", id="a call was made good"),
    pytest.param(FORMAT, Facts(), "unchecked", id="no schema"),
    pytest.param(FORMAT, Facts(answer_valid=True), "clear", id="the answer fits"),
    pytest.param(FORMAT, Facts(answer_valid=True, calls_known=False), "unchecked", id="fits, but calls were not seen"),
    pytest.param(FORMAT, Facts(answer_valid=False), "fired", id="the answer does not fit"),
    pytest.param(FORMAT, Facts(answer_valid=False, calls_known=False), "fired", id="does not fit, calls not seen"),
    pytest.param(FORMAT, Facts(broken_outputs=(TIMEOUT,), answer_valid=True), "fired", id="arguments were rejected"),
    pytest.param(FORMAT, Facts(recovered_outputs=(TIMEOUT,), answer_valid=True), "clear", id="arguments corrected"),
    pytest.param(INVENTED, Facts(), "unchecked", id="nothing known"),
    pytest.param(INVENTED, Facts(cited_ids=ids("a")), "unchecked", id="no case"),
    pytest.param(INVENTED, Facts(evidence_ids=ids("a")), "unchecked", id="no citations known"),
    pytest.param(INVENTED, Facts(cited_ids=ids("a"), evidence_ids=ids("a", "b")), "clear", id="all of the case"),
    pytest.param(INVENTED, Facts(cited_ids=ids("a", "c"), evidence_ids=ids("a")), "fired", id="one invented"),
    pytest.param(INVENTED, Facts(cited_ids=ids(), evidence_ids=ids("a")), "clear", id="nothing cited"),
    pytest.param(INVENTED, Facts(cited_ids=ids("a"), evidence_ids=ids()), "fired", id="a case without evidence"),
    pytest.param(MISSED, Facts(), "unchecked", id="no note is known to be needed"),
    pytest.param(MISSED, Facts(needed_notes=NOTE), "unchecked", id="no retrieval was recorded"),
    pytest.param(MISSED, Facts(retrieved_ids=ids("n-1")), "unchecked", id="retrieved, but need unknown"),
    pytest.param(MISSED, Facts(needed_notes=NOTE, retrieved_ids=ids("n-1b", "n-2")), "clear", id="an alternative"),
    pytest.param(MISSED, Facts(needed_notes=NOTE, retrieved_ids=ids("n-1", "n-1b")), "fired", id="one is missing"),
    pytest.param(MISSED, Facts(needed_notes=NOTE, retrieved_ids=ids()), "fired", id="nothing was found"),
    pytest.param(
        MISSED,
        Facts(needed_notes=NOTE, retrieved_ids=ids("n-1"), hides_documents=True),
        "unchecked",
        id="may be hidden",
    ),
    pytest.param(
        MISSED,
        Facts(needed_notes=NOTE, retrieved_ids=ids("n-1", "n-2"), hides_documents=True),
        "clear",
        id="found anyway",
    ),
    pytest.param(MISSED, Facts(needed_notes=(), retrieved_ids=ids()), "clear", id="no note is needed"),
    pytest.param(IGNORED, Facts(needed_notes=NOTE, retrieved_ids=ids("n-1", "n-2")), "unchecked", id="judge not asked"),
    pytest.param(IGNORED, Facts(context_used=False), "unchecked", id="judge asked, need unknown"),
    pytest.param(
        IGNORED, Facts(context_used=False, needed_notes=NOTE, retrieved_ids=ids("n-1")), "unchecked", id="note missed"
    ),
    pytest.param(
        IGNORED, Facts(context_used=False, needed_notes=(), retrieved_ids=ids("n-1")), "unchecked", id="none needed"
    ),
    pytest.param(
        IGNORED, Facts(context_used=False, needed_notes=NOTE, retrieved_ids=ids("n-1", "n-2")), "fired", id="ignored"
    ),
    pytest.param(
        IGNORED, Facts(context_used=True, needed_notes=NOTE, retrieved_ids=ids("n-1", "n-2")), "clear", id="used"
    ),
    pytest.param(MISJUDGED, Facts(typology="a"), "unchecked", id="no label"),
    pytest.param(MISJUDGED, Facts(gold_typology="a"), "unchecked", id="no typology"),
    pytest.param(MISJUDGED, Facts(typology="a", gold_typology="a"), "clear", id="the right one"),
    pytest.param(MISJUDGED, Facts(typology="a", gold_typology="b"), "fired", id="another one"),
]


@pytest.mark.parametrize(("check", "facts", "state"), ANSWERS)
def test_a_check_answers_fired_clear_or_unchecked(check, facts, state):
    """Unchecked is never a pass and never a failure."""
    assert ASK[check](facts).state == state


EVIDENCE = [
    pytest.param(TOOL, Facts(failed_calls=(TIMEOUT, Failure())), TIMEOUT, id="the call that failed first"),
    pytest.param(FORMAT, Facts(broken_outputs=(TIMEOUT, Failure())), TIMEOUT, id="the output rejected first"),
    pytest.param(FORMAT, Facts(answer_valid=False), Failure(span_id="a", error_type="invalid_answer"), id="invalid"),
    pytest.param(
        INVENTED,
        Facts(cited_ids=ids("x"), evidence_ids=ids()),
        Failure(span_id="a", error_type="unresolved_citation"),
        id="invented",
    ),
    pytest.param(
        MISSED,
        Facts(needed_notes=NOTE, retrieved_ids=ids()),
        Failure(span_id="r", error_type="note_not_retrieved"),
        id="missed",
    ),
    pytest.param(
        IGNORED,
        Facts(context_used=False, needed_notes=NOTE, retrieved_ids=ids("n-1", "n-2")),
        Failure(span_id="a", error_type="context_not_used"),
        id="ignored",
    ),
    pytest.param(
        MISJUDGED,
        Facts(typology="a", gold_typology="b"),
        Failure(span_id="a", error_type="typology_differs"),
        id="misjudged",
    ),
]


@pytest.mark.parametrize(("check", "facts", "first"), EVIDENCE)
def test_what_fired_says_where(check, facts, first):
    """Someone has to look at it, and it names no id of the case."""
    facts = replace(facts, answer_span_id="a", retrieval_span_id="r")
    assert ASK[check](facts).first == first


def test_the_tree_asks_all_six_in_order():
    """Deterministic and cheap first, semantic and dear last."""
    assert tuple(branch.failure_class for branch in BRANCHES) == FAILURES
    assert [branch.layer for branch in BRANCHES] == [
        "deterministic",
        "deterministic",
        "evidence",
        "retrieval",
        "retrieval",
        "semantic",
    ]
    assert all(branch.question[0].isupper() and branch.question.endswith("?") for branch in BRANCHES)
    assert len({branch.question for branch in BRANCHES}) == 6


FIRST_FAILURES = [
    pytest.param(Facts(failed_calls=(TIMEOUT,)), TOOL, id="a tool failed"),
    pytest.param(
        Facts(failed_calls=(TIMEOUT,), cited_ids=ids("x"), evidence_ids=ids()), TOOL, id="a tool failed, id invented"
    ),
    pytest.param(Facts(answer_valid=False, typology="a", gold_typology="b"), FORMAT, id="broken and misjudged"),
    pytest.param(Facts(), FailureClass.PASS, id="nothing fired"),
    pytest.param(Facts(ending=Ending.CANCELLED), FailureClass.CANCELLED, id="cut"),
    pytest.param(Facts(ending=Ending.BROKEN), FailureClass.UNCLASSIFIED, id="known to be bad"),
    pytest.param(Facts(ending=Ending.CANCELLED, failed_calls=(TIMEOUT,)), TOOL, id="failed before it was cut"),
    pytest.param(Facts(ending=Ending.BROKEN, failed_calls=(TIMEOUT,)), TOOL, id="failed, and so it broke"),
    pytest.param(Facts(recovered_calls=(TIMEOUT,)), FailureClass.PASS, id="made good"),
]


@pytest.mark.parametrize(("facts", "failure_class"), FIRST_FAILURES)
def test_the_first_failure_names_the_run(facts, failure_class):
    """The earliest question that fired wins, whatever follows it."""
    assert classify(facts).failure_class is failure_class


GOOD = between(INVENTED, MISJUDGED).precedents[0].facts
GOOD = replace(GOOD, cited_ids=GOOD.evidence_ids)
OTHER = Failure(span_id="other", error_type="other")


def test_a_run_of_which_all_is_known_and_well_passes_in_full():
    """The only verdict that says that all is well."""
    verdict = classify(GOOD)
    assert (verdict.failure_class, verdict.coverage, verdict.unchecked) == (FailureClass.PASS, Coverage.FULL, ())
    assert (verdict.severity, verdict.first, verdict.path, verdict.outcome) == (None, None, None, Outcome.NONE)
    assert (verdict.findings, verdict.attempts, verdict.recovered) == ((), 0, 0)
    assert (verdict.cited, verdict.unresolved) == (3, 0)
    assert (verdict.paused, verdict.incomplete) == (False, False)
    assert all(answer is CLEAR for answer in verdict.answers)


COVERAGES = [
    pytest.param(Facts(calls_known=False), Coverage.NONE, FAILURES, id="nothing is known"),
    pytest.param(Facts(), Coverage.PARTIAL, FAILURES[1:], id="only the calls"),
    pytest.param(replace(GOOD, context_used=None), Coverage.PARTIAL, (IGNORED,), id="all but the judge"),
    pytest.param(replace(GOOD, typology="layering"), Coverage.FULL, (), id="all, and one fired"),
]


@pytest.mark.parametrize(("facts", "coverage", "unchecked"), COVERAGES)
def test_the_coverage_says_how_much_was_decided(facts, coverage, unchecked):
    """No pass rate is shown without it."""
    verdict = classify(facts)
    assert (verdict.coverage, verdict.unchecked) == (coverage, unchecked)


def failing(attempts=0, *, retriable=True):
    """Build a failed call."""
    return replace(TIMEOUT, attempts=attempts, retriable=retriable)


INVENTS = {"cited_ids": ids("x", "a"), "evidence_ids": ids("a")}
PATHS = [
    pytest.param(Facts(failed_calls=(failing(),)), "auto_retry", "none", 0, id="may pass by itself"),
    pytest.param(Facts(failed_calls=(failing(2),)), "auto_retry", "exhausted", 2, id="two retries were not enough"),
    pytest.param(Facts(failed_calls=(failing(3),)), "human_takeover", "exhausted", 3, id="all retries were made"),
    pytest.param(Facts(failed_calls=(failing(4),)), "human_takeover", "exhausted", 4, id="more than all"),
    pytest.param(Facts(failed_calls=(failing(retriable=False),)), "human_takeover", "none", 0, id="fails the same way"),
    pytest.param(Facts(broken_outputs=(failing(1),)), "fix_and_retry", "exhausted", 1, id="corrected once"),
    pytest.param(Facts(broken_outputs=(failing(2),)), "human_takeover", "exhausted", 2, id="corrected twice"),
    pytest.param(Facts(answer_valid=False), "fix_and_retry", "none", 0, id="an answer that does not fit"),
    pytest.param(Facts(**INVENTS), "human_takeover", "none", 0, id="invented"),
    pytest.param(Facts(failed_calls=(failing(),), **INVENTS), "human_takeover", "none", 0, id="failed, then invented"),
    pytest.param(Facts(needed_notes=NOTE, retrieved_ids=ids()), "fix_and_retry", "none", 0, id="missed"),
    pytest.param(Facts(typology="a", gold_typology="b"), "human_takeover", "none", 0, id="misjudged"),
    pytest.param(Facts(ending=Ending.BROKEN), "human_takeover", "none", 0, id="known to be bad"),
    pytest.param(Facts(ending=Ending.CANCELLED), None, "none", 0, id="cut"),
    pytest.param(Facts(recovered_calls=(failing(1), failing(2))), "auto_retry", "recovered", 2, id="made good"),
    pytest.param(Facts(recovered_outputs=(failing(1),)), "fix_and_retry", "recovered", 1, id="corrected"),
    pytest.param(
        Facts(recovered_calls=(failing(1),), recovered_outputs=(failing(2),)), "auto_retry", "recovered", 2, id="both"
    ),
    pytest.param(
        Facts(recovered_calls=(failing(1),), ending=Ending.CANCELLED), "auto_retry", "none", 1, id="made good, then cut"
    ),
    pytest.param(
        Facts(recovered_calls=(failing(1),), ending=Ending.BROKEN), "human_takeover", "none", 1, id="good, then broken"
    ),
    pytest.param(
        Facts(recovered_calls=(failing(9),), failed_calls=(failing(1),)), "auto_retry", "exhausted", 1, id="the first's"
    ),
    pytest.param(Facts(failed_calls=(failing(1),), paused=True), "auto_retry", "handed_over", 1, id="failed, waits"),
    pytest.param(Facts(recovered_calls=(failing(1),), paused=True), "auto_retry", "recovered", 1, id="good, waits"),
    pytest.param(Facts(paused=True), None, "none", 0, id="waits"),
    pytest.param(
        Facts(superseded_ids=ids("x"), evidence_ids=ids("a")), "human_takeover", "none", 0, id="an earlier answer"
    ),
]


@pytest.mark.parametrize(("facts", "path", "outcome", "attempts"), PATHS)
def test_the_path_follows_from_the_gravest_finding(facts, path, outcome, attempts):
    """And says what became of it so far."""
    verdict = classify(facts)
    assert (verdict.path, verdict.outcome, verdict.attempts) == (path, outcome, attempts)


SEVERITIES = [
    pytest.param(Facts(failed_calls=(TIMEOUT,)), "high", id="a tool"),
    pytest.param(Facts(answer_valid=False), "medium", id="a format"),
    pytest.param(Facts(failed_calls=(TIMEOUT,), **INVENTS), "critical", id="an earlier harmless one hides nothing"),
    pytest.param(Facts(superseded_ids=ids("x"), evidence_ids=ids()), "critical", id="an earlier answer"),
    pytest.param(Facts(ending=Ending.BROKEN), None, id="known to be bad, but not how"),
]


@pytest.mark.parametrize(("facts", "severity"), SEVERITIES)
def test_the_severity_is_that_of_the_gravest_finding(facts, severity):
    """Not of the first."""
    assert classify(facts).severity == severity


FINDINGS = [
    pytest.param(
        Facts(failed_calls=(TIMEOUT,), recovered_calls=(TIMEOUT,), recovered_outputs=(TIMEOUT,), answer_valid=False),
        ("tool_failure", "tool_failure:recovered", "format_violation", "format_violation:recovered"),
        id="what stands, then what was made good",
    ),
    pytest.param(
        Facts(superseded_ids=ids("x"), evidence_ids=ids("a"), cited_ids=ids("a")),
        ("hallucination:superseded",),
        id="an invented id was replaced",
    ),
    pytest.param(
        Facts(superseded_ids=ids("x"), **INVENTS), ("hallucination",), id="invented before and after is one finding"
    ),
    pytest.param(Facts(superseded_ids=ids("a"), evidence_ids=ids("a")), (), id="an earlier answer that cited real ids"),
    pytest.param(Facts(superseded_ids=ids("x")), (), id="an earlier answer, but no case"),
    pytest.param(
        Facts(superseded_typologies=ids("b", "a"), gold_typology="a", typology="a"),
        ("typology_misjudge:superseded",),
        id="a wrong typology was replaced",
    ),
    pytest.param(Facts(superseded_typologies=ids("a"), gold_typology="a", typology="a"), (), id="it was right before"),
    pytest.param(Facts(superseded_typologies=ids("b")), (), id="an earlier typology, but no label"),
    pytest.param(
        Facts(superseded_live=frozenset({INVENTED, MISJUDGED})),
        ("hallucination:superseded", "typology_misjudge:superseded"),
        id="only seen while the run was live",
    ),
    pytest.param(Facts(superseded_live=frozenset({INVENTED}), **INVENTS), ("hallucination",), id="seen live, stands"),
]


@pytest.mark.parametrize(("facts", "findings"), FINDINGS)
def test_findings_tell_all_that_was_found(facts, findings):
    """A lucky retry must not take the review away."""
    assert classify(facts).findings == findings


COUNTS = [
    pytest.param(Facts(), None, None, id="nothing known"),
    pytest.param(Facts(cited_ids=ids("a", "b")), 2, None, id="no case"),
    pytest.param(Facts(evidence_ids=ids("a")), None, None, id="no citations"),
    pytest.param(Facts(cited_ids=ids("a", "b", "c"), evidence_ids=ids("a")), 3, 2, id="two of three invented"),
]


@pytest.mark.parametrize(("facts", "cited", "unresolved"), COUNTS)
def test_citations_are_counted(facts, cited, unresolved):
    """Counts may leave the process, ids may not."""
    verdict = classify(facts)
    assert (verdict.cited, verdict.unresolved) == (cited, unresolved)


def test_an_unclassified_run_says_where_it_broke():
    """The only hint there is."""
    assert classify(Facts(ending=Ending.BROKEN, broken_at=OTHER)).first == OTHER
    assert classify(Facts(ending=Ending.BROKEN, broken_at=OTHER, failed_calls=(TIMEOUT,))).first == TIMEOUT


def test_a_live_answer_may_lack_its_evidence():
    """An answer that the run got while it was live comes without a place; the path is then the careful one."""
    answers = (fired(OTHER), *ask_all(Facts())[1:])
    assert conclude(answers, Facts()).first == OTHER
    bare = (replace(answers[0], first=None), *answers[1:])
    verdict = conclude(bare, Facts())
    assert (verdict.failure_class, verdict.first, verdict.path) == (TOOL, None, RecoveryPath.HUMAN_TAKEOVER)


def test_answers_must_be_six():
    """One a check."""
    with pytest.raises(ValueError, match="zip"):
        conclude(ask_all(GOOD)[1:], GOOD)


UNKNOWN = {
    "answer_valid": None,
    "cited_ids": None,
    "evidence_ids": None,
    "needed_notes": None,
    "retrieved_ids": None,
    "context_used": None,
    "typology": None,
    "gold_typology": None,
    "calls_known": False,
    "hides_documents": True,
}


@given(facts=run_facts(), name=st.sampled_from(sorted(UNKNOWN)))
def test_an_unknown_fact_never_makes_a_failure(facts, name):
    """Removing a fact can turn fired into unchecked, never clear into fired, and never decides what was not."""
    fewer = replace(facts, **{name: UNKNOWN[name]})
    for known, unknown in zip(ask_all(facts), ask_all(fewer), strict=True):
        assert unknown.state in (known.state, State.UNCHECKED)


@given(facts=run_facts())
def test_the_verdict_is_the_first_that_fired(facts):
    """Else what the ending says; one of nine values, always."""
    verdict = classify(facts)
    standing = [each for each, answer in zip(FAILURES, verdict.answers, strict=True) if answer.state is State.FIRED]
    if standing:
        assert verdict.failure_class is standing[0]
    else:
        by_ending = {"answered": "pass", "cancelled": "cancelled", "broken": "unclassified"}
        assert verdict.failure_class == by_ending[facts.ending]


@given(facts=run_facts())
def test_findings_stand_in_the_order_of_the_tree(facts):
    """And each stands once."""
    findings = classify(facts).findings
    order = [FAILURES.index(FailureClass(finding.partition(":")[0])) for finding in findings]
    assert order == sorted(order)
    assert len(set(findings)) == len(findings)


@given(facts=run_facts())
def test_a_critical_finding_always_goes_to_a_person(facts):
    """Standing or replaced, first or last."""
    verdict = classify(facts)
    found = {FailureClass(finding.partition(":")[0]) for finding in verdict.findings}
    critical = {each for each in found if TAXONOMY[each].severity is Severity.CRITICAL}
    assert (verdict.severity is Severity.CRITICAL) == bool(critical)
    if critical:
        assert verdict.path is RecoveryPath.HUMAN_TAKEOVER


@given(facts=run_facts())
def test_what_a_later_answer_replaced_is_kept(facts):
    """An invented id in an earlier answer is a finding, whatever the last one says."""
    findings = classify(facts).findings
    if facts.evidence_ids is not None and facts.superseded_ids - facts.evidence_ids:
        assert {"hallucination", "hallucination:superseded"} & set(findings)
    if facts.gold_typology is not None and facts.superseded_typologies - {facts.gold_typology}:
        assert {"typology_misjudge", "typology_misjudge:superseded"} & set(findings)


@given(facts=run_facts())
def test_a_verdict_hangs_together(facts):
    """Path, outcome, counts and coverage agree with the class."""
    verdict = classify(facts)
    assert verdict.recovered == len(facts.recovered_calls) + len(facts.recovered_outputs)
    assert (verdict.severity is None) == (not {each for each in verdict.findings if "recovered" not in each})
    assert verdict.coverage is Coverage.FULL or verdict.unchecked
    assert not set(verdict.unchecked) & set(verdict.findings)
    assert all(answer in (CLEAR, UNCHECKED) or answer.first for answer in verdict.answers)
    if verdict.failure_class in FAILURES:
        assert verdict.path is not None
