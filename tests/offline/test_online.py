import pytest

from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.offline.online import Online, read_online, weigh

TIMED_OUT = Failure(span_id="a" * 16, dependency="search", error_type="timeout")
ALL_BUT_NONE = tuple(map(str, FAILURES))
KNOWN = Facts(answer_valid=True, cited_ids=frozenset(), evidence_ids=frozenset())


def live(failure_class, *findings, unchecked=(), **more):
    return Online(failure_class=FailureClass(failure_class), findings=findings, unchecked=unchecked, **more)


MERGED = [
    pytest.param(Facts(), None, "pass", "replay", id="never classified"),
    pytest.param(
        Facts(), live("hallucination", "hallucination"), "hallucination", "online", id="only the live run could check"
    ),
    pytest.param(
        KNOWN, live("hallucination", "hallucination"), "pass", "replay", id="both decided, the later facts win"
    ),
    pytest.param(
        Facts(failed_calls=(TIMED_OUT,)), live("pass"), "tool_failure", "replay", id="an error that came after the root"
    ),
    pytest.param(Facts(), live("cancelled", unchecked=ALL_BUT_NONE), "cancelled", "online", id="a cut stands"),
    pytest.param(
        Facts(failed_calls=(TIMED_OUT,)), live("cancelled"), "tool_failure", "replay", id="a cut, unless a check fires"
    ),
    pytest.param(Facts(), live("unclassified"), "unclassified", "online", id="broken in a way no span shows"),
    pytest.param(
        Facts(ending=Ending.BROKEN, broken_at=Failure(error_type="no_answer")),
        live("pass"),
        "pass",
        "replay",
        id="the app told the answer, and no span has it",
    ),
    pytest.param(
        Facts(ending=Ending.BROKEN, broken_at=Failure(error_type="ValueError")),
        live("pass"),
        "unclassified",
        "replay",
        id="broken, as a span shows",
    ),
]


@pytest.mark.parametrize(("facts", "online", "failure_class", "decided"), MERGED)
def test_verdicts_are_merged_check_by_check(facts, online, failure_class, decided):
    """Decided beats unchecked, later beats earlier, a cut stands unless a check fires."""
    weighed = weigh(facts, online, {})
    assert (weighed.verdict.failure_class, weighed.decided) == (failure_class, decided)


def test_a_check_is_decided_by_who_gave_its_facts():
    """Of each check it is known whose word it is."""
    facts = Facts(typology="a", gold_typology="b")
    online = live("format_violation", "format_violation", unchecked=("retrieval_miss", "context_pollution"))
    weighed = weigh(facts, online, {FailureClass.TYPOLOGY_MISJUDGE: "gold"})
    assert weighed.decided_by == ("replay", "online", "online", "", "", "gold")
    assert weighed.verdict.findings == ("format_violation", "typology_misjudge")


@pytest.mark.parametrize("online", [None, live("pass"), live("pass", "hallucination:superseded")])
def test_a_critical_class_that_the_app_noted_is_never_taken_back(online):
    """Whether the live verdict knew it or not."""
    weighed = weigh(Facts(superseded_live=frozenset({FailureClass.HALLUCINATION})), online, {})
    assert weighed.verdict.findings == ("hallucination:superseded",)


def test_a_critical_answer_that_was_replaced_is_never_lost():
    """With content off only the live run saw it; a lucky retry must not take the review away."""
    weighed = weigh(Facts(), live("pass", "hallucination:superseded"), {})
    assert weighed.verdict.findings == ("hallucination:superseded",)
    assert weighed.verdict.severity == "critical"
    assert weighed.verdict.path == "human_takeover"


def test_what_was_made_good_is_kept_where_only_the_live_run_saw_it():
    """The count does not fall because content is off."""
    weighed = weigh(Facts(), live("pass", "format_violation:recovered", recovered=2), {})
    assert (weighed.verdict.recovered, weighed.verdict.findings) == (2, ("format_violation:recovered",))


def test_a_call_that_only_the_live_run_saw_fail_stays_failed():
    """A deadline cuts a call, and its span is exported without an error."""
    online = live("tool_failure", "tool_failure", first=TIMED_OUT)
    assert weigh(Facts(), online, {}).verdict.failure_class == "pass"
    weighed = weigh(Facts(), online, {}, seen_only_live=True)
    assert (weighed.verdict.first, weighed.decided) == (TIMED_OUT, "online")


def test_the_judge_is_heard_where_only_the_live_run_knew_the_note():
    """It was retrieved; whether it was used is said later."""
    online = live("pass", unchecked=("context_pollution",))
    weighed = weigh(Facts(context_used=False), online, {FailureClass.CONTEXT_POLLUTION: "judge"})
    assert (weighed.verdict.failure_class, weighed.decided) == ("context_pollution", "judge")


def test_without_the_unchecked_only_the_named_class_is_decided():
    """A span at its limit had no room for more."""
    online = live("hallucination", unchecked=None)
    assert weigh(Facts(calls_known=False), online, {}).decided_by == ("", "", "online", "", "", "")


ATTRIBUTES = {
    "failure.verdict": "true",
    "failure.class": "tool_failure",
    "failure.findings": '["tool_failure","hallucination:superseded"]',
    "failure.unchecked": "[]",
    "failure.span_id": "a" * 16,
    "failure.dependency": "search",
    "failure.error_type": "timeout",
    "failure.recovered": "3",
    "recovery.path": "auto_retry",
    "recovery.outcome": "handed_over",
    "recovery.attempts": "2",
}


def test_a_verdict_is_read_back():
    """From a file its values are texts."""
    online = read_online(ATTRIBUTES)
    assert online == live(
        "tool_failure",
        "tool_failure",
        "hallucination:superseded",
        first=Failure(span_id="a" * 16, dependency="search", error_type="timeout", retriable=True, attempts=2),
        outcome="handed_over",
        recovered=3,
    )
    assert weigh(Facts(failed_calls=(TIMED_OUT,)), online, {}).verdict.outcome == "handed_over"


def test_without_a_class_there_is_no_verdict():
    """Absent means never classified; a class alone, where nothing else fitted on the span, is one."""
    assert read_online({key: value for key, value in ATTRIBUTES.items() if key != "failure.class"}) is None
    assert read_online({"failure.class": "hallucination"}).failure_class is FailureClass.HALLUCINATION
    assert read_online(ATTRIBUTES | {"failure.class": "nonsense"}) is None
