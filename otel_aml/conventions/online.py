"""The verdict that the processor wrote on a run root, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_aml.conventions import values
from otel_aml.core.facts import Failure
from otel_aml.core.merge import Online
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.core.tree import State
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLASSES = {str(failure_class): failure_class for failure_class in FailureClass}


def online(attributes: Mapping[str, Any]) -> Online | None:
    """Read the verdict on a run root; None if there is none, or one of an unknown class.

    Without `failure.unchecked` (the span had no room for it) only the class that is named is decided.
    """
    failure_class = _CLASSES.get(values.text(attributes.get(names.CLASS)) or "")
    if failure_class is None:
        return None
    findings = values.ids(attributes.get(names.FINDINGS)) or frozenset()
    return Online(
        failure_class=failure_class,
        states=_states(failure_class, findings, values.ids(attributes.get(names.UNCHECKED))),
        first=Failure(
            span_id=values.text(attributes.get(names.FIRST_SPAN_ID)) or "",
            step_id=values.text(attributes.get(names.FIRST_STEP_ID)) or "",
            dependency=values.text(attributes.get(names.DEPENDENCY)) or "",
            error_type=values.text(attributes.get(names.FAILED_HOW)) or "",
            retriable=values.text(attributes.get(names.PATH)) == "auto_retry",
            attempts=values.count(attributes.get(names.ATTEMPTS)) or 0,
            detail=values.text(attributes.get(names.TECHNICAL_DETAIL)) or "",
        ),
        superseded=_marked(findings, ":superseded"),
        recovered_classes=_marked(findings, ":recovered"),
        recovered=values.count(attributes.get(names.RECOVERED)) or 0,
        cited=values.count(attributes.get(names.CITED)),
        unresolved=values.count(attributes.get(names.UNRESOLVED)),
        paused=values.flag(attributes.get(names.PAUSED)) is True,
    )


def _states(
    failure_class: FailureClass,
    findings: frozenset[str],
    unchecked: frozenset[str] | None,
) -> Mapping[FailureClass, State]:
    named = {failure_class: State.FIRED} if failure_class in FAILURES else {}
    if unchecked is None:
        return named
    decided = {each: State.FIRED if each in findings else State.CLEAR for each in FAILURES if each not in unchecked}
    return decided | named


def _marked(findings: frozenset[str], mark: str) -> frozenset[FailureClass]:
    return frozenset(
        _CLASSES[name] for each in findings if each.endswith(mark) and (name := each.removesuffix(mark)) in _CLASSES
    )
