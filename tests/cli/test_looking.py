"""The commands that look at what is there: explain, query, inspect, show, doctor."""

import json

import pytest
from exports import case, good, line, span, trace_id, write

from otel_aml.core.taxonomy import FAILURES, TAXONOMY


class TestExplain:
    @pytest.mark.parametrize("name", list(map(str, FAILURES)))
    def test_a_class_is_explained_from_the_one_source(self, run, name):
        """Definition, question, path and severity."""
        answer = json.loads(run("explain", name, "--json").out)
        spec = TAXONOMY[next(each for each in FAILURES if each == name)]
        assert (answer["definition"], answer["severity"], answer["path"]) == (spec.definition, spec.severity, spec.path)
        assert len(answer["boundaries"]) == 5
        assert answer["check"].endswith("?")

    def test_two_classes_are_parted_by_a_rule_and_two_precedents(self, run):
        """In either order; most disputes are at the edges."""
        answer = run("explain", "context_pollution", "retrieval_miss", "--json").out
        assert answer == run("explain", "retrieval_miss", "context_pollution", "--json").out
        assert [each["class"] for each in json.loads(answer)["precedents"]] == ["retrieval_miss", "context_pollution"]
        assert json.loads(answer)["rule"] in " ".join(run("explain", "retrieval_miss", "context_pollution").out.split())

    def test_what_is_no_failure_is_explained_too(self, run):
        """A pass says what it does not say."""
        assert "coverage" in run("explain", "pass").out

    @pytest.mark.parametrize("words", [["nonsense"], ["pass", "hallucination"], ["hallucination", "hallucination"]])
    def test_what_cannot_be_explained_is_2(self, run, words):
        """With the words that can be."""
        done = run("explain", *words)
        assert (done.code, done.out) == (2, "")
        assert "tool_failure, format_violation" in done.err


STORES = ["traces.jsonl", "store.duckdb", "parquet"]


@pytest.fixture
def stores(run, traces):
    for into in STORES[1:]:
        assert run("ingest", "traces.jsonl", "--into", into).code == 0


REFUSED = [
    "delete from runs",
    "select 1; select 2",
    "copy runs to 'out.csv'",
    "set memory_limit = '1TB'",
    "attach 'other.duckdb'",
    "select * from read_text('secret.txt')",
    "select * from 'secret.txt'",
    "select * from glob('*')",
    "install httpfs",
    "nonsense with words",
    "",
]


class TestQuery:
    @pytest.mark.parametrize("source", STORES)
    def test_the_tables_can_be_asked(self, run, stores, source):
        """Files and stores alike; the spans, too."""
        asked = (
            "select r.class, count(*) as n from runs as r join spans as s using (trace_id) group by all order by all"
        )
        answer = json.loads(run("query", asked, source, "--json").out)
        assert answer == {"columns": ["class", "n"], "rows": [["pass", 2], ["tool_failure", 2]], "is_cut": False}

    @pytest.mark.slow
    @pytest.mark.parametrize("source", STORES)
    @pytest.mark.parametrize("question", REFUSED)
    def test_nothing_is_changed_and_no_other_file_is_read(self, run, stores, tmp_path, source, question):
        """A question may come from anyone."""
        (tmp_path / "secret.txt").write_text("a secret", encoding="utf-8")
        before = sorted(tmp_path.rglob("*"))
        done = run("query", question, source)
        assert (done.code, done.out) == (2, "")
        assert "secret" not in done.err.replace("secret.txt", "")
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_report_can_be_asked_by_its_name(self, run, traces):
        """With all its columns."""
        answer = json.loads(run("query", "inflation", "traces.jsonl", "--json").out)
        assert answer["rows"] == [[1, 1]]
        assert json.loads(run("query", "cascades", "traces.jsonl", "--json").out)["rows"] == []
        assert "taxonomy_frequency" in run("query", "nonsense", "traces.jsonl").err

    def test_an_answer_has_limits(self, run, traces):
        """In rows and in time."""
        done = run("query", "select range as n from range(5)", "traces.jsonl", "--rows", "2", "--csv")
        assert (done.code, done.out) == (0, "n\n0\n1\n")
        assert "more than 2 rows" in done.err
        done = run("query", "select count(*) from range(1000000000000)", "traces.jsonl", "--seconds", "0.2")
        assert (done.code, "no answer within 0.2 s" in done.err) == (2, True)

    def test_values_of_any_type_are_printed(self, run, traces):
        """JSON knows no infinity, and a spreadsheet must not run a text."""
        asked = "select '=1' as a, 'inf'::double as b, {'k': [1]} as c, date '2026-01-02' as d, 1.5::decimal(3, 1) as e"
        assert json.loads(run("query", asked, "traces.jsonl", "--json").out)["rows"] == [
            ["=1", None, {"k": [1]}, "2026-01-02", "1.5"]
        ]
        assert run("query", asked, "traces.jsonl", "--csv").out.splitlines()[1].startswith("'=1,")
        assert "=1" in run("query", asked, "traces.jsonl").out


