import json
import random
import re

import pytest
from exports import T0, case, failed, good, line, pairs, request, span, span_id, trace_id, write, write_zst
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_aml.errors import NothingUnderstood
from otel_aml.offline import store
from otel_aml.offline.loading import load
from otel_aml.offline.store import Store


@pytest.fixture(autouse=True, scope="module")
def _all_names():
    """Look at every attribute, not only at those that a vocabulary reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_NAMES", "")
        yield


def loaded(*paths):
    """Load files: the counts, the problems as (line, reason), and the spans by trace and id."""
    with Store() as opened:
        found = load(opened, [str(path) for path in paths])
        spans = {(trace.trace_id, each.span.span_id): each.span for trace in opened.traces() for each in trace.spans}
    return found.read, [(each.line, each.reason) for each in found.problems.ordered()], spans


def one(tmp_path, **fields):
    """Load one span, with these fields."""
    path = write(tmp_path / "a.jsonl", line(span(1, 1, **fields)))
    (found,) = loaded(path)[2].values()
    return found


class TestTimes:
    @pytest.mark.parametrize("value", ["1790000000123456789", 1790000000123456789], ids=["text", "number"])
    def test_are_exact_to_the_nanosecond(self, tmp_path, value):
        """A reader that goes through doubles loses the last digits, and with them the order."""
        found = one(tmp_path, startTimeUnixNano=value, endTimeUnixNano=value)
        assert (found.started_at, found.ended_at) == (1790000000123456789,) * 2

    @pytest.mark.parametrize("value", ["0", "-5", "soon", None, "99999999999999999999", {}])
    def test_that_are_none_leave_the_span_open(self, tmp_path, value):
        """Garbage is no time, and costs nothing else."""
        found = one(tmp_path, endTimeUnixNano=value)
        assert (found.started_at, found.ended_at) == (T0, None)


class TestIds:
    def test_hex_and_base64_are_one_id(self, tmp_path):
        """Exporters differ; one trace must not become three."""
        path = write(
            tmp_path / "a.jsonl",
            line(span(1, 1) | {"traceId": "00160000000000000000000000ABCDEF", "spanId": "00000000000000A1"}),
            line(
                span(1, 2)
                | {"traceId": "ABYAAAAAAAAAAAAAAKvN7w==", "spanId": "AAAAAAAAAAM=", "parentSpanId": "AAAAAAAAAKE="}
            ),
        )
        found = loaded(path)[2]
        trace = "00160000000000000000000000abcdef"
        assert set(found) == {(trace, "00000000000000a1"), (trace, "0000000000000003")}
        assert found[trace, "0000000000000003"].parent_id == "00000000000000a1"

    @pytest.mark.parametrize("bad", ["", "0" * 32, "abc", None, "x" * 32, 5, "AAAAAAAAAAAAAAAAAAAAAA=="])
    def test_that_are_none_leave_the_span_out(self, tmp_path, bad):
        """They would all fall into one false trace."""
        path = write(tmp_path / "a.jsonl", line(span(1, 1), span(1, 2) | {"traceId": bad}))
        read, problems, found = loaded(path)
        assert (read.spans, read.invalid_spans, len(found)) == (1, 1, 1)
        assert problems == [(1, "no valid trace id")]


STATUSES = [
    (2, "error"),
    ("2", "error"),
    ("STATUS_CODE_ERROR", "error"),
    (1, "ok"),
    ("STATUS_CODE_OK", "ok"),
    (0, "unset"),
    ("STATUS_CODE_UNSET", "unset"),
    (None, "unset"),
    ("?", "unset"),
]


@pytest.mark.parametrize(("code", "status"), STATUSES)
def test_status_is_read_in_each_spelling(tmp_path, code, status):
    """Compared with 2 alone, a named error is a pass."""
    assert one(tmp_path, status={"code": code, "message": "m"}).status == status


@pytest.mark.parametrize(
    ("kind", "client", "server"), [(3, True, False), ("SPAN_KIND_SERVER", False, True), (0, False, False)]
)
def test_kind_is_read_in_each_spelling(tmp_path, kind, client, server):
    """Numbers and names occur in files."""
    found = one(tmp_path, kind=kind)
    assert (found.client, found.server) == (client, server)


def test_a_remote_parent_is_known_by_the_flags(tmp_path):
    """Its absence from the file is then no loss."""
    assert one(tmp_path, flags=768).remote_parent
    assert not one(tmp_path, flags=256).remote_parent


VALUES = [
    pytest.param({"stringValue": "a"}, "a", id="text"),
    pytest.param({"intValue": "42"}, "42", id="integer as text"),
    pytest.param({"intValue": 42}, "42", id="integer as number"),
    pytest.param({"intValue": "1180591620717411303424"}, "1180591620717411303424", id="integer beyond 64 bits"),
    pytest.param({"boolValue": True}, "true", id="yes"),
    pytest.param({"doubleValue": 0.5}, "0.5", id="double"),
    pytest.param({"doubleValue": "NaN"}, "NaN", id="not a number, as text"),
    pytest.param({"doubleValue": None}, None, id="a null double"),
    pytest.param({"bytesValue": "AAE="}, "AAE=", id="bytes"),
    pytest.param({}, None, id="empty"),
    pytest.param(None, None, id="missing"),
    pytest.param({"arrayValue": {}}, "[]", id="empty array"),
    pytest.param(
        {"arrayValue": {"values": [{"stringValue": 'a]}}"{}'}, {"intValue": "5"}]}}, '["a]}}\\"{}",5]', id="array"
    ),
    pytest.param({"arrayValue": {"values": [{}, {"doubleValue": "NaN"}]}}, '[null,"NaN"]', id="array of odd values"),
    pytest.param({"kvlistValue": {"values": [{"key": "k"}]}}, '{"k":null}', id="a key without a value"),
    pytest.param({"futureValue": 1}, None, id="unknown"),
]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_values_become_texts(tmp_path, value, text):
    """Compound values are plain JSON, without OTLP's wrapping."""
    found = one(tmp_path, attributes=[{"key": "a", "value": value}, {"key": "b", "value": {"stringValue": "x"}}])
    assert found.attributes == {"a": text, "b": "x"}


