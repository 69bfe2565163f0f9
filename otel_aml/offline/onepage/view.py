"""What the page shows, in the order in which it is read: picks and words, counts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Self

from otel_aml.core.redaction import redact
from otel_aml.core.taxonomy import TAXONOMY, FailureClass
from otel_aml.offline.health import NEEDS
from otel_aml.offline.insight import headline
from otel_aml.offline.onepage import shapes
from otel_aml.offline.onepage.shapes import counted
from otel_aml.offline.render import PROBLEMS_SHOWN, summary, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_aml.offline.analysis import Analysis
    from otel_aml.offline.insight import Headline
    from otel_aml.offline.reports import CascadeRow, Report, TaxonomyRow, TrendRow
    from otel_aml.offline.timeline import Symptom, Timeline, TimelineStep

_PAIRS_SHOWN: Final = 30
_PAIRS_DRAWN: Final = 10
_TOOLS_SHOWN: Final = 20
_STEPS_SHOWN: Final = 30
_DEEPEST: Final = 8
_TREND_HEIGHT: Final = 34
_NAME: Final = 22
_PLAIN: Final = "plain"
_SECOND: Final = 1_000
_MINUTE: Final = 60_000


@dataclass(frozen=True, slots=True)
class Trend:
    """One class as time goes by."""

    name: str
    tone: str
    runs: int
    peak: int
    columns: tuple[shapes.Column, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run, as a line of its waterfall.

    Args:
        at: Where it begins and how wide it is, in hundredths of the run.
        lasted: In words.
        tone: Of the gravest failure in it; empty where there is none.
    """

    of: TimelineStep
    title: str
    depth: int
    at: tuple[float, float]
    lasted: str
    tone: str
    symptoms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One of the worst runs.

    Args:
        further: How many of its steps are not shown.
    """

    of: Timeline
    tone: str
    steps: tuple[Step, ...]
    further: int
    elsewhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """One place of the repair order.

    Args:
        after: Classes that it goes together with, and is not seen before.
        where: Tools that failed most.
    """

    name: str
    tone: str
    runs: int
    findings: int
    after: tuple[str, ...]
    cause: str
    way: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that the page shows."""

    internal: bool
    report: Report
    head: Headline
    classes: tuple[TaxonomyRow, ...]
    others: tuple[TaxonomyRow, ...]
    failed: int
    runs: int
    period: str
    trend: tuple[Trend, ...]
    stretch: str
    cascade: shapes.Flow | None
    symptoms: shapes.Flow | None
    pairs: tuple[CascadeRow, ...]
    further_pairs: int
    flow: shapes.Flow | None
    repairs: tuple[Repair, ...]
    tools: tuple[Any, ...]
    further_tools: int
    worst: tuple[Run, ...]
    read: str
    problems: tuple[tuple[str, str], ...]
    further_problems: int
    needs: dict[str, str]

    @classmethod
    def of(cls, analysis: Analysis, report: Report, runs: Sequence[Timeline], *, internal: bool) -> Self:
        """Pick and word it."""
        classes = tuple(row for row in report.taxonomy if row.severity is not None)
        strong_first = sorted(report.cascades, key=lambda row: (not row.co_occurs, row.grain))
        problems = analysis.problems
        return cls(
            internal=internal,
            report=report,
            head=headline(report),
            classes=classes,
            others=tuple(row for row in report.taxonomy if row.severity is None),
            failed=report.inflation.first_failure,
            runs=analysis.read.runs,
            period=_period(report.trend),
            trend=tuple(_trends(report.trend)),
            stretch=_stretch(report.trend),
            cascade=_graph([row for row in report.cascades if row.grain == "class"]),
            symptoms=_graph([row for row in report.cascades if row.grain == "symptom"][:_PAIRS_DRAWN]),
            pairs=tuple(strong_first[:_PAIRS_SHOWN]),
            further_pairs=max(len(strong_first) - _PAIRS_SHOWN, 0),
            flow=_flow(report),
            repairs=tuple(_repairs(report)),
            tools=report.tool_failures[:_TOOLS_SHOWN],
            further_tools=max(len(report.tool_failures) - _TOOLS_SHOWN, 0),
            worst=tuple(_run(each, internal=internal) for each in runs),
            read=summary(analysis.read, runless=analysis.runless),
            problems=tuple(
                (_place(each.file, each.line, internal=internal), each.reason) for each in problems[:PROBLEMS_SHOWN]
            ),
            further_problems=max(len(problems) - PROBLEMS_SHOWN, 0),
            needs=NEEDS,
        )

    @staticmethod
    def tone(failure_class: str) -> str:
        """Say by a word of the style sheet how grave a class is."""
        return tone(failure_class)

    @property
    def all_checked(self) -> bool:
        """Whether every check was decided in every run."""
        return not any(row.unchecked for row in self.report.coverage)


def tone(failure_class: str) -> str:
    """Say by a word of the style sheet how grave a class is."""
    known = next((spec for name, spec in TAXONOMY.items() if name == failure_class), None)
    if known is not None:
        return str(known.severity)
    return "good" if failure_class == FailureClass.PASS else _PLAIN


def _place(file: str, line: int | None, *, internal: bool) -> str:
    """Name a file; whose folder it lies in is nobody's business but the operator's."""
    name = file if internal else PurePath(file).name
    return f"{name}:{line}" if line else name


