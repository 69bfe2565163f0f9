"""The real parts of the pipeline, each started on ports of its own: a Collector, a Prometheus, a trace store's door."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import grpc
import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 60.0
TOKEN = "a-token-of-the-tests"


def needed(path: str | None, what: str) -> str:
    """Skip where a part is not installed; in CI that is a failure."""
    if path:
        return path
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and CI must not go without it")
    pytest.skip(f"{what} is not installed")


def collector_program() -> str:
    given = os.environ.get("OTELCOL")
    if given:
        return given
    found = subprocess.run([ROOT / "monitoring" / "collector" / "build"], capture_output=True, text=True, check=False)
    return needed(found.stdout.strip() if found.returncode == 0 else None, f"the Collector ({found.stderr.strip()})")


def program(name: str) -> str:
    return needed(shutil.which(name), name)


def free_ports(count: int) -> list[int]:
    """Ports that are free now; asked for together, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def until(what: str, check, *, patience: float = PATIENCE):
    """Wait for something to become true; say what did not."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    pytest.fail(f"waited {patience:.0f} s in vain: {what}")
    return None


def fetch(url: str, *, data: bytes | None = None, headers: dict[str, str] | None = None, context=None) -> str:
    with urllib.request.urlopen(
        urllib.request.Request(url, data, headers or {}), timeout=10, context=context
    ) as answer:
        return answer.read().decode()


def answers(url: str) -> bool:
    try:
        fetch(url)
    except (OSError, urllib.error.URLError):
        return False
    return True


def otel_aml(*args: object) -> dict:
    """What a command of ours says, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", "from otel_aml.cli import main; main()", *map(str, args), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Process:
    """A server in a process of its own, with its log."""

    def __init__(self, command: list[str], log: Path, *, env: dict[str, str], cwd: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=env, cwd=cwd)

    def is_up(self, url: str) -> bool:
        if self.process.poll() is not None:
            pytest.fail(f"it ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
        return answers(url)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Collector:
    """A Collector with collector-config.yaml: its ports, its folder, what it says of itself."""

    folder: Path
    certificate: Path | None = None
    key: Path | None = None
    trace_store: str = "127.0.0.1:1"
    settings: dict[str, str] = field(default_factory=dict)
    overlays: tuple[Path, ...] = ()
    gates: str = "ottl.set.allowNil,ottl.functions.enableLambda"
    process: Process | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.grpc, self.http, self.health, self.runs, self.processor, self.telemetry = free_ports(6)
        self.secure = self.folder / "secure"
        self.program = collector_program()

    @property
    def environment(self) -> dict[str, str]:
        tls = {"TLS_CERT": str(self.certificate), "TLS_KEY": str(self.key), "OTLP_TOKEN": TOKEN}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "OTLP_GRPC": f"127.0.0.1:{self.grpc}",
            "OTLP_HTTP": f"127.0.0.1:{self.http}",
            "HEALTH_ENDPOINT": f"127.0.0.1:{self.health}",
            "PROMETHEUS_RUNS": f"127.0.0.1:{self.runs}",
            "PROMETHEUS_PROCESSOR": f"127.0.0.1:{self.processor}",
            "TELEMETRY_PORT": str(self.telemetry),
            "SECURE_DIR": str(self.secure),
            "QUEUE_DIR": str(self.folder / "queue"),
            "TRACE_STORE": self.trace_store,
            "TRACE_STORE_INSECURE": "true",
            "METRICS_FLUSH": "1s",
            **(tls if self.certificate else {}),
            **self.settings,
        }

    @property
    def files(self) -> tuple[Path, ...]:
        local = () if self.certificate else (ROOT / "collector-config.local.yaml",)
        return (ROOT / "collector-config.yaml", *local, *self.overlays)

    def start(self) -> Collector:
        configs = [part for file in self.files for part in ("--config", str(file))]
        self.process = Process(
            [self.program, f"--feature-gates={self.gates}", *configs],
            self.folder / "log",
            env=self.environment,
            cwd=self.folder,
        )
        until("the Collector is up", lambda: self.process.is_up(f"http://127.0.0.1:{self.health}"))
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()

    def kill(self) -> None:
        self.process.kill()

    def __enter__(self) -> Self:
        return self if self.process else self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def agent_environment(self, *, token: str = TOKEN, protocol: str = "grpc") -> dict[str, str]:
        """The environment of an agent that sends here."""
        scheme = "https" if self.certificate else "http"
        port = self.grpc if protocol == "grpc" else self.http
        # A bundle named for all of Python's HTTP would go before the certificate that is meant for this.
        kept = {key: value for key, value in os.environ.items() if key not in {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"{scheme}://127.0.0.1:{port}",
            **({"OTEL_EXPORTER_OTLP_CERTIFICATE": str(self.certificate)} if self.certificate else {}),
            **({"OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {token}"} if self.certificate else {}),
        }

    def scraped(self, port: int | None = None) -> dict[str, float]:
        """All series of a scrape, by their text."""
        text = fetch(f"http://127.0.0.1:{port or self.runs}/metrics")
        lines = (line for line in text.splitlines() if line and not line.startswith("#"))
        return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines)}

    def own(self, name: str) -> float:
        """The sum of one of the Collector's own counters."""
        found = self.scraped(self.telemetry)
        return sum(value for series, value in found.items() if series.partition("{")[0] == name)

    def total(self, name: str) -> float:
        return sum(value for series, value in self.scraped().items() if series.partition("{")[0] == name)


