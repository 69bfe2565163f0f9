"""What to know first of a report: which class fails most, what it drags along, what to repair first, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_aml.core.taxonomy import FailureClass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_aml.offline.reports import CascadeRow, RepairRow, Report, TaxonomyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The answers to the three questions of a reader.

    Args:
        most: The class that is the first failure of most runs; several on a draw, none where nothing failed.
        drags: Pairs in which it is seen before another more often than chance would have it, strongest first.
        follows: Pairs in which another is seen before it.
        meets: Pairs in which it goes together with another, in no sure order.
        by_chance: Pairs of it and another that meet no more often than chance would have it.
        min_both: In how many runs two must be seen together to be a pair.
        queue: What to repair, in order.
    """

    most: tuple[TaxonomyRow, ...]
    drags: tuple[CascadeRow, ...]
    follows: tuple[CascadeRow, ...]
    meets: tuple[CascadeRow, ...]
    by_chance: tuple[CascadeRow, ...]
    min_both: int
    queue: tuple[RepairRow, ...]

    @property
    def sentence(self) -> str:
        """All three in a sentence."""
        if not self.most or not self.queue:
            return "No run failed in one of the six ways"
        names = self._names()
        s = "s" if len(names) == 1 else ""
        company = (
            (f"drag{s}", "along", (row.effect for row in self.drags)),
            (f"follow{s}", "", (row.cause for row in self.follows)),
            (f"meet{s}", "", (row.effect if row.cause in names else row.cause for row in self.meets)),
        )
        told = [f"{verb} {_all(found)} {after}".strip() for verb, after, others in company if (found := tuple(others))]
        clauses = _all((f"{_all(row.failure_class for row in self.most)} fail{s} most", *told))
        alone = "" if told else ", no cascade is significant"
        return f"{clauses}{alone}; repair {self.queue[0].failure_class} first"

    @property
    def why_no_cascade(self) -> str:
        """Say why nothing is dragged along; empty where something is."""
        if self.drags or not self.most:
            return ""
        names = self._names()
        follows = [f"It is seen after {row.cause}, not before it." for row in self.follows]
        others = (row.effect if row.cause in names else row.cause for row in self.meets)
        meets = [f"It goes together with {other}, but neither is seen first more often." for other in others]
        if follows or meets:
            return " ".join((*follows, *meets))
        it = "it" if len(names) == 1 else "them"
        if not self.by_chance:
            return (
                f"No cascade is significant here, because no other class was seen together with {it} "
                f"in {_runs(self.min_both)} or more."
            )
        pair = self.by_chance[0]
        other = pair.effect if pair.cause in names else pair.cause
        return (
            f"No cascade is significant here, because what was seen together with {it} may be chance: "
            f"most of all {other}, in {_runs(pair.n_both)} (q {pair.q_value:.2f})."
        )

    @property
    def why_repair(self) -> str:
        """Say why it is repaired first; empty where there is nothing to repair."""
        if not self.queue:
            return ""
        first, *others = self.queue
        as_grave = [row for row in others if row.severity == first.severity]
        if not others:
            return f"Its severity is {first.severity}, and no other class was found."
        if not as_grave:
            return f"Its severity is {first.severity}, and no other class that was found is as grave."
        second = as_grave[0]
        compared = f"{first.failure_class} {first.runs}, {second.failure_class} {second.runs}"
        if first.runs > second.runs:
            how = f"it is the first failure of most runs ({compared})"
        else:
            how = f"none is the first failure of more runs ({compared})"
        return f"Its severity is {first.severity}, the gravest that was found; of the classes as grave {how}."

    def _names(self) -> frozenset[str]:
        return frozenset(row.failure_class for row in self.most)


def headline(report: Report) -> Headline:
    """Read the three answers from a report."""
    failing = [row for row in report.taxonomy if row.share is not None and row.runs]
    most = tuple(row for row in failing if row.runs == failing[0].runs)
    names = {row.failure_class for row in most}
    about = [row for row in report.cascades if row.grain == "class" and (row.cause in names) != (row.effect in names)]
    pairs = [row for row in about if row.co_occurs]
    return Headline(
        most=most,
        drags=tuple(row for row in pairs if row.precedes and row.cause in names),
        follows=tuple(row for row in pairs if row.precedes and row.effect in names),
        meets=tuple(row for row in pairs if not row.precedes),
        by_chance=tuple(row for row in about if not row.co_occurs),
        min_both=report.min_both,
        queue=tuple(report.repair_order),
    )


def passing(report: Report) -> tuple[str, ...]:
    """Say of which runs the pass rate is, and which enter none: a sentence each."""
    found = report.pass_rate
    runs = {row.failure_class: row.runs for row in report.taxonomy}
    unchecked = found.ended - found.checked
    left_out = [f"{runs[name]} {name}" for name in (FailureClass.CANCELLED, "paused") if runs.get(name)]
    told: list[str] = []
    if found.rate is not None:
        told.append(
            f"{found.passed} of the {_runs(found.checked)} that ended and were checked passed: {found.rate:.1%}."
        )
    if unchecked:
        more = " more" if found.checked else ""
        told.append(f"In {_runs(unchecked)}{more} nothing failed, but nothing could be checked either: no pass.")
    if left_out:
        told.append(f"Runs that have not ended enter no rate: {_all(left_out)}.")
    return tuple(told)


def never_clear(report: Report) -> tuple[TaxonomyRow, ...]:
    """List the classes whose check could be decided only where it fired: their rate is 1 and says nothing of others."""
    unchecked = {row.failure_class for row in report.coverage if row.unchecked and row.fired and not row.clear}
    return tuple(row for row in report.taxonomy if row.failure_class in unchecked)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _all(names: Iterable[str]) -> str:
    *first, last = dict.fromkeys(names)
    return f"{', '.join(first)} and {last}" if first else last
