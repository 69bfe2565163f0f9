"""What the copilot works with: a retriever, a rule engine, a model and its provider, a clock.

On a good day `fair_desk` lays it out. A fault swaps one of these for one that misbehaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from otel_aml.demo.clock import Clock
from otel_aml.demo.model import Habits, ScriptedModel
from otel_aml.demo.notes import NOTES
from otel_aml.demo.provider import Limits, Provider
from otel_aml.demo.retriever import TOP_K, Hit, Retriever
from otel_aml.demo.rules import Assessment, RuleArguments, assess

if TYPE_CHECKING:
    from otel_aml.demo.cases import CaseFile


class Searches(Protocol):
    """Anything that finds notes."""

    def search(self, query: str, *, top_k: int = TOP_K) -> tuple[Hit, ...]:
        """Find the `top_k` best matches, best first."""
        ...


class Assesses(Protocol):
    """Anything that assesses a case."""

    def __call__(self, file: CaseFile, arguments: RuleArguments) -> Assessment:
        """Assess a case."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """All that one run works with.

    Args:
        needs_approval: A person must approve before a report on this account is drafted.
    """

    retriever: Searches
    rule_engine: Assesses
    model: ScriptedModel
    provider: Provider
    clock: Clock
    needs_approval: bool = False


def rule_engine(file: CaseFile, arguments: RuleArguments) -> Assessment:
    """Assess the case that the arguments name, by its last `window_days` days."""
    if arguments.case_id != file.case_id:
        raise LookupError("the rule engine has no such case")
    first = file.transactions[-1].tran_timestamp - timedelta(days=arguments.window_days)
    recent = tuple(row for row in file.transactions if row.tran_timestamp >= first)
    return assess(replace(file, transactions=recent))


def fair_desk(*, habits: Habits | None = None, limits: Limits | None = None) -> Desk:
    """Lay out a desk on which everything works."""
    clock = Clock()
    return Desk(
        retriever=Retriever(NOTES),
        rule_engine=rule_engine,
        model=ScriptedModel(habits or Habits()),
        provider=Provider(clock, limits or Limits()),
        clock=clock,
    )
