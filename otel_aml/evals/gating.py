"""From files and a configuration to a decision: what the command and the pytest plugin both do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from otel_aml.errors import NothingUnderstood
from otel_aml.evals.calibration import is_calibrated
from otel_aml.evals.gate import Counts, Decision, counts_of, decide, saved_counts
from otel_aml.evals.measures import Measured, measure
from otel_aml.offline import render
from otel_aml.offline.analysis import Given

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_aml.evals.limits import GateConfig


@dataclass(frozen=True, slots=True)
class Gated:
    """A decision, and what was read for it."""

    decision: Decision
    measured: Measured


def gate(files: Sequence[str], config: GateConfig, *, on_bytes: Callable[[int], None] | None = None) -> Gated:
    """Measure the runs of some files, and decide.

    Args:
        files: OTLP JSON files, folders, patterns, `-`, or one store.
        config: What is let pass, and where labels and baselines are.
        on_bytes: Told how many bytes were read, now and then.

    Raises:
        InputError: Something cannot be read, or holds no run.
        ConfigurationError: The contract cannot be used.
    """
    measured = _measured(files, config, on_bytes)
    baselines = [_baseline(path, config, on_bytes) for path in config.baseline]
    return Gated(
        decide(measured.measures, config, baselines=baselines, calibrated=_calibrated(measured, config)), measured
    )


def _measured(files: Sequence[str], config: GateConfig, on_bytes: Callable[[int], None] | None) -> Measured:
    given = Given(files=files, contract=_path(config.contract), gold=_path(config.gold), judged=_path(config.judge))
    measured = measure(given, on_bytes=on_bytes)
    if not measured.measures.runs:
        raise NothingUnderstood(render.no_runs(measured.read))
    return measured


def _baseline(path: str, config: GateConfig, on_bytes: Callable[[int], None] | None) -> Counts:
    """Read the counts of an earlier gate, or draw them from traces with the same labels."""
    saved = saved_counts(Path(path))
    return counts_of(_measured([path], config, on_bytes).measures) if saved is None else saved


def _calibrated(measured: Measured, config: GateConfig) -> bool:
    """Say whether every word of a judge that was counted is of the one that passed its calibration."""
    if config.calibration is None or config.judge is None:
        return False
    words = [tally for tally in measured.measures.classes.values() if tally.judged]
    return all(tally.judged == tally.decided for tally in words) and is_calibrated(
        Path(config.calibration), Path(config.judge)
    )


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)
