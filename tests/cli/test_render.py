import pytest

from otel_aml.offline.render import visible

SHOWN = [
    ("plain words", "plain words"),
    ("é, 汉字, 🙂", "é, 汉字, 🙂"),
    ("a\tb\nc", "a\\tb\\nc"),
    ("\x1b[31m", "\\x1b[31m"),
    ("\u202e\u2066\u200b", "\\u202e\\u2066\\u200b"),
    ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
    ("\ud800", "\\ud800"),
    ("abcdefgh", "abcdefgh"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_what_cannot_be_seen_is_escaped(text, shown):
    """And what can be seen stays."""
    assert visible(text) == shown


def test_what_is_long_is_cut():
    """A line stays a line."""
    assert visible("x" * 100, 10) == "xxxxxxxxx…"
