"""Has the judge earned its say? Against people's labels, for one model and one rubric; another of either has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otel_aml.errors import InputError
from otel_aml.evals.agreement import Confusion, Corrected, Proportion, corrected_rate
from otel_aml.evals.jsonlines import read_lines, read_text
from otel_aml.offline.labels import JudgedLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MIN_LABELS: Final = 50
MIN_AGREEMENT: Final = 0.8
MIN_RATE: Final = 0.8
"""What TPR and TNR must reach."""


class CalibrationLine(BaseModel):
    """One line of `labels.jsonl`: what a person said of a run, and what the judge did; null where one is not sure.

    `split` says what the label was used for: lines that helped to write the prompt say nothing about it afterwards,
    and only `test` counts.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    label: bool | None
    """The person's word: was the context used?"""
    context_used: bool | None
    """The judge's word."""
    judge: Annotated[str, Field(min_length=1)]
    rubric: Annotated[str, Field(min_length=1)]
    split: Literal["train", "dev", "test"] = "test"


class CalibrationFile(BaseModel):
    """What `judge calibrate --out` writes, as far as a gate reads it."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    judge: str
    rubric: str
    passes: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge against people.

    Args:
        judge: The model's id.
        rubric: The hash of its prompt.
        confusion: On the held-out labels; positive is a note that was not used.
        unclear: Held-out labels of which one side is not sure; they count neither way.
        set_aside: Labels of the other splits.
        corrected: The rate among runs without labels; None where none were given.
    """

    judge: str
    rubric: str
    confusion: Confusion
    unclear: int
    set_aside: int
    corrected: Corrected | None = None

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Say what it lacks; empty where it passes."""
        return tuple(self._shortfalls())

    def _shortfalls(self) -> Iterator[str]:
        found = self.confusion
        if found.total < MIN_LABELS:
            yield f"{found.total} held-out labels, at least {MIN_LABELS} are needed"
        asked = (
            ("agreement", found.agreement, MIN_AGREEMENT),
            ("TPR", found.tpr, MIN_RATE),
            ("TNR", found.tnr, MIN_RATE),
        )
        for name, seen, needed in asked:
            if seen.value is None:
                yield f"{name} does not exist: no label asks for it"
            elif seen.value < needed:
                yield f"{name} {seen.value:.2f} ({seen.count} of {seen.of}), at least {needed:.2f} is needed"

    @property
    def passes(self) -> bool:
        """Whether the judge may gate."""
        return not self.shortfalls

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "judge": self.judge,
            "rubric": self.rubric,
            "passes": self.passes,
            "shortfalls": list(self.shortfalls),
            **self.confusion.plain(),
            "unclear": self.unclear,
            "set_aside": self.set_aside,
            "corrected": None if self.corrected is None else self.corrected.plain(),
        }


def calibrate(labels: Path, judged: Path | None = None) -> Calibration:
    """Hold a judge against the labels of people.

    Args:
        labels: A `labels.jsonl`.
        judged: What the same judge said of runs without labels, for the corrected rate.

    Raises:
        InputError: A line is wrong, or the lines are of more than one judge or rubric.
    """
    lines = list(read_lines(labels, CalibrationLine))
    if not lines:
        raise InputError(f"no labels in {str(labels)!r}; each line is an object like {_LINE}")
    judge, rubric = _the_one(((line.judge, line.rubric) for line in lines), labels)
    held_out = [line for line in lines if line.split == "test"]
    clear = [
        (not line.label, not line.context_used)
        for line in held_out
        if line.label is not None and line.context_used is not None
    ]
    confusion = Confusion.of(clear)
    corrected = None if judged is None else corrected_rate(confusion, _unlabelled(judged, judge, rubric))
    return Calibration(judge, rubric, confusion, len(held_out) - len(clear), len(lines) - len(held_out), corrected)


def is_calibrated(calibration: Path, judged: Path) -> bool:
    """Say whether every judged line is of the judge and the rubric that passed.

    Raises:
        InputError: A file cannot be read.
    """
    try:
        found = CalibrationFile.model_validate_json(read_text(calibration))
    except ValidationError as error:
        raise InputError(
            f"{str(calibration)!r} is no calibration; write one with `otel-aml judge calibrate labels.jsonl --out PATH`"
        ) from error
    said_by = {(line.judge, line.rubric) for line in read_lines(judged, JudgedLine)}
    return found.passes and said_by == {(found.judge, found.rubric)}


_LINE: Final = '{"case_id": ..., "label": true, "context_used": false, "judge": "...", "rubric": "..."}'


def _unlabelled(judged: Path, judge: str, rubric: str) -> Proportion:
    lines = list(read_lines(judged, JudgedLine))
    others = sum((line.judge, line.rubric) != (judge, rubric) for line in lines)
    if others:
        raise InputError(
            f"{others} of {len(lines)} lines of {str(judged)!r} are of another judge or rubric than the labels; "
            "judge the runs again with this one"
        )
    clear = [line.context_used for line in lines if line.context_used is not None]
    return Proportion(clear.count(False), len(clear))


def _the_one(found: Iterable[tuple[str, str]], path: Path) -> tuple[str, str]:
    kinds = sorted(set(found))
    if len(kinds) > 1:
        shown = "; ".join(f"{judge} with rubric {rubric}" for judge, rubric in kinds[:3])
        raise InputError(f"{str(path)!r} has lines of {len(kinds)} judges ({shown}); calibrate one at a time")
    return kinds[0]
