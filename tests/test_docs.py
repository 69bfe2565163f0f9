"""The docs tell the truth: their tables are the code's, their examples run, every public name is in them."""

import dataclasses
import importlib.util
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

import otel_aml
from otel_aml import TakeoverQueue
from otel_aml.cli import app
from otel_aml.conventions.values import ANSWER_BYTES, SCANNED_BYTES
from otel_aml.core.circuit import CircuitPolicy
from otel_aml.core.recovery import Reason
from otel_aml.core.taxonomy import FailureClass
from otel_aml.live.processor import FailureSpanProcessor
from otel_aml.live.runs import Limits
from otel_aml.recover.takeover import Choice, ReviewState
from otel_aml.spans import attributes

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
DOCS = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
FIRST_SCREEN_LINES = 40
_OURS = {**os.environ, "PYTHONPATH": str(ROOT)}


def tables():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(text, language):
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def in_order(*parts):
    return "\n".join(parts)


class TestTables:
    @pytest.mark.parametrize("name", tables().PAGES)
    def test_the_tables_are_the_codes(self, name):
        """One source; `python docs/tables.py` writes them."""
        page = (ROOT / name).read_text(encoding="utf-8")
        assert tables().drawn(page) == page

    def test_every_table_stands_somewhere(self):
        """None is drawn for nobody."""
        assert set(re.findall(r"<!-- table: (\w+) -->", DOCS)) == set(tables().TABLES)


class TestNames:
    @pytest.mark.parametrize("value", [str(each) for each in FailureClass])
    def test_every_class_is_explained(self, value):
        """An operator looks the word up."""
        assert f"`{value}`" in (ROOT / "docs" / "taxonomy.md").read_text(encoding="utf-8")

    def test_every_attribute_is_explained(self):
        """What is read or written on someone's spans is said."""
        page = (ROOT / "docs" / "attributes.md").read_text(encoding="utf-8")
        not_attributes = {attributes.EXCEPTION_EVENT, attributes.SCHEMA, attributes.OUR_SCOPE}
        names = {value for name, value in vars(attributes).items() if name.isupper()} - not_attributes
        assert {name for name in names if f"`{name}`" not in page} == set()

    def test_every_extra_for_users_is_explained(self):
        """Those that `all` stands for."""
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
        (brought,) = re.findall(r"otel-aml\[(.*)\]", extras["all"][0])
        first_cells = re.findall(r"^\| (`[^|]*`) \|", README, flags=re.MULTILINE)
        explained = {name for cell in first_cells for name in re.findall(r"`([^`]*)`", cell)}
        assert set(brought.split(",")) - explained == set()

    def test_every_variable_of_the_collector_is_explained(self):
        """Whoever sets it up reads one table."""
        used = re.findall(r"\$\{env:(\w+)", (ROOT / "collector-config.yaml").read_text(encoding="utf-8"))
        page = (ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8")
        unknown = {name for name in used if f"`{name}`" not in page and not name.startswith("CLICKHOUSE_")}
        assert (bool(used), unknown) == (True, set())

    def test_every_link_leads_somewhere(self):
        """Also to the headings within."""
        broken = set()
        for path in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
                if target.startswith("https://"):
                    continue
                name, _, heading = target.partition("#")
                page = (path.parent / name).resolve() if name else path
                if not page.exists() or (heading and heading not in _headings(page)):
                    broken.add(f"{path.relative_to(ROOT)}: {target}")
        assert broken == set()

    def test_one_sentence_a_line(self):
        """So that a diff shows the sentence that changed."""
        two = re.compile(r"^[A-Z][^|`]*[a-z`)]\. [A-Z][a-z]")
        by_hand = re.sub(r"<!-- table: .*?<!-- end -->", "", DOCS, flags=re.DOTALL)
        found = [line for line in by_hand.splitlines() if two.search(line)]
        assert found == []


BEFORE_THE_FIRST = """
from types import SimpleNamespace
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("app")


def call(operation, error=None, **more):
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in more.items()}
    with tracer.start_as_current_span(operation, attributes={"gen_ai.operation.name": operation, **named}):
        if error is not None:
            raise error


def work(question):
    with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        call("execute_tool", TimeoutError("upstream"), tool__name="get_transactions")


def invent(question):
    with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        call("execute_tool", tool__name="get_transactions")
    draft = {"typology": "structuring", "cited_tx_ids": ["tx-1", "tx-99"], "narrative": "..."}
    return SimpleNamespace(note_ids=["structuring"], output=draft)


def assess_typology(case_file):
    raise TimeoutError(case_file)


case_file, shown = "a secret", []
show_to_user = shown.append
agent = SimpleNamespace(run=invent)
"""
AFTER_THE_LAST = """
import contextlib, json
with contextlib.suppress(TimeoutError):
    work("...")
verdicts = [dict(span.attributes) for span in exporter.get_finished_spans() if "failure.class" in span.attributes]
print(json.dumps({"verdicts": verdicts, "shown": shown, "detail": error.technical_detail}))
"""


@pytest.fixture(scope="module")
def readme_run():
    """What came of the README's Python, run in order in a fresh process around a small agent."""
    code = in_order(BEFORE_THE_FIRST, *blocks(README, "python"), AFTER_THE_LAST)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestReadme:
    def test_the_case_is_decided_with_content_off(self, readme_run):
        """An invented citation, told by the handle alone: found, and exported as a count."""
        verdict = readme_run["verdicts"][0]
        assert verdict["failure.class"] == "hallucination"
        assert verdict["aml.citations.unresolved"] == 1
        assert verdict["failure.unchecked"] == ["context_pollution", "typology_misjudge"]
        assert "tx-99" not in json.dumps(readme_run["verdicts"])

    def test_the_user_reads_no_detail(self, readme_run):
        """The message holds nothing of the error."""
        shown = readme_run["shown"]
        assert len(shown) == 4
        assert all(shown)
        assert "secret" not in " ".join(shown)

    def test_the_attributes_shown_are_real(self, readme_run):
        """The block under the two lines is what a tool that timed out gives; only places and line numbers differ."""
        shown = next(block for block in blocks(README, "text") if block.startswith("failure.class"))
        found = dict(line.split(maxsplit=1) for line in shown.splitlines())
        verdict = readme_run["verdicts"][-1]
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in verdict.items()}
        detail = "failure.technical_detail"
        assert (
            texts.pop(detail).partition(" at ")[0] == found.pop(detail).partition(" at ")[0] == "TimeoutError: upstream"
        )
        assert found == {key: texts[key] for key in found}

    def test_all_that_counts_is_on_the_first_screen(self):
        """What it is, how to see it, how to use it."""
        first = "\n".join(README.splitlines()[:FIRST_SCREEN_LINES])
        assert ".venv/bin/otel-aml demo" in first
        assert ".venv/bin/pytest" in first
        assert "otel_aml.install()" in first
        assert "failure.class             tool_failure" in first

    def test_the_two_commands_are_one_line_each(self):
        """`.ci/run` takes them from here."""
        lines = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
        assert [line.rpartition(" && ")[2] for line in lines] == [".venv/bin/otel-aml demo", ".venv/bin/pytest"]

    def test_the_demo_is_said_to_be_scripted(self):
        """Nobody takes its numbers for those of a model."""
        assert "**The demo's model is scripted.**" in README


