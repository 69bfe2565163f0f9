"""What is installed: what an agent loads, which version it says, and that it names no place of ours."""

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import otel_aml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_FOR_AGENTS = {"click", "duckdb", "jinja2", "jsonschema", "pandas", "pyarrow", "redis", "rich", "typer"}
SKIPPED_FOLDERS = {"__pycache__", "_build", "build", "dist", "mutants", "telemetry"}
OUR_FILES = ("*.py", "*.md", "*.sql", "*.toml", "*.yaml", "*.yml", "*.json", "*.jsonl", "justfile", ".ci/*")
HOME = re.compile(r"/home/\w|/Users/\w|C:\\\\Users")
ADDRESS = re.compile(r"https?://([A-Za-z0-9.-]+)")
KNOWN_HOSTS = {
    "127.0.0.1", "a", "docs.pytest.org", "example.com", "github.com", "keepachangelog.com", "localhost",
    "opentelemetry.io", "semver.org", "www.apache.org",
    # What the tests of redaction take secrets out of.
    "0123456789abcdef01234567", "hooks.slack.com", "svc", "u", "x",
}  # fmt: skip


def loaded_by(statement):
    """Run a statement in a fresh process, and list the modules that it loaded."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("import otel_aml", id="the package"),
        pytest.param("import otel_aml.live.instrumentor", id="the zero-code entry point"),
        pytest.param(
            "import otel_aml\nfrom opentelemetry.sdk.trace import TracerProvider\n"
            "provider = TracerProvider()\notel_aml.install(provider)\n"
            "with otel_aml.case('C-1', evidence_ids=['a'], tracer_provider=provider) as run:\n"
            "    run.answer({'cited_tx_ids': ['b']})",
            id="a run",
        ),
    ],
)
def test_an_agent_loads_neither_database_nor_terminal(statement):
    """Import time is the agent's time."""
    found = loaded_by(statement)
    assert found & NOT_FOR_AGENTS == set()
    assert not {name for name in found if re.match(r"otel_aml\.(offline|cli|demo|evals)\b", name)}


def test_the_version_is_said_once():
    """pyproject, the package and the installed metadata agree."""
    assert PROJECT["version"] == otel_aml.__version__ == version("otel-aml")


def test_the_changelog_knows_the_version():
    """A release without words is no release."""
    assert f"## [{otel_aml.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_entry_points_can_be_loaded():
    """`otel-aml` and the zero-code entry point lead somewhere."""
    scripts = entry_points(group="console_scripts", name="otel-aml")
    instrumentors = entry_points(group="opentelemetry_instrumentor", name="otel_aml")
    assert [callable(each.load()) for each in (*scripts, *instrumentors)] == [True, True]


def test_no_two_tests_share_a_name():
    """Modules of tests are imported by their bare names: of two, one would not be collected."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_all_is_every_extra_for_users():
    """`otel-aml[all]` leaves out only what is for the work on otel_aml itself."""
    extras = set(PROJECT["optional-dependencies"])
    (everything,) = PROJECT["optional-dependencies"]["all"]
    ours = {"all", "beside", "browser", "check", "clients", "dev", "frameworks", "frameworks-adk", "peers", "recipes"}
    assert set(re.findall(r"\w+", everything.partition("[")[2])) == extras - ours


@pytest.mark.parametrize("pattern", OUR_FILES)
def test_no_file_names_a_place_of_ours(pattern):
    """A path of someone's machine, or the host of a registry, means nothing to anyone else."""
    found = {
        f"{path.relative_to(ROOT)}: {place}"
        for path in ROOT.rglob(pattern)
        if path.is_file() and _is_ours(path.relative_to(ROOT)) and path != Path(__file__)
        for place in _places(path.read_text(encoding="utf-8", errors="replace"))
    }
    assert found == set()


def _places(text):
    """Places of a machine, and hosts that nobody has looked at (a registry's, say)."""
    yield from (place for place in (str(ROOT), str(Path.home())) if len(place) > 1 and f"{place}/" in text)
    yield from HOME.findall(text)
    yield from (host for host in ADDRESS.findall(text) if host not in KNOWN_HOSTS)


def _is_ours(path):
    folders = path.parts[:-1]
    hidden = (part for part in folders if part.startswith(".") and part != ".ci")
    recorded = folders[:2] == ("tests", "fixtures")
    return not (
        set(folders) & SKIPPED_FOLDERS or any(hidden) or recorded or path.name in {"traces.jsonl", "gold.jsonl"}
    )
