"""What to know first of a report: which class fails most, what it drags along, what to repair first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_aml.offline.reports import CascadeRow, RepairRow, Report, TaxonomyRow


@dataclass(frozen=True, slots=True)
class Headline:
    """The answers to the three questions of a reader.

    Args:
        most: The class that is the first failure of most runs; several on a draw, none where nothing failed.
        drags: Pairs in which it is seen before another more often than chance would have it, strongest first.
        follows: Pairs in which another is seen before it.
        meets: Pairs in which it goes together with another, in no sure order.
        repair: What to repair first.
    """

    most: tuple[TaxonomyRow, ...]
    drags: tuple[CascadeRow, ...]
    follows: tuple[CascadeRow, ...]
    meets: tuple[CascadeRow, ...]
    repair: RepairRow | None

    @property
    def sentence(self) -> str:
        """All three in a sentence."""
        if not self.most or self.repair is None:
            return "No run failed in one of the six ways"
        names = {row.failure_class for row in self.most}
        s = "s" if len(names) == 1 else ""
        company = (
            (f"drag{s}", "along", (row.effect for row in self.drags)),
            (f"follow{s}", "", (row.cause for row in self.follows)),
            (f"meet{s}", "", (row.effect if row.cause in names else row.cause for row in self.meets)),
        )
        told = [f"{verb} {_all(found)} {after}".strip() for verb, after, others in company if (found := tuple(others))]
        clauses = _all((f"{_all(row.failure_class for row in self.most)} fail{s} most", *told))
        return f"{clauses}; repair {self.repair.failure_class} first"


def headline(report: Report) -> Headline:
    """Read the three answers from a report."""
    failing = [row for row in report.taxonomy if row.share is not None and row.runs]
    most = tuple(row for row in failing if row.runs == failing[0].runs)
    names = {row.failure_class for row in most}
    strong = [row for row in report.cascades if row.grain == "class" and row.co_occurs]
    pairs = [row for row in strong if (row.cause in names) != (row.effect in names)]
    return Headline(
        most,
        drags=tuple(row for row in pairs if row.precedes and row.cause in names),
        follows=tuple(row for row in pairs if row.precedes and row.effect in names),
        meets=tuple(row for row in pairs if not row.precedes),
        repair=next(iter(report.repair_order), None),
    )


def _all(names: Iterable[str]) -> str:
    *first, last = dict.fromkeys(names)
    return f"{', '.join(first)} and {last}" if first else last
