"""Two lines, no line, or a configuration file: every way to attach the processor."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from otel_aml.conventions import Contract
from otel_aml.errors import ConfigurationError
from otel_aml.live.install import install
from otel_aml.live.processor import FailureSpanProcessor


def program(*parts):
    return "".join(map(textwrap.dedent, parts))


def python(*parts, folder, **environment):
    """Run a program in a process of its own, where the global provider is not set yet."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", program(*parts)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=60,
        env=kept | environment,
    )


AGENT = """
    from opentelemetry import trace
    tracer = trace.get_tracer("app")
    try:
        with tracer.start_as_current_span("investigate", attributes={"gen_ai.operation.name": "invoke_agent"}):
            with tracer.start_as_current_span("tool", attributes={"gen_ai.operation.name": "execute_tool"}):
                raise TimeoutError("upstream")
    except TimeoutError:
        pass
    provider = trace.get_tracer_provider()
"""


def classes(path):
    """The classes in a file of OTLP JSON lines."""
    return [
        attribute["value"]["stringValue"]
        for line in path.read_text(encoding="utf-8").splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
        for attribute in span.get("attributes", [])
        if attribute["key"] == "failure.class"
    ]


class TestInstall:
    def test_installing_again_is_the_same_processor(self):
        provider = TracerProvider(shutdown_on_exit=False)
        first = install(provider)
        assert isinstance(first, FailureSpanProcessor)
        assert all(install(provider) is first for _ in range(30))

    def test_a_provider_that_cannot_be_hashed_is_known_by_its_identity(self):
        """That of logfire is a dataclass."""

        class Unhashable(TracerProvider):
            def __eq__(self, other):
                return isinstance(other, Unhashable)

            __hash__ = None

        one, two = (Unhashable(shutdown_on_exit=False) for _ in range(2))
        first = install(one)
        assert install(one) is first
        assert install(two) is not first

    def test_a_contract_that_comes_later_is_taken(self):
        provider = TracerProvider(shutdown_on_exit=False)
        contract = Contract(typology="label")
        install(provider)
        assert install(provider, contract=contract).contract is contract
        assert install(provider).contract is contract

    def test_each_provider_gets_its_own(self):
        one, two = (install(TracerProvider(shutdown_on_exit=False)) for _ in range(2))
        assert one is not two

    def test_without_a_provider_one_sentence_says_what_to_do(self):
        with pytest.raises(ConfigurationError, match=r"ProxyTracerProvider.*configure\(service_name"):
            install(trace.ProxyTracerProvider())

    def test_a_provider_that_replaces_its_exporter_is_told_not_to(self):
        """phoenix-otel removes its default exporter when a processor is added, unless told otherwise."""
        asked = {}

        class Phoenix(TracerProvider):
            def add_span_processor(self, span_processor, replace_default_processor=True):
                asked["replace"] = replace_default_processor

        install(Phoenix(shutdown_on_exit=False))
        assert asked == {"replace": False}

    def test_the_global_provider_is_the_default(self, tmp_path):
        done = python(
            """
            from opentelemetry import trace
            from opentelemetry.sdk.trace import TracerProvider
            trace.set_tracer_provider(TracerProvider())
            import otel_aml
            processor = otel_aml.install()
            """,
            AGENT,
            "print(processor.stats()['runs_classified'])",
            folder=tmp_path,
        )
        assert done.stdout.strip() == "1", done.stderr


class TestConfigure:
    def test_a_file_gets_the_spans_with_their_verdict(self, tmp_path):
        pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="the file exporter needs SDK 1.43")
        done = python(
            """
            import otel_aml
            otel_aml.configure(service_name="aml-copilot", traces="traces.jsonl")
            otel_aml.configure(service_name="aml-copilot", traces="traces.jsonl")
            """,
            AGENT,
            "provider.shutdown()",
            folder=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert classes(tmp_path / "traces.jsonl") == ["tool_failure"]

    @pytest.mark.parametrize(("protocol", "exporter"), [("", "grpc"), ("grpc", "grpc"), ("http/protobuf", "http")])
    def test_without_a_file_the_usual_variables_name_the_endpoint(self, tmp_path, protocol, exporter):
        done = python(
            """
            import otel_aml, sys
            otel_aml.configure(service_name="aml-copilot")
            print([name for name in ("grpc", "http") if f"opentelemetry.exporter.otlp.proto.{name}" in sys.modules])
            """,
            folder=tmp_path,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        )
        assert done.stdout.strip() == f"['{exporter}']", done.stderr

    def test_another_provider_is_left_alone(self, tmp_path):
        done = python(
            """
            from opentelemetry import trace
            from opentelemetry.sdk.trace import TracerProvider
            trace.set_tracer_provider(TracerProvider())
            import otel_aml
            try:
                otel_aml.configure(service_name="x")
            except otel_aml.OtelAmlError as error:
                print(error)
            """,
            folder=tmp_path,
        )
        assert "otel_aml.install()" in done.stdout, done.stderr

    def test_a_folder_that_is_not_there_is_one_sentence(self, tmp_path):
        pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="the file exporter needs SDK 1.43")
        done = python(
            """
            import otel_aml
            try:
                otel_aml.configure(service_name="x", traces="no/such/folder/traces.jsonl")
            except otel_aml.OtelAmlError as error:
                print(error)
            """,
            folder=tmp_path,
        )
        assert "name a file in a folder that exists" in done.stdout, done.stderr


def instrumented(folder, **environment):
    """Run a program that knows nothing of us under `opentelemetry-instrument`."""
    script = folder / "app.py"
    script.write_text(program(AGENT, "provider.shutdown()"), encoding="utf-8")
    command = shutil.which("opentelemetry-instrument", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("needs the extra `auto`")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return subprocess.run(
        [command, sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=120,
        env=kept | {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"} | environment,
    )


class TestZeroCode:
    """The installed package does nothing until it is switched on."""

    @pytest.mark.parametrize(("enabled", "written"), [("true", True), ("1", True), ("", False), ("false", False)])
    def test_a_variable_switches_it_on(self, tmp_path, enabled, written):
        done = instrumented(tmp_path, OTEL_AML_ENABLED=enabled, OTEL_TRACES_EXPORTER="console")
        assert done.returncode == 0, done.stderr
        assert '"investigate"' in done.stdout, done.stderr
        assert ("failure.class" in done.stdout) is written

    def test_a_configuration_file_switches_it_on(self, tmp_path):
        pytest.importorskip("opentelemetry.configuration", reason="declarative configuration is a package of its own")
        (tmp_path / "otel.yaml").write_text(
            textwrap.dedent(
                """
                file_format: "1.0"
                tracer_provider:
                  processors:
                    - simple:
                        exporter:
                          console: {}
                instrumentation/development:
                  python:
                    otel_aml:
                      max_runs: 50
                """
            ),
            encoding="utf-8",
        )
        done = instrumented(tmp_path, OTEL_CONFIG_FILE=str(tmp_path / "otel.yaml"))
        assert done.returncode == 0, done.stderr
        assert "tool_failure" in done.stdout, done.stderr

    def test_a_bad_option_does_not_stop_the_app(self, monkeypatch, caplog):
        instrumentor = pytest.importorskip("otel_aml.live.instrumentor", reason="needs the extra `auto`")
        monkeypatch.setattr(trace, "get_tracer_provider", TracerProvider)
        instrumentor.FailureInstrumentor()._instrument(max_runs=0)
        instrumentor.FailureInstrumentor()._instrument(max_runs="lots")
        assert "limits are positive" in caplog.text
        assert "max_runs is 'lots'; give a number above 0" in caplog.text
