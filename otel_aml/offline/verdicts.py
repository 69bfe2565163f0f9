"""A weighed run as rows of the tables `runs`, `checks` and `failures`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.core.tree import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_aml.core.facts import Facts, Failure
    from otel_aml.offline.online import Weighed
    from otel_aml.offline.replay import RunRecord

Row = dict[str, Any]


def run_row(record: RunRecord, weighed: Weighed) -> Row:
    """Write the row of a run."""
    verdict, online, first = weighed.verdict, record.online, weighed.verdict.first
    return {
        "trace_id": record.trace_id,
        "span_id": record.span_id,
        "class": str(verdict.failure_class),
        "is_failure": verdict.failure_class in FAILURES,
        "severity": None if verdict.severity is None else str(verdict.severity),
        "findings": list(verdict.findings),
        "unchecked": list(map(str, verdict.unchecked)),
        "recovered": verdict.recovered,
        "first_span_id": None if first is None else first.span_id or None,
        "dependency": None if first is None else first.dependency or None,
        "error_type": None if first is None else first.error_type or None,
        "paused": verdict.paused,
        "incomplete": verdict.incomplete,
        "path": None if verdict.path is None else str(verdict.path),
        "outcome": str(verdict.outcome),
        "attempts": verdict.attempts,
        "coverage": str(verdict.coverage),
        "case_id": record.case_id,
        "conversation_id": record.conversation_id,
        "service": record.service,
        "agent": record.agent,
        "started_ns": record.started_ns,
        "ended_ns": record.ended_ns,
        "online_class": None if online is None else str(online.failure_class),
        "decided_by": weighed.decided,
        "synthetic": record.synthetic,
        "error_spans": record.error_spans,
    }


def check_rows(record: RunRecord, weighed: Weighed) -> Iterator[Row]:
    """Write the rows of the six checks."""
    answers = zip(FAILURES, weighed.verdict.answers, weighed.decided_by, strict=True)
    for failure_class, answer, decided_by in answers:
        yield {
            "trace_id": record.trace_id,
            "span_id": record.span_id,
            "class": str(failure_class),
            "answer": str(answer.state),
            "decided_by": decided_by or None,
        }


def failure_rows(record: RunRecord, weighed: Weighed) -> Iterator[Row]:
    """Write the rows of the symptoms: what failed for good, what was made good, what a later answer replaced."""
    verdict, facts = weighed.verdict, record.facts
    for failure_class, answer in zip(FAILURES, verdict.answers, strict=True):
        if answer.state is State.FIRED and answer.first is not None:
            for failure in _standing(failure_class, answer.first, facts):
                is_first = failure is answer.first and failure_class is verdict.failure_class
                yield _row(record, failure_class, failure, is_first=is_first)
    for failure in facts.recovered_calls:
        yield _row(record, FailureClass.TOOL_FAILURE, failure, is_recovered=True)
    for failure in facts.recovered_outputs:
        yield _row(record, FailureClass.FORMAT_VIOLATION, failure, is_recovered=True)
    for finding in verdict.findings:
        if finding.endswith(":superseded"):
            yield _row(record, FailureClass(finding.partition(":")[0]), None, is_superseded=True)


def _standing(failure_class: FailureClass, first: Failure, facts: Facts) -> tuple[Failure, ...]:
    """List all that failed for good under one check, the first of them first."""
    found: tuple[Failure, ...] = ()
    if failure_class is FailureClass.TOOL_FAILURE:
        found = facts.failed_calls
    elif failure_class is FailureClass.FORMAT_VIOLATION:
        found = facts.broken_outputs
    return found if first in found else (first,)


def _row(  # noqa: PLR0913 - flags, by keyword
    record: RunRecord,
    failure_class: FailureClass,
    failure: Failure | None,
    *,
    is_first: bool = False,
    is_recovered: bool = False,
    is_superseded: bool = False,
) -> Row:
    return {
        "trace_id": record.trace_id,
        "span_id": record.span_id,
        "class": str(failure_class),
        "seen_span_id": None if failure is None else failure.span_id or None,
        "dependency": None if failure is None else failure.dependency or None,
        "error_type": None if failure is None else failure.error_type or None,
        "step_id": None if failure is None else failure.step_id or None,
        "is_first": is_first,
        "is_recovered": is_recovered,
        "is_superseded": is_superseded,
        "seen_ns": None if failure is None else failure.seen_at or record.seen_ns.get(failure.span_id),
    }
