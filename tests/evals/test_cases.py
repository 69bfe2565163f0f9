"""Failed runs become cases: redacted, and as tests that run."""

import json
import subprocess
import sys

import pytest
from exports import case, failed, good, line, span, trace_id, write


@pytest.fixture
def traces(tmp_path):
    told = case(3, cited=("TX-1", "TX-9"), **{"input.value": "Ask anna.smith@bank.example about C-3"})
    invented = [span(3, 2, 1, "get_transactions", "TOOL", (1, 2)), span(3, 1, role="AGENT", attributes=told)]
    return write(tmp_path / "traces.jsonl", line(*good(1)), line(*failed(2, cited=("TX-8",))), line(*invented))


def test_the_runs_of_a_class_are_written_redacted(run_cli, tmp_path, traces):
    """Also where it came second; what a case was asked holds no address any more."""
    code, out, err = run_cli("export-cases", traces, "--class", "hallucination", "--out", "made")
    assert (code, out) == (0, "")
    assert "wrote 2 cases" in err
    assert "1 without their input" in err
    text = (tmp_path / "made" / "cases.jsonl").read_text(encoding="utf-8")
    first, second = map(json.loads, text.splitlines())
    assert [first["trace_id"], second["trace_id"]] == [trace_id(2), trace_id(3)]
    assert first["findings"] == ["tool_failure", "hallucination"]
    assert second["seen"]["cited_ids"] == ["tx-1", "tx-9"]
    assert second["expected"]["evidence_ids"] == ["tx-1", "tx-2", "tx-3"]
    assert "anna.smith" not in text
    assert second["input"].startswith("Ask [redacted:")


@pytest.mark.slow
@pytest.mark.parametrize(("findings", "code"), [("[]", 0), ('["hallucination"]', 1)])
def test_the_tests_run_as_written(run_cli, tmp_path, traces, findings, code):
    """With a fixture that reruns a case."""
    run_cli("export-cases", traces, "--class", "hallucination", "--out", "made")
    (tmp_path / "made" / "conftest.py").write_text(
        f"import pytest\n\n@pytest.fixture\ndef rerun():\n    return lambda case: {findings}\n", encoding="utf-8"
    )
    (tmp_path / "made" / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        capture_output=True, text=True, check=False, cwd=tmp_path / "made",
    )  # fmt: skip
    assert done.returncode == code, done.stdout
    assert f"2 {'failed' if code else 'passed'}" in done.stdout


def test_nothing_is_written_over_and_nothing_without_a_case(run_cli, tmp_path, traces):
    """Each with its code."""
    assert run_cli("export-cases", traces, "--class", "typology-misjudge", "--out", "none")[0] == 1
    assert not (tmp_path / "none").exists()
    assert run_cli("export-cases", traces, "--class", "pass")[0] == 2
    assert run_cli("export-cases", traces, "--class", "hallucination", "--out", "made")[0] == 0
    code, _, err = run_cli("export-cases", traces, "--class", "hallucination", "--out", "made")
    assert (code, "exists already" in err) == (2, True)
    other = write(tmp_path / "other.jsonl", line(span(1, 1, name="GET /")))
    assert run_cli("export-cases", other, "--class", "hallucination", "--out", "x")[0] == 2
