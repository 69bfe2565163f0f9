"""The copilot, a step at a time: what each makes of an investigation, and what becomes of one that fails.

The step itself finds out what is wrong, with the add-on's own tree over what it knows (`otel_aml.classify`); the run's
span carries the verdict besides, as of every run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context, trace

import otel_aml
from otel_aml.core.facts import Facts
from otel_aml.core.folding import fold_id, fold_label
from otel_aml.core.taxonomy import FAILURES, TAXONOMY, FailureClass, Severity
from otel_aml.demo.agent import Copilot, Outcome
from otel_aml.demo.judge import context_used
from otel_aml.demo.model import Prompt, SarDraft
from otel_aml.demo.notes import BY_ID
from otel_aml.demo.page.investigation import Investigation, Step, Stopped
from otel_aml.demo.rules import observe
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import TracerProvider

    from otel_aml.demo.desk import Desk
    from otel_aml.demo.notes import Note
    from otel_aml.demo.page.cases import PageCase
    from otel_aml.demo.rules import Assessment

SCOPE: Final = "otel_aml.demo"


class HeldBackError(Exception):
    """Say that what a step made is not to be used."""

    def __init__(self, failure_class: FailureClass, words: str) -> None:
        super().__init__(words)
        self.failure_class = failure_class


def gone_on(
    investigation: Investigation,
    page_case: PageCase,
    provider: TracerProvider,
    desk_of: Callable[[PageCase, Investigation], Desk],
) -> Investigation:
    """Run the copilot's steps from where the investigation stands, until a person is needed or one fails."""
    while investigation.step in {Step.TYPOLOGY, Step.DRAFT} and investigation.stopped is None:
        investigation = _ran(investigation, page_case, provider, desk_of(page_case, investigation))
    return investigation


def found_wrong(draft: dict[str, Any], page_case: PageCase) -> FailureClass | None:
    """Say what is wrong with a draft that a person has written, as far as facts tell; None where nothing is."""
    try:
        answer = SarDraft.model_validate(draft)
    except ValueError:
        return FailureClass.FORMAT_VIOLATION
    known = set(page_case.case.file.tx_ids)
    return None if known.issuperset(answer.cited_tx_ids) else FailureClass.HALLUCINATION


def _ran(investigation: Investigation, page_case: PageCase, provider: TracerProvider, desk: Desk) -> Investigation:
    """Run one step as a run of its own."""
    step, case = investigation.step, page_case.case
    if step is None:
        raise AssertionError("a step is left")
    token = context.attach(context.Context())
    try:
        with otel_aml.case(
            case.file.case_id,
            evidence_ids=case.file.tx_ids,
            relevant_doc_ids=case.needed_notes or None,
            tracer_provider=provider,
        ) as handle:
            root = trace.get_current_span()
            root.set_attribute(names.SYNTHETIC, True)  # noqa: FBT003 - the SDK's signature
            root.set_attribute(names.GOLD_TYPOLOGY, str(case.typology))
            copilot = SteppingCopilot(provider.get_tracer(SCOPE), desk, handle, Outcome())
            try:
                return copilot.take(step, investigation, page_case)
            except Exception as error:  # noqa: BLE001 - whatever it is, the person is told and nothing is lost
                return _stopped(investigation, step, error)
    finally:
        context.detach(token)


def _stopped(investigation: Investigation, step: Step, error: Exception) -> Investigation:
    attempt = investigation.tries.get(step, 0)
    failure_class = error.failure_class if isinstance(error, HeldBackError) else None
    data = otel_aml.step_error(error, step_id=str(step), attempt=attempt, failure_class=failure_class)
    trace_id = trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)
    stopped = Stopped(
        step=step,
        failure_class=data.failure_class,
        retriable=data.retriable,
        attempt=attempt,
        trace_id=trace_id,
        at=datetime.now(UTC),
        technical_detail=data.technical_detail,
    )
    kept: dict[str, Any] = {"draft": error.draft} if isinstance(error, DraftHeldBackError) else {}
    return investigation.but(stopped=stopped, **kept)


class DraftHeldBackError(HeldBackError):
    """The same of a draft, which a colleague can put right."""

    def __init__(self, failure_class: FailureClass, words: str, draft: dict[str, Any]) -> None:
        super().__init__(failure_class, words)
        self.draft = draft


class SteppingCopilot(Copilot):
    """The demo's copilot, which stops after each step to ask whether what it made may be used."""

    def take(self, step: Step, investigation: Investigation, page_case: PageCase) -> Investigation:
        """Take one step.

        Raises:
            HeldBackError: What it made is not to be used.
            TimeoutError, ConnectionError, RateLimitError: A service that it needs did not answer.
        """
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "aml-copilot"}
        with self._span("invoke_agent aml-copilot", attributes):
            if step is Step.TYPOLOGY:
                return self._assessed(investigation, page_case)
            return self._drafted(investigation, page_case)

    def _looked(self, page_case: PageCase) -> tuple[tuple[Note, ...], Assessment]:
        file, signs = page_case.case.file, observe(page_case.case.file)
        query, arguments = self._triage(file, signs)
        notes = self._retrieve_once(query)
        verdict = otel_aml.classify(_facts(page_case, notes))
        if verdict.failure_class is FailureClass.RETRIEVAL_MISS:
            missed = ", ".join(page_case.case.needed_notes)
            raise HeldBackError(verdict.failure_class, f"not among the notes found: {missed}")
        return notes, self._assess(file, arguments)

    def _assessed(self, investigation: Investigation, page_case: PageCase) -> Investigation:
        _, assessment = self._looked(page_case)
        return investigation.with_done(Step.TYPOLOGY, typology=str(assessment.typology))

    def _drafted(self, investigation: Investigation, page_case: PageCase) -> Investigation:
        file, signs = page_case.case.file, observe(page_case.case.file)
        notes, assessment = self._looked(page_case)
        before = investigation.tries.get(Step.DRAFT, 0)
        prompt = Prompt(file=file, signs=signs, notes=notes, assessment=assessment, drafts_before=before)
        text = self._draft_once(prompt)
        draft = SarDraft.model_validate_json(text).model_dump(mode="json")
        _check(draft, text, page_case, notes)
        return investigation.with_done(Step.DRAFT, draft=draft, typology=draft["typology"])


def _facts(page_case: PageCase, notes: tuple[Note, ...]) -> Facts:
    """Say what is known once the notes are there."""
    return Facts(
        needed_notes=tuple(frozenset({each}) for each in page_case.case.needed_notes) or None,
        retrieved_ids=frozenset(note.note_id for note in notes),
    )


def _check(draft: dict[str, Any], text: str, page_case: PageCase, notes: tuple[Note, ...]) -> None:
    """Hold a draft back that the tree finds something wrong with."""
    case = page_case.case
    is_used = all(context_used(BY_ID[each], text) for each in case.needed_notes)
    trace.get_current_span().set_attribute(names.JUDGE_CONTEXT_USED, is_used)
    verdict = otel_aml.classify(
        replace(
            _facts(page_case, notes),
            cited_ids=frozenset(map(fold_id, draft["cited_tx_ids"])),
            evidence_ids=frozenset(map(fold_id, case.file.tx_ids)),
            context_used=is_used,
            typology=fold_label(draft["typology"]),
            gold_typology=fold_label(str(case.typology)),
        )
    )
    fired = [each for each in FAILURES if each in verdict.findings]
    if fired:
        critical = [each for each in fired if TAXONOMY[each].severity is Severity.CRITICAL]
        words = f"the draft was held back: {', '.join(verdict.findings)}"
        raise DraftHeldBackError((critical or fired)[0], words, draft)
