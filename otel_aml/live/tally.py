"""Counts of the verdicts of a process, each series known before its first run.

A series that is born at one is invisible to `increase()`, so all that can occur is here from the start, at zero. What
can occur is a closed set: whatever a run says, no further series appears.
"""

from __future__ import annotations

import os
import threading
import weakref
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from otel_aml.core.labels import LabelOutcome, label_outcomes
from otel_aml.core.taxonomy import FAILURES, TAXONOMY, FailureClass, RecoveryPath, Severity
from otel_aml.core.tree import Coverage, Outcome
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_aml.core.facts import Facts
    from otel_aml.live.stamp import Value

NONE: Final = "none"
"""Written where the verdict has no severity or no path: a label that is sometimes missing is a trap in queries."""
ODD: Final = "other"
"""Written for a verdict that cannot be."""


class RunKind(NamedTuple):
    """What runs are counted by; values of closed sets."""

    failure_class: str
    coverage: str
    severity: str
    path: str
    outcome: str


class Tally:
    """Counts verdicts. Adding is exact from any thread, also in a signal handler in the middle of adding.

    Reading takes no lock: whoever collects metrics holds locks of its own, and must never wait for ours.
    """

    def __init__(self) -> None:
        self.runs = dict.fromkeys(RUN_KINDS, 0)
        self.odd_runs = dict.fromkeys(_ODD_KINDS, 0)
        self.findings = dict.fromkeys(FINDINGS, 0)
        self.citations = {True: 0, False: 0}
        self.labels = dict.fromkeys(LabelOutcome, 0)
        self.attempts = dict.fromkeys(Outcome, 0)
        self._lock = threading.RLock()
        _renew_lock_after_fork(self)

    def add(self, verdict: Mapping[str, Value], facts: Facts) -> None:
        """Count a run.

        Args:
            verdict: Its verdict, as attributes.
            facts: What it was drawn from.
        """
        kind = RunKind(
            str(verdict[names.CLASS]),
            str(verdict[names.COVERAGE]),
            str(verdict.get(names.SEVERITY, NONE)),
            str(verdict.get(names.PATH, NONE)),
            str(verdict[names.OUTCOME]),
        )
        with self._lock:
            if kind in self.runs:
                self.runs[kind] += 1
            else:
                self.odd_runs[RunKind(kind.failure_class, ODD, ODD, ODD, ODD)] += 1
            for finding in _several(verdict[names.FINDINGS]):
                self.findings[finding] += 1
            cited, unresolved = verdict.get(names.CITED), verdict.get(names.UNRESOLVED)
            if isinstance(cited, int) and isinstance(unresolved, int):
                self.citations[True] += cited - unresolved
                self.citations[False] += unresolved
            for outcome in label_outcomes(facts.typology, facts.gold_typology):
                self.labels[outcome] += 1
            attempts = verdict[names.ATTEMPTS]
            if isinstance(attempts, int):
                self.attempts[Outcome(kind.outcome)] += attempts

    def after_fork(self) -> None:
        """In a forked child the lock may be held by a thread that is not there."""
        self._lock = threading.RLock()


def _several(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _renew_lock_after_fork(tally: Tally) -> None:
    if not hasattr(os, "register_at_fork"):
        return
    reference = weakref.ref(tally)

    def in_child() -> None:
        found = reference()
        if found is not None:
            found.after_fork()

    os.register_at_fork(after_in_child=in_child)


_HUMAN: Final = RecoveryPath.HUMAN_TAKEOVER
_CRITICAL: Final = (Severity.CRITICAL, _HUMAN)
_MADE_GOOD: Final = ((NONE, RecoveryPath.AUTO_RETRY), (NONE, RecoveryPath.FIX_AND_RETRY))


def _run_kinds() -> Iterator[RunKind]:
    """List every verdict that can be (a test draws random facts and finds no other)."""
    for failure_class in FAILURES:
        spec = TAXONOMY[failure_class]
        ways = dict.fromkeys(((spec.severity, spec.path), (spec.severity, _HUMAN), _CRITICAL))
        outcomes = (Outcome.NONE, Outcome.HANDED_OVER, Outcome.EXHAUSTED)
        for coverage, way, outcome in product((Coverage.FULL, Coverage.PARTIAL), ways, outcomes):
            yield _kind(failure_class, coverage, way, outcome)
    for coverage in Coverage:
        for way, outcome in (
            ((NONE, NONE), Outcome.NONE),
            *((way, Outcome.RECOVERED) for way in (*_MADE_GOOD, _CRITICAL)),
            (_CRITICAL, Outcome.NONE),
        ):
            yield _kind(FailureClass.PASS, coverage, way, outcome)
        for way in ((NONE, NONE), *_MADE_GOOD, _CRITICAL):
            yield _kind(FailureClass.CANCELLED, coverage, way, Outcome.NONE)
        for way in ((NONE, _HUMAN), _CRITICAL):
            yield _kind(FailureClass.UNCLASSIFIED, coverage, way, Outcome.NONE)


def _kind(failure_class: str, coverage: str, way: tuple[str, str], outcome: str) -> RunKind:
    severity, path = way
    return RunKind(str(failure_class), str(coverage), str(severity), str(path), str(outcome))


RUN_KINDS: Final[tuple[RunKind, ...]] = tuple(_run_kinds())
"""Every verdict that can be."""
_ODD_KINDS: Final = tuple(RunKind(str(each), ODD, ODD, ODD, ODD) for each in FailureClass)

FINDINGS: Final[tuple[str, ...]] = (
    *map(str, FAILURES),
    *(f"{each}:recovered" for each in (FailureClass.TOOL_FAILURE, FailureClass.FORMAT_VIOLATION)),
    *(f"{each}:superseded" for each in (FailureClass.HALLUCINATION, FailureClass.TYPOLOGY_MISJUDGE)),
)
"""Every value of `failure.findings`."""
