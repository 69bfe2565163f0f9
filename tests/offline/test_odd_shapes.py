import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.offline.onepage.shapes import LABEL, Stream, columns, counted, fitting, flow, span

streams = st.lists(
    st.builds(
        Stream,
        names=st.tuples(*[st.sampled_from("abcd")] * 3),
        runs=st.integers(1, 1_000),
        tone=st.sampled_from(["critical", "high"]),
    ),
    min_size=1,
    max_size=20,
)


def numbers(path):
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", path)]


@given(streams)
def test_no_bar_lies_over_another_or_over_a_label(found):
    """Each has room for its label above it."""
    drawn = flow(found, says=lambda column, name, runs: counted(runs))
    for column in range(3):
        bars = sorted((bar for bar in drawn.bars if bar.column == column), key=lambda bar: bar.y)
        below = 0.0
        for bar in bars:
            assert bar.y - below >= LABEL - 0.1
            below = bar.y + bar.height
        assert below <= drawn.height


@given(streams)
def test_a_bar_says_its_runs(found):
    """All that flows through it."""
    drawn = flow(found, says=lambda column, name, runs: counted(runs))
    for bar in drawn.bars:
        assert bar.words == counted(sum(each.runs for each in found if each.names[bar.column] == bar.name))


@given(streams)
def test_ribbons_stay_in_the_drawing(found):
    """One between each two columns, for each stream."""
    drawn = flow(found, says=lambda column, name, runs: counted(runs))
    assert len(drawn.ribbons) == 2 * len(found)
    assert all(
        0 <= number <= max(100, drawn.height + 1.5 * len(found))
        for each in drawn.ribbons
        for number in numbers(each.path)
    )


@given(st.lists(st.integers(0, 50), min_size=1, max_size=48))
def test_columns_stand_on_the_ground_and_side_by_side(counts):
    """Zero is nothing, and one is seen."""
    drawn = columns(counts, most=max(*counts, 1), height=34)
    assert len(drawn) == sum(count > 0 for count in counts)
    assert all(abs(each.y + each.height - 34) < 0.11 and each.height > 1 for each in drawn)
    assert all(one.x + one.width <= other.x + 0.02 for one, other in pairwise(drawn))


@given(st.floats(-10, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_step_lies_within_its_run(at, lasted, whole):
    """Also one whose clock was wrong."""
    left, width = span(at, lasted, whole)
    assert left >= 0
    assert 0 < width <= 100
    assert left + width <= 100.02


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rate_limited rules", "rate_limited rules"),
        ("a" * 23, "a" * 23),
        ("a" * 24, "a" * 22 + "…"),
        ("W" * 20, "W" * 14 + "…"),
        ("漢字" * 10, "漢字漢字漢字漢字漢字漢…"),
    ],
)
def test_a_label_is_cut_to_its_room(text, shown):
    """By how broad its letters are."""
    assert fitting(text, 23) == shown