class TestInspect:
    def test_says_what_is_there_before_anything_is_concluded(self, run, tmp_path):
        """Odd spans are counted, not hidden."""
        odd = [
            span(7, 5, 4, "get_transactions", "TOOL", (1, 2)),
            span(7, 6, 5, "late", at=(9, 3)),
            span(7, 7, 5, "open", endTimeUnixNano="0"),
            span(7, 8, 5, "full", droppedAttributesCount=3),
        ]
        write(tmp_path / "a.jsonl", line(*good(1)), line(*good(1)), line(*odd), "nonsense")
        answer = json.loads(run("inspect", "a.jsonl", "--json").out)
        assert answer["read"]["duplicate_spans"] == 2
        assert answer["formats"] == {"plain": 1}
        assert answer["kinds"] == {"step": 3, "tool": 2, "agent": 1}
        assert answer["vocabularies"] == {"OpenInference": 3, "OpenTelemetry GenAI": 3, "otel_aml": 1}
        assert answer["found"] == {
            "orphan": 1,
            "remote_parent": 0,
            "open": 1,
            "backwards": 1,
            "content": 1,
            "dropped": 1,
            "verdict": 0,
            "missing_root": 1,
            "cut_length": None,
        }
        shown = run("inspect", "a.jsonl")
        assert "1 spans that end before they start" in shown.out
        assert "a.jsonl:4" in shown.err

    def test_texts_that_were_cut_betray_themselves(self, run, tmp_path):
        """Three of the same length, and none longer."""
        runs = [good(trace, **{"input.value": f"{trace}" * 300}) for trace in (1, 2, 3)]
        write(tmp_path / "a.jsonl", *(line(*spans) for spans in runs))
        assert json.loads(run("inspect", "a.jsonl", "--json").out)["found"]["cut_length"] == 300

    def test_what_is_not_understood_is_2(self, run, tmp_path):
        """As everywhere."""
        write(tmp_path / "a.jsonl", "nonsense")
        assert run("inspect", "a.jsonl").code == 2


