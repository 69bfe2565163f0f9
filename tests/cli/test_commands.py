import csv
import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
from exports import case, failed, good, line, span, trace_id, write

from otel_aml import __version__, cli
from otel_aml.offline import analysis

READ = ["files", "lines", "bad_lines", "spans", "invalid_spans", "duplicate_spans", "other_lines", "traces", "runs"]
CASCADE = [
    "grain",
    "cause",
    "effect",
    "runs",
    "n_cause",
    "n_effect",
    "n_both",
    "support",
    "confidence",
    "lift",
    "max_lift",
    "leverage",
    "conviction",
    "p_value",
    "q_value",
    "before",
    "after",
    "ties",
    "p_order",
    "q_order",
    "median_lag_ms",
    "cases",
]
RUN = [
    "trace_id",
    "span_id",
    "class",
    "severity",
    "findings",
    "unchecked",
    "recovered",
    "first_span_id",
    "paused",
    "incomplete",
    "path",
    "outcome",
    "coverage",
    "case_id",
    "online_class",
    "decided_by",
    "dependency",
    "error_type",
]


def strict(text):
    def refuse(token):
        raise AssertionError(token)

    return json.loads(text, parse_constant=refuse)


class TestClassify:
    def test_prints_one_object_for_programs(self, run, traces):
        """The shape is the contract's, the runs are in order."""
        done = run("classify", "--json", "traces.jsonl")
        answer = strict(done.out)
        assert (done.code, done.err) == (0, "")
        assert list(answer) == ["read", "problems", "runs"]
        assert list(answer["read"]) == READ
        assert [list(each) for each in answer["runs"]] == [RUN, RUN]
        assert [(each["trace_id"], each["class"]) for each in answer["runs"]] == [
            (trace_id(1), "tool_failure"),
            (trace_id(2), "pass"),
        ]

    def test_prints_a_run_a_line_for_people(self, run, traces):
        """And says on stderr what was read."""
        done = run("classify", "traces.jsonl")
        head, *lines = done.out.splitlines()
        assert [each.split()[2] for each in lines] == ["tool_failure", "pass"]
        at = [head.index(name) for name in ("verdict", "dependency", "error type", "case")]
        assert [[each[place:].split()[0] for place in at] for each in lines] == [
            ["tool_failure", "get_transactions", "timeout", "C-1"],
            ["pass", "-", "-", "C-2"],
        ]
        assert done.err == "otel-aml: read 1 file, 2 lines, 4 spans, 2 traces, 2 runs; skipped nothing\n"

    def test_a_pass_that_was_made_good_says_so(self, run, tmp_path):
        """A later call of the same tool worked."""
        again = span(2, 3, 1, "get_transactions", "TOOL", (3, 4))
        write(tmp_path / "a.jsonl", line(again, *failed(2)))
        assert "  pass (recovered)  " in run("classify", "a.jsonl").out

    def test_says_what_failed_and_how(self, run, traces):
        """Null where nothing did."""
        found = strict(run("classify", "--json", "traces.jsonl").out)["runs"]
        assert [(each["dependency"], each["error_type"]) for each in found] == [
            ("get_transactions", "timeout"),
            (None, None),
        ]

    @pytest.mark.parametrize(("count", "said"), [(1, "1 label could"), (2, "2 labels could")])
    def test_says_once_that_a_label_could_not_be_compared(self, run, tmp_path, count, said):
        """Where the content of spans is not recorded there is nothing to compare it with."""
        spans = [
            span(trace, 1, role="AGENT", attributes={"aml.case.id": f"C-{trace}"}) for trace in range(1, count + 1)
        ]
        write(tmp_path / "a.jsonl", *(line(*good(8)), *map(line, spans)))
        cases = [f"C-{trace}" for trace in (*range(1, count + 1), 8)]
        write(tmp_path / "g.jsonl", *(json.dumps({"case_id": case, "typology": "structuring"}) for case in cases))
        assert run("classify", "a.jsonl", "--gold", "g.jsonl").err.count(said) == 1

    def test_takes_labels(self, run, traces, tmp_path):
        """What came later counts."""
        write(tmp_path / "gold.jsonl", json.dumps({"case_id": "C-2", "typology": "layering"}))
        answer = strict(run("classify", "--json", "traces.jsonl", "--gold", "gold.jsonl").out)
        assert answer["runs"][1]["class"] == "typology_misjudge"

    def test_reads_standard_input(self, run, monkeypatch):
        """A pipe is a file too."""
        monkeypatch.setattr(
            sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(line(*good(1)).encode())))
        )
        assert strict(run("classify", "--json", "-").out)["read"]["runs"] == 1

    def test_takes_names_that_begin_with_a_hyphen(self, run, traces, tmp_path):
        """After the two hyphens a name is a name."""
        (tmp_path / "traces.jsonl").rename(tmp_path / "-x.jsonl")
        assert run("classify", "--json", "--", "-x.jsonl").code == 0