class TestLive:
    """docs/live.md says how it attaches."""

    PAGE = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")

    def test_its_examples_run(self):
        """In order, in a fresh process."""
        code = in_order(BEFORE_THE_FIRST, "import otel_aml", *blocks(self.PAGE, "python"))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stderr

    def test_every_counter_is_explained(self):
        """And no other."""
        table = self.PAGE.partition("## What it counts")[2].partition("##")[0]
        shown = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
        assert shown == list(FailureSpanProcessor().stats())

    def test_the_limits_are_the_codes(self):
        """Their names and defaults."""
        limits = Limits()
        shown = dict(re.findall(r"`Limits\.(\w+)`\) \| ([\d,]+)", self.PAGE))
        assert {name: int(number.replace(",", "")) for name, number in shown.items()} == {
            name: getattr(limits, name) for name in ("runs", "steps", "idle_seconds")
        }
        assert f"| {SCANNED_BYTES // 1024} KiB |" in self.PAGE
        assert f"| {ANSWER_BYTES // 1024} KiB |" in self.PAGE


class TestRecovery:
    """docs/recovery.md says what is done about an error."""

    PAGE = (ROOT / "docs" / "recovery.md").read_text(encoding="utf-8")

    def test_its_examples_run_and_print_what_is_shown(self):
        """In order, in a fresh process."""
        code = in_order("import otel_aml", *blocks(self.PAGE, "python"))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
        assert (done.returncode, done.stderr) == (0, "")
        shown = re.findall(r"^(?:print.*  )?# (.*)$", "\n".join(blocks(self.PAGE, "python")), re.MULTILINE)
        assert done.stdout.splitlines() == shown

    def test_every_reason_is_explained_in_the_order_in_which_it_is_asked_for(self):
        """And none that is not given."""
        asked = re.findall(r"^\| .* \| .* \| `(\w+)` \|$", self.PAGE.partition("### How long")[0], re.MULTILINE)
        assert set(asked) == set(Reason) - {Reason.BUDGET_USED_UP}
        assert f"`{Reason.BUDGET_USED_UP}`" in self.PAGE

    def test_every_setting_of_a_guard_is_explained(self):
        """At least named."""
        given = set(inspect.signature(otel_aml.guarded).parameters) - {"step_id", "locale", "tracer_provider"}
        assert {name for name in given if f"`{name}" not in self.PAGE} == set()


