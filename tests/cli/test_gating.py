"""`otel-aml gate` on a command line: codes, files, and what a CI server is told."""

import json
import xml.etree.ElementTree as ET

import pytest
from exports import failed, good, line, trace_id, write

TABLE = "[gate]\ntool_failure = 0\nmin_runs = 1\n"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def config(tmp_path):
    (tmp_path / "gate.toml").write_text(TABLE, encoding="utf-8")


@pytest.mark.usefixtures("config")
class TestGate:
    def test_a_stop_leaves_with_1_and_names_class_and_run(self, run, traces):
        """What somebody reads in a log."""
        done = run("gate", "traces.jsonl", "--config", "gate.toml")
        assert done.code == 1
        assert "tool_failure (limit) stopped: 1 of 2 runs, at most 0 runs" in done.out
        assert trace_id(1) in done.out
        assert "otel-aml: the gate stops this: tool_failure (2 runs)" in done.err

    def test_a_pass_leaves_with_0(self, run, tmp_path):
        """And says over how many runs."""
        write(tmp_path / "fine.jsonl", line(*good(1)))
        done = run("gate", "fine.jsonl", "--config", "gate.toml")
        assert (done.code, "the gate passes: 1 run" in done.err) == (0, True)

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            pytest.param(("junk.jsonl", "--config", "gate.toml"), "no spans in 'junk.jsonl'", id="junk"),
            pytest.param(("none.jsonl", "--config", "gate.toml"), "none.jsonl", id="no file"),
            pytest.param(("traces.jsonl", "--config", "none.toml"), "does not exist", id="no configuration"),
            pytest.param(("traces.jsonl",), "give --config gate.toml", id="none at all"),
        ],
    )
    def test_what_is_not_understood_leaves_with_2(self, run, traces, tmp_path, words, said):
        """It never passes."""
        (tmp_path / "junk.jsonl").write_text('{"a": 1\nhello\n', encoding="utf-8")
        done = run("gate", *words)
        assert (done.code, done.out) == (2, "")
        assert said in done.err

    def test_json_is_one_object(self, run, traces):
        """Which the next gate takes as its baseline."""
        done = run("gate", "traces.jsonl", "--config", "gate.toml", "--json")
        answer = json.loads(done.out)
        assert list(answer) == ["gate", "rows", "typologies", "read", "problems"]
        assert answer["gate"]["counts"]["tool_failure"] == {"fired": 1, "decided": 2}
        assert answer["gate"]["passed"] is False

    def test_it_writes_what_ci_reads(self, run, traces, tmp_path, monkeypatch):
        """JUnit, a summary beside what other steps wrote, annotations."""
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
        (tmp_path / "step.md").write_text("before\n", encoding="utf-8")
        done = run("gate", "traces.jsonl", "--config", "gate.toml", "--junit", "out/gate.xml", "--summary", "own.md")
        assert done.code == 1
        assert "::error title=otel-aml gate%3A tool_failure (limit)::" in done.out
        assert ET.parse(tmp_path / "out" / "gate.xml").getroot().find("testsuite").get("failures") == "1"
        summary = (tmp_path / "step.md").read_text(encoding="utf-8")
        assert summary.startswith("before\n### otel-aml gate: stopped")
        assert (tmp_path / "own.md").read_text(encoding="utf-8") in summary
        assert json.loads(run("gate", "traces.jsonl", "--config", "gate.toml", "--json").out)

    def test_options_go_before_the_file(self, run, traces, tmp_path):
        """A baseline for this run only; two of them, and JSON or traces."""
        write(tmp_path / "before.jsonl", *(line(*good(each)) for each in range(1, 31)))
        write(tmp_path / "now.jsonl", *(line(*failed(each)) for each in range(1, 31)))
        (tmp_path / "pyproject.toml").write_text("[tool.otel_aml.gate]\ntool_failure = '100%'\n", encoding="utf-8")
        assert run("gate", "now.jsonl").code == 0
        done = run("gate", "now.jsonl", "--baseline", "before.jsonl", "--baseline", "before.jsonl")
        assert (done.code, "tool_failure (baseline) stopped" in done.out) == (1, True)

    def test_a_torn_line_matters_where_it_is_asked_for(self, run, tmp_path):
        """`--strict` is 2, before any word on passing."""
        write(tmp_path / "torn.jsonl", line(*good(1)), '{"resourceSpans": [')
        assert run("gate", "torn.jsonl", "--config", "gate.toml").code == 0
        assert run("gate", "torn.jsonl", "--config", "gate.toml", "--strict").code == 2
