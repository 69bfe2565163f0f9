import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from handing import draft, review
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.core.messages import user_message
from otel_aml.core.recovery import StepError
from otel_aml.core.taxonomy import TAXONOMY, RecoveryPath
from otel_aml.errors import InvalidTask
from otel_aml.recover.takeover import ApprovalTask, Choice, ResumePlan
from otel_aml.recover.takeover.jsontext import STATE_BYTES, json_text, parsed
from otel_aml.recover.takeover.texts import same_person

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(state=ANY_JSON)
def test_any_json_comes_back(state):
    """Whatever an agent holds, also half a character and numbers that no database column would hold."""
    assert parsed(review(state=state).state_json, "it") == state


@given(state=ANY_JSON, indent=st.none() | st.integers(0, 3), ascii_only=st.booleans())
def test_a_document_is_kept_byte_for_byte(state, indent, ascii_only):
    """Spaces, order, spelling: a hash of it made elsewhere still holds."""
    try:
        document = json.dumps(state, indent=indent, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return
    assert review(state=document).state_json.encode() == document


KEPT = [
    pytest.param(b'{"a": 1, "a": 2}', id="a key twice"),
    pytest.param(b"1" * 5_000, id="more digits than Python reads"),
    pytest.param(b'[1.0e5, 1E400, -0, 0.10000000000000000555, "\\u0000", "\\ud800"]', id="spellings of numbers"),
    pytest.param(' [\n"审查 \U0001f9fe \u202e"\t] '.encode(), id="unicode and space"),
    pytest.param(b"null", id="null"),
]


@pytest.mark.parametrize("document", KEPT)
def test_what_a_parser_would_lose_is_kept(document):
    """It is text to the queue."""
    assert review(state=document).state_json.encode() == document


def nested(depth):
    state = []
    for _ in range(depth):
        state = [state]
    return state


def itself():
    state = []
    state.append(state)
    return state


NO_JSON = [
    pytest.param(math.nan, "not JSON compliant", id="nan"),
    pytest.param([math.inf], "not JSON compliant", id="inf"),
    pytest.param({1: "a"}, r"a key that is no text \(int\)", id="a number as key"),
    pytest.param({"a": [{None: 1}]}, r"a key that is no text \(NoneType\)", id="a deep key"),
    pytest.param({"a": {1, 2}}, "none of object, list", id="a set"),
    pytest.param({"a": b"x"}, "none of object, list", id="bytes within"),
    pytest.param(nested(100_000), "nested too deeply", id="nested"),
    pytest.param(itself(), "holds itself", id="itself"),
    pytest.param(10**5_000, "too long", id="digits"),
    pytest.param(b"", "at character 0", id="empty"),
    pytest.param(b'{"a": ', "at character 6", id="cut off"),
    pytest.param(b"[NaN]", "NaN is no JSON", id="NaN in text"),
    pytest.param(b"[1] x", "Extra data", id="more behind"),
    pytest.param(b'"\xff"', "byte 1 is not UTF-8", id="no UTF-8"),
    pytest.param(b"\xef\xbb\xbf{}", "BOM", id="a byte order mark"),
    pytest.param('"a"'.encode("utf-16"), "UTF-8", id="UTF-16"),
    pytest.param(b"[" * 100_000, "nested too deeply", id="nested text"),
]


@pytest.mark.parametrize(("state", "said"), NO_JSON)
def test_what_is_no_json_is_one_sentence(state, said):
    """Before anything reaches a database."""
    with pytest.raises(InvalidTask, match=said) as raised:
        review(state=state)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("of", [lambda size: "x" * (size - 2), lambda size: b'"' + b"x" * (size - 2) + b'"'])
def test_the_longest_state_is_five_mebibytes(of):
    """One byte more is refused, and the sentence has both numbers."""
    assert len(review(state=of(STATE_BYTES)).state_json) == STATE_BYTES
    with pytest.raises(InvalidTask, match="5,242,881 bytes as JSON, and at most 5,242,880 are kept"):
        review(state=of(STATE_BYTES + 1))


def test_the_size_is_that_of_utf_8():
    """A Chinese letter is three bytes."""
    with pytest.raises(InvalidTask):
        json_text("审" * (STATE_BYTES // 3 + 1), "it")


WRONG = [
    pytest.param({"kind": "sar"}, "give one of sar_approval, error_review", id="kind"),
    pytest.param({"id": "a b"}, "no id of a task", id="id"),
    pytest.param({"id": ""}, "no id of a task", id="no id"),
    pytest.param({"follows": "\n"}, "no id of a task", id="follows"),
    pytest.param({"failure_class": None}, "say what failed", id="no class"),
    pytest.param({"failure_class": "pass"}, "say what failed", id="pass"),
    pytest.param({"failure_class": "odd"}, "failure_class is 'odd'", id="no such class"),
    pytest.param({"case_id": ""}, "case_id is ''", id="an empty case"),
    pytest.param({"case_id": "C\n17"}, "one line", id="a case of two lines"),
    pytest.param({"case_id": "C\ud800"}, "printable", id="half a character"),
    pytest.param({"case_id": "C\u2028"}, "printable", id="the end of a line"),
    pytest.param({"case_id": "C\x9b2J"}, "printable", id="a control character"),
    pytest.param({"case_id": "x" * 501}, "500", id="a long case"),
    pytest.param({"case_id": 17}, "of type int", id="a number"),
    pytest.param({"trace_id": "abc"}, "32 hex digits", id="trace id"),
    pytest.param({"author": " "}, "author is ' '", id="author"),
    pytest.param({"user_message": "a\0b"}, "NUL", id="NUL"),
    pytest.param({"user_message": "\ud800"}, "half a character", id="half a character in a text"),
    pytest.param({"user_message": None}, "of type NoneType", id="no text"),
    pytest.param({"technical_detail": "x" * 65_537}, "at most 65,536", id="a long detail"),
    pytest.param({"due_at": datetime(2026, 1, 1)}, "due_at has no time zone", id="naive"),  # noqa: DTZ001
    pytest.param({"choices": ["agree"]}, "choice is 'agree'", id="choice"),
    pytest.param({"choices": "approve"}, "one text", id="choices as a text"),
    pytest.param({"response_schema": {"type": "array"}}, "no flat schema", id="schema"),
]


@pytest.mark.parametrize(("more", "said"), WRONG)
def test_what_cannot_be_taken_is_one_sentence(more, said):
    """The task is whole, or there is none."""
    with pytest.raises(InvalidTask, match=said) as raised:
        review(**more)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["张\u3000三", "\u0645\u06cc\u200c\u062e", "O\u2019Neil", "C 17/β"])
def test_a_name_is_written_as_people_write(name):
    """Wide spaces and joiners belong to some scripts."""
    assert review(case_id=name, author=name).author == name


SAME = [
    ("Ann", "ann"),
    ("\uff21\uff2e\uff2e", "ann"),
    ("a\u200bnn", "ann"),
    ("Ann  Lee", "ann lee"),
    ("STRASSE", "stra\u00dfe"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_person_has_many_spellings(one, other):
    """Else someone could decide their own work."""
    assert same_person(one) == same_person(other)
    assert same_person(one) != same_person("bo")


def test_a_moment_at_the_end_of_time_is_refused():
    """It is none in another time zone."""
    with pytest.raises(InvalidTask, match="years 1 to 9999"):
        review(due_at=datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))))


def test_a_draft_names_its_author():
    """Else nobody could be kept from approving their own."""
    with pytest.raises(InvalidTask, match="names no author"):
        draft(author=None)


WRONG_PLANS = [
    pytest.param({"done": ["a"], "left": ["a"]}, "named twice", id="done and left"),
    pytest.param({"left": ["a", "a"]}, "named twice", id="twice"),
    pytest.param({"left": ["a"], "enter_at": "b"}, "none of the steps left", id="entry"),
    pytest.param({"left": "ab"}, "left is one text", id="a text"),
    pytest.param({"done": [""]}, "a step is ''", id="no name"),
]


@pytest.mark.parametrize(("given_", "said"), WRONG_PLANS)
def test_a_plan_that_cannot_be_followed_is_refused(given_, said):
    """Where to enter must be clear."""
    with pytest.raises(InvalidTask, match=said):
        ResumePlan(**given_)


def test_a_plan_enters_at_the_first_step_left():
    """Unless it says another."""
    assert ResumePlan(done=["a"], left=["b", "c"]).enter_at == "b"
    assert ResumePlan(left=["b", "c"], enter_at="c").enter_at == "c"
    assert ResumePlan(done=["a"]).enter_at is None


@pytest.mark.parametrize("failure_class", TAXONOMY)
def test_an_error_becomes_a_task(failure_class):
    """The user's words are those of the catalogue; the detail does not show in the task's own form."""
    error = StepError(
        step_id="draft", failure_class=failure_class, user_message="...", technical_detail="KeyError at x"
    )
    task = ApprovalTask.of_error(error, state={}, case_id="C-1")
    assert (task.kind, task.failure_class, task.step_id) == ("error_review", failure_class, "draft")
    assert task.user_message == user_message(failure_class, RecoveryPath.HUMAN_TAKEOVER)
    assert task.technical_detail == "KeyError at x"
    assert "KeyError" not in repr(task)
    assert task.choices[0] is Choice.RETRY


def test_a_task_is_what_it_was_made_as():
    """A state that goes on changing in the agent does not change it; nor can anyone else."""
    state = {"steps": ["a"]}
    task = review(state=state, due_at=datetime(2026, 1, 1, tzinfo=UTC))
    state["steps"].append("b")
    assert json.loads(task.state_json) == {"steps": ["a"]}
    with pytest.raises(AttributeError):
        task.case_id = "other"
