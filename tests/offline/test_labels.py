import json

import pytest
from exports import trace_id

from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline.labels import Label, read_contract, read_labels
from otel_aml.offline.problems import Problems


def read(tmp_path, *lines, judged=()):
    gold, words, problems = tmp_path / "gold.jsonl", tmp_path / "judged.jsonl", Problems()
    gold.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    words.write_text("\n".join(map(json.dumps, judged)), encoding="utf-8")
    return read_labels(gold, words, problems), [(each.line, each.reason) for each in problems.ordered()]


def test_a_label_of_a_trace_wins_over_that_of_its_case(tmp_path):
    """A case may have many runs."""
    labels, _ = read(
        tmp_path,
        {"case_id": "C-1", "typology": "layering", "doc_ids": ["n1"]},
        {"trace_id": trace_id(1).upper(), "typology": "structuring"},
        judged=[{"case_id": "C-1", "context_used": False, "judge": "j", "rubric": "r"}],
    )
    notes = frozenset({"n1"})
    assert labels.of(trace_id(1), "C-1") == Label(typology="structuring", doc_ids=notes, context_used=False)
    assert labels.of(trace_id(2), "C-1") == Label(typology="layering", doc_ids=notes, context_used=False)
    assert labels.of(trace_id(3), None) == Label()


def test_of_two_lines_that_disagree_the_last_counts_and_it_is_said(tmp_path):
    """Nobody should find out later that a label was ignored."""
    labels, problems = read(
        tmp_path,
        {"case_id": "C-1", "typology": "layering"},
        {"case_id": "C-1", "evidence_ids": []},
        {"case_id": "C-1", "typology": "structuring"},
    )
    assert labels.of("", "C-1") == Label(typology="structuring", evidence_ids=frozenset())
    assert [number for number, _ in problems] == [3]


def test_a_label_without_a_run_is_counted(tmp_path):
    """A misspelt id would pass for a check that could not run."""
    labels, _ = read(tmp_path, {"case_id": "C-1", "typology": "a"}, {"case_id": "C-2", "typology": "a"})
    labels.of("", "C-1")
    assert labels.unused() == 1


WRONG = [
    pytest.param("{}", "neither trace_id nor case_id", id="no run"),
    pytest.param('{"trace_id": "abc", "typology": "a"}', "trace_id", id="no trace id"),
    pytest.param('{"case_id": "C", "typology": 5}', "typology", id="another type"),
    pytest.param('{"case_id": "C", "doc_ids": "n1"}', "doc_ids", id="no list"),
    pytest.param('{"case_id": "C"', "JSON", id="cut off"),
    pytest.param("[]", "object", id="a list"),
    pytest.param(
        '{"case_id": "C", "typologi": "x"}',
        "unknown field 'typologi', the fields are trace_id, case_id, typology, doc_ids, evidence_ids",
        id="a misspelt field",
    ),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_wrong_line_is_one_sentence(tmp_path, text, said):
    """It names the line, and not the value."""
    path = tmp_path / "gold.jsonl"
    path.write_text('\n{"case_id": "C", "typology": "a"}\n' + text, encoding="utf-8")
    with pytest.raises(InputError, match=said) as raised:
        read_labels(path, None, Problems())
    assert "line 3" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_misspelt_word_of_a_judge_is_refused(tmp_path):
    """It would pass for a judge who is not sure."""
    with pytest.raises(InputError, match=r"unknown field 'note', the fields are .*context_used, judge, rubric"):
        read(tmp_path, judged=[{"case_id": "C", "context_used": None, "note": "x"}])


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x1c", "\x0b", "\x0c"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_line_feed_ends_a_line(tmp_path, inside, end):
    """Unicode's further line ends may stand inside of a text, as JSON has it."""
    words = [json.dumps({"case_id": f"C{inside}", "typology": "a"}, ensure_ascii=inside < " "), '{"case_id": "D"}']
    path = tmp_path / "gold.jsonl"
    path.write_bytes(end.join(words).encode())
    assert set(read_labels(path, None, Problems()).by_case) == {f"C{inside}", "D"}


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"{", b"[]", b'{"answer_shcema": {}}', b'{"strict": "no"}'])
def test_a_wrong_contract_is_one_sentence(tmp_path, content):
    """A misspelt key would switch a check off in silence."""
    path = tmp_path / "contract.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        read_contract(path)
    assert "\n" not in str(raised.value)


def test_a_contract_declares_what_spans_cannot_tell(tmp_path):
    """Every key of the file reaches the contract."""
    pytest.importorskip("jsonschema")
    path = tmp_path / "contract.json"
    declared = {
        "answer_schema": {"type": "object", "required": ["kind"]},
        "cited_ids": "ids",
        "typology": "kind",
        "evidence_ids": ["a"],
        "relevant_doc_ids": ["n"],
        "relevant_any_of": [["x", "y"]],
        "agents": ["copilot"],
        "strict": True,
        "recovered": "failure",
    }
    path.write_text(json.dumps(declared), encoding="utf-8")
    contract = read_contract(path)
    assert contract.accepts({"kind": "a"})
    assert not contract.accepts({})
    assert contract.cited({"ids": ["a"]}) == {"a"}
    assert contract.names(["copilot"])
    assert contract.declared().needed_notes == (frozenset({"n"}), frozenset({"x", "y"}))
    assert (contract.strict, contract.recovered) == (True, "failure")


USELESS = [
    pytest.param({"$ref": "https://example.com/answer.json"}, "'https://example.com/answer.json'", id="remote"),
    pytest.param({"properties": {"a": {"$ref": "answer.json"}}}, "'answer.json'", id="another file"),
    pytest.param({"items": {"$ref": "#/$defs/absent"}}, "'#/\\$defs/absent'", id="nowhere"),
    pytest.param({"$ref": "#/x", "x": {"allOf": [{"$ref": "http://[::1"}]}}, "refers to", id="behind another"),
    pytest.param({"$ref": "#"}, "without end", id="itself"),
]


@pytest.mark.parametrize(("schema", "said"), USELESS)
def test_a_schema_that_cannot_be_used_is_one_sentence(tmp_path, monkeypatch, schema, said):
    """It is said at the door, and nothing is fetched."""
    pytest.importorskip("jsonschema")
    monkeypatch.setattr("socket.socket.connect", None)
    path = tmp_path / "contract.json"
    path.write_text(json.dumps({"answer_schema": schema}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=said) as raised:
        read_contract(path)
    assert "\n" not in str(raised.value)


USEFUL = [
    {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}},
    {"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}},
    {"$ref": "#/$defs/a~1b%20c/allOf/0", "$defs": {"a/b c": {"allOf": [{"type": "object"}]}}},
]


@pytest.mark.parametrize("schema", USEFUL, ids=str)
def test_a_schema_that_refers_to_itself_is_used(tmp_path, schema):
    """Only what is missing is refused."""
    pytest.importorskip("jsonschema")
    path = tmp_path / "contract.json"
    path.write_text(json.dumps({"answer_schema": schema}), encoding="utf-8")
    assert read_contract(path).has_schema


def test_a_schema_that_is_none_is_said(tmp_path):
    """The fault lies in what was declared."""
    path = tmp_path / "contract.json"
    path.write_text('{"answer_schema": {"type": "nonsense"}}', encoding="utf-8")
    with pytest.raises(ConfigurationError):
        read_contract(path)