def test_a_bare_nan_costs_nothing(tmp_path):
    """Some encoders write the token, which is no JSON."""
    text = line(span(1, 1, attributes={"a": 1.25, "b": [1.25]})).replace("1.25", "NaN")
    assert loaded(write(tmp_path / "a.jsonl", text))[2][trace_id(1), span_id(1)].attributes == {
        "a": "NaN",
        "b": '["NaN"]',
    }


TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['{"key":"', "]}}", "}]}}", '{"stringValue":"x"}', "\\", '"', "e\u0301", "\U0001f468\u200d\U0001f469", "{}"]
)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
NESTED = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=12
)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.lists(NESTED, max_size=3) | st.dictionaries(TEXTS, NESTED, max_size=3), min_size=1, max_size=20))
def test_compound_values_come_back_whole(tmp_path_factory, values):
    """Whatever stands in them, to any depth."""
    path = tmp_path_factory.mktemp("values") / "a.jsonl"
    attributes = {f"k{place}": value for place, value in enumerate(values)}
    ((found,),) = (loaded(write(path, line(span(1, 1, attributes=attributes))))[2].values(),)
    assert {key: json.loads(text) for key, text in found.attributes.items()} == attributes


def test_of_equal_keys_the_first_wins(tmp_path):
    """A map that refuses them would lose the span; a null key is no key."""
    doubled = [*pairs({"a": "1", "b": "2"}), *pairs({"a": "3"}), {"value": {"stringValue": "x"}}]
    events = [{"name": "exception", "timeUnixNano": "5", "attributes": doubled}]
    found = one(tmp_path, attributes=doubled, events=events)
    assert found.attributes == found.events[0].attributes == {"a": "1", "b": "2"}


