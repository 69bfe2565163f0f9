"""Eight processes, one Collector: its file, its metrics and the generator's plan say the same of every class."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import agents
import pytest
from services import Collector, otel_aml, until

pytestmark = pytest.mark.collector

PROCESSES, CASES = 8, 50
SEEDS = range(1, PROCESSES + 1)


@pytest.fixture(scope="module")
def sent(collector):
    """All eight processes have ended; half of them sent over gRPC, half over HTTP."""
    running = [
        subprocess.Popen(
            [sys.executable, Path(__file__).parent / "agents.py", str(seed), str(CASES)],
            env=collector.agent_environment(protocol="grpc" if seed % 2 else "http/protobuf"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for seed in SEEDS
    ]
    said = [each.communicate(timeout=300)[0] for each in running]
    assert [each.returncode for each in running] == [0] * PROCESSES, said
    return agents.expected(SEEDS, CASES)


def test_report_metrics_and_truth_agree(collector, prometheus, sent, trace_store):
    """Run for run: what the seeds planned, what the file holds, what Prometheus was told."""
    report = otel_aml("report", collector.secure)
    assert report["problems"] == []
    assert report["read"]["duplicate_spans"] == 0
    reported = Counter({row["class"]: row["runs"] for row in report["taxonomy"] if row["runs"]})
    reported["pass"] += reported.pop("paused")

    until(
        "Prometheus has heard of all runs",
        lambda: sum(value for _, value in prometheus.query("otel_aml_runs_total")) == PROCESSES * CASES,
    )
    counted = prometheus.by("failure_class", "sum by (failure_class) (otel_aml_runs_total)")
    assert counted == sent == reported

    timed = prometheus.by("failure_class", "sum by (failure_class) (otel_aml_run_duration_seconds_count)")
    assert timed == sent


def test_the_finer_counts_agree_too(collector, prometheus, sent):
    """Path, outcome, coverage, findings, dependencies and citations, against the runs in the file."""
    runs = otel_aml("classify", collector.secure)["runs"]
    until(
        "the sums have come",
        lambda: (
            sum(value for _, value in prometheus.query("otel_aml_findings_total"))
            == sum(len(run["findings"]) for run in runs)
        ),
    )

    def counted(metric, *labels):
        asked = f"sum by ({','.join(labels)}) ({metric}) > 0"
        return {tuple(found[label] for label in labels): value for found, value in prometheus.query(asked)}

    def of_runs(*keys):
        return Counter(tuple(str(run[key] or "none") for key in keys) for run in runs)

    assert counted("otel_aml_runs_total", "failure_class", "failure_severity", "failure_coverage") == of_runs(
        "class", "severity", "coverage"
    )
    assert counted("otel_aml_runs_total", "recovery_path", "recovery_outcome") == of_runs("path", "outcome")
    findings = Counter(tuple(found.split(":")) for run in runs for found in run["findings"])
    assert counted("otel_aml_findings_total", "failure_class", "otel_aml_finding_state") == {
        (found[0], *(found[1:] or ("standing",))): count for found, count in findings.items()
    }
    failed_tools = [value for _, value in prometheus.query("sum(otel_aml_tool_failures_total)")]
    assert failed_tools == [sent["tool_failure"]]
    assert [value for _, value in prometheus.query("sum(otel_aml_agent_runs_total)")] == [len(runs)]


def test_exemplars_lead_to_runs(prometheus, sent, collector):
    """A point in a diagram opens the trace behind it."""
    found = until(
        "exemplars have come", lambda: prometheus.get("query_exemplars", query="otel_aml_runs_total", start=0, end=2e9)
    )
    traces = {run["trace_id"] for run in otel_aml("classify", collector.secure)["runs"]}
    shown = {each["labels"]["trace_id"] for series in found for each in series["exemplars"]}
    assert shown
    assert shown <= traces


def test_the_trace_store_gets_every_failing_run(trace_store, sent):
    """And only a share of the others."""
    failing = sum(count for name, count in sent.items() if name not in {"pass", "cancelled"})

    def verdicts():
        return [
            next(each.value.string_value for each in span.attributes if each.key == "failure.class")
            for span in trace_store.spans()
            if any(each.key == "failure.verdict" for each in span.attributes)
        ]

    until("all failing runs", lambda: sum(name not in {"pass", "cancelled"} for name in verdicts()) == failing)
    assert verdicts().count("pass") < sent["pass"]


@pytest.mark.parametrize(("token", "code"), [("right", 0), ("wrong", 2)])
def test_the_demo_can_be_sent_through_a_collector(tmp_path, certificate, token, code):
    """All of its spans, by one option; what is refused is said."""
    command = "from otel_aml.cli import main; main()"
    with Collector(tmp_path / "collector", *certificate) as own:
        given = {} if token == "right" else {"token": token}
        done = subprocess.run(
            [
                *(sys.executable, "-c", command, "demo", "--seed", "7", "--cases", "20", "--out", str(tmp_path)),
                *("--otlp", f"https://127.0.0.1:{own.http}"),
            ],
            capture_output=True,
            text=True,
            check=False,
            env=own.agent_environment(protocol="http/protobuf", **given),
        )
        assert done.returncode == code, done.stderr
        written = otel_aml("classify", tmp_path / "traces.jsonl")["runs"]
        if code:
            assert "took 0 of" in done.stderr
            assert not any(path.stat().st_size for path in own.secure.glob("*"))
        else:
            assert otel_aml("classify", own.secure)["runs"] == written
