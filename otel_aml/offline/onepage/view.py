"""What the page shows, in the order in which it is read: picks and words, counts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Self

from otel_aml.core.redaction import redact
from otel_aml.core.taxonomy import TAXONOMY, FailureClass
from otel_aml.offline.health import NEEDS
from otel_aml.offline.insight import headline, never_clear, passing
from otel_aml.offline.onepage import shapes
from otel_aml.offline.onepage.shapes import counted
from otel_aml.offline.render import PROBLEMS_SHOWN, summary, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
_LABEL: Final = 60
_NAME: Final = 22
_WAYS_SHOWN: Final = 5
_PLAIN: Final = "plain"
_OTHER: Final = "other"
_UNKNOWN: Final = "unknown"
_DAY: Final = 86_400
ENDINGS: Final = {
    "recovered": "a later try made it good, and the run passed",
    "handed_over": "the run waits for a person, or a person took over",
    "exhausted": "it was tried again, and failed again",
    "none": "nothing was tried in the run",
}
"""What the outcomes mean."""
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
class Names:
    """What may be said of names: on the page for everyone only those that a span gives to a tool, a model, an agent.

    Args:
        hidden: Names that are only a span's own, or come out of a message.
    """

    hidden: frozenset[str] = frozenset()

    def of(self, name: str | None) -> str:
        """Show the name of what failed."""
        return _UNKNOWN if name is None or name in self.hidden else name

    def within(self, symptom: str) -> str:
        """Show a symptom, which ends with the name of what failed."""
        for place, letter in enumerate(symptom):
            if letter == " " and symptom[place + 1 :] in self.hidden:
                return f"{symptom[:place]} {_UNKNOWN}"
        return symptom


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of one grain: as a picture, and as a table.

    Args:
        title: What they are pairs of.
        further: How many are not in the table.
        undrawn: How many of the table are not in the picture.
    """

    title: str
    drawing: shapes.Flow
    rows: tuple[tuple[str, str, CascadeRow], ...]
    further: int
    undrawn: int


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool or a service that failed for good, with the ways in which it did, in words."""

    name: str
    ways: tuple[str, ...]
    further: int
    runs: int


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
        lasted: How long it took, in words.
    """

    of: Timeline
    tone: str
    steps: tuple[Step, ...]
    further: int
    elsewhere: tuple[str, ...]
    lasted: str


