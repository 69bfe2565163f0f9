"""What breaks: a Collector is killed, a disk is full, a Prometheus is away. No run vanishes uncounted."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from services import Collector, Prometheus, otel_aml, until

pytestmark = pytest.mark.collector

HERE = Path(__file__).parent


def start(collector, name, runs, pause_ms):
    return subprocess.Popen(
        [sys.executable, HERE / "busy.py", name, str(runs), str(pause_ms)],
        env=collector.agent_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def finish(processes):
    """What they ended, and what of it was not delivered."""
    said = [json.loads(each.communicate(timeout=180)[0]) for each in processes]
    ended = [trace for each in said for trace in each["ended"]]
    assert len(set(ended)) == len(ended)
    return set(ended), {trace for each in said for trace in each["undelivered"]}


def in_file(collector):
    """The runs that `otel-aml` reads from the secure file, and what it says of the reading."""
    answer = otel_aml("classify", collector.secure)
    return [run["trace_id"] for run in answer["runs"]], answer


def written(collector):
    return collector.secure / "traces.jsonl"


def size(collector):
    return written(collector).stat().st_size if written(collector).exists() else 0


def test_a_killed_collector_loses_nothing_that_it_took(tmp_path):
    """Eight processes export while it is killed without warning, twice, and started again."""
    collector = Collector(tmp_path / "collector").start()
    try:
        processes = [start(collector, f"agents-{number}", 300, 10) for number in range(8)]
        for _ in range(2):
            enough = size(collector) + 50_000
            until("it is writing", lambda enough=enough: size(collector) > enough)
            collector.kill()
            time.sleep(1)
            collector.start()
        ended, undelivered = finish(processes)
    finally:
        collector.stop()
    runs, answer = in_file(collector)
    assert len(ended) == 8 * 300
    assert len(runs) == len(set(runs))
    assert ended - set(runs) <= undelivered
    assert set(runs) <= ended
    # A line that was being written as it was killed is named, not passed over.
    assert len(answer["problems"]) <= 2


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own, of 600 kB, half of it taken."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no right to mount a small disk")
    (disk / "ballast").write_bytes(b"\0" * 300_000)
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(tmp_path, small_disk):
    """The sender hears of it and tries again; what it gives up it knows; nothing that was written is damaged."""
    collector = Collector(tmp_path / "collector", settings={"SECURE_DIR": str(small_disk / "secure")})
    collector.secure = small_disk / "secure"
    with collector:
        processes = [start(collector, "agents", 1_500, 1)]
        until("it is full", lambda: collector.own("otelcol_exporter_send_failed_spans"))
        (small_disk / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
        ended, undelivered = finish(processes)
    runs, answer = in_file(collector)
    assert runs
    assert ended - set(runs) <= undelivered
    # What the full disk cut off is named.
    assert answer["problems"]
    assert all("cut off" in problem["reason"] for problem in answer["problems"])
    last = written(collector).read_text(encoding="utf-8").splitlines()[-1]
    assert json.loads(last[last.rindex('{"resourceSpans":') :])


def test_a_prometheus_that_was_away_catches_up(tmp_path):
    """The Collector counts on; the next scrape has it all."""
    with Collector(tmp_path / "collector") as collector:
        with Prometheus(tmp_path / "prometheus", collector) as prometheus:
            finish([start(collector, "agents", 50, 0)])
            until("the first runs", lambda: prometheus.query("sum(otel_aml_runs_total) == 50"))
        ended, undelivered = finish([start(collector, "agents", 70, 0)])
        assert undelivered == set()
        with Prometheus(tmp_path / "prometheus", collector) as prometheus:
            until("all runs", lambda: prometheus.query("sum(otel_aml_runs_total) == 120"))
        assert len(in_file(collector)[0]) == 50 + len(ended)


def test_a_trace_store_that_is_away_holds_nothing_up(tmp_path, certificate):
    """What it is owed waits on the disk, over a restart of the Collector; file and counts do not wait."""
    from services import TraceStore, free_ports

    (port,) = free_ports(1)
    collector = Collector(tmp_path / "collector", *certificate, trace_store=f"127.0.0.1:{port}")
    collector.settings = {"DECISION_WAIT": "1s", "PASSING_PERCENT": "100"}
    with collector:
        ended, undelivered = finish([start(collector, "agents", 20, 0)])
        assert undelivered == set()
        until("counted", lambda: collector.total("otel_aml_runs_total") == 20)
        until("owed", lambda: collector.own("otelcol_exporter_queue_size") > 0)
        collector.stop()
        collector.start()
        with TraceStore(port) as store:
            until("paid", lambda: {span.trace_id.hex() for span in store.spans()} == ended)
