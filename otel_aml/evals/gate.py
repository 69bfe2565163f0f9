"""May this be merged? Each limit, floor and comparison gets a row; a row that was not decided has not passed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otel_aml.core.taxonomy import FAILURES, TAXONOMY, EvalType, FailureClass
from otel_aml.errors import InputError
from otel_aml.evals.agreement import Proportion
from otel_aml.evals.limits import Bound, GateConfig, Limit, Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from otel_aml.evals.measures import Measures, Sighting, TypologyRow

BAND_RUNS: Final = 3
"""So many baselines show how much the rates differ from run to run."""
UNCALIBRATED: Final = "judge not calibrated, offline reference only"
_SCHEMA: Final = "1"
_TOOL, _FORMAT, _HALLUCINATION = FAILURES[:3]


class Status(StrEnum):
    """What became of a row."""

    PASSED = "passed"
    STOPPED = "stopped"
    UNCHECKED = "unchecked"
    """Too few runs were decided. It stops the merge too."""
    REFERENCE = "reference"
    """Shown, and decides nothing."""


class Kind(StrEnum):
    """What a row holds a figure against."""

    LIMIT = "limit"
    FLOOR = "floor"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Row:
    """One question and its answer.

    Args:
        name: A class, or a metric.
        seen: The figure: so many of so many.
        allowed: What it was held against, in words.
        reason: Why it did not pass, in one sentence; empty where it did.
        runs: The runs to look at, where it did not pass.
    """

    kind: Kind
    name: str
    status: Status
    seen: Proportion
    allowed: str
    reason: str = ""
    runs: tuple[Sighting, ...] = ()

    @property
    def stops(self) -> bool:
        """Whether it stops the merge."""
        return self.status in {Status.STOPPED, Status.UNCHECKED}

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "kind": str(self.kind),
            "name": self.name,
            "status": str(self.status),
            "seen": self.seen.plain(),
            "allowed": self.allowed,
            "reason": self.reason,
            "runs": [run.plain() for run in self.runs],
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """All rows: limits by the order of the tree, floors, comparisons.

    Args:
        counts: How often each check fired, of how many decided.
        typologies: Each typology against the labels; it decides nothing.
        judge_calibrated: Whether the judge that was asked is calibrated; None if none was.
    """

    rows: tuple[Row, ...]
    runs: int
    counts: Mapping[str, Proportion]
    typologies: tuple[TypologyRow, ...] = ()
    judge_calibrated: bool | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing stops the merge."""
        return not any(row.stops for row in self.rows)

    @property
    def stopping(self) -> tuple[Row, ...]:
        """What stops it."""
        return tuple(row for row in self.rows if row.stops)

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it; also what a later gate takes as its baseline."""
        return {
            "gate": {
                "schema": _SCHEMA,
                "passed": self.passed,
                "runs": self.runs,
                "judge_calibrated": self.judge_calibrated,
                "counts": {name: {"fired": seen.count, "decided": seen.of} for name, seen in self.counts.items()},
            },
            "rows": [row.plain() for row in self.rows],
            "typologies": [row.plain() for row in self.typologies],
        }


Counts = dict[FailureClass, Proportion]


def counts_of(measures: Measures) -> Counts:
    """Give how often each check fired, of how many decided."""
    return {failure_class: tally.rate for failure_class, tally in measures.classes.items()}


def decide(
    measures: Measures, config: GateConfig, *, baselines: Sequence[Counts] = (), calibrated: bool = False
) -> Decision:
    """Answer every question of the configuration.

    Args:
        measures: What was seen.
        config: What is let pass.
        baselines: The counts of earlier runs.
        calibrated: Whether the judge that gave its word is calibrated.
    """
    asked = _Asked(measures, config, calibrated=calibrated)
    judged = [each for each in FAILURES if TAXONOMY[each].eval_type is EvalType.JUDGE]
    asks_judge = any(each in config.limits or measures.classes[each].judged for each in judged)
    limits = [asked.limit(each, config.limits[each]) for each in FAILURES if each in config.limits]
    floors = [asked.floor(metric, config.floors[metric]) for metric in Metric if metric in config.floors]
    compared = asked.against(baselines) if baselines else []
    return Decision(
        rows=(*limits, *floors, *compared),
        runs=measures.runs,
        counts={str(each): seen for each, seen in counts_of(measures).items()},
        typologies=measures.typologies.rows(),
        judge_calibrated=calibrated if asks_judge else None,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The questions, one method a kind."""

    measures: Measures
    config: GateConfig
    calibrated: bool

    def limit(self, failure_class: FailureClass, limit: Limit) -> Row:
        seen = self.measures.classes[failure_class].rate
        allowed = f"at most {limit.count} runs" if limit.share is None else f"at most {_percent(limit.share)}"
        row = Row(Kind.LIMIT, str(failure_class), Status.PASSED, seen, allowed)
        if limit.share is None:
            is_over, said = seen.count > (limit.count or 0), f"{seen.count} of {seen.of} runs"
        else:
            is_over = _above(seen, limit.share, self.config.bound)
            said = f"{_percent(seen.value)} ({seen.count} of {seen.of} runs){self._by_bound(seen)}"
        return self._settled(row, failure_class, f"{said}, {allowed}" if is_over else "")

    def floor(self, metric: Metric, floor: float) -> Row:
        seen, failure_class = self._metric(metric)
        is_ceiling = metric is Metric.TYPOLOGY_FALSE_POSITIVE_RATE
        allowed = f"{'at most' if is_ceiling else 'at least'} {_percent(floor)}"
        row = Row(Kind.FLOOR, str(metric), Status.PASSED, seen, allowed)
        missed = Proportion(seen.of - seen.count, seen.of)
        is_off = _above(seen, floor, self.config.bound) if is_ceiling else _above(missed, 1 - floor, self.config.bound)
        said = f"{_percent(seen.value)} ({seen.count} of {seen.of}){self._by_bound(seen)}, {allowed}"
        return self._settled(row, failure_class, said if is_off else "")

    def against(self, baselines: Sequence[Counts]) -> list[Row]:
        """Compare every class that is decided on both sides; significance is shared out among them (Holm)."""
        seen = counts_of(self.measures)
        enough = self.config.min_runs
        pooled = {each: _pooled(baselines, each) for each in FAILURES}
        comparable = [each for each in FAILURES if seen[each].of >= enough and pooled[each].of >= enough]
        chances = {each: fisher_upper(seen[each], pooled[each]) for each in comparable}
        adjusted = holm(chances)
        rows = [self._compared(each, seen[each], pooled[each], baselines, adjusted.get(each)) for each in FAILURES]
        return [row for row in rows if row is not None]

    def _compared(
        self,
        failure_class: FailureClass,
        seen: Proportion,
        before: Proportion,
        baselines: Sequence[Counts],
        chance: float | None,
    ) -> Row | None:
        if not before.of and failure_class not in self.config.limits:
            return None
        allowed = f"{_percent(before.value)} before ({before.count} of {before.of} runs)"
        row = Row(Kind.BASELINE, str(failure_class), Status.PASSED, seen, allowed)
        if chance is None or seen.value is None or before.value is None:
            reason = f"{seen.of} runs decided now and {before.of} before, at least {self.config.min_runs} are needed"
            return self._reference(replace(row, status=Status.UNCHECKED, reason=reason), failure_class)
        top = _top_of_band(baselines, failure_class, self.config.band)
        is_worse = (
            seen.value - before.value > self.config.min_increase
            and chance < self.config.significance
            and (top is None or seen.value > top)
        )
        said = f"{_percent(seen.value)} ({seen.count} of {seen.of} runs), {allowed}; p {chance:.2g}"
        if top is not None:
            said += f", above the noise of {len(baselines)} runs (up to {_percent(top)})"
        return self._settled(row, failure_class, said if is_worse else "")

    def _settled(self, row: Row, failure_class: FailureClass, reason: str) -> Row:
        """Say what becomes of a row, once it is known whether something is wrong with its figure."""
        tally = self.measures.classes[failure_class]
        needed = self.config.min_runs
        share = tally.decided / self.measures.runs if self.measures.runs else 0.0
        if row.seen.of < needed:
            few = f"{row.seen.of} decided of {self.measures.runs} runs, at least {needed} are needed"
            said = f"{few}; {reason}" if reason else few
            row = replace(row, status=Status.UNCHECKED, reason=said)
        elif reason:
            row = replace(row, status=Status.STOPPED, reason=reason)
        elif share < self.config.min_decided:
            said = f"decided in {_percent(share)} of the runs, at least {_percent(self.config.min_decided)} are needed"
            row = replace(row, status=Status.UNCHECKED, reason=said)
        if row.stops:
            row = replace(row, runs=tuple(tally.runs))
        return self._reference(row, failure_class)

    def _reference(self, row: Row, failure_class: FailureClass) -> Row:
        """Take the say from a judge that has not earned it."""
        if TAXONOMY[failure_class].eval_type is EvalType.JUDGE and not self.calibrated:
            reason = f"{UNCALIBRATED}; {row.reason}" if row.reason else UNCALIBRATED
            return replace(row, status=Status.REFERENCE, reason=reason)
        return row

    def _metric(self, metric: Metric) -> tuple[Proportion, FailureClass]:
        """Give the figure of a metric, and the class that it closes."""
        found, typologies = self.measures, self.measures.typologies
        figures: Mapping[Metric, tuple[Proportion, FailureClass]] = {
            Metric.CITATION_TRACEABILITY: (found.classes[_HALLUCINATION].clear, _HALLUCINATION),
            Metric.FORMAT_COMPLIANCE: (found.classes[_FORMAT].clear, _FORMAT),
            Metric.TOOL_SUCCESS: (found.classes[_TOOL].clear, _TOOL),
            Metric.RECALL_AT_K: (found.recall_at_k, FailureClass.RETRIEVAL_MISS),
            Metric.TYPOLOGY_RECALL: (typologies.recall, FailureClass.TYPOLOGY_MISJUDGE),
            Metric.TYPOLOGY_PRECISION: (typologies.precision, FailureClass.TYPOLOGY_MISJUDGE),
            Metric.TYPOLOGY_FALSE_POSITIVE_RATE: (typologies.false_positives, FailureClass.TYPOLOGY_MISJUDGE),
        }
        return figures[metric]

    def _by_bound(self, seen: Proportion) -> str:
        interval = seen.interval
        if self.config.bound is Bound.PLAIN or interval is None:
            return ""
        return f", 95 % interval {_percent(interval.low)} to {_percent(interval.high)}"