def reshaped(change, name="scopeSpans"):
    """A request whose scopes are changed, and perhaps called otherwise."""
    found = request(span(9, 9))
    found["resourceSpans"][0][name] = change(found["resourceSpans"][0].pop("scopeSpans"))
    return json.dumps(found)


LINES = [
    pytest.param('{"resourceLogs":[{"resource":{}}]}', "other", id="logs"),
    pytest.param('{"resourceMetrics":[]}', "other", id="metrics"),
    pytest.param('{"resourceSpans":[]}', "fine", id="no resources"),
    pytest.param('{"resourceSpans":null}', "fine", id="null"),
    pytest.param('{"resourceSpans":[{"resource":{}}]}', "fine", id="no scopes"),
    pytest.param('{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}', "fine", id="no spans"),
    pytest.param("", "blank", id="blank"),
    pytest.param('{"hello":"world"}', "bad", id="another object"),
    pytest.param("[]", "bad", id="an array"),
    pytest.param("42", "bad", id="a number"),
    pytest.param("null", "bad", id="null alone"),
    pytest.param('{"resourceSpans":5}', "bad", id="no list"),
    pytest.param(line(span(9, 9))[:-20], "bad", id="cut off"),
    pytest.param(line(span(9, 9))[20:], "bad", id="a torn start"),
    pytest.param("\0\0\0" + line(span(9, 9)), "bad", id="NUL bytes"),
    pytest.param(line(span(9, 9)) + " and more", "bad", id="more on the line"),
    pytest.param('{"resourceSpans":' + "[" * 100_000 + "]" * 100_000 + "}", "bad", id="very deep"),
    pytest.param('{"resource_spans":[]}', "fine", id="snake case"),
    pytest.param('{"resource_logs":[]}', "other", id="logs in snake case"),
    pytest.param(reshaped(lambda scopes: scopes[0]), "bad", id="scopes that are no list"),
    pytest.param(reshaped(lambda scopes: scopes, "scopeSpan"), "bad", id="scopes misspelt"),
    pytest.param(reshaped(lambda _: ["x"]), "bad", id="a scope that is no object"),
    pytest.param(reshaped(lambda _: "x"), "bad", id="scopes that are a text"),
    pytest.param(reshaped(lambda _: None), "fine", id="scopes that are null"),
    pytest.param(reshaped(lambda _: [{"scope": {}, "spans": {"a": []}}]), "bad", id="spans that are no list"),
    pytest.param(reshaped(lambda _: [{"scope": {}, "span": []}]), "bad", id="spans misspelt"),
    pytest.param(reshaped(lambda _: [{"scope": {}, "spans": None}]), "fine", id="spans that are null"),
    pytest.param(reshaped(lambda _: [{"spans": 1}], "instrumentationLibrarySpans"), "bad", id="old spans, no list"),
    pytest.param('{"resourceSpans":[1]}', "bad", id="a number for a resource"),
    pytest.param('{"resourceSpans":["x",{}]}', "bad", id="a text for a resource"),
    pytest.param('{"resourceSpans":[null]}', "bad", id="null for a resource"),
]


@pytest.mark.parametrize("pieces", [1, 3])
def test_what_was_written_behind_a_torn_line_is_read(tmp_path, pieces):
    """A writer without room leaves pieces that have no end, and writes on behind them when there is room again."""
    torn = line(*failed(3))[:-40] * pieces
    path = write(tmp_path / "a.jsonl", line(*good(1)), torn + line(*failed(2)))
    read, problems, found = loaded(path)
    assert {trace for trace, _ in found} == {trace_id(1), trace_id(2)}
    assert (read.lines, read.bad_lines) == (2, 1)
    ((number, reason),) = problems
    assert number == 2
    assert "behind it" in reason


