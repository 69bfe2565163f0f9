"""Agents of real frameworks, offline, with the two lines added: the exported root carries the right verdict.

Not run by plain `pytest`: `pytest -m frameworks -k NAME` in a venv with the extra `frameworks` (`frameworks-adk` for
Google ADK, which pins the SDK). A framework that is not installed fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gaps import right_or_gap
from play import FRAMEWORKS, exported
from scenarios import BY_NAME, CANARY, SAID_BY_DEPENDENCY, SCENARIOS

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
KINDS = ("alone", "case", "private")
OURS = ("failure.", "recovery.", "aml.")
WITHOUT_ERRORS = ("success", "arguments invalid", "retriever empty", "citation invented", "timeout", "429")
"""Scenarios in which no exception of the app's own is recorded, whose message is the app's to word."""

pytestmark = pytest.mark.frameworks


class Played:
    """What one framework did in all scenarios."""

    def __init__(self, framework, folder):
        self.framework = framework
        self.folder = folder
        on, off = (played(framework, folder, content) for content in ("on", "off"))
        self.versions = on["versions"]
        self.faults = on["faults"] + off["faults"]
        self.scenarios = {name: on["scenarios"][name] | off["scenarios"][name] for name in BY_NAME}


def played(framework, folder, content):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "OPENINFERENCE_"))}
    done = subprocess.run(
        [sys.executable, str(HERE / "play.py"), framework, str(folder), "--content", content],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=HERE,
        env=kept | {"PYTHONPATH": str(HERE.parent.parent)},
    )
    assert done.returncode == 0, f"{framework} did not play; is it installed? {done.stderr[-2_000:]}"
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=list(FRAMEWORKS))
def framework(request, tmp_path_factory):
    return Played(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(params=[pytest.param(scenario, id=scenario.name.replace(" ", "_")) for scenario in SCENARIOS])
def scenario(request):
    return request.param


def _ours(span):
    """Pick what otel_aml wrote on a span."""
    return {key: value for key, value in span["attributes"].items() if key.startswith(OURS)}


def told(framework, name, kind, where):
    return tuple(run["verdict"] for run in framework.scenarios[name][kind][where])


@pytest.mark.parametrize("kind", KINDS)
def test_the_exported_root_carries_the_right_verdict(framework, scenario, kind):
    """Two lines alone, inside a case, and inside a case with content switched off."""
    right, reason = right_or_gap(framework.framework, scenario.name, kind, "live")
    assert told(framework, scenario.name, kind, "live") == right, reason


@pytest.mark.parametrize("kind", ["alone", "case"])
def test_a_replay_of_what_was_exported_gives_it_too(framework, scenario, kind):
    """Without what the processor wrote."""
    right, reason = right_or_gap(framework.framework, scenario.name, kind, "files")
    assert told(framework, scenario.name, kind, "files") == right, reason


def test_the_verdict_names_what_failed(framework, scenario):
    """The tool, or the model."""
    if scenario.dependency:
        named = framework.scenarios[scenario.name]["case"]["live"][0]["dependency"]
        models = ("scripted", "OpenAIModel.generate")
        assert named in (models if scenario.dependency == "model" else (scenario.dependency,))


@pytest.mark.parametrize("kind", ["case", "private"])
def test_inside_a_case_the_checks_are_decided(framework, scenario, kind):
    """Whether content is captured, or the app tells its answer and what was retrieved."""
    (run, *_) = framework.scenarios[scenario.name][kind]["live"]
    assert set(run["unchecked"]).isdisjoint(scenario.checks)


@pytest.mark.parametrize("name", WITHOUT_ERRORS)
def test_with_content_off_no_content_is_exported(framework, name):
    """A canary stands in each prompt, argument, result, note and answer."""
    words = (framework.folder / f"{name.replace(' ', '_')}.private.jsonl").read_text(encoding="utf-8")
    assert CANARY not in words


def test_what_is_added_never_holds_content(framework, scenario):
    """Whatever the instrumentation exports; the detail, for operators, holds the redacted words of an exception."""
    for kind in KINDS:
        for span in exported(framework.folder / f"{scenario.name.replace(' ', '_')}.{kind}.jsonl"):
            added = _ours(span)
            added.pop("failure.technical_detail", None)
            assert CANARY not in json.dumps(added)


DECIDED = {
    "success": ("pass", {"format_violation", "hallucination", "retrieval_miss"}),
    "schema fails": ("format_violation", {"format_violation"}),
    "citation invented": ("hallucination", {"format_violation", "hallucination", "retrieval_miss"}),
    "retriever empty": ("retrieval_miss", {"format_violation", "hallucination", "retrieval_miss"}),
}
"""By scenario: the verdict, and the checks that must be decided for it."""


@pytest.mark.parametrize("name", DECIDED)
def test_with_content_off_a_case_decides_format_citations_and_notes_and_exports_none_of_it(framework, name):
    """The app tells otel_aml alone: the class is right, the checks are decided, and not a byte of content leaves.

    Where an answer is refused for good, the instrumentation itself exports the exception that quotes it; of ours there
    is nothing then either.
    """
    right, checks = DECIDED[name]
    (run,) = framework.scenarios[name]["private"]["live"]
    assert run["verdict"] == right
    assert checks.isdisjoint(run["unchecked"])
    file = framework.folder / f"{name.replace(' ', '_')}.private.jsonl"
    if name in WITHOUT_ERRORS:
        assert CANARY not in file.read_text(encoding="utf-8")
    assert CANARY not in json.dumps([_ours(span) for span in exported(file)])


def test_the_detail_holds_only_what_a_dependency_said(framework, scenario):
    """Never what the model wrote, was asked or was given, also where that was refused and the refusal quotes it."""
    for kind in KINDS:
        for span in exported(framework.folder / f"{scenario.name.replace(' ', '_')}.{kind}.jsonl"):
            detail = str(span["attributes"].get("failure.technical_detail", ""))
            assert CANARY not in detail.replace(SAID_BY_DEPENDENCY, "")


REDACTING = ("openai-agents",)
"""Frameworks that take the words of a tool's exception away before anybody sees them."""


def test_the_detail_tells_what_a_dependency_said(framework):
    """An operator who is woken needs the words, and gets them, unless the framework itself takes them away."""
    spans = exported(framework.folder / "tool_raises.case.jsonl")
    (detail,) = filter(None, (span["attributes"].get("failure.technical_detail") for span in spans))
    assert (SAID_BY_DEPENDENCY in detail) is (framework.framework not in REDACTING)


def test_nothing_of_ours_failed(framework):
    """The counter of our own faults."""
    assert framework.faults == 0


def test_the_table_in_the_docs_is_of_this_run(framework):
    """The committed result is what was just seen, on the versions it names."""
    committed = json.loads(RESULTS.read_text(encoding="utf-8"))[framework.framework]
    assert committed["versions"] == framework.versions
    for name, kinds in committed["scenarios"].items():
        for kind, seen in kinds.items():
            for where, verdicts in seen.items():
                assert tuple(verdicts) == told(framework, name, kind, where), f"{name}, {kind}, {where}"