def _above(seen: Proportion, limit: float, bound: Bound) -> bool:
    """Say whether a share is above its limit, by the bound that was asked for.

    A limit of nothing is always taken as it is: no number of runs shows that something never happens.
    """
    value, interval = seen.value, seen.interval
    if value is None or interval is None:
        return False
    by: Mapping[Bound, float] = {Bound.PLAIN: value, Bound.LENIENT: interval.low, Bound.STRICT: interval.high}
    measured = value if limit <= _NOTHING else by[bound]
    return measured > limit + _NOTHING


_NOTHING: Final = 1e-12


def fisher_upper(seen: Proportion, before: Proportion) -> float:
    """Say how often chance alone gives so many or more of them to the newer side (Fisher's exact test, one-sided)."""
    total, hits = seen.of + before.of, seen.count + before.count
    most = min(hits, seen.of)
    logs = [
        _log_choose(seen.of, each) + _log_choose(before.of, hits - each) - _log_choose(total, hits)
        for each in range(seen.count, most + 1)
    ]
    return min(1.0, math.fsum(map(math.exp, logs)))


def _log_choose(of: int, count: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(count + 1) - math.lgamma(of - count + 1)


def holm(chances: Mapping[FailureClass, float]) -> dict[FailureClass, float]:
    """Adjust p values so that all questions together raise a false alarm no more often than one may.

    Source:
        S. Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    adjusted: dict[FailureClass, float] = {}
    highest = 0.0
    for place, (failure_class, chance) in enumerate(sorted(chances.items(), key=lambda pair: pair[1])):
        highest = max(highest, min(1.0, chance * (len(chances) - place)))
        adjusted[failure_class] = highest
    return adjusted


def _pooled(baselines: Sequence[Counts], failure_class: FailureClass) -> Proportion:
    seen = [each[failure_class] for each in baselines]
    return Proportion(sum(each.count for each in seen), sum(each.of for each in seen))


def _top_of_band(baselines: Sequence[Counts], failure_class: FailureClass, width: float) -> float | None:
    """Say up to which rate the baselines differ among themselves; None where there are too few to tell."""
    rates = [rate for each in baselines if (rate := each[failure_class].value) is not None]
    return fmean(rates) + width * stdev(rates) if len(rates) >= BAND_RUNS else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.4g} %"


class _Fired(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    fired: int = Field(ge=0)
    decided: int = Field(ge=0)


class _Saved(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    counts: dict[str, _Fired]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    gate: _Saved


_LARGEST: Final = 10_000_000


def saved_counts(path: Path) -> Counts | None:
    """Read the counts that an earlier gate printed with `--json`; None where the file is something else.

    Raises:
        InputError: It is such a file, and not all classes are in it.
    """
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        found = _Answer.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    try:
        return {each: Proportion(found.gate.counts[each].fired, found.gate.counts[each].decided) for each in FAILURES}
    except KeyError as error:
        raise InputError(f"{str(path)!r} has no counts of {error}; make it anew with `otel-aml gate --json`") from error
