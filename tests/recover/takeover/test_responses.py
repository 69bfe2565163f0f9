import pytest

from otel_aml.errors import InvalidTask
from otel_aml.recover.takeover.responses import checked_response, checked_schema

FORM = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "title": "Reason", "maxLength": 10, "enum": ["known", "new"]},
        "amount": {"type": "number", "minimum": 0},
        "days": {"type": "integer", "maximum": 30},
        "urgent": {"type": "boolean", "default": False},
    },
    "required": ["reason"],
}

NOT_FLAT = [
    pytest.param([], id="a list"),
    pytest.param({"type": "object", "properties": []}, id="no properties"),
    pytest.param({"type": "object", "properties": {"a": {"type": "object"}}}, id="an object within"),
    pytest.param({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, id="two types"),
    pytest.param({"type": "object", "properties": {"a": True}}, id="anything"),
    pytest.param({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}, id="another word"),
    pytest.param({"type": "object", "properties": {"a": {"type": "number", "minimum": "1"}}}, id="a bound"),
    pytest.param({"type": "object", "properties": {"a": {"type": "integer", "enum": ["1"]}}}, id="an enum"),
    pytest.param({"type": "object", "properties": {"a": {"type": "integer", "enum": 1}}}, id="no enum"),
    pytest.param({"type": "object", "required": ["a"]}, id="required"),
    pytest.param({"type": "object", "required": [[]]}, id="required list"),
    pytest.param({"type": "object", "allOf": []}, id="allOf"),
    pytest.param({"type": "object", "additionalProperties": True}, id="further properties"),
]


@pytest.mark.parametrize("schema", NOT_FLAT)
def test_a_schema_that_is_not_flat_is_refused(schema):
    """What is not understood would pass for what is checked."""
    with pytest.raises(InvalidTask):
        checked_schema(schema)


FITTING = [{"reason": "new"}, {"reason": "known", "amount": 0, "days": 30, "urgent": True}]


@pytest.mark.parametrize("response", FITTING, ids=str)
def test_what_fits_is_taken(response):
    """As a copy."""
    taken = checked_response(response, checked_schema(FORM))
    assert taken == response
    assert taken is not response


NOT_FITTING = [
    pytest.param(None, "lacks 'reason'", id="nothing"),
    pytest.param({}, "lacks 'reason'", id="empty"),
    pytest.param({"reason": "new", "more": 1}, "holds 'more'", id="more"),
    pytest.param({"reason": "odd"}, "none of 'known', 'new'", id="another word"),
    pytest.param({"reason": 1}, "no string", id="a number for a text"),
    pytest.param({"reason": "new", "amount": True}, "no number", id="true for a number"),
    pytest.param({"reason": "new", "amount": -1}, "outside of 0", id="too small"),
    pytest.param({"reason": "new", "days": 1.5}, "no integer", id="half a day"),
    pytest.param({"reason": "new", "days": 31}, "outside of", id="too large"),
    pytest.param({"reason": "new", "urgent": 1}, "no boolean", id="1 for true"),
    pytest.param([], "no object", id="a list"),
]


@pytest.mark.parametrize(("response", "said"), NOT_FITTING)
def test_what_does_not_fit_is_one_sentence(response, said):
    """With the name of the field."""
    with pytest.raises(InvalidTask, match=said):
        checked_response(response, checked_schema(FORM))


def test_nothing_is_answered_where_nothing_is_asked():
    """A response that nobody would read is refused."""
    assert checked_response(None, None) is None
    with pytest.raises(InvalidTask, match="asks for none"):
        checked_response({}, None)
