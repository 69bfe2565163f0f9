"""Where the parts of a drawing lie. Across, in hundredths of its width; down, in pixels: texts keep their size."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

WHOLE: Final = 100
LABEL: Final = 38
"""How much room a label of one line has above its bar."""
LINE: Final = 15
"""How much more each further line takes."""
_ROOM: Final = 23
_MOST_LINES: Final = 3
_TALLEST: Final = 220
"""How tall the bars of one column are together."""
_LEAST: Final = 1.5
_GAP: Final = 6
_BROAD: Final = frozenset("mw@%—…")
_MARKS: Final = frozenset("_-./:")


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a flow, with its label above it: in lines, each with its place."""

    name: str
    lines: tuple[tuple[float, str], ...]
    column: int
    y: float
    height: float
    words: str
    tone: str


@dataclass(frozen=True, slots=True)
class Ribbon:
    """What flows from one bar into another: as wide as it has runs."""

    path: str
    words: str
    tone: str
    is_strong: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """Bars in columns, and what flows between them."""

    height: float
    bars: tuple[Bar, ...]
    ribbons: tuple[Ribbon, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """What is to be drawn: one name a column, and how many runs go that way.

    Args:
        tone: A word of the style sheet.
    """

    names: tuple[str, ...]
    runs: int
    tone: str
    words: str = ""
    is_strong: bool = True


def fitting(text: str, room: float) -> str:
    """Cut a text to what fits into so much room, in widths of a small letter; a drawing does not break its lines."""
    left = room - 1
    for place, letter in enumerate(text):
        left -= (
            2 if unicodedata.east_asian_width(letter) in "WF" else 1.5 if letter in _BROAD or letter.isupper() else 1
        )
        if left < 0:
            return text if len(text) == place + 1 and left >= -1 else f"{text[:place]}…"
    return text


def counted(runs: int) -> str:
    """Say so many runs."""
    return "1 run" if runs == 1 else f"{runs} runs"


def broken(text: str, room: float, *, most: int = _MOST_LINES) -> tuple[str, ...]:
    """Break a label into lines that fit, at its spaces, or after a mark within a long name; cut only what is left."""
    text, lines = text.strip(), list[str]()
    while text != fitting(text, room) and len(lines) < most - 1:
        head = fitting(text, room).removesuffix("…")
        marks = [place for place, letter in enumerate(head, start=1) if letter in _MARKS]
        place = text.rfind(" ", 0, len(head) + 1)
        cut = place if place > 0 else marks[-1] if marks else len(head)
        lines.append(text[:cut])
        text = text[cut:].lstrip()
    return (*lines, fitting(text, room))


def flow(
    streams: Sequence[Stream],
    *,
    says: Callable[[int, str, int], str],
    label: Callable[[str], str] = str,
) -> Flow:
    """Lay streams out: the names of a column in the order in which they come.

    Args:
        streams: All with as many names.
        says: Words what a bar holds, from its column, its name and the sum of its streams.
        label: How a name is shown.
    """
    columns = len(streams[0].names)
    sums = [_sums(streams, column) for column in range(columns)]
    scale = _TALLEST / max(sum(found.values()) for found in sums)
    bars: dict[tuple[int, str], Bar] = {}
    for column, found in enumerate(sums):
        y = 0.0
        for name, runs in found.items():
            lines = broken(label(name), _ROOM)
            y += LABEL + LINE * (len(lines) - 1)
            height = max(runs * scale, _LEAST)
            placed = tuple((round(y - 19 - LINE * back, 1), line) for back, line in enumerate(reversed(lines)))[::-1]
            tone = next(stream.tone for stream in streams if stream.names[0] == name) if column == 0 else "plain"
            told = says(column, name, runs)
            bars[column, name] = Bar(name, placed, column, round(y, 1), round(height, 1), told, tone)
            y += height + _GAP
    height = max(bar.y + bar.height for bar in bars.values()) + _GAP
    return Flow(round(height, 1), tuple(bars.values()), tuple(_ribbons(streams, bars, columns, scale)))


def _sums(streams: Iterable[Stream], column: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for stream in streams:
        found[stream.names[column]] = found.get(stream.names[column], 0) + stream.runs
    return found


def _ribbons(
    streams: Sequence[Stream], bars: dict[tuple[int, str], Bar], columns: int, scale: float
) -> Iterable[Ribbon]:
    """Each keeps its own height; within a bar they lie in the order of where they go, so that few cross."""
    left: dict[tuple[int, str], float] = {}
    right: dict[tuple[int, str], float] = {}
    step = WHOLE / (columns - 1)
    for one, other in pairwise(range(columns)):
        ends = [(bars[one, stream.names[one]], bars[other, stream.names[other]], stream) for stream in streams]
        for start, end, stream in sorted(ends, key=_down):
            from_y = left.get((one, start.name), start.y)
            to_y = right.get((other, end.name), end.y)
            height = max(stream.runs * scale, _LEAST)
            left[one, start.name], right[other, end.name] = from_y + height, to_y + height
            path = _path(one * step, from_y, other * step, to_y, height)
            yield Ribbon(path, stream.words, stream.tone, stream.is_strong)


def _down(ends: tuple[Bar, Bar, Stream]) -> tuple[float, float]:
    start, end, _ = ends
    return start.y, end.y


def _path(x: float, y: float, to_x: float, to_y: float, height: float) -> str:
    middle = (x + to_x) / 2
    return (
        f"M{x:g} {y:.1f}C{middle:g} {y:.1f} {middle:g} {to_y:.1f} {to_x:g} {to_y:.1f}"
        f"V{to_y + height:.1f}C{middle:g} {to_y + height:.1f} {middle:g} {y + height:.1f} {x:g} {y + height:.1f}Z"
    )


@dataclass(frozen=True, slots=True)
class Column:
    """One stretch of time in a row of columns."""

    x: float
    width: float
    y: float
    height: float


def columns(counts: Sequence[int], *, most: int, height: float) -> tuple[Column, ...]:
    """Lay counts out side by side, on a scale that `most` fills; nothing where there is none."""
    step = WHOLE / len(counts)
    gap = min(0.6, step * 0.2)
    return tuple(
        Column(round(place * step + gap / 2, 2), round(step - gap, 2), round(height - tall, 1), round(tall, 1))
        for place, count in enumerate(counts)
        if count
        for tall in (max(height * count / most, _LEAST),)
    )


def span(at: float, lasted: float, whole: float) -> tuple[float, float]:
    """Say where a step lies in its run: its beginning and its width, which is never too small to be seen."""
    if whole <= 0:
        return 0, WHOLE
    width = min(max(WHOLE * lasted / whole, 0.6), WHOLE)
    return round(min(max(WHOLE * at / whole, 0), WHOLE - width), 2), round(width, 2)
