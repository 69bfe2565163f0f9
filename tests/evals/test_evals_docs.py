"""docs/evals.md says what the gate, the judge and the figures do, and its examples run as they stand there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from otel_aml.evals.calibration import CalibrationLine
from otel_aml.evals.closure import read_closure
from otel_aml.evals.leakage import GoldenLine
from otel_aml.evals.limits import GateConfig, Metric, read_config

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "evals.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def shell(command, folder, **more):
    """Run a line of the docs; `otel-aml` is that of this checkout."""
    bin_folder = folder / "bin"
    if not bin_folder.exists():
        bin_folder.mkdir()
        (bin_folder / "otel-aml").write_text(
            f"#!/bin/sh\nexec {sys.executable} -c 'from otel_aml.cli import main; main()' \"$@\"\n", encoding="utf-8"
        )
        (bin_folder / "otel-aml").chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{bin_folder}:{os.environ['PATH']}", **more}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        capture_output=True, text=True, check=False, cwd=folder, env=environment,
    )  # fmt: skip


def test_the_python_examples_print_what_is_shown(tmp_path):
    """In order, in one process."""
    code = "\n".join(blocks("python"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)


def test_the_configuration_is_read(tmp_path):
    """The example, as it is."""
    (tmp_path / "gate.toml").write_text(blocks("toml")[0], encoding="utf-8")
    assert read_config(tmp_path / "gate.toml").min_runs == 20


def test_every_setting_and_every_floor_is_explained():
    """With its default."""
    table = PAGE.partition("| setting |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)))) == {
        name for name in GateConfig.model_fields if name not in {"limits", "floors"}
    }
    floors = PAGE.partition("| floor |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", floors, re.MULTILINE) == list(Metric)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder in which the workflow's steps ran, and what each of them did."""
    folder = tmp_path_factory.mktemp("workflow")
    (folder / "gate.toml").write_text(blocks("toml")[0], encoding="utf-8")
    (workflow,) = map(yaml.safe_load, blocks("yaml"))
    steps = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    assert [step.split()[0] for step in steps] == ["pip", "otel-aml", "otel-aml"]
    summary = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return folder, [shell(step, folder, **summary) for step in steps[1:]]


@pytest.mark.slow
def test_the_steps_of_the_workflow_run(demo):
    """The demo fails in every way, so the gate must stop it, and say so where a review is read."""
    folder, (ran, gated) = demo
    assert ran.returncode == 0, ran.stderr
    assert gated.returncode == 1, gated.stderr
    assert "::error title=otel-aml gate%3A hallucination (limit)::" in gated.stdout
    assert "### otel-aml gate: stopped" in (folder / "summary.md").read_text(encoding="utf-8")
    assert (folder / "gate.xml").exists()


@pytest.mark.slow
def test_the_commands_run(demo):
    """Each line of the first block: the first three stop, and what the third wrote is a baseline for the fourth."""
    folder, _ = demo
    first = blocks("sh")[0].splitlines()
    codes = [shell(line, folder).returncode for line in first]
    assert codes == [1] * 4
    assert json.loads((folder / "main.json").read_text(encoding="utf-8"))["gate"]["passed"] is False


def test_the_workflow_is_well_formed(tmp_path):
    """By actionlint, where it is installed."""
    actionlint = shutil.which("actionlint")
    if actionlint is None:
        pytest.skip("needs actionlint")
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    path = tmp_path / ".github" / "workflows" / "gate.yml"
    path.write_text(blocks("yaml")[0], encoding="utf-8")
    done = subprocess.run([actionlint, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_lines_of_the_files_are_read(tmp_path):
    """A label, a golden query, a list of metrics, each as it stands on the page."""

    label, query = blocks("json")[:2]
    assert CalibrationLine.model_validate_json(label).split == "test"
    assert GoldenLine.model_validate_json(query).retrieved == ["typ-cycle", "typ-fan-in"]
    (tmp_path / "metrics.toml").write_text(blocks("toml")[1], encoding="utf-8")
    assert len(read_closure(tmp_path / "metrics.toml").by_metric) == 2
