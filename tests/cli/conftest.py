"""Command lines run in a folder of their own; the builders of exports are those of the offline tests."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from otel_aml import cli

sys.path.append(str(Path(__file__).parent.parent / "offline"))

from exports import failed, good, line, write


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command line in a folder of its own: its exit code, what it printed, what it said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["otel-aml", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return SimpleNamespace(code=left.value.code or 0, out=out, err=err)

    return command


@pytest.fixture
def traces(tmp_path):
    return write(tmp_path / "traces.jsonl", line(*good(2)), line(*failed(1)))
