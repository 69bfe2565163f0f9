"""A value reads the same from a live span and from a file, and nothing that is recorded can raise."""

from __future__ import annotations

import json

import otlp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.conventions import values

SCALARS = st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8)
LISTS = st.lists(st.none() | SCALARS, max_size=4) | st.lists(st.lists(st.text(max_size=3), max_size=2), max_size=2)
MAPS = st.dictionaries(st.text(max_size=4), SCALARS | LISTS, max_size=3)
ODD = (
    st.sampled_from([10**5000, [10**5000], "9" * 5000, "[" + "9" * 5000 + "]", {"a": 10**5000}])
    | st.binary()
    | st.just(object())
    | st.just(float("nan"))
    | st.complex_numbers()
)


@given(value=SCALARS)
def test_a_scalar_reads_the_same_from_a_file(value):
    """Live and replayed verdicts must not differ by the form of a value."""
    text = otlp.as_text(otlp.encoded(value))
    assert values.text(value) == values.text(text)
    assert values.flag(value) == values.flag(text)
    assert values.count(value) == values.count(text)


@given(value=LISTS | MAPS)
def test_a_compound_reads_the_same_from_a_file(value):
    """Lists with missing members, lists of lists, maps."""
    text = otlp.as_text(otlp.encoded(value))
    assert values.parsed(value) == values.parsed(text)
    assert values.ids(value) == values.ids(text)
    assert values.parsed(tuple(value) if isinstance(value, list) else value) is not None


@given(value=SCALARS | LISTS | MAPS | ODD | st.none())
def test_nothing_raises(value):
    """Whatever an instrumentation records; what is not understood is None."""
    for read in (values.text, values.flag, values.count, values.parsed, values.ids, values.digest):
        read(value)
    assert values.is_list(value) == isinstance(value, list | tuple)
    assert values.is_map(value) == isinstance(value, dict)
    assert values.is_broken_json(value) in (True, False)


