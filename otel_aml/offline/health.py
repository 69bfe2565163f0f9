"""Is everything in place for a verdict? In this environment, in the spans of files; and the one thing to do next."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final

from otel_aml.offline.analysis import analysed
from otel_aml.offline.reports import TaxonomyRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from otel_aml.offline.analysis import Analysis, Given

ENABLED: Final = "OTEL_AML_ENABLED"
_SWITCHED_ON: Final = frozenset({"true", "1", "yes", "on"})
_ENTRY_POINTS: Final = "opentelemetry_instrumentor"
_PACKAGES: Final = ("otel-aml", "opentelemetry-sdk", "opentelemetry-distro", "duckdb", "jsonschema")
NEEDS: Final = {
    "tool_failure": "spans of tools and models with their status",
    "format_violation": "a declared schema of the answer, and content capture or run.answer()",
    "hallucination": "the ids of the case (aml.case.evidence_ids), and the answer or its cited ids",
    "retrieval_miss": "the notes that the case needs (gold or relevant_doc_ids), and ids of retrieved notes",
    "context_pollution": "a judge's word (--judge), where the needed note was retrieved",
    "typology_misjudge": "a gold typology (--gold), and the answer",
}
"""What a check needs to be decided."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was looked at.

    Args:
        is_fine: None where it is only told.
        todo: What to do about it, if anything.
    """

    name: str
    found: str
    is_fine: bool | None = None
    todo: str = ""


def environment() -> Iterator[Sign]:
    """Look at what is installed and switched on here."""
    yield Sign("python", platform.python_version())
    for package in _PACKAGES:
        try:
            yield Sign(package, metadata.version(package), is_fine=True)
        except metadata.PackageNotFoundError:
            yield Sign(package, "not installed")
    registered = any(each.name == "otel_aml" for each in metadata.entry_points(group=_ENTRY_POINTS))
    yield Sign(
        "entry point",
        "registered" if registered else "not registered",
        is_fine=registered,
        todo="" if registered else "install the package itself (pip install otel-aml), not only its folder",
    )
    value = os.environ.get(ENABLED)
    is_on = value is not None and value.strip().lower() in _SWITCHED_ON
    yield Sign(
        ENABLED,
        "not set: opentelemetry-instrument attaches nothing" if value is None else f"{'on' if is_on else 'off'}",
    )


def files(given: Given, *, on_bytes: Callable[[int], None] | None = None) -> tuple[Sign, ...]:
    """Look at exported spans.

    Raises:
        InputError: Something cannot be read, or holds nothing that is understood.
    """
    with analysed(given, on_bytes=on_bytes) as analysis:
        return tuple(_signs(analysis))


def next_step(signs: tuple[Sign, ...]) -> str:
    """Say the one thing to do next: the first that is not fine and can be mended."""
    return next(
        (sign.todo for sign in signs if sign.is_fine is False and sign.todo),
        next((sign.todo for sign in signs if sign.todo), "nothing: ask `otel-aml report FILE...`"),
    )


def _signs(analysis: Analysis) -> Iterator[Sign]:
    (found,) = analysis.store.rows("inspection/spans")
    runs, verdicts = analysis.read.runs, found["verdict_count"]
    yield Sign(
        "runs",
        f"{runs} in {found['trace_count']} traces, {found['span_count']} spans",
        is_fine=runs > 0,
        todo=""
        if runs
        else "instrument the agent: no span says that it is of an agent, a model, a tool or a retriever",
    )
    yield Sign(
        "processor",
        f"{verdicts} verdicts drawn live, for {runs} runs",
        is_fine=verdicts >= runs,
        todo="" if verdicts >= runs else "attach the processor: otel_aml.install() after the tracer provider is set",
    )
    yield from _limits(found)
    yield Sign(
        "content",
        f"on {found['content_count']} spans" if found["content_count"] else "not captured",
        is_fine=bool(found["content_count"]) or None,
    )
    yield from _checks(analysis, has_content=bool(found["content_count"]))


def _limits(found: Mapping[str, int | None]) -> Iterator[Sign]:
    dropped, cut = found["dropped_count"], found["cut_length"]
    yield Sign(
        "dropped",
        f"{dropped} spans lost attributes or events",
        is_fine=not dropped,
        todo="raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_SPAN_EVENT_COUNT_LIMIT (256, say)" if dropped else "",
    )
    yield Sign(
        "cut texts",
        f"texts seem to be cut at {cut} characters" if cut else "none seen",
        is_fine=not cut,
        todo="raise OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: an answer that is cut cannot be checked" if cut else "",
    )


def _checks(analysis: Analysis, *, has_content: bool) -> Iterator[Sign]:
    rows = {row.failure_class: row for row in map(TaxonomyRow.of, analysis.rows("taxonomy_frequency"))}
    for failure_class, needs in NEEDS.items():
        row = rows[failure_class]
        can_run = bool(row.decided)
        hint = "" if has_content else "; with content capture off tell the handle of otel_aml.case()"
        yield Sign(
            failure_class,
            f"decided in {row.decided or 0} of {analysis.read.runs} runs",
            is_fine=True if can_run else None,
            todo="" if can_run or not analysis.read.runs else f"for {failure_class}: give {needs}{hint}",
        )