@dataclass(frozen=True, slots=True)
class Repair:
    """One place of the repair order.

    Args:
        after: Classes that it goes together with, and is not seen before.
        where: The tool that failed most, and how.
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
    passing: tuple[str, ...]
    never_clear: tuple[TaxonomyRow, ...]
    trend: tuple[Trend, ...]
    stretch: str
    axis: tuple[str, ...]
    pairs: tuple[Pairs, ...]
    flow: shapes.Flow | None
    made_good: int
    endings: dict[str, str]
    repairs: tuple[Repair, ...]
    tools: tuple[Tool, ...]
    further_tools: int
    worst: tuple[Run, ...]
    read: str
    problems: tuple[tuple[str, str], ...]
    further_problems: int
    needs: dict[str, str]

    @classmethod
    def of(cls, analysis: Analysis, report: Report, runs: Sequence[Timeline], *, hidden: frozenset[str] | None) -> Self:
        """Pick and word it.

        Args:
            analysis: What was read.
            report: What the queries say of it.
            runs: Those that are shown step by step.
            hidden: Names that are not for everyone; None on a page for operators.
        """
        internal, names = hidden is None, Names(hidden or frozenset())
        classes = tuple(row for row in report.taxonomy if row.severity is not None)
        tools = _tools(report, names)
        problems = analysis.problems
        counts = {row.failure_class: row.runs for row in report.taxonomy}
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
            passing=passing(report),
            never_clear=never_clear(report),
            stretch=_stretch(report.trend),
            axis=_axis(report.trend),
            pairs=tuple(_pairs(report, names)),
            flow=_flow(report, counts),
            made_good=sum(_made_good(report, counts).values()),
            endings={row.outcome: ENDINGS[row.outcome] for row in report.recovery_flow if row.outcome in ENDINGS},
            repairs=tuple(_repairs(report, tools)),
            tools=tools[:_TOOLS_SHOWN],
            further_tools=max(len(tools) - _TOOLS_SHOWN, 0),
            worst=tuple(_run(each, names, internal=internal) for each in runs),
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
    return "good" if failure_class == FailureClass.PASS else _OTHER


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


def _axis(rows: Sequence[TrendRow]) -> tuple[str, ...]:
    """Say when the trend begins, where its middle lies, and when it ends: UTC."""
    if not rows:
        return ()
    starts = [row.started_at for row in rows]
    first, last = min(starts), max(starts) + timedelta(seconds=rows[0].seconds)
    if rows[0].seconds >= _DAY:
        style = "%Y-%m-%d"
    elif first.date() != last.date():
        style = "%m-%d %H:%M"
    else:
        style = "%H:%M" if rows[0].seconds % 60 == 0 else "%H:%M:%S"
    return tuple(f"{moment:{style}}" for moment in (first, first + (last - first) / 2, last))


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


def _pairs(report: Report, names: Names) -> Iterable[Pairs]:
    """Draw pairs from what is seen first to what is seen after, and list them: a picture and a table a grain."""
    for grain, title in (("class", "Classes"), ("symptom", "Symptoms: how it failed, and what")):
        rows = [row for row in report.cascades if row.grain == grain]
        if rows:
            drawn = rows[:_PAIRS_DRAWN]
            shown = rows[:_PAIRS_SHOWN]
            yield Pairs(
                title,
                _graph(drawn, names),
                tuple((names.within(row.cause), names.within(row.effect), row) for row in shown),
                len(rows) - len(shown),
                max(len(shown) - len(drawn), 0),
            )


def _graph(rows: Sequence[CascadeRow], names: Names) -> shapes.Flow:
    streams = [
        shapes.Stream(
            names=(row.cause, row.effect),
            runs=row.n_both,
            tone=tone(row.cause) if row.grain == "class" else _PLAIN,
            words=_words(row, names),
            is_strong=row.co_occurs,
        )
        for row in rows
    ]
    counts: tuple[dict[str, int], dict[str, int]] = {}, {}
    for row in rows:
        counts[0][row.cause] = max(counts[0].get(row.cause, 0), row.n_cause)
        counts[1][row.effect] = max(counts[1].get(row.effect, 0), row.n_effect)
    return shapes.flow(
        streams,
        says=lambda column, name, _: f"in {counted(counts[column][name])}",
        label=lambda name: _short(names.within(name), _LABEL),
    )


def _words(row: CascadeRow, names: Names) -> str:
    both = f"{_short(names.within(row.cause))} and {_short(names.within(row.effect))}"
    return f"{both}: together in {counted(row.n_both)}, {row.lift:.1f} times as often as chance would have it"


def _made_good(report: Report, counts: Mapping[str, int]) -> dict[str, int]:
    """Count by class the runs with a way out that passed: what failed in them was made good or replaced."""
    found: dict[str, int] = {}
    for row in report.recovery_flow:
        found[row.failure_class] = found.get(row.failure_class, 0) + row.runs
    return {name: runs - counts.get(name, 0) for name, runs in found.items()}


def _flow(report: Report, counts: Mapping[str, int]) -> shapes.Flow | None:
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
    good = _made_good(report, counts)

    def says(column: int, name: str, runs: int) -> str:
        again = good.get(name, 0) if column == 0 else 0
        return f"{counted(runs)}, {again} made good" if again > 0 else counted(runs)

    return shapes.flow(streams, says=says)


def _tools(report: Report, names: Names) -> tuple[Tool, ...]:
    """Join the ways in which each tool failed for good, the most frequent first."""
    found: dict[str, list[tuple[str, int]]] = {}
    for row in report.tool_failures:
        found.setdefault(names.of(row.dependency), []).append((row.error_type or _UNKNOWN, row.runs))
    joined = (
        Tool(
            name,
            tuple(f"{_short(how)} in {counted(runs)}" for how, runs in ways[:_WAYS_SHOWN]),
            max(len(ways) - _WAYS_SHOWN, 0),
            sum(runs for _, runs in ways),
        )
        for name, ways in found.items()
    )
    return tuple(sorted(joined, key=lambda tool: (-tool.runs, tool.name == _UNKNOWN, tool.name)))


def _short(text: str, limit: int = _NAME) -> str:
    return visible(redact(text), limit)


def _repairs(report: Report, tools: Sequence[Tool]) -> Iterable[Repair]:
    findings = {row.failure_class: row.findings or 0 for row in report.taxonomy}
    strong = [row for row in report.cascades if row.grain == "class" and row.co_occurs]
    for row in report.repair_order:
        spec = TAXONOMY[FailureClass(row.failure_class)]
        after = tuple(pair.cause for pair in strong if pair.effect == row.failure_class)
        failed = tools[:1] if row.failure_class == FailureClass.TOOL_FAILURE else ()
        yield Repair(
            row.failure_class,
            row.severity,
            row.runs,
            findings[row.failure_class],
            after,
            spec.root_cause,
            str(spec.path),
            "".join(f"{_short(tool.name, _LABEL)} ({', '.join(tool.ways)})" for tool in failed),
        )


def _run(found: Timeline, names: Names, *, internal: bool) -> Run:
    steps = found.steps
    chosen = {step.span_id for step in steps[:_STEPS_SHOWN]}
    telling = [step.span_id for step in steps if step.symptoms][:_STEPS_SHOWN]
    chosen.update(telling)
    shown = [step for step in steps if step.span_id in chosen]
    whole = max((step.at_ms + (step.duration_ms or 0) for step in steps), default=0)
    return Run(
        found,
        tone(found.run.failure_class),
        tuple(_step(step, whole, names, internal=internal) for step in shown),
        len(steps) - len(shown),
        tuple(_symptom(symptom, names) for symptom in found.unplaced),
        _time(whole),
    )


def _step(step: TimelineStep, whole: float, names: Names, *, internal: bool) -> Step:
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
        tuple(_symptom(symptom, names) for symptom in step.symptoms),
    )


def _weight(symptom: Symptom) -> tuple[bool, int]:
    spec = TAXONOMY[FailureClass(symptom.failure_class)]
    return not (symptom.is_recovered or symptom.is_superseded), spec.weight


def _symptom(symptom: Symptom, names: Names) -> str:
    failed = "" if symptom.dependency in names.hidden else symptom.dependency
    about = " ".join(visible(redact(word), 40) for word in (symptom.error_type, failed) if word)
    where = f" at step {visible(redact(symptom.step_id), 40)}" if symptom.step_id else ""
    return f"{symptom.failure_class}{f' ({about})' if about else ''}: {symptom.fate}{where}"


def _time(milliseconds: float) -> str:
    if milliseconds < _SECOND:
        return f"{milliseconds:.1f} ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds / _SECOND:.1f} s"
    return f"{milliseconds / _MINUTE:.1f} min"