class TestCircuit:
    """docs/circuit.md says what a breaker does."""

    PAGE = (ROOT / "docs" / "circuit.md").read_text(encoding="utf-8")

    def test_its_examples_run(self):
        """In order, in a fresh process; nothing needs to answer at the address of Redis."""
        code = in_order("def fetch(case):\n    return []\n", *blocks(self.PAGE, "python"))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
        assert (done.returncode, done.stderr) == (0, "")

    def test_the_defaults_are_the_codes(self):
        """All of them."""
        shown = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", self.PAGE, re.MULTILINE))
        assert shown == {field.name: str(field.default) for field in dataclasses.fields(CircuitPolicy)}


class TestTakeover:
    """docs/takeover.md says how a person takes over."""

    PAGE = (ROOT / "docs" / "takeover.md").read_text(encoding="utf-8")

    def test_its_examples_run(self, tmp_path):
        """In order, in a fresh process, in a folder of its own."""
        code = in_order(BEFORE_THE_FIRST, "import otel_aml", *blocks(self.PAGE, "python"), "queue.close()")
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, env=_OURS
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "True typology {'evidence': ['tx-1']}"

    def test_every_number_is_explained(self, tmp_path):
        """And no other."""
        with TakeoverQueue(tmp_path / "takeover.db") as queue:
            table = self.PAGE.partition("## The numbers")[2].partition("\n## ")[0]
            assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(queue.stats())

    def test_every_choice_and_state_is_explained(self):
        """A page draws each."""
        table = self.PAGE.partition("| choice |")[2].partition("\n\n")[0]
        assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == set(Choice)
        assert {state for state in ReviewState if f"`{state}`" not in self.PAGE} == set()

    def test_every_command_has_an_example(self):
        """That can be copied."""
        commands = {found for found, _ in re.findall(r"^otel-aml queue (\w+)(.*)$", self.PAGE, re.MULTILINE)}
        assert commands == set(get_command(app).commands["queue"].commands)