class TestReport:
    def test_prints_one_object_for_programs(self, run, traces):
        """The shape is the contract's; what does not exist is null."""
        answer = strict(run("report", "--json", "traces.jsonl").out)
        assert list(answer) == [
            "read",
            "problems",
            "taxonomy",
            "cascades",
            "recovery",
            "repair_order",
            "tool_failures",
            "trend",
            "recovery_flow",
            "coverage",
            "inflation",
            "pass_rate",
        ]
        assert answer["trend"][0] == {
            "started_at": "2026-09-21T14:13:20",
            "seconds": 1,
            "class": "tool_failure",
            "runs": 1,
        }
        assert answer["recovery_flow"] == [
            {"class": "tool_failure", "path": "auto_retry", "outcome": "none", "runs": 1}
        ]
        assert answer["coverage"][0] == {"class": "tool_failure", "fired": 1, "clear": 1, "unchecked": 0}
        assert answer["tool_failures"] == [{"dependency": "get_transactions", "error_type": "timeout", "runs": 1}]
        assert answer["inflation"] == {"first_failure": 1, "naive": 1}
        assert answer["pass_rate"] == {"ended": 2, "checked": 2, "passed": 1, "rate": 0.5}
        assert answer["repair_order"] == [{"class": "tool_failure", "severity": "high", "runs": 1}]
        assert answer["recovery"] == [{"path": "auto_retry", "outcome": "none", "runs": 1, "median_attempts": 0.0}]
        assert answer["taxonomy"][0] == {
            "class": "tool_failure",
            "runs": 1,
            "decided": 2,
            "rate": 0.5,
            "share": 1.0,
            "severity": "high",
            "weight": 3,
            "findings": 1,
            "recovered": 0,
        }
        assert {each["class"]: each["rate"] for each in answer["taxonomy"]}["typology_misjudge"] is None

    def test_draws_tables_for_people(self, run, traces):
        """With the words that explain the numbers."""
        done = run("report", "traces.jsonl")
        assert "tool_failure" in done.out
        assert "50.0%" in done.out
        assert ["get_transactions", "timeout", "1"] in [each.split() for each in done.out.splitlines()]
        assert "SYNTHETIC" not in done.out

    def test_a_lift_that_rests_on_two_runs_is_marked(self, run, tmp_path):
        """Of 363 runs two have the one failure, and the same two the other: 181.5 is as much as there can be."""
        invented = [failed(trace, **case(trace, cited=("TX-9",))) for trace in (1, 2)]
        write(tmp_path / "a.jsonl", *(line(*spans) for spans in (*invented, *map(good, range(3, 364)))))
        pair = strict(run("report", "--json", "a.jsonl", "--min-both", "2").out)["cascades"][0]
        assert list(pair) == CASCADE
        assert (pair["runs"], pair["n_both"], pair["lift"], pair["max_lift"]) == (363, 2, 181.5, 181.5)
        shown = run("report", "a.jsonl", "--min-both", "2").out
        assert "rests on 2 runs" in shown
        assert "cause" not in shown
        assert strict(run("report", "--json", "a.jsonl").out)["cascades"] == []
        assert "No two failures go together" in run("report", "a.jsonl").out

    @pytest.mark.parametrize(("path", "files"), [("tables", 10), ("tables.csv", 1)])
    def test_writes_csv_beside_its_answer(self, run, tmp_path, path, files):
        """One file a table, or one for all."""
        invented = [failed(trace, **case(trace, cited=("TX-9",))) for trace in range(1, 7)]
        write(tmp_path / "a.jsonl", *(line(*spans) for spans in (*invented, good(9))))
        assert "tool_failure" in run("report", "a.jsonl", "--csv", path).out
        found = sorted((tmp_path / path).iterdir()) if files > 1 else [tmp_path / path]
        texts = [io.StringIO(file.read_bytes().decode(), newline="") for file in found]
        rows = [row for text in texts for row in csv.DictReader(text)]
        assert len(texts) == files
        assert [row["effect"] for row in rows if row.get("grain") == "symptom"] == ["unresolved_citation"]
        assert [row["first_failure"] for row in rows if row.get("first_failure")] == ["6"]

    def test_writes_a_page_beside_its_answer(self, run, traces, tmp_path):
        """And says how large it is; technical details only when asked for."""
        done = run("report", "traces.jsonl", "--html", "pages/out.html")
        assert "tool_failure" in done.out
        assert re.search(r"otel-aml: wrote 'pages/out.html', \d\d KiB: open it in a browser\n", done.err)
        page = (tmp_path / "pages" / "out.html").read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>")
        run("report", "traces.jsonl", "--html", "pages/out.html", "--internal")
        assert "<strong>Internal.</strong>" in (tmp_path / "pages" / "out.html").read_text(encoding="utf-8")

    def test_writes_the_same_page_from_a_store(self, run, traces, tmp_path):
        """Of a file as of what was made of it."""
        run("ingest", "traces.jsonl", "--into", "store.duckdb")
        run("report", "traces.jsonl", "--html", "a.html")
        run("report", "store.duckdb", "--html", "b.html")
        assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()

    def test_details_are_for_the_page(self, run, traces):
        """On a terminal they are not shown, and nobody should think that they are."""
        done = run("report", "traces.jsonl", "--internal")
        assert (done.code, done.out) == (2, "")
        assert "give --html PATH" in done.err

    def test_says_when_runs_were_made_up(self, run, tmp_path):
        """A demo's numbers must not end in a slide."""
        write(tmp_path / "a.jsonl", line(*good(1), resource={"aml.synthetic": True}))
        assert run("report", "a.jsonl").out.startswith("SYNTHETIC DATA: 1 of these runs")