TEXTS = [
    pytest.param("abc", "abc", id="a text"),
    pytest.param("", "", id="an empty text"),
    pytest.param(True, "true", id="yes"),
    pytest.param(False, "false", id="no"),
    pytest.param(3, "3", id="a whole number"),
    pytest.param(1.5, "1.5", id="a number"),
    pytest.param("__REDACTED__", None, id="hidden by OpenInference"),
    pytest.param("[REDACTED]", None, id="hidden by another"),
    pytest.param(None, None, id="nothing"),
    pytest.param(b"abc", None, id="bytes"),
    pytest.param(["abc"], None, id="a list"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_a_text_is_a_scalar(value, text):
    """Hidden content is no content."""
    assert values.text(value) == text


FLAGS = [
    pytest.param(True, True, id="yes"),
    pytest.param("true", True, id="yes from a file"),
    pytest.param(" True ", True, id="yes as Python prints it"),
    pytest.param("1", True, id="one"),
    pytest.param(0, False, id="zero"),
    pytest.param("FALSE", False, id="no in capitals"),
    pytest.param("yes", None, id="another word"),
    pytest.param(None, None, id="nothing"),
    pytest.param([True], None, id="a list"),
]


@pytest.mark.parametrize(("value", "flag"), FLAGS)
def test_a_flag_is_yes_no_or_unknown(value, flag):
    """A word that is neither decides nothing."""
    assert values.flag(value) is flag


IDS = [
    pytest.param(["a", "b"], {"a", "b"}, id="a list"),
    pytest.param(("a", None), {"a"}, id="a missing member is left out"),
    pytest.param('["a", 7]', {"a", "7"}, id="numbers are ids"),
    pytest.param([], set(), id="an empty list is known"),
    pytest.param("[]", set(), id="also from a file"),
    pytest.param([None], None, id="only missing members"),
    pytest.param([True], None, id="yes is no id"),
    pytest.param([["a"]], None, id="a list of lists"),
    pytest.param([1.5], None, id="a fraction is no id"),
    pytest.param(["a", "__REDACTED__"], None, id="a hidden member"),
    pytest.param([1 << 64], None, id="a number that OTLP cannot hold"),
    pytest.param([(1 << 64) - 1], {"18446744073709551615"}, id="the largest that it can"),
    pytest.param("a,b", None, id="a text"),
    pytest.param({"a": 1}, None, id="a map"),
    pytest.param(None, None, id="nothing"),
]


@pytest.mark.parametrize(("value", "found"), IDS)
def test_ids_are_a_list_of_names(value, found):
    """What is not a list of ids is unknown, not empty."""
    assert values.ids(value) == found


def test_what_is_too_long_is_not_read():
    """An agent must not spend its time on a value of megabytes."""
    long = json.dumps(["x" * values.SCANNED_BYTES])
    assert values.parsed(long) is None
    assert values.parsed(long, limit=len(long)) is not None
    assert not values.is_broken_json("{" + "x" * values.SCANNED_BYTES)


BROKEN = [
    pytest.param('{"a": 1', True, id="cut off"),
    pytest.param("{a: 1}", True, id="no quotes"),
    pytest.param('{"a": 1}', False, id="an object"),
    pytest.param("plain", False, id="a text"),
    pytest.param("[1", False, id="a list"),
    pytest.param({"a": 1}, False, id="a map"),
]


@pytest.mark.parametrize(("value", "is_broken"), BROKEN)
def test_broken_json_begins_as_an_object(value, is_broken):
    """A tool's arguments are objects; a plain text never meant to be one."""
    assert values.is_broken_json(value) is is_broken


DIGESTS = [
    pytest.param("a", "a", True, id="the same text"),
    pytest.param("a", "b", False, id="another text"),
    pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="the order of keys"),
    pytest.param("x" * 100, "x" * 100, True, id="the same long text"),
    pytest.param("x" * 100, "x" * 99 + "y", False, id="another long text"),
    pytest.param("x" * 100, "x" * 101, False, id="a longer text"),
    pytest.param(["a"], ("a",), True, id="a list and a tuple"),
    pytest.param("\ud800" * 100, "\ud800" * 100, True, id="half a surrogate pair"),
]


@pytest.mark.parametrize(("one", "other", "is_same"), DIGESTS)
def test_arguments_are_compared_without_being_kept(one, other, is_same):
    """Long ones as a digest."""
    assert (values.digest(one) == values.digest(other)) is is_same
    assert len(values.digest(one)) <= 64


@pytest.mark.parametrize("hidden", [None, "__REDACTED__", "[REDACTED]", {1: 2, "a": 3}])
def test_hidden_arguments_are_not_recorded(hidden):
    """All hidden calls would look alike."""
    assert values.digest(hidden) is None


OBJECTS = [
    pytest.param('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}, id="an object"),
    pytest.param(' {"a": 1}\n', {"a": 1}, id="white space around"),
    pytest.param("[1]", None, id="a list"),
    pytest.param('{"a": 1, "a": 2}', None, id="the same key twice"),
    pytest.param('{"a": {"b": 1, "b": 1}}', None, id="twice, deeper"),
    pytest.param('{"a": 1} and more', None, id="prose behind"),
    pytest.param('Here: {"a": 1}', None, id="prose before"),
    pytest.param('{"a": 1', None, id="cut off"),
    pytest.param("", None, id="nothing"),
    pytest.param("[" * 100_000, None, id="nested too deep"),
]


@pytest.mark.parametrize(("words", "found"), OBJECTS)
def test_an_object_is_read_strictly(words, found):
    """Two readers of a text with the same key twice would read two answers."""
    assert values.strict_object(words) == found


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_no_number(number):
    """JSON does not have it; no schema accepts it as a number."""
    assert not isinstance(values.strict_object(f'{{"a": {number}}}')["a"], float)


FENCES = [
    pytest.param('```json\n{"a": 1}\n```', '{"a": 1}', id="a fence"),
    pytest.param('\n```\n{"a": 1}```  ', '{"a": 1}', id="without a language"),
    pytest.param('```json\r\n{"a": 1}\r\n```', '{"a": 1}', id="other line ends"),
    pytest.param('{"a": "```"}', '{"a": "```"}', id="backticks in a value"),
    pytest.param('See: ```json\n{"a": 1}\n```', 'See: ```json\n{"a": 1}\n```', id="prose before"),
    pytest.param("```json {}```", "```json {}```", id="on one line"),
]


@pytest.mark.parametrize(("words", "bare"), FENCES)
def test_a_fence_around_the_whole_is_taken_off(words, bare):
    """And nothing else."""
    assert values.without_fence(words) == bare