class TestOffline:
    """docs/offline.md says what the commands answer."""

    PAGE = (ROOT / "docs" / "offline.md").read_text(encoding="utf-8")

    @pytest.mark.parametrize("command", ["classify", "report"])
    def test_the_json_has_the_keys_that_are_shown(self, command):
        """A program that reads it holds these words."""
        shown = json.loads(blocks(self.PAGE.partition(f"## `{command} --json`")[2], "json")[0])
        found = json.loads(_cli(command, str(ROOT / ".ci" / "one-run.jsonl"), "--json").stdout)
        shown["read"] = shown["read"] or found["read"]
        shown |= {key: [] for key, value in found.items() if value == []}
        assert _keys(shown) == _keys(found)

    def test_the_files_of_labels_are_read(self, tmp_path):
        """The three examples, given together."""
        written = blocks(self.PAGE, "json")
        names = ("contract.json", "gold.jsonl", "judged.jsonl")
        for name, text in zip(names, written, strict=False):
            (tmp_path / name).write_text(text, encoding="utf-8")
        options = zip(("--contract", "--gold", "--judge"), (str(tmp_path / name) for name in names), strict=True)
        done = _cli(
            "classify", str(ROOT / ".ci" / "one-run.jsonl"), "--json", *(word for pair in options for word in pair)
        )
        assert done.returncode == 0, done.stderr

    def test_the_example_of_a_notebook_runs(self, tmp_path):
        """As it stands, on the spans of a file."""
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        (example,) = blocks(self.PAGE, "python")
        shutil.copy(ROOT / ".ci" / "one-run.jsonl", tmp_path / "traces.jsonl")
        code = f"{example}\nprint(report.taxonomy.df().columns.tolist() == list(report.taxonomy.kind.names()))"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=_OURS, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr

    def test_what_is_not_understood_is_no_pass(self, tmp_path):
        """The example of the junk file: 2, and why."""
        (tmp_path / "junk.jsonl").write_text('{"a": 1\nhello\n', encoding="utf-8")
        done = _cli("report", "junk.jsonl", folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        shown = next(line for line in self.PAGE.splitlines() if line.startswith("otel-aml: no spans in"))
        assert done.stderr.startswith(shown.removesuffix("..."))

    @pytest.mark.parametrize("command", ["demo", "ingest", "report", "classify"])
    def test_every_command_is_explained(self, command):
        """And each has an example that can be copied."""
        assert f"`{command}`" in self.PAGE
        assert re.search(rf"^otel-aml {command}\b", self.PAGE, re.MULTILINE)


class TestConfigurations:
    def test_the_collector_has_what_its_pipelines_name(self):
        """Every part that a pipeline names is configured, memory_limiter first; loopback only."""
        config = yaml.safe_load((ROOT / "collector-config.yaml").read_text(encoding="utf-8"))
        sections = ("receivers", "processors", "exporters")
        for pipeline in config["service"]["pipelines"].values():
            assert all(set(pipeline[section]) <= {*config[section], *config["connectors"]} for section in sections)
            assert pipeline["processors"][0] == "memory_limiter"
        assert set(config["service"]["extensions"]) <= set(config["extensions"])
        endpoints = re.findall(r"endpoint: (\S+)", (ROOT / "collector-config.yaml").read_text(encoding="utf-8"))
        assert len(endpoints) >= 6
        assert all("127.0.0.1:" in endpoint for endpoint in endpoints)

    def test_the_collectors_manifest_builds_every_part(self):
        """All at one release."""
        config = yaml.safe_load((ROOT / "collector-config.yaml").read_text(encoding="utf-8"))
        manifest = yaml.safe_load((ROOT / "monitoring/collector/builder.yaml").read_text(encoding="utf-8"))
        for section in ("receivers", "processors", "connectors", "exporters", "extensions"):
            built = {_part(each["gomod"]) for each in manifest[section]}
            named = {name.partition("/")[0].replace("_", "") for name in config[section]}
            named = {"otlp" if name == "otlpgrpc" else name for name in named}
            assert named <= built
            assert {each["gomod"].split()[1] for each in manifest[section]} == {f"v{manifest['dist']['version']}"}

    def test_zero_code_attaches(self, tmp_path):
        """The line of the README, with an app that prints which processors its provider has."""
        line = next(found for found in re.findall(r"`(OTEL_AML_ENABLED=true .*?)`", README))
        assert _instrumented(tmp_path, line).count("FailureSpanProcessor") == 1
        assert "FailureSpanProcessor" not in _instrumented(tmp_path, line.partition(" ")[2])

    def test_the_declarative_file_attaches(self, tmp_path):
        """The example of docs/live.md, with the console in the place of an endpoint."""
        pytest.importorskip("opentelemetry.configuration", reason="needs SDK 1.44 or newer")
        (config,) = blocks((ROOT / "docs" / "live.md").read_text(encoding="utf-8"), "yaml")
        (tmp_path / "otel.yaml").write_text(config.replace("otlp_http: {}", "console: {}"), encoding="utf-8")
        found = _instrumented(tmp_path, "OTEL_CONFIG_FILE=otel.yaml opentelemetry-instrument python app.py")
        assert found.count("FailureSpanProcessor") == 1


APP = """
from opentelemetry import trace
processor = trace.get_tracer_provider()._active_span_processor
print([type(each).__name__ for each in processor._span_processors])
"""


def _instrumented(folder, line):
    """Run a line of the docs on a small app, and give what it printed."""
    pytest.importorskip("opentelemetry.distro")
    (folder / "app.py").write_text(APP, encoding="utf-8")
    bin_folder = Path(sys.executable).parent
    set_here = dict(word.split("=", 1) for word in shlex.split(line) if re.match(r"[A-Z_]+=", word))
    words = [word for word in shlex.split(line) if not re.match(r"[A-Z_]+=", word)]
    none = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", **none, **set_here}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _headings(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _part(module):
    name = module.split()[0].rpartition("/")[2]
    return re.sub(r"(receiver|processor|exporter|extension|connector)$", "", name)


def _cli(*words, folder=ROOT):
    command = [sys.executable, "-c", "from otel_aml.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def _keys(value):
    """The keys of a JSON value, at every level; of a list those of its first member."""
    if isinstance(value, dict):
        return {key: _keys(each) for key, each in value.items()}
    return [_keys(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else None
