"""One pipeline a module: TLS, token, a trace store's door and a Prometheus, as in production but for the addresses."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from services import Collector, Prometheus, TraceStore, program


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for this machine's loopback, which signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    made = subprocess.run(
        [
            *(
                program("openssl"),
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
            ),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem"),
            *("-out", folder / "cert.pem"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def trace_store():
    with TraceStore() as store:
        yield store


@pytest.fixture(scope="module")
def collector(tmp_path_factory, certificate, trace_store):
    cert, key = certificate
    folder = tmp_path_factory.mktemp("collector")
    with Collector(folder, cert, key, trace_store=trace_store.address).start() as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory, collector):
    with Prometheus(tmp_path_factory.mktemp("prometheus"), collector) as running:
        yield running
