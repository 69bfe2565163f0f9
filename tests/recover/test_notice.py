"""What a person sees of a failed step is closed: nothing that failed can speak through it."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from pydantic import ValidationError

import otel_aml
from otel_aml.core.messages import CATALOGUE
from otel_aml.core.recovery import REPAIRS, Reason, RetryPolicy, StepError, plan_recovery
from otel_aml.core.taxonomy import FAILURES, FailureClass, RecoveryPath
from otel_aml.recover.classifying import classify_error
from otel_aml.recover.notice import Saved, UserNotice, user_notice
from tests.recover.canaries import Canaries, surfaces

TRACE = trace.SpanContext(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7, is_remote=False)


def failed(failure_class=FailureClass.TOOL_FAILURE, **more):
    """An error and its plan."""
    error = StepError(step_id="s", failure_class=failure_class, user_message="m", **more)
    return error, plan_recovery(error)


def notices():
    """One for each class and path that occurs."""
    for failure_class in FAILURES:
        for attempt in (0, 9):
            retriable = failure_class is FailureClass.TOOL_FAILURE
            yield failed(failure_class, attempt=attempt, retriable=retriable)


@pytest.mark.parametrize("locale", CATALOGUE)
@pytest.mark.parametrize(("error", "plan"), list(notices()))
def test_a_notice_offers_two_or_three_things_and_recommends_one(error, plan, locale):
    """None of them is done before the person chooses."""
    notice = user_notice(error, plan, locale=locale)
    assert 2 <= len(notice.options) <= 3
    assert [option.recommended for option in notice.options].count(True) == 1
    assert len({option.action for option in notice.options}) == len(notice.options)
    assert {option.action for option in notice.options} <= {"retry", "fix_and_run_again", "hand_over"}
    assert "hand_over" in {option.action for option in notice.options}
    recommended = next(option.action for option in notice.options if option.recommended)
    assert (
        recommended
        == {
            RecoveryPath.AUTO_RETRY: "retry",
            RecoveryPath.FIX_AND_RETRY: "fix_and_run_again",
            RecoveryPath.HUMAN_TAKEOVER: "hand_over",
        }[plan.path]
    )
    assert all(option.action != "retry" for option in notice.options) or error.failure_class not in REPAIRS


@pytest.mark.parametrize("failure_class", FAILURES)
def test_red_is_for_what_is_critical(failure_class):
    """A service that is down is no alarm."""
    is_critical = failure_class in {FailureClass.HALLUCINATION, FailureClass.TYPOLOGY_MISJUDGE}
    assert user_notice(*failed(failure_class)).tone == ("red" if is_critical else "amber")


def test_a_wait_is_told_in_whole_seconds():
    """Rounded up: a second early is too early."""
    assert user_notice(*failed(retriable=True, retry_after_ms=1_001)).retry_after_s == 2
    assert user_notice(*failed(retriable=True, retry_after_ms=2_000)).retry_after_s == 2
    assert user_notice(*failed()).retry_after_s is None


def test_the_reference_is_that_of_the_trace():
    """Which a person can quote, and an operator can find."""
    with trace.use_span(trace.NonRecordingSpan(TRACE)):
        assert user_notice(*failed()).reference == "4bf92f35"
    assert user_notice(*failed()).reference is None


SAVED = [
    pytest.param(None, None, id="nothing given"),
    pytest.param(Saved(confirmed_evidence=3), {"confirmed_evidence": 3, "edited_fields": 0}, id="counts"),
    pytest.param({"edited_fields": 2}, {"confirmed_evidence": 0, "edited_fields": 2}, id="a mapping"),
    pytest.param({"edited_fields": "TXN-1"}, None, id="a text"),
    pytest.param({"edited_fields": -1}, None, id="less than nothing"),
    pytest.param({"TXN-1": 1}, None, id="a name from outside"),
    pytest.param("TXN-1", None, id="no mapping"),
    pytest.param(Saved.model_construct(edited_fields="TXN-1"), None, id="a text that was never checked"),
]


@pytest.mark.parametrize(("given_", "shown"), SAVED)
def test_only_counts_of_what_is_kept_are_shown(given_, shown):
    """What is none is left out, and never raises into the handler of an error."""
    saved = user_notice(*failed(), saved=given_).saved
    assert (saved and saved.model_dump()) == shown


def test_a_notice_checks_the_counts_that_it_is_given():
    """However they were made, and wherever the notice comes from."""
    notice = user_notice(*failed(), saved={"edited_fields": 1})
    with pytest.raises(ValidationError):
        UserNotice(**{**dict(notice), "saved": Saved.model_construct(edited_fields="TXN-1")})


def test_a_notice_as_problem_details():
    """RFC 9457: the members that it names, and extensions of ours."""
    problem = user_notice(*failed(retriable=True, retry_after_ms=500), saved={"edited_fields": 1}).to_problem()
    assert json.loads(json.dumps(problem)) == problem
    assert problem == {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "detail": CATALOGUE["en"][FailureClass.TOOL_FAILURE, RecoveryPath.AUTO_RETRY],
        "code": "E-871",
        "saved": {"confirmed_evidence": 0, "edited_fields": 1},
        "tone": "amber",
        "options": [
            {"action": "retry", "label": "Try again", "recommended": True},
            {"action": "hand_over", "label": "Ask a colleague to take over", "recommended": False},
        ],
        "retry_after_s": 1,
    }


def test_an_app_may_document_its_problems():
    """Then the type is an address of its own."""
    problem = user_notice(*failed(FailureClass.HALLUCINATION)).to_problem(type_base="https://example.com/problems/")
    assert problem["type"] == "https://example.com/problems/E-482"
    assert (problem["title"], problem["status"]) == ("Internal Server Error", 500)


def test_a_notice_cannot_be_changed_and_holds_nothing_else():
    """What a UI reads is what was picked."""
    notice = user_notice(*failed())
    with pytest.raises(ValidationError):
        notice.message = "x"
    with pytest.raises(ValidationError):
        UserNotice(**notice.model_dump(), detail="x")
    assert UserNotice.model_validate_json(notice.model_dump_json()) == notice


FORBIDDEN = re.compile(
    r"tool_failure|format_violation|hallucination|retrieval_miss|context_pollution|typology|aml|\bsar\b|suspicio|report"
    r"|investigat|structuring|layering|smurf|launder|otel|可疑|洗钱|举报|报告|调查",
    re.IGNORECASE,
)


@pytest.mark.parametrize("locale", [*CATALOGUE, "de", "zh-TW"])
@pytest.mark.parametrize(("error", "plan"), list(notices()))
def test_no_form_of_a_notice_gives_anything_away(error, plan, locale):
    """No class, no typology, no purpose: also not in keys, actions, types or its repr."""
    notice = user_notice(error, plan, locale=locale, saved=Saved())
    forms = (notice.model_dump_json(), json.dumps(notice.to_problem()), notice.message, f"{notice.model_dump()}")
    assert not any(FORBIDDEN.search(form) for form in forms)


def test_there_is_one_notice_for_a_class_and_a_path():
    """Whatever failed, and however: within a language."""
    found = {}
    dice = random.Random(5)
    for n in range(500):
        text = f"{dice.random()} SAR-{n}"
        error = dice.choice([TimeoutError, RuntimeError, ValueError, ConnectionError])(text)
        step = classify_error(error, f"step {n}", attempt=dice.randrange(5))
        plan = plan_recovery(step)
        shown = json.dumps(
            [user_notice(step, plan, locale="zh").model_dump_json(), user_notice(step, plan).to_problem()]
        )
        found.setdefault((step.failure_class, plan.path), set()).add(shown)
    assert len(found) == 2
    assert all(len(shown) == 1 for shown in found.values())


TWINS = [
    pytest.param("SAR-2026-000123 pending review", "no record found for this customer", id="a report, or none"),
    pytest.param("STR filed with the FIU on 3 November", "not filed", id="filed, or not"),
    pytest.param("escalated to the MLRO, do not tip off", "", id="a word to the wise, or nothing"),
]


@pytest.mark.parametrize("locale", CATALOGUE)
@pytest.mark.parametrize("kind", [TimeoutError, ValueError, RuntimeError, PermissionError])
@pytest.mark.parametrize(("with_report", "without"), TWINS)
def test_two_cases_that_differ_only_in_a_report_give_the_same_bytes(with_report, without, kind, locale):
    """31 U.S.C. 5318(g)(2): nobody must learn from an error that there is one."""

    def shown(text):
        with trace.use_span(trace.NonRecordingSpan(TRACE)):
            step = classify_error(kind(text), "file_note")
            notice = user_notice(step, plan_recovery(step), locale=locale, saved=Saved(confirmed_evidence=2))
            return notice.model_dump_json().encode() + json.dumps(notice.to_problem()).encode()

    assert shown(with_report) == shown(without)


@pytest.mark.slow
def test_no_canary_reaches_a_person():
    """20,000 random errors with secrets wherever an error can hold one; `benchmarks/recovery.py` makes a million."""
    canaries = Canaries(seed=7)
    for _ in range(20_000):
        raw, words = canaries.error()
        assert not words & canaries.seen(surfaces(raw, canaries.dice)), raw


def test_the_search_for_canaries_finds_one():
    """A check that could not fail would be none."""
    canaries = Canaries(seed=7)
    _, words = canaries.error()
    assert canaries.seen([f"...{next(iter(words))}..."]) & words


@given(
    retries=st.integers(0, 4),
    attempt=st.integers(0, 6),
    failure_class=st.sampled_from(FAILURES),
    locale=st.text(max_size=5),
)
def test_any_plan_can_be_told(retries, attempt, failure_class, locale):
    """In any language that is asked for."""
    error = StepError(step_id="s", failure_class=failure_class, user_message="m", attempt=attempt)
    plan = plan_recovery(error, policy=RetryPolicy(retries=retries))
    assert user_notice(error, plan, locale=locale).message
    assert (plan.reason is Reason.CRITICAL) is (user_notice(error, plan).tone == "red")


def test_it_is_public():
    """At the root."""
    assert otel_aml.user_notice is user_notice
    assert otel_aml.UserNotice is UserNotice
