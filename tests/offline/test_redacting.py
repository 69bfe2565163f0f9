"""One line of OTLP JSON without its secrets: every place where it can carry text, and nothing else touched."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.offline.redacting import LineRedaction

SECRET = "jane.doe@example.com"
GONE = "[redacted:email]"


def redacted(line):
    found = LineRedaction().redact(line if isinstance(line, bytes) else line.encode())
    return None if found is None else found.decode()


def text(value):
    return {"stringValue": value}


def span(secret):
    """A span with a text in every place that OTLP has for one."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "host.name", "value": text(f"h {secret}")}]},
                "scopeSpans": [
                    {
                        "scope": {
                            "name": f"scope {secret}",
                            "version": f"1 {secret}",
                            "attributes": [{"key": "s", "value": text(secret)}],
                        },
                        "spans": [
                            {
                                "traceId": "0af7651916cd43dd8448eb211c80319c",
                                "spanId": "b7ad6b7169203331",
                                "parentSpanId": "4111111111111111",
                                "traceState": f"v={secret}",
                                "name": f"work {secret}",
                                "startTimeUnixNano": "4111111111111111",
                                "endTimeUnixNano": 1790000000009000000,
                                "attributes": [
                                    {"key": f"a {secret}", "value": text("v")},
                                    {"key": "array", "value": {"arrayValue": {"values": [text(secret), text("b")]}}},
                                    {
                                        "key": "map",
                                        "value": {"kvlistValue": {"values": [{"key": "k", "value": text(secret)}]}},
                                    },
                                    {"key": "json", "value": text(json.dumps({"to": secret}))},
                                    {"key": "int", "value": {"intValue": "4111111111111111"}},
                                    {"key": "float", "value": {"doubleValue": 1.50}},
                                    {"key": "flag", "value": {"boolValue": True}},
                                    {
                                        "key": "bytes",
                                        "value": {"bytesValue": base64.b64encode(f"x {secret}".encode()).decode()},
                                    },
                                ],
                                "events": [
                                    {
                                        "timeUnixNano": "4111111111111111",
                                        "name": f"event {secret}",
                                        "attributes": [{"key": "exception.stacktrace", "value": text(f"at\n{secret}")}],
                                    }
                                ],
                                "links": [
                                    {
                                        "traceId": "4111111111111111",
                                        "spanId": "4111111111111111",
                                        "traceState": f"w={secret}",
                                        "attributes": [{"key": "why", "value": text(secret)}],
                                    }
                                ],
                                "status": {"code": 2, "message": f"failed for {secret}"},
                            }
                        ],
                        "schemaUrl": f"https://x/{secret}",
                    }
                ],
            }
        ]
    }