class TestIngest:
    @pytest.mark.parametrize("into", ["store.duckdb", "parquet"])
    def test_makes_what_the_others_read(self, run, traces, into):
        """Once, to ask often."""
        done = run("ingest", "traces.jsonl", "--into", into)
        assert (done.code, done.out) == (0, "")
        assert "otel-aml report" in done.err
        assert run("classify", "--json", into).out == run("classify", "--json", "traces.jsonl").out

    def test_adds_what_is_new(self, run, traces, tmp_path):
        """Again and again, by the same command."""
        for expected in (2, 3, 3):
            assert run("ingest", "traces.jsonl", "--into", "store.duckdb", "--append").code == 0
            assert strict(run("report", "store.duckdb", "--json").out)["read"]["runs"] == expected
            if expected == 2:
                write(tmp_path / "traces.jsonl", line(*good(2)), line(*failed(1)), line(*good(3)))
        assert run("ingest", "traces.jsonl", "--into", "store.duckdb", "--append", "--replace").code == 2

    def test_leaves_nothing_half_made(self, run, tmp_path):
        """A store that is there is whole."""
        write(tmp_path / "a.jsonl", "nonsense")
        assert run("ingest", "a.jsonl", "--into", "store.duckdb").code == 2
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl"]


class TestDemo:
    def test_writes_its_files_and_reports(self, run, tmp_path):
        """The first thing that people see."""
        pytest.importorskip("opentelemetry.exporter.otlp.json.file")
        done = run("demo", "--cases", "12", "--seed", "1", "--out", "demo")
        assert done.code == 0
        assert "SYNTHETIC DATA: 12" in done.out
        again = shlex.split(done.err.partition("next: otel-aml ")[2])
        assert again[0] == "report"
        assert run(*again).out == done.out
        assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
            "gold.jsonl",
            "judged.jsonl",
            "traces.jsonl",
        ]


