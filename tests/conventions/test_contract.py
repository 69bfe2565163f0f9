"""What the app declares: the schema of its answer, where ids and typology stand, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from datetime import date

import pytest
from pydantic import BaseModel, Field

from otel_aml.conventions import answers
from otel_aml.conventions.answers import NOTHING_SAID
from otel_aml.conventions.contract import UNDECLARED, Contract
from otel_aml.conventions.reading import NOTHING_DECLARED
from otel_aml.errors import ConfigurationError


class Draft(BaseModel):
    """The answer of the copilot."""

    typology: str
    cited_tx_ids: list[str] = Field(min_length=1)


SCHEMA = {
    "type": "object",
    "properties": {"typology": {"type": "string"}, "cited_tx_ids": {"type": "array", "minItems": 1}},
    "required": ["typology", "cited_tx_ids"],
}


def check(answer):
    """Check as a callable does."""
    if not answer["cited_tx_ids"]:
        raise ValueError("no citation")
    return isinstance(answer["typology"], str)


SCHEMAS = [
    pytest.param(Draft, id="a pydantic model"),
    pytest.param(SCHEMA, id="a JSON Schema"),
    pytest.param(
        lambda answer: isinstance(answer, dict) and {*answer} >= {*Draft.model_fields} and check(answer),
        id="a callable",
    ),
]
GOOD = '{"typology": "structuring", "cited_tx_ids": ["TX-1"]}'
ANSWERS = [
    pytest.param(GOOD, True, id="as agreed"),
    pytest.param(f"```json\n{GOOD}\n```", True, id="in a fence"),
    pytest.param({"typology": "structuring", "cited_tx_ids": ["TX-1"]}, True, id="an object"),
    pytest.param(Draft(typology="structuring", cited_tx_ids=["TX-1"]), True, id="a model"),
    pytest.param('{"typology": "structuring"}', False, id="a field is missing"),
    pytest.param('{"typology": "structuring", "cited_tx_ids": []}', False, id="nothing cited, though demanded"),
    pytest.param('{"typology": 7, "cited_tx_ids": ["TX-1"]}', False, id="a number for a name"),
    pytest.param(GOOD[:-2], False, id="cut off"),
    pytest.param(f"Here it is: {GOOD}", False, id="prose around"),
    pytest.param("I cannot say.", False, id="prose"),
    pytest.param("", False, id="nothing"),
    pytest.param('["TX-1"]', False, id="a list"),
    pytest.param('{"typology": "a", "typology": "b", "cited_tx_ids": ["TX-1"]}', False, id="the same key twice"),
]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(("answer", "is_valid"), ANSWERS)
def test_an_answer_fits_or_does_not(schema, answer, is_valid):
    """Whichever way the schema was given."""
    assert answers.read(answer, Contract(answer=schema)).valid is is_valid


@pytest.mark.parametrize(("answer", "is_valid"), ANSWERS)
def test_without_a_schema_nothing_is_checked(answer, is_valid):
    """An answer that is not JSON is then unchecked, not broken."""
    assert answers.read(answer, UNDECLARED).valid is None
    assert not UNDECLARED.has_schema


def test_a_fence_is_not_forgiven_strictly():
    """Where the next program takes the text as it is."""
    assert answers.read(f"```json\n{GOOD}\n```", Contract(answer=Draft, strict=True)).valid is False
    assert answers.read(GOOD, Contract(answer=Draft, strict=True)).valid is True


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        pytest.param({"type": "string"}, "It is structuring.", id="a text by JSON Schema"),
        pytest.param(str, "It is structuring.", id="a text by type"),
        pytest.param({"type": "array"}, '["TX-1"]', id="a list by JSON Schema"),
        pytest.param(list[str], '["TX-1"]', id="a list by type"),
    ],
)
def test_an_answer_need_not_be_an_object(schema, answer):
    """What the schema asks for is what fits."""
    said = answers.read(answer, Contract(answer=schema))
    assert said.valid is not False


def test_an_answer_that_is_too_long_is_not_read():
    """Unchecked, never guessed."""
    assert answers.read("x" * 300_000, Contract(answer=Draft)) is NOTHING_SAID


def test_a_pydantic_model_is_checked_as_json():
    """A date is a text in JSON: what validates from the wire must validate here."""

    class Dated(BaseModel, strict=True):
        on: date

    assert answers.read('{"on": "2024-02-01"}', Contract(answer=Dated)).valid is True
    assert answers.read({"on": date(2024, 2, 1)}, Contract(answer=Dated)).valid is True


def test_a_callable_that_breaks_is_heard():
    """A fault of the app's own check is no verdict about the answer; the caller counts it."""

    def broken(answer):
        raise KeyError("typology")

    with pytest.raises(KeyError):
        answers.read(GOOD, Contract(answer=broken))


@pytest.mark.parametrize("error", [ValueError, AssertionError])
def test_a_callable_may_say_no_by_raising(error):
    """As validators do."""

    def refuse(answer):
        raise error

    assert answers.read(GOOD, Contract(answer=refuse)).valid is False


