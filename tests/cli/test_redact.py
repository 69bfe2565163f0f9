"""`otel-aml redact`: which files it reads and writes, what it says, and what it never overwrites."""

import gzip
import json
import stat
import sys

import pytest
from exports import write_zst

CLEAN = '{"name":"work"}'
DIRTY = '{"name":"for jane@example.com"}'
DONE = '{"name":"for [redacted:email]"}'


@pytest.fixture
def dirty(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text(f"{DIRTY}\n{CLEAN}\n", encoding="utf-8")
    return path


class TestWhere:
    def test_to_standard_output(self, run, dirty):
        """As a filter: the file stays as it is, the counts go to standard error."""
        done = run("redact", str(dirty))
        assert done.code == 0
        assert done.out == f"{DONE}\n{CLEAN}\n"
        assert "read 1 file, 2 lines; replaced 1: 1 email" in done.err
        assert dirty.read_text(encoding="utf-8") == f"{DIRTY}\n{CLEAN}\n"

    def test_into_a_new_file(self, run, dirty, tmp_path):
        out = tmp_path / "clean" / "new.jsonl"
        dirty.chmod(0o640)
        done = run("redact", str(dirty), "--out", str(out), "--json")
        assert (done.code, out.read_text(encoding="utf-8")) == (0, f"{DONE}\n{CLEAN}\n")
        assert stat.S_IMODE(out.stat().st_mode) == 0o640
        assert json.loads(done.out) == {
            "read": {"files": 1, "lines": 2, "bad_lines": 0},
            "problems": [],
            "replaced": {"email": 1},
            "written": [str(out)],
            "unchanged": [],
        }

    def test_several_into_a_folder(self, run, dirty, tmp_path):
        """Packed ones too: gz stays gz, zst is written plain."""
        packed = tmp_path / "b.jsonl.gz"
        packed.write_bytes(gzip.compress(DIRTY.encode()))
        write_zst(tmp_path / "c.jsonl.zst", DIRTY)
        done = run("redact", str(dirty), str(packed), str(tmp_path / "c.jsonl.zst"), "--out", str(tmp_path / "out"))
        assert done.code == 0, done.err
        out = tmp_path / "out"
        assert sorted(path.name for path in out.iterdir()) == ["b.jsonl.gz", "c.jsonl", "traces.jsonl"]
        assert gzip.decompress((out / "b.jsonl.gz").read_bytes()).decode() == f"{DONE}\n"
        assert (out / "c.jsonl").read_text(encoding="utf-8") == f"{DONE}\n"

    def test_in_place(self, run, dirty, tmp_path):
        packed = tmp_path / "packed"
        packed.write_bytes(gzip.compress(DIRTY.encode()))
        assert run("redact", str(dirty), str(packed), "--in-place").code == 0
        assert dirty.read_text(encoding="utf-8") == f"{DONE}\n{CLEAN}\n"
        assert gzip.decompress(packed.read_bytes()).decode() == f"{DONE}\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["packed", "traces.jsonl"]

    def test_from_standard_input(self, run, tmp_path, monkeypatch):
        source = tmp_path / "in"
        source.write_text(DIRTY, encoding="utf-8")
        with source.open(encoding="utf-8") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            done = run("redact", "-", "--out", "out.jsonl")
        assert done.code == 0, done.err
        assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == f"{DONE}\n"


class TestWhatCannotBeRead:
    def test_a_torn_line_is_left_out_and_named(self, run, dirty):
        """Nothing goes on unread."""
        dirty.write_text(f'{DIRTY}\n{{"name":"jane@exa\n{CLEAN}\n', encoding="utf-8")
        done = run("redact", str(dirty))
        assert (done.code, done.out) == (0, f"{DONE}\n{CLEAN}\n")
        assert "3 lines, 1 of them left out" in done.err
        assert "traces.jsonl:2: no JSON: left out" in done.err
        assert run("redact", "--strict", str(dirty)).code == 2

    def test_a_file_with_such_a_line_is_not_replaced(self, run, dirty):
        """The line would be lost."""
        torn = f'{DIRTY}\n{{"name":"jane@exa\n'
        dirty.write_text(torn, encoding="utf-8")
        done = run("redact", str(dirty), "--in-place")
        assert (done.code, dirty.read_text(encoding="utf-8")) == (2, torn)
        assert "is as it was" in done.err

    @pytest.mark.parametrize("content", ["", "no JSON\n", "a\nb\n"])
    def test_nothing_understood(self, run, dirty, content, tmp_path):
        dirty.write_text(content, encoding="utf-8")
        done = run("redact", str(dirty), "--out", "out.jsonl")
        assert done.code == 2
        assert "no line of JSON" in done.err
        assert not (tmp_path / "out.jsonl").exists()


class TestUsage:
    def test_nothing_is_written_over(self, run, dirty):
        for out in (dirty, dirty.parent):
            done = run("redact", str(dirty), "--out", str(out))
            assert done.code == 2
            assert "is there already" in done.err
        assert dirty.read_text(encoding="utf-8") == f"{DIRTY}\n{CLEAN}\n"

    def test_two_files_of_one_name(self, run, dirty, tmp_path):
        other = tmp_path / "other" / "traces.jsonl"
        other.parent.mkdir()
        other.write_text(DIRTY, encoding="utf-8")
        done = run("redact", str(dirty), str(other), "--out", "out")
        assert done.code == 2
        assert "several files would become" in done.err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--out", "x", "--in-place"], "give one of them"),
            (["--json"], "--json needs --out or --in-place"),
        ],
    )
    def test_options_that_do_not_go_together(self, run, dirty, words, said):
        done = run("redact", str(dirty), *words)
        assert done.code == 2
        assert said in done.err

    def test_what_has_no_place_of_its_own(self, run, tmp_path):
        write_zst(tmp_path / "c.jsonl.zst", DIRTY)
        for source, said in (
            ("-", "standard input has no place"),
            ("c.jsonl.zst", "zst, which is read but not written"),
        ):
            done = run("redact", source, "--in-place")
            assert done.code == 2
            assert said in done.err

    def test_a_place_that_cannot_be_written(self, run, dirty, tmp_path):
        (tmp_path / "file").write_text("x", encoding="utf-8")
        done = run("redact", str(dirty), "--out", str(tmp_path / "file" / "out.jsonl"))
        assert done.code == 2
        assert "cannot be written" in done.err