def retried(trace):
    """A run whose tool fails once and then works."""
    failing = {"error.type": "TimeoutError"}
    said = [{"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "a secret"}}]}]
    return [
        span(trace, 2, 1, "rules", "TOOL", (1, 2), failing, status={"code": 2, "message": "a secret"}, events=said),
        span(trace, 3, 1, "rules", "TOOL", (3, 5)),
        span(trace, 1, role="AGENT", attributes=case(trace)),
    ]


class TestShow:
    @pytest.mark.parametrize("source", STORES)
    def test_a_run_is_a_timeline(self, run, tmp_path, source):
        """Steps, what failed where, what became of it, and tries."""
        write(tmp_path / "traces.jsonl", line(*retried(0xAB << 120)), line(*good(2)))
        for into in STORES[1:]:
            run("ingest", "traces.jsonl", "--into", into)
        found = json.loads(run("show", "AB", source, "--json").out)
        assert found["run"]["class"] == "pass"
        assert found["checks"]["tool_failure"] == "clear"
        assert [(step["kind"], step["depth"], step["retry"]) for step in found["steps"]] == [
            ("agent", 0, 0),
            ("tool", 1, 0),
            ("tool", 1, 1),
        ]
        assert found["steps"][1]["symptoms"][0]["error_type"] == "timeout"
        shown = run("show", "ab", source).out
        assert "tool rules (retry 1)" in shown
        assert "! tool_failure (timeout rules): recovered" in shown

    @pytest.mark.parametrize("words", [[], ["--json"]])
    def test_what_exceptions_say_is_for_operators(self, run, tmp_path, words):
        """It may hold anything."""
        write(tmp_path / "traces.jsonl", line(*retried(1)))
        assert "secret" not in run("show", trace_id(1), "traces.jsonl", *words).out
        assert "a secret" in run("show", trace_id(1), "traces.jsonl", *words, "--internal").out

    def test_a_reference_that_is_not_unique_lists_all(self, run, traces):
        """A user's notice shows eight digits only."""
        done = run("show", "0" * 8, "traces.jsonl")
        assert (done.code, done.out.count("\n")) == (0, 3)
        assert "2 runs" in done.err
        assert len(json.loads(run("show", "00", "traces.jsonl", "--json").out)["runs"]) == 2

    @pytest.mark.parametrize("reference", ["ffff", "xyz", "", "%"])
    def test_a_reference_to_nothing_is_2(self, run, traces, reference):
        """With what to do."""
        done = run("show", reference, "traces.jsonl")
        assert (done.code, done.out) == (2, "")
        assert "classify" in done.err


class TestDoctor:
    def test_looks_at_what_is_installed(self, run):
        """Without files, the environment alone."""
        answer = json.loads(run("doctor", "--json").out)
        assert {each["name"]: each["is_fine"] for each in answer["environment"]}["duckdb"] is True
        assert answer["files"] == []
        assert "OTEL_AML_ENABLED" in run("doctor").out

    def test_names_the_one_thing_to_do_next(self, run, traces, tmp_path):
        """First the processor, then what is cut, then labels."""
        assert "otel_aml.install()" in json.loads(run("doctor", "traces.jsonl", "--json").out)["next"]
        live = {"failure.verdict": True, "failure.class": "pass", "failure.unchecked": ["format_violation"]}
        write(tmp_path / "a.jsonl", line(*good(1, **live)))
        assert "format_violation" in run("doctor", "a.jsonl").out.splitlines()[-1]
        lossy = span(2, 1, role="AGENT", attributes=live, droppedAttributesCount=2)
        write(tmp_path / "b.jsonl", line(lossy))
        assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in run("doctor", "b.jsonl").out.splitlines()[-1]

    def test_says_which_checks_can_run(self, run, traces):
        """And which could, with what."""
        rows = {each["name"]: each for each in json.loads(run("doctor", "traces.jsonl", "--json").out)["files"]}
        assert rows["tool_failure"]["found"] == "decided in 2 of 2 runs"
        assert "--gold" in rows["typology_misjudge"]["todo"]


@pytest.mark.parametrize("command", [["inspect"], ["show", "0"], ["query", "from spans"], ["doctor"]])
def test_nothing_in_a_span_moves_the_cursor(run, tmp_path, command):
    """One record is one line, whatever it is called."""
    odd = "\x1b[2Jclear\r\n2026-11-30 INFO forged\u202e"
    call = span(1, 2, 1, odd, "TOOL", (1, 2), {"error.type": odd, "gen_ai.tool.name": odd}, status={"code": 2})
    write(tmp_path / "a.jsonl", line(call, span(1, 1, name=odd, role="AGENT", attributes=case())), f"x{odd}")
    shown = "".join((done := run(*command, "a.jsonl")).out + done.err)
    assert not [letter for letter in shown if (letter < " " and letter != "\n") or letter in "\x7f\u202e"]
    assert not any(each.startswith("2026-11-30") for each in shown.splitlines())