READ = [
    pytest.param({}, GOOD, {"tx-1"}, "structuring", id="the fields of the draft"),
    pytest.param({}, '{"topTypology": "Lay-ering", "citedTxIds": ["[TX-1]"]}', {"tx-1"}, "lay_ering", id="as camels"),
    pytest.param({}, '{"cited_evidence": []}', set(), None, id="nothing cited"),
    pytest.param({}, '{"cited_tx_ids": "TX-1"}', None, None, id="a text is no list"),
    pytest.param({}, "prose", None, None, id="prose"),
    pytest.param(
        {"cited_ids": "a.0.ids", "typology": "b.c"}, '{"a": [{"ids": ["x"]}], "b": {"c": "y"}}', {"x"}, "y", id="paths"
    ),
    pytest.param({"cited_ids": "a.5.ids", "typology": "a.b"}, '{"a": [1]}', None, None, id="paths that lead nowhere"),
    pytest.param({"typology": "typology"}, '{"typology": 7}', None, None, id="a number is no typology"),
    pytest.param(
        {"cited_ids": lambda a: [a["x"]], "typology": lambda a: a["y"]},
        '{"x": "P", "y": "Q"}',
        {"p"},
        "q",
        id="callables",
    ),
]


@pytest.mark.parametrize(("declared", "answer", "cited_ids", "typology"), READ)
def test_ids_and_typology_are_found_where_declared(declared, answer, cited_ids, typology):
    """Folded; without a contract where the draft has them."""
    said = answers.read(answer, Contract(**declared))
    assert (said.cited_ids, said.typology) == (cited_ids, typology)


def test_attributes_of_an_object_are_followed_too():
    """Answers handed over by the app may be any object."""

    class Plain:
        typology = "structuring"
        cited_tx_ids = ("TX-1",)

    said = answers.read(Plain(), UNDECLARED)
    assert (said.cited_ids, said.typology, said.is_object) == ({"tx-1"}, "structuring", False)


REFUSED = [
    pytest.param({"recovered": "maybe"}, r"recovered='maybe'.*'recovered' or 'failure'", id="an unknown way"),
    pytest.param({"agents": "copilot"}, "lists of names; one text was given", id="one name"),
    pytest.param({"frameworks": "mine"}, "lists of names; one text was given", id="one scope"),
    pytest.param({"answer": {"type": "nonsense"}}, "JSON Schema is not valid", id="no JSON Schema"),
    pytest.param({"answer": 7}, "is no schema; give a pydantic model", id="a number"),
]


@pytest.mark.parametrize(("declared", "says"), REFUSED)
def test_what_cannot_be_used_is_refused_at_once(declared, says):
    """At start, not in the middle of a run."""
    with pytest.raises(ConfigurationError, match=says):
        Contract(**declared)


def test_a_missing_extra_is_named(monkeypatch):
    """With what to install."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ConfigurationError, match=r"needs the extra `schema`: pip install 'otel-aml\[schema\]'"):
        Contract(answer=SCHEMA)


def test_what_a_contract_declares_for_all_runs():
    """Notes one by one, alternatives as sets."""
    assert UNDECLARED.declared() is NOTHING_DECLARED
    declared = Contract(evidence_ids=["a"], relevant_doc_ids=["n2", "n1"], relevant_any_of=[["m1", "m2"]]).declared()
    assert declared.evidence_ids == {"a"}
    assert declared.needed_notes == (frozenset({"n1"}), frozenset({"n2"}), frozenset({"m1", "m2"}))
    assert Contract(relevant_any_of=[["m"]]).declared().needed_notes == (frozenset({"m"}),)
    assert Contract(evidence_ids=[]).declared().evidence_ids == frozenset()


@pytest.mark.parametrize(
    ("agents", "running", "applies"),
    [
        pytest.param(None, ["copilot"], False, id="none named"),
        pytest.param(["copilot"], ["helper", "copilot"], True, id="one of them"),
        pytest.param(["copilot"], ["helper"], False, id="another"),
    ],
)
def test_a_contract_may_name_agents(agents, running, applies):
    """A helper in the same process gives other answers."""
    assert Contract(agents=agents).names(running) is applies


def test_an_agent_loads_no_library_that_its_contract_does_not_need():
    """Import cost counts in an agent."""
    code = (
        "import sys; from otel_aml.conventions.contract import Contract; Contract(); print('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("where", ["http://127.0.0.1:9/x", "file:///etc/passwd", "other.json"])
def test_a_schema_fetches_nothing(where):
    """What it refers to must be in it: nothing is loaded, neither at install nor as a run ends."""
    with pytest.raises(ConfigurationError, match="nothing is fetched"):
        Contract(answer={"properties": {"a": {"anyOf": [{"$ref": where}]}}})
    assert Contract(answer={"$defs": {"a": {"type": "object"}}, "$ref": "#/$defs/a"}).accepts({}) is True
