import gzip

import pytest
from exports import write_zst
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.errors import InputError
from otel_aml.offline import lines, store
from otel_aml.offline.lines import Seen, chunks
from otel_aml.offline.problems import Problems
from otel_aml.offline.store import Store


def unpack(path):
    with Store() as opened:
        yield from opened.zst_lines(path)


def read(path):
    """Read a file: its numbered lines, how many there were, and what was odd."""
    seen, problems, found = Seen(), Problems(), []
    for chunk in chunks(str(path), seen=seen, problems=problems, unpack_zst=unpack):
        found += zip(chunk.numbers, chunk.lines, strict=True)
    return found, seen.lines, [(each.line, each.reason) for each in problems.ordered()]


PLAIN = [
    pytest.param(b"a\nb\n", [(1, b"a"), (2, b"b")], id="two lines"),
    pytest.param(b"a\nb", [(1, b"a"), (2, b"b")], id="no end of the last line"),
    pytest.param(b"a\r\n\r\nb\r\n", [(1, b"a"), (3, b"b")], id="line ends of Windows, a blank line"),
    pytest.param(b"\n \n\t\na\n", [(4, b"a")], id="blank lines first"),
    pytest.param(b"\xef\xbb\xbfa\n", [(1, b"a")], id="a byte order mark"),
    pytest.param(b"\0\0a\n\xff\xfe\nb", [(1, b"\0\0a"), (2, b"\xff\xfe"), (3, b"b")], id="NUL, no UTF-8"),
    pytest.param(b"", [], id="empty"),
]


@pytest.mark.parametrize(("content", "expected"), PLAIN)
def test_lines_keep_their_numbers(tmp_path, content, expected):
    """A problem is only found again where its number is right."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert read(path) == (expected, len(expected), [])


@given(st.lists(st.binary(max_size=20).filter(lambda each: b"\n" not in each), max_size=8))
def test_lines_survive_whatever_they_hold(tmp_path_factory, content):
    """Plain or packed, each line comes back with its number."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a").write_bytes(b"\n".join(content) + b"\n")
    (folder / "b.gz").write_bytes(gzip.compress(b"\n".join(content) + b"\n"))
    stripped = [(number, each.rstrip(b"\r")) for number, each in enumerate(content, start=1)]
    first = {1: stripped[0][1].removeprefix(b"\xef\xbb\xbf")} if stripped else {}
    wanted = [(number, first.get(number, each)) for number, each in stripped]
    wanted = [(number, each) for number, each in wanted if each and not each.isspace()]
    head = (folder / "a").read_bytes()[:4]
    if not head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        assert read(folder / "a")[0] == wanted
    assert read(folder / "b.gz")[0] == wanted


class TestTooLong:
    @pytest.fixture(autouse=True)
    def _short_limit(self, monkeypatch):
        monkeypatch.setattr(lines, "LINE_BYTES", 100_000)
        monkeypatch.setattr(store, "LINE_BYTES", 100_000)

    @pytest.mark.parametrize("form", ["plain", "gz", "zst"])
    def test_a_line_that_is_too_long_is_skipped_and_named(self, tmp_path, form):
        """The other lines count, with the numbers they have."""
        content = ["a", "z" * 300_000, "b", "", "c"]
        path = tmp_path / "a"
        if form == "zst":
            write_zst(path, *content)
        else:
            data = "\n".join(content).encode() + b"\n"
            path.write_bytes(gzip.compress(data) if form == "gz" else data)
        found, count, problems = read(path)
        assert found == [(1, b"a"), (3, b"b"), (5, b"c")]
        assert count == 4
        assert [number for number, _ in problems] == [2]

    def test_a_line_of_just_the_limit_is_read(self, tmp_path):
        """The limit is what it says."""
        path = tmp_path / "a"
        path.write_bytes(b"z" * 100_000 + b"\n" + b"z" * 100_001)
        assert [number for number, _ in read(path)[0]] == [1]


class TestPacked:
    def test_several_members_are_one_file(self, tmp_path):
        """Appending is how gz files are rotated."""
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
        assert read(path) == ([(1, b"a"), (2, b"b")], 2, [])

    def test_what_came_before_a_cut_counts(self, tmp_path):
        """A killed writer leaves half a stream; one problem says so."""
        path = tmp_path / "a.gz"
        data = gzip.compress(b"".join(b"%032d\n" % (number * 7919) for number in range(20_000)))
        path.write_bytes(data[: len(data) // 2])
        found, count, problems = read(path)
        assert len(found) > 1_000
        assert count == len(found) + 1
        assert found[0] == (1, b"0" * 32)
        (problem,) = problems
        assert problem[0] is None
        assert "cut off" in problem[1]

    def test_what_follows_the_last_member_is_named(self, tmp_path):
        """It is no part of the stream, and not passed over in silence."""
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(b"a\n") + b"rubbish")
        found, _, problems = read(path)
        assert (found, len(problems)) == ([(1, b"a")], 1)

    def test_a_bomb_is_stopped(self, tmp_path, monkeypatch):
        """A small file must not fill the machine."""
        monkeypatch.setattr(lines, "_EXPANSION_FROM", 1_000_000)
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(b"a\n" + b" " * 20_000_000, 9))
        found, _, problems = read(path)
        assert found == [(1, b"a")]
        assert "expands" in problems[-1][1]

    @pytest.mark.parametrize("end", ["", "\r"], ids=["unix", "windows"])
    def test_zst_lines_keep_their_numbers_and_bytes(self, tmp_path, end):
        """DuckDB unpacks them where Python cannot."""
        path = tmp_path / "a.zst"
        write_zst(path, *[f"{each}{end}" for each in ("a", "", "é, 'q' \"", "", "b")])
        assert read(path) == ([(1, b"a"), (3, "é, 'q' \"".encode()), (5, b"b")], 3, [])

    def test_a_damaged_zst_stream_is_named(self, tmp_path):
        """It is not taken for an empty file."""
        path = tmp_path / "a.zst"
        path.write_bytes(b"\x28\xb5\x2f\xfd" + b"rubbish" * 10)
        found, _, problems = read(path)
        assert (found, len(problems)) == ([], 1)

    def test_a_zst_file_is_opened_by_its_own_name(self, tmp_path):
        """Brackets in a name are no pattern."""
        write_zst(tmp_path / "1.zst", "other")
        write_zst(tmp_path / "[1].zst", "own")
        assert read(tmp_path / "[1].zst")[0] == [(1, b"own")]


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path):
    """It is said, with what to do."""
    with pytest.raises(InputError, match="cannot be opened"):
        read(tmp_path / "absent")
