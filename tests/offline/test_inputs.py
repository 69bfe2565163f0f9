import pytest

from otel_aml.errors import InputError
from otel_aml.offline.inputs import files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "a.jsonl", "notes.txt", "-c.jsonl", "[a].jsonl", "in/d.json.gz"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


MEANT = [
    pytest.param(["a.jsonl"], ["a.jsonl"], id="a file"),
    pytest.param(["?.jsonl"], ["a.jsonl", "b.jsonl"], id="a pattern"),
    pytest.param(["in"], ["in/d.json.gz"], id="a folder"),
    pytest.param(["a.jsonl", "./a.jsonl", "a*"], ["a.jsonl"], id="each file once"),
    pytest.param(["-"], ["-"], id="standard input"),
    pytest.param(["-c.jsonl"], ["-c.jsonl"], id="a name that begins with a hyphen"),
    pytest.param(["[a].jsonl"], ["[a].jsonl"], id="a name that looks like a pattern"),
]


@pytest.mark.parametrize(("arguments", "expected"), MEANT)
def test_arguments_lead_to_files(folder, arguments, expected):
    """Paths come first, patterns only where there is no such path."""
    assert list(files(arguments)) == expected


@pytest.mark.parametrize("arguments", [[], ["absent.jsonl"], ["*.csv"], ["empty"], ["a\0b"]])
def test_an_argument_that_leads_to_nothing_is_an_error(folder, arguments):
    """Silence would look like a good result."""
    (folder / "empty").mkdir()
    with pytest.raises(InputError):
        files(arguments)