FAULTS = [
    pytest.param(["classify", "absent.jsonl"], "no file", id="no such file"),
    pytest.param(["report", "empty.jsonl"], "it is empty", id="an empty file"),
    pytest.param(["report", "folder"], "holds no OTLP JSON files", id="a folder without files"),
    pytest.param(["classify", "traces.jsonl", "--gold", "absent.jsonl"], "cannot be read", id="no such labels"),
    pytest.param(["classify", "traces.jsonl", "--gold", "traces.jsonl"], "line 1", id="labels that are none"),
    pytest.param(
        ["classify", "traces.jsonl", "--contract", "traces.jsonl"], "no contract", id="a contract that is none"
    ),
    pytest.param(["ingest", "traces.jsonl", "--into", "folder"], "exists", id="a place that is taken"),
]


@pytest.mark.parametrize(("words", "said"), FAULTS)
def test_a_fault_is_one_sentence_and_2(run, traces, tmp_path, words, said):
    """What was found, and what to do; never a traceback."""
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "folder").mkdir()
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.startswith("otel-aml: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("words", [["classify"], ["report", "--nonsense", "x"], ["nonsense"], ["ingest", "x"]])
def test_wrong_usage_is_2(run, words):
    """As everywhere."""
    assert run(*words).code == 2


def test_strict_refuses_what_was_skipped(run, tmp_path):
    """The answer is printed all the same."""
    write(tmp_path / "a.jsonl", line(*good(1)), "nonsense")
    done = run("classify", "a.jsonl", "--strict")
    assert (done.code, done.out.count("\n")) == (2, 2)
    assert "a.jsonl:2: no valid JSON" in done.err
    assert run("classify", "a.jsonl").code == 0


NO_RUNS = "an agent, a tool, a retriever or a model call; spans say so with gen_ai.operation.name"


@pytest.mark.parametrize("command", ["classify", "report"])
@pytest.mark.parametrize(("count", "said"), [(1, "1 span, which is not"), (2, "2 spans, none of which is")])
def test_spans_without_a_run_are_not_called_good(run, tmp_path, command, count, said):
    """Zeros would read as if nothing had failed."""
    write(tmp_path / "a.jsonl", line(*(span(1, number, name="GET /") for number in range(1, count + 1))))
    done = run(command, "a.jsonl", *(["--csv", "tables", "--html", "a.html"] if command == "report" else []))
    assert (done.code, done.out) == (2, "")
    assert f"otel-aml: {said} {NO_RUNS} (docs/attributes.md)\n" in done.err
    assert "skipped 1 trace without a run\n" in done.err
    assert not (tmp_path / "tables").exists()
    assert not (tmp_path / "a.html").exists()
    done = run(command, "a.jsonl", "--json")
    assert (done.code, strict(done.out)["read"]["runs"]) == (2, 0)
    assert said in done.err


def test_traces_without_a_run_are_counted(run, tmp_path):
    """Beside those that hold one, from files and from a store."""
    write(tmp_path / "a.jsonl", line(*good(1)), line(span(2, 1, name="GET /")), line(span(3, 1, name="GET /")))
    assert "skipped 2 traces without a run\n" in run("classify", "a.jsonl").err
    run("ingest", "a.jsonl", "--into", "store.duckdb")
    assert "skipped 2 traces without a run\n" in run("report", "store.duckdb").err


def cut_gz():
    data = gzip.compress("".join(f"{line(*good(number))}\n" for number in range(1, 400)).encode())
    return data[: len(data) // 2]


WHOLE = f"{line(*good(1))}\n".encode()
LOST = [
    pytest.param("a.jsonl.gz", cut_gz(), id="a gz that is cut off"),
    pytest.param("a.jsonl.gz", gzip.compress(WHOLE) + b"rubbish", id="more after the end of a gz"),
    pytest.param("a.jsonl", WHOLE + WHOLE[:-9], id="a line that is cut off"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content"), LOST)
def test_strict_refuses_whatever_lost_input(run, tmp_path, name, content):
    """Read from the files, or out of a store that was made of them."""
    (tmp_path / name).write_bytes(content)
    assert run("classify", name).code == 0
    assert run("classify", name, "--strict").code == 2
    assert run("ingest", name, "--into", "store.duckdb", "--strict").code == 2
    assert run("report", "store.duckdb", "--strict").code == 2


def test_a_report_is_not_written_over_its_input(run, traces, tmp_path):
    """Not even where its name ends in .csv."""
    (tmp_path / "traces.jsonl").rename(tmp_path / "a.csv")
    assert run("report", "a.csv", "--csv", "a.csv").code == 2
    assert run("report", "a.csv", "--html", "a.csv").code == 2
    assert run("report", "a.csv").code == 0


def test_a_fault_of_ours_shows_no_traceback(run, traces, monkeypatch):
    """Unless it is asked for."""

    def broken(*_, **__):
        raise RuntimeError("secret")

    monkeypatch.setattr(analysis, "load", broken)
    done = run("report", "traces.jsonl")
    assert done.code == 2
    assert "RuntimeError" in done.err
    assert "secret" not in done.err
    monkeypatch.setenv("OTEL_AML_DEBUG", "1")
    with pytest.raises(RuntimeError, match="secret"):
        cli.main()


@pytest.mark.parametrize(
    "command", ["demo", "ingest", "report", "classify", "show", "explain", "inspect", "query", "doctor"]
)
def test_help_has_an_example(run, command):
    """The shortest way to the first result."""
    done = run(command, "--help")
    assert done.code == 0
    assert f"otel-aml {command}" in done.out


def test_version(run):
    """It is the package's."""
    assert run("--version").out == f"otel-aml {__version__}\n"


ODD = [
    "\x1b[2Jclear",
    "ok\r\n2026-11-30 INFO forged",
    "a\0b",
    "\x1b]8;;x\x07link",
    "\u202eright",
    "\u009b31m",
    "x" * 5_000,
]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["classify"], ["report"], ["classify", "--json"], ["report", "--json"]])
@pytest.mark.parametrize("odd", ODD, ids=["escape", "forged line", "nul", "link", "bidi", "c1", "long"])
def test_nothing_in_a_span_moves_the_cursor(run, tmp_path, command, odd):
    """One record is one line, whatever it is called."""
    attributes = case() | {"aml.case.id": odd, "gen_ai.tool.name": odd}
    call = span(1, 2, 1, odd, "TOOL", (1, 2), {"error.type": odd, "gen_ai.tool.name": odd}, status={"code": 2})
    write(tmp_path / "a.jsonl", line(call, span(1, 1, name=odd, role="AGENT", attributes=attributes)), "nonsense")
    done = run(*command, "a.jsonl")
    assert done.code == 0
    shown = done.out + done.err
    assert not [
        letter
        for letter in shown
        if (letter < " " and letter != "\n") or "\x7f" <= letter < "\xa0" or letter == "\u202e"
    ]
    assert not any(each.startswith("2026-11-30") for each in shown.splitlines())
    assert max(map(len, done.err.splitlines()), default=0) < 500


@pytest.mark.parametrize("words", [["classify", "traces.jsonl"], ["report", "traces.jsonl", "--json"], ["--help"]])
def test_a_closed_pipe_is_quiet(traces, words, tmp_path):
    """`otel-aml classify ... | head -1` is no fault."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from otel_aml.cli import main; main()", *words]
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def as_a_process(*words, environment=None, **more):
    """Run a command line in a process of its own."""
    command = [sys.executable, "-c", "from otel_aml.cli import main; main()", *words]
    environment = os.environ | (environment or {})
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **more)


def test_a_terminal_of_few_letters_gets_escapes(run, tmp_path):
    """What cannot be printed is no fault."""
    write(tmp_path / "a.jsonl", line(*good(1, **{"aml.case.id": "查"})))
    done = as_a_process("classify", "a.jsonl", cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "\\u67e5" in done.stdout
    assert as_a_process("report", "a.jsonl", cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"}).returncode == 0
