"""A report in one call, for people who work in a notebook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed

if TYPE_CHECKING:
    from collections.abc import Sequence

PathLike: TypeAlias = str | os.PathLike[str]


def report(
    files: PathLike | Sequence[PathLike],
    *,
    contract: PathLike | None = None,
    gold: PathLike | None = None,
    judged: PathLike | None = None,
    min_both: int = reports.MIN_BOTH,
) -> reports.Report:
    """Report on exported spans, as `otel-aml report` does.

    Args:
        files: OTLP JSON files, folders or patterns; or one store that `otel-aml ingest` wrote.
        contract: A `contract.json`.
        gold: A `gold.jsonl`.
        judged: A `judged.jsonl`.
        min_both: In how many runs two failures must be seen together to be a pair of the cascades.

    Returns:
        Typed rows, a table for each question: `taxonomy`, `cascades`, `recovery`, `repair_order`, `tool_failures`,
        `trend`, `recovery_flow`, `coverage`. Each shows itself in a notebook and has `.df()` (pandas) and `.arrow()`
        (pyarrow).

    Raises:
        InputError: Something cannot be read, or holds nothing that is understood.
    """
    several = [files] if isinstance(files, str | os.PathLike) else files
    given = Given(
        files=[os.fspath(file) for file in several],
        contract=_path(contract),
        gold=_path(gold),
        judged=_path(judged),
    )
    with analysed(given) as analysis:
        return reports.report(analysis, min_both=min_both)


def _path(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)