@pytest.mark.slow
@pytest.mark.parametrize(("text", "what"), LINES)
def test_a_line_costs_at_most_itself(tmp_path, text, what):
    """The lines around it count, and it is counted and named."""
    path = write(tmp_path / "a.jsonl", line(*good(1)), text, line(*failed(2)))
    read, problems, found = loaded(path)
    assert {trace for trace, _ in found} == {trace_id(1), trace_id(2)}
    assert read.bad_lines == (what == "bad")
    assert read.other_lines == (what == "other")
    assert read.lines == (2 if what == "blank" else 3)
    assert [number for number, _ in problems] == ([2] if what == "bad" else [])


def test_no_utf_8_is_a_bad_line(tmp_path):
    """It is named, and no span is made of it."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(line(*good(1)).encode() + b"\n" + line(span(2, 1, name="x")).encode().replace(b'"x"', b'"\xff"'))
    assert loaded(path)[1] == [(2, "not UTF-8 text")]


def test_half_an_emoji_costs_only_its_text(tmp_path):
    """JavaScript cuts texts inside a pair of surrogates; the rest of the line is good."""
    text = line(span(1, 1, attributes={"a": "cut \ud83d"}))
    read, _, found = loaded(write(tmp_path / "a.jsonl", text))
    assert (read.bad_lines, read.lines) == (0, 1)
    assert found[trace_id(1), span_id(1)].attributes == {"a": "cut ?"}


def test_an_unknown_field_does_not_matter(tmp_path):
    """Schemas grow."""
    path = write(tmp_path / "a.jsonl", line(span(1, 1, weirdNewField={"x": 1}, attributes={"new": {"a": []}})))
    assert loaded(path)[0].bad_lines == 0


def snake_case(value):
    """The same names, as protobuf spells them."""
    if isinstance(value, dict):
        return {re.sub("([A-Z])", r"_\1", name).lower(): snake_case(each) for name, each in value.items()}
    return [snake_case(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("attributes", [{"a": "x"}, {"trace_id": '{"trace_id": "scope_spans"}', "k": {"int_value": 5}}])
def test_names_in_snake_case_are_read(tmp_path, attributes):
    """As the Collector reads them; what a user named so stays."""
    event = {"name": "exception", "timeUnixNano": "5", "attributes": pairs(attributes)}
    spans = [
        span(1, 1, flags=768, attributes=pairs(attributes), events=[event]),
        span(1, 2, 1, attributes=pairs({"b": [1, {"c": 0.5}], "d": True})),
    ]
    camel = loaded(write(tmp_path / "a.jsonl", line(*spans)))
    snake = loaded(write(tmp_path / "b.jsonl", json.dumps(snake_case(json.loads(line(*spans))))))
    assert snake[2] == camel[2]
    assert (snake[0].bad_lines, snake[1]) == (0, [])
    mixed = json.loads(line(*spans).replace('"scopeSpans"', '"scope_spans"'))
    assert loaded(write(tmp_path / "c.jsonl", json.dumps(mixed)))[2] == camel[2]


def test_what_of_a_line_has_its_shape_is_read_beside_what_has_not(tmp_path):
    """The line counts as bad, once, and its good spans count."""
    found = request(span(1, 1))
    found["resourceSpans"] += [5, {"scopeSpans": {}}, {"scopeSpans": [{"spans": "x"}]}]
    read, problems, spans = loaded(write(tmp_path / "a.jsonl", json.dumps(found)))
    assert (read.bad_lines, read.spans, len(problems), len(spans)) == (1, 1, 1, 1)


SHAPES = [
    pytest.param({"attributes": {"a": "x"}}, "attributes of a span is no list", id="attributes, an object"),
    pytest.param({"attributes": "x"}, "attributes of a span is no list", id="attributes, a text"),
    pytest.param({"attributes": ["x"]}, "attributes of a span holds what is no object", id="an entry, a text"),
    pytest.param({"attributes": [{"key": "a", "value": "x"}]}, "a value that is no object", id="a bare value"),
    pytest.param({"status": "ERROR"}, "status of a span is no object", id="status, a text"),
    pytest.param({"status": [2]}, "status of a span is no object", id="status, a list"),
    pytest.param({"events": {"name": "exception"}}, "events of a span is no list", id="events, an object"),
    pytest.param({"events": ["exception"]}, "events of a span holds what is no object", id="an event, a text"),
    pytest.param({"events": [{"attributes": {"a": 1}}]}, "attributes of an event is no list", id="of an event"),
    pytest.param(
        {"events": [{"attributes": [{"key": "a", "value": 1}]}]}, "a value that is no object", id="in an event"
    ),
    pytest.param({"links": "x"}, "links of a span is no list", id="links, a text"),
    pytest.param({"links": [{"attributes": 5}]}, "attributes of a link is no list", id="of a link"),
]
ABSENT = [
    pytest.param({"attributes": None, "status": None, "events": None, "links": None}, id="null"),
    pytest.param({"attributes": [], "status": {}, "events": [], "links": []}, id="empty"),
    pytest.param({"attributes": [{"key": "a"}, {"key": "b", "value": {}}, {"key": "c", "value": None}]}, id="values"),
    pytest.param({"events": [{}, {"name": "x", "attributes": []}], "links": [{"traceId": trace_id(7)}]}, id="members"),
]


class TestShapesOfParts:
    @pytest.mark.parametrize(("fields", "said"), SHAPES)
    def test_a_part_of_another_shape_is_no_silence(self, tmp_path, fields, said):
        """A failed call whose status is not understood would be a pass. The line counts as bad; its spans count."""
        path = write(tmp_path / "a.jsonl", line(*good(1)), line(span(2, 1), span(2, 2) | fields))
        read, problems, found = loaded(path)
        assert (read.bad_lines, read.spans, len(found)) == (1, 4, 4)
        ((number, reason),) = problems
        assert number == 2
        assert said in reason

    @pytest.mark.parametrize("fields", ABSENT)
    def test_a_part_that_is_not_there_is_none(self, tmp_path, fields):
        """Exporters leave out what is empty, or write it as null."""
        read, problems, found = loaded(write(tmp_path / "a.jsonl", line(span(1, 1) | fields)))
        assert (read.bad_lines, problems, len(found)) == (0, [], 1)

    def test_a_part_that_is_left_out_is_none(self, tmp_path):
        """As the JSON of protobuf does."""
        bare = {"traceId": trace_id(1), "spanId": span_id(1)}
        assert loaded(write(tmp_path / "a.jsonl", line(bare)))[1] == []


@pytest.fixture
def all_odd(monkeypatch):
    """Let every line be one that must be sorted out."""
    insert = store.Loader.load

    def load_oddly(loader, chunk):
        found = insert(loader, chunk)
        is_exported = any(b'"scopeSpans": [{"scope"' in each for each in chunk.lines)
        return store.Loaded(found.chunk, dict.fromkeys(chunk.numbers, store.Fault.LINE) if is_exported else {})

    return lambda: monkeypatch.setattr(store.Loader, "load", load_oddly)


def test_a_line_that_is_sorted_out_gives_the_spans_of_one_that_is_not(tmp_path, all_odd):
    """There are two ways in, and one reading."""
    spans = [
        span(1, number, attributes=pairs(case(number) | {"n": number, "l": [1, {"a": None}]})) for number in (1, 2)
    ]
    spans += [span(3, number, **more) for number, more in enumerate((EQUAL, *DIFFERENT[:12]), start=1)]
    request_of = json.dumps(request(*spans, resource={"a": "x"}))
    path = write(tmp_path / "a.jsonl", request_of, request_of.replace("000000000001", "000000000009"), "nonsense")
    with Store() as opened:
        load(opened, [path])
        straight = opened.cursor().execute("from spans order by all").fetchall()
    all_odd()
    with Store() as opened:
        load(opened, [path])
        assert opened.cursor().execute("from spans order by all").fetchall() == straight
    assert len(straight) > len(spans)


@pytest.mark.slow
def test_what_could_take_all_memory_is_parsed_by_parts(tmp_path, monkeypatch):
    """A bound of what is parsed at once changes nothing."""
    path = write(tmp_path / "a.jsonl", *(line(*good(trace)) for trace in range(1, 5)))
    free = loaded(path)
    for most in (10, 40, 100):
        monkeypatch.setattr(store, "CHUNK_PARTS", most)
        assert loaded(path) == free


def test_the_old_name_of_scopes_is_read(tmp_path):
    """Files are kept longer than names."""
    old = {
        "resourceSpans": [
            {"instrumentationLibrarySpans": [{"instrumentationLibrary": {"name": "old"}, "spans": [span(1, 1)]}]}
        ]
    }
    ((found,),) = (loaded(write(tmp_path / "a.jsonl", json.dumps(old)))[2].values(),)
    assert found.scope == "old"


def test_a_span_with_too_many_attributes_is_left_out(tmp_path, monkeypatch):
    """It would take all memory; its neighbours count."""
    monkeypatch.setattr(store, "SPAN_PARTS", 100)
    crowded = span(1, 1, attributes=[{"key": "k" * 10_000}] * 150)
    path = write(tmp_path / "a.jsonl", line(crowded, span(1, 2)))
    read, problems, found = loaded(path)
    assert (read.invalid_spans, list(found)) == (1, [(trace_id(1), span_id(2))])
    assert "too many attributes" in problems[0][1]


COPIES = [
    pytest.param(
        [{"endTimeUnixNano": "5"}, {"endTimeUnixNano": "9"}, {"endTimeUnixNano": "7"}], 1, id="the latest end"
    ),
    pytest.param([{"status": {}}, {"status": {"code": 2}}, {"status": {"code": 1}}], 1, id="then an error"),
    pytest.param(
        [{"attributes": pairs({"a": "1"})}, {"attributes": pairs({"a": "1", "b": "2"})}],
        1,
        id="then more attributes",
    ),
    pytest.param([{"name": "b"}, {"name": "a"}], 1, id="then byte order"),
]


class TestCopies:
    @pytest.mark.slow
    @pytest.mark.parametrize(("copies", "winner"), COPIES)
    def test_one_of_several_copies_stays(self, tmp_path, copies, winner):
        """Retries and fan-outs deliver twice; a count must not."""
        spans = [span(1, 1) | copy for copy in copies]
        alone = loaded(write(tmp_path / "alone.jsonl", line(spans[winner])))[2]
        for seed in range(4):
            shuffled = random.Random(seed).sample(spans, len(spans))
            read, _, found = loaded(write(tmp_path / f"{seed}.jsonl", *map(line, shuffled)))
            assert found == alone
            assert (read.spans, read.duplicate_spans) == (1, len(copies) - 1)

    def test_the_order_of_lines_and_files_does_not_matter(self, tmp_path):
        """A replay is a function of the spans."""
        spans = [each for trace in range(1, 6) for each in (good, failed)[trace % 2](trace)]
        found = []
        for seed in range(3):
            lines = [line(each) for each in random.Random(seed).sample(spans, len(spans))]
            paths = [write(tmp_path / f"{seed}-{part}.jsonl", *lines[part::2]) for part in (0, 1)]
            found.append(loaded(*paths)[2])
        assert found[0] == found[1] == found[2]


EQUAL = {
    "attributes": pairs({"a": "1"}),
    "events": [{"name": "e", "timeUnixNano": "5", "attributes": pairs({"a": "1"})}],
    "links": [{"traceId": trace_id(7), "spanId": span_id(7), "attributes": []}],
    "parentSpanId": span_id(5),
}
DIFFERENT = [
    {"flags": 768},
    {"droppedAttributesCount": 3},
    {"droppedEventsCount": 3},
    {"kind": 3},
    {"startTimeUnixNano": "7"},
    {"startTimeUnixNano": None},
    {"status": {"message": "m"}},
    {"name": "investigate\0"},
    {"parentSpanId": None},
    {"attributes": pairs({"a": "2"})},
    {"attributes": [{"key": "a"}]},
    {"events": [{"name": "e", "timeUnixNano": "5", "attributes": pairs({"a": "2"})}]},
    {"events": []},
    {"links": []},
    {"resource": {"host": "b"}},
    {"scope": "other"},
]


@pytest.mark.slow
@pytest.mark.parametrize("different", DIFFERENT, ids=str)
def test_of_any_two_copies_the_same_one_stays(tmp_path, different):
    """The choice is an order over all columns: the order of lines decides nothing."""
    more = {name: different[name] for name in ("resource", "scope") if name in different}
    fields = {name: value for name, value in different.items() if name not in more}
    pair = [line(span(1, 1) | EQUAL), line(span(1, 1) | EQUAL | fields, **more)]
    found = []
    for lines in (pair, pair[::-1]):
        with Store() as opened:
            load(opened, [write(tmp_path / "a.jsonl", *lines)])
            cursor = opened.loader()._connection
            found += cursor.execute("select * exclude (file, line) from spans").fetchall()
    assert len(found) == 2
    assert found[0] == found[1]


def test_packed_files_are_read_like_plain_ones(tmp_path):
    """What is in them counts."""
    plain = write(tmp_path / "a.jsonl", line(*good(1)), line(*failed(2)))
    packed = write_zst(tmp_path / "b.jsonl.zst", line(*good(1)), line(*failed(2)))
    assert loaded(plain)[2] == loaded(packed)[2]


def test_a_trace_is_read_only_so_far(tmp_path, monkeypatch):
    """One endless trace must not take all memory."""
    monkeypatch.setattr(store, "TRACE_SPANS", 3)
    path = write(tmp_path / "a.jsonl", line(*(span(1, number) for number in range(1, 8))))
    with Store() as opened:
        load(opened, [path])
        (trace,) = opened.traces()
    assert (len(trace.spans), trace.dropped) == (3, 4)


CONSOLE = '{\n    "name": "a",\n    "context": {\n        "trace_id": "0x01"\n    }\n}'
NOT_SPANS = [
    pytest.param(b"", "empty", id="empty"),
    pytest.param(b"\n\n", "empty", id="blank"),
    pytest.param(CONSOLE.encode(), "ConsoleSpanExporter", id="the console exporter"),
    pytest.param(json.dumps(request(span(1, 1)), indent=1).encode(), "jq -c", id="indented"),
    pytest.param(b"a,b\n1,2\n", "CSV", id="csv"),
    pytest.param(b"hello\n", "not JSON", id="text"),
    pytest.param(b"\n\x0a\x12\x01\x08\x00\x00\x05\x10\x80\x00\x02" * 9, "protobuf", id="protobuf"),
    pytest.param(b"PAR1\x15\x04", "Parquet", id="parquet"),
    pytest.param("{}".encode("utf-16"), "UTF-16", id="utf-16"),
    pytest.param(b'{"data":[{"traceID":"1"}]}', "Jaeger", id="jaeger"),
    pytest.param(b'{"resourceLogs":[]}', "logs or metrics", id="logs"),
    pytest.param(line(span(1, 1) | {"traceId": ""}).encode(), "no valid trace id", id="no ids"),
    pytest.param(b"\x1f\x8b\x08\x00rubbish", "cut off or damaged", id="damaged gz"),
]


@pytest.mark.parametrize(("content", "said"), NOT_SPANS)
def test_what_holds_no_spans_is_named(tmp_path, content, said):
    """Never 'no failures': one sentence says what it is and what to do."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(NothingUnderstood, match=said) as raised:
        loaded(path)
    assert "\n" not in str(raised.value)
    assert "a.jsonl" in str(raised.value)


def test_texts_with_control_characters_are_kept_as_they_are(tmp_path):
    """Reading changes nothing; drawing escapes."""
    odd = "a\0b\x1b[2J\r\n\u202e"
    assert one(tmp_path, attributes=pairs(case() | {"odd": odd})).attributes["odd"] == odd
