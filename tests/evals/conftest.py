"""The builders of exports are those of the offline tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "offline"))

import pytest

from otel_aml import cli


@pytest.fixture
def run_cli(monkeypatch, capsys, tmp_path):
    """Run a command line in a folder of its own: its exit code, what it printed, what it said."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["otel-aml", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return left.value.code or 0, out, err

    return command