class TestEveryPlace:
    def test_no_place_is_forgotten_and_nothing_else_changes(self):
        """Ids, times, numbers and shapes are as they were."""
        work = LineRedaction()
        found = json.loads(work.redact(json.dumps(span(SECRET)).encode()))
        assert found == span(GONE)
        assert work.redaction.replaced == {"email": 17}

    def test_what_is_clean_stays_byte_for_byte(self):
        """Spaces, the order of keys, how a number is written: all of it."""
        line = '{ "b" : 1.500e+3,"a":[ 12345678901234567890, "\\u00e9\\/é", null ],"traceId":"4111111111111111" }'
        assert redacted(line) == line

    def test_around_a_secret_all_stays_byte_for_byte(self):
        line = '{ "b" : 1.500e+3,"name":"%s","a":["\\u00e9"]}'
        assert redacted(line % SECRET) == line % GONE

    def test_of_two_fields_of_one_name_both_are_looked_at(self):
        """A reader keeps the last one; the file holds both."""
        assert redacted(f'{{"name":"{SECRET}","name":"x"}}') == f'{{"name":"{GONE}","name":"x"}}'

    @pytest.mark.parametrize(
        "written", ["jane.doe\\u0040example.com", "\\u006aane.doe@example.com", "jane.doe@example\\u002ecom"]
    )
    def test_an_escape_hides_nothing(self, written):
        assert redacted(f'{{"name":"{written}"}}') == f'{{"name":"{GONE}"}}'

    def test_ids_and_times_are_no_place_to_hide(self):
        """What is no id and no number is a text, whatever the field is called."""
        assert redacted(f'{{"traceId":"for {SECRET}"}}') == f'{{"traceId":"for {GONE}"}}'

    @given(
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
            max_leaves=8,
        )
    )
    def test_valid_json_stays_valid(self, value):
        line = json.dumps({"name": value, "to": SECRET})
        assert json.loads(redacted(line))["to"] == GONE


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            *("password", "db.password", "api_key", "http.request.header.authorization"),
            *("http.request.header.set-cookie", "client-secret", "aws.secret_access_key", "x.refresh_token"),
            *("apiKey", "token"),
        ],
    )
    def test_an_attribute_that_is_called_a_secret_is_one(self, name):
        """Whatever stands in it; in any order of key and value."""
        value = {"arrayValue": {"values": [text("swordfish")]}}
        for attribute in ({"key": name, "value": value}, {"value": value, "key": name}):
            assert json.loads(redacted(json.dumps(attribute))) == attribute | {
                "value": {"arrayValue": {"values": [text("[redacted:secret]")]}}
            }

    @pytest.mark.parametrize(
        "name",
        ["gen_ai.token.type", "gen_ai.usage.input_tokens", "sort_key", "tokenizer", "secretary", "code.function"],
    )
    def test_a_name_that_only_sounds_so_is_none(self, name):
        line = json.dumps({"key": name, "value": text("swordfish")})
        assert redacted(line) == line

    def test_the_next_attribute_is_none(self):
        line = {"attributes": [{"key": "password", "value": text("a")}, {"key": "b", "value": text("c")}], "name": "d"}
        found = json.loads(redacted(json.dumps(line)))
        assert found["attributes"][1] == line["attributes"][1]
        assert found["name"] == "d"

    def test_bytes_of_a_secret_stay_base64(self):
        found = json.loads(redacted(json.dumps({"key": "password", "value": {"bytesValue": "AAEC"}})))
        assert base64.b64decode(found["value"]["bytesValue"]) == b"[redacted:secret]"

    def test_a_number_stays_a_number(self):
        """Its type is the reader's; a text in its place would break the line."""
        line = json.dumps({"key": "password", "value": {"intValue": "1234"}})
        assert redacted(line) == line

    def test_again_changes_nothing(self):
        once = redacted(json.dumps({"key": "password", "value": text("a")}))
        assert redacted(once) == once


class TestWhatIsNoJson:
    @pytest.mark.parametrize(
        "line",
        [
            pytest.param(b'{"name":"x', id="torn"),
            pytest.param(b"\x00\x00\x00", id="NUL"),
            pytest.param(b"Bearer abc123", id="words"),
            pytest.param(b'{"name":"\xff"}', id="no UTF-8"),
            pytest.param(b"[" * 100_000, id="deeper than anything"),
        ],
    )
    def test_it_is_not_passed_on(self, line):
        """Nobody can say what stands in it."""
        assert redacted(line) is None


def test_bytes_are_looked_at_also_where_the_same_letters_were_a_harmless_text():
    """The word `cHdkPXgx` is none; as bytes it is `pwd=x1`."""
    packed = base64.b64encode(b"pwd=x1").decode()
    line = json.dumps([{"key": "a", "value": {"stringValue": packed}}, {"key": "b", "value": {"bytesValue": packed}}])
    text, data = (each["value"] for each in json.loads(redacted(line)))
    assert text == {"stringValue": packed}
    assert base64.b64decode(data["bytesValue"]) == b"pwd=[redacted:secret]"