def _period(rows: Sequence[TrendRow]) -> str:
    if not rows:
        return ""
    starts = [row.started_at for row in rows]
    first, last = min(starts), max(starts) + timedelta(seconds=rows[0].seconds)
    if first.date() == last.date():
        return f"{first:%Y-%m-%d}, {first:%H:%M:%S} to {last:%H:%M:%S} UTC"
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def _stretch(rows: Sequence[TrendRow]) -> str:
    """Say how long a stretch of the trend is."""
    if not rows:
        return ""
    seconds = rows[0].seconds
    for unit, length in (("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds % length == 0:
            many = seconds // length
            return unit if many == 1 else f"{many} {unit}s"
    return ""


def _trends(rows: Sequence[TrendRow]) -> Iterable[Trend]:
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row.failure_class, []).append(row.runs)
    failing = sorted((name for name in found if name in TAXONOMY), key=lambda name: -sum(found[name]))
    most = max((max(found[name]) for name in failing), default=0)
    for name in failing:
        counts = found[name]
        laid = shapes.columns(counts, most=most, height=_TREND_HEIGHT)
        yield Trend(name, tone(name), sum(counts), max(counts), laid)


def _graph(rows: Sequence[CascadeRow]) -> shapes.Flow | None:
    """Draw pairs from what is seen first to what is seen after."""
    if not rows:
        return None
    streams = [
        shapes.Stream(
            names=(row.cause, row.effect),
            runs=row.n_both,
            tone=tone(row.cause) if row.grain == "class" else _PLAIN,
            words=_words(row),
            is_strong=row.co_occurs,
        )
        for row in rows
    ]
    counts: tuple[dict[str, int], dict[str, int]] = {}, {}
    for row in rows:
        counts[0][row.cause] = max(counts[0].get(row.cause, 0), row.n_cause)
        counts[1][row.effect] = max(counts[1].get(row.effect, 0), row.n_effect)
    return shapes.flow(streams, counts=counts, words="in {runs}")


def _words(row: CascadeRow) -> str:
    both = f"{_short(row.cause)} and {_short(row.effect)}: together in {counted(row.n_both)}"
    return f"{both}, {row.lift:.1f} times as often as chance would have it"


def _flow(report: Report) -> shapes.Flow | None:
    """Draw what was done about each class, and how it ended."""
    if not report.recovery_flow:
        return None
    streams = [
        shapes.Stream(
            (row.failure_class, row.path, row.outcome),
            row.runs,
            tone(row.failure_class),
            f"{row.failure_class}, {row.path}, {row.outcome}: {counted(row.runs)}",
        )
        for row in report.recovery_flow
    ]
    return shapes.flow(streams, words="{runs}")


def _short(text: str) -> str:
    return visible(redact(text), _NAME)


def _repairs(report: Report) -> Iterable[Repair]:
    findings = {row.failure_class: row.findings or 0 for row in report.taxonomy}
    strong = [row for row in report.cascades if row.grain == "class" and row.co_occurs]
    for row in report.repair_order:
        spec = TAXONOMY[FailureClass(row.failure_class)]
        after = tuple(pair.cause for pair in strong if pair.effect == row.failure_class)
        tools = report.tool_failures[:1] if row.failure_class == FailureClass.TOOL_FAILURE else ()
        yield Repair(
            row.failure_class,
            row.severity,
            row.runs,
            findings[row.failure_class],
            after,
            spec.root_cause,
            str(spec.path),
            "".join(f"{each.error_type or 'failed'} {each.dependency or ''}" for each in tools).strip(),
        )


def _run(found: Timeline, *, internal: bool) -> Run:
    steps = found.steps
    chosen = {step.span_id for step in steps[:_STEPS_SHOWN]}
    telling = [step.span_id for step in steps if step.symptoms][:_STEPS_SHOWN]
    chosen.update(telling)
    shown = [step for step in steps if step.span_id in chosen]
    whole = max((step.at_ms + (step.duration_ms or 0) for step in steps), default=0)
    return Run(
        found,
        tone(found.run.failure_class),
        tuple(_step(step, whole, internal=internal) for step in shown),
        len(steps) - len(shown),
        tuple(map(_symptom, found.unplaced)),
    )


def _step(step: TimelineStep, whole: float, *, internal: bool) -> Step:
    name = step.name if internal else step.subject
    again = f" (retry {step.retry})" if step.retry else ""
    lasts = whole - step.at_ms if step.duration_ms is None else step.duration_ms
    gravest = max((each for each in step.symptoms), key=_weight, default=None)
    return Step(
        step,
        f"{step.kind} {visible(redact(name), 48) if name else ''}".strip() + again,
        min(step.depth, _DEEPEST),
        shapes.span(step.at_ms, lasts, whole),
        "never ended" if step.duration_ms is None else _time(step.duration_ms),
        ""
        if gravest is None
        else "healed"
        if gravest.is_recovered or gravest.is_superseded
        else tone(gravest.failure_class),
        tuple(map(_symptom, step.symptoms)),
    )


def _weight(symptom: Symptom) -> tuple[bool, int]:
    spec = TAXONOMY[FailureClass(symptom.failure_class)]
    return not (symptom.is_recovered or symptom.is_superseded), spec.weight


def _symptom(symptom: Symptom) -> str:
    about = " ".join(visible(redact(word), 40) for word in (symptom.error_type, symptom.dependency) if word)
    where = f" at step {visible(redact(symptom.step_id), 40)}" if symptom.step_id else ""
    return f"{symptom.failure_class}{f' ({about})' if about else ''}: {symptom.fate}{where}"


def _time(milliseconds: float) -> str:
    if milliseconds < _SECOND:
        return f"{milliseconds:.1f} ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds / _SECOND:.1f} s"
    return f"{milliseconds / _MINUTE:.1f} min"