class TraceStore(trace_service_pb2_grpc.TraceServiceServicer):
    """The door of a trace store: keeps what the public path sends."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[trace_service_pb2.ExportTraceServiceRequest] = []
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self.server)
        self.address = f"127.0.0.1:{self.server.add_insecure_port(f'127.0.0.1:{port}')}"
        self.lock = threading.Lock()

    def Export(self, request, context):  # noqa: N802 - the service's own name
        with self.lock:
            self.requests.append(request)
        return trace_service_pb2.ExportTraceServiceResponse()

    def text(self) -> str:
        """All that arrived, as JSON, and as bytes for what JSON would hide."""
        with self.lock:
            return "\n".join(MessageToJson(each) + repr(each.SerializeToString()) for each in self.requests)

    def spans(self) -> list:
        with self.lock:
            return [
                span
                for request in self.requests
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ]

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop(None)


class Prometheus:
    """A Prometheus that scrapes a Collector, with our rules."""

    def __init__(self, folder: Path, *collectors: Collector, interval: str = "1s") -> None:
        (self.port,) = free_ports(1)
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        targets = [f"127.0.0.1:{port}" for each in collectors for port in (each.runs, each.processor)]
        own = [f"127.0.0.1:{each.telemetry}" for each in collectors]
        config = {
            "global": {"scrape_interval": interval, "evaluation_interval": interval},
            "rule_files": [str(path) for path in sorted((ROOT / "monitoring" / "prometheus").glob("rules/*.yml"))],
            "scrape_configs": [
                {"job_name": "agents", "honor_labels": True, "static_configs": [{"targets": targets}]},
                {"job_name": "otelcol", "static_configs": [{"targets": own}]},
            ],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        self.process = Process(
            [
                program("prometheus"),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--enable-feature=exemplar-storage",
                "--log.level=warn",
            ],
            folder / "log",
            env={"PATH": os.environ["PATH"]},
            cwd=folder,
        )
        until("Prometheus is up", lambda: self.process.is_up(f"{self.url}/-/ready"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **asked: object):
        answer = json.loads(fetch(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(asked)}"))
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, promql: str) -> list[tuple[dict[str, str], float]]:
        return [(each["metric"], float(each["value"][1])) for each in self.get("query", query=promql)["result"]]

    def by(self, label: str, promql: str) -> dict[str, float]:
        return {labels[label]: value for labels, value in self.query(promql)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()
