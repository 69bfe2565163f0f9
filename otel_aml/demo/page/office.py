"""What a person can do: each under a lock, on disk before the page answers, and once, however often a form is sent."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from otel_aml.core.messages import Action
from otel_aml.core.taxonomy import FailureClass
from otel_aml.demo.model import SarDraft
from otel_aml.demo.page.cases import PageCase
from otel_aml.demo.page.investigation import Decided, Investigation, Shelf, Step, known
from otel_aml.demo.page.work import found_wrong, gone_on
from otel_aml.recover.takeover import ApprovalTask, Choice, HumanLabel, TaskKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opentelemetry.sdk.trace import TracerProvider

    from otel_aml.demo.desk import Desk
    from otel_aml.recover.takeover import QueuedTask, Resumption, TakeoverQueue

WRITTEN: Final = tuple(name for name in SarDraft.model_fields if name not in {"notice", "typology", "cited_tx_ids"})
"""The fields of a draft that a person writes."""
TEXT: Final = 4_000
"""The longest text of a field, in characters."""
VIA: Final = "demo page"
AGENT: Final = "aml-copilot"
_PATIENCE: Final = timedelta(hours=4)
_REPORT: Final = timedelta(days=30)

_OFFERED: Final[Mapping[FailureClass, tuple[Choice, ...]]] = MappingProxyType(
    {
        FailureClass.TOOL_FAILURE: (Choice.RETRY, Choice.RETURNED, Choice.REJECT),
        FailureClass.RETRIEVAL_MISS: (Choice.RETRY, Choice.RETURNED, Choice.REJECT),
        FailureClass.FORMAT_VIOLATION: (Choice.RETRY, Choice.RETURNED, Choice.REJECT),
        FailureClass.HALLUCINATION: (Choice.EDIT, Choice.RETRY, Choice.RETURNED, Choice.REJECT),
        FailureClass.CONTEXT_POLLUTION: (Choice.EDIT, Choice.APPROVE, Choice.RETRY, Choice.RETURNED, Choice.REJECT),
        FailureClass.TYPOLOGY_MISJUDGE: (Choice.EDIT, Choice.APPROVE, Choice.RETRY, Choice.RETURNED, Choice.REJECT),
    }
)
"""What a colleague can decide of a failed step: an entry that is in no record cannot be approved."""


class NotNowError(Exception):
    """Say that a form cannot be taken as things stand; its word is a key of the page's texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What a colleague makes of a draft.

    Args:
        fields: The fields that a person writes.
        typology: What the activity is taken for.
        cited: The transactions that it cites.
    """

    fields: Mapping[str, str]
    typology: str
    cited: tuple[str, ...]


class Office:
    """All investigations of the demo, with the queue beside them."""

    def __init__(  # noqa: PLR0913 - all by keyword
        self,
        *,
        shelf: Shelf,
        queue: TakeoverQueue,
        cases: Sequence[PageCase],
        provider: TracerProvider,
        analyst: str,
        desk_of: Callable[[PageCase, Investigation], Desk] = PageCase.desk,
    ) -> None:
        self._shelf = shelf
        self.queue = queue
        self.cases: Mapping[str, PageCase] = MappingProxyType({each.id: each for each in cases})
        self._provider = provider
        self._analyst = analyst
        self._desk_of = desk_of
        self._lock = threading.RLock()

    def get(self, case_id: str) -> Investigation:
        """Give an investigation as it stands, with whatever colleagues have decided since.

        Raises:
            KeyError: There is no such case.
        """
        self.cases[case_id]
        with self._lock:
            found = self._shelf.get(case_id) or Investigation(id=case_id, author=self._analyst)
            after = None if found.task_id is None else self.queue.resumption(found.task_id)
            return found if after is None else self._heard(found, after)

    def all(self) -> list[Investigation]:
        """Give all, in order."""
        return [self.get(case_id) for case_id in self.cases]

    # --- the analyst ----------------------------------------------------------------------------------------------

    def confirm(
        self, case_id: str, by: str, version: int, confirmed: Sequence[str], edits: Mapping[str, str]
    ) -> Investigation:
        """Confirm evidence, and let the copilot go on with it."""
        page_case = self.cases[case_id]
        with self._lock:
            found = self._own(case_id, by, version)
            ids = known(confirmed, page_case.case.file.tx_ids)
            if found.step is not Step.EVIDENCE:
                raise NotNowError("stale")
            if not ids:
                raise NotNowError("no_evidence")
            kept = self._shelf.put(found.with_done(Step.EVIDENCE, confirmed=ids, edits=written(edits)))
            return self._run(kept)

    def choose(self, case_id: str, by: str, version: int, action: str) -> Investigation:
        """Do what the person chose about a step that failed."""
        with self._lock:
            found = self._own(case_id, by, version)
            if found.stopped is None or found.task_id is not None:
                raise NotNowError("stale")
            if action == Action.HAND_OVER:
                return self._handed_over(found)
            if action not in {Action.RETRY, Action.FIX}:
                raise NotNowError("stale")
            return self._run(self._shelf.put(_again(found)))

    def send(self, case_id: str, by: str, version: int, edits: Mapping[str, str]) -> Investigation:
        """Keep what the person wrote, and send the draft to a colleague for approval."""
        with self._lock:
            found = self._own(case_id, by, version)
            if found.step is not Step.REVIEW or found.task_id is not None or found.draft is None:
                raise NotNowError("stale")
            given = written(edits).items()
            own = {name: text for name, text in given if text != found.draft[name] or text == found.edits.get(name)}
            kept = found.but(edits=own)
            task = ApprovalTask(
                kind=TaskKind.SAR_APPROVAL,
                id=f"{kept.id}:{Step.REVIEW}:{kept.rounds + 1}",
                state=kept.work,
                case_id=kept.id,
                step_id=str(Step.REVIEW),
                plan=kept.plan,
                author=kept.author,
                typology=kept.typology,
                follows=kept.decisions[-1].task_id if kept.decisions else None,
            )
            return self._submitted(kept, task)

    # --- the colleague --------------------------------------------------------------------------------------------

    def decide(
        self, task_id: str, by: str, choice: Choice, comment: str, correction: Correction | None
    ) -> Investigation:
        """Decide a task, and let its investigation go on.

        Raises:
            QueueError: The queue says no.
            NotNowError: What was written does not go with the choice, or is not right yet.
        """
        with self._lock:
            task = self.queue.show(task_id)
            edited = None if correction is None else _edited(task, correction, self.cases[str(task.case_id)], choice)
            self.queue.decide(
                task_id, choice, by=by, via=VIA, comment=comment[:TEXT], edited=edited, label=_label(choice, edited)
            )
            return self.get(str(task.case_id))

    def catch_up(self) -> None:
        """Go on with what was decided while nobody was here."""
        for after in self.queue.resumptions():
            case_id = after.task_id.partition(":")[0]
            if case_id in self.cases:
                self.get(case_id)

    # --- within the lock ------------------------------------------------------------------------------------------

    def _own(self, case_id: str, by: str, version: int) -> Investigation:
        found = self.get(case_id)
        if found.author != by:
            raise NotNowError("not_yours")
        if found.version != version or found.closed is not None:
            raise NotNowError("stale")
        return found

    def _run(self, investigation: Investigation) -> Investigation:
        page_case = self.cases[investigation.id]
        return self._shelf.put(gone_on(investigation, page_case, self._provider, self._desk_of))

    def _handed_over(self, found: Investigation) -> Investigation:
        stopped = found.stopped
        if stopped is None:
            raise NotNowError("stale")
        task = ApprovalTask.of_error(
            stopped.error(),
            id=f"{found.id}:{stopped.step}:{found.rounds + 1}",
            state=found.work,
            case_id=found.id,
            trace_id=stopped.trace_id,
            plan=found.plan,
            choices=_OFFERED[stopped.failure_class],
            author=AGENT,
            expires_at=stopped.at + _PATIENCE,
            due_at=stopped.at + _REPORT,
        )
        return self._submitted(found, task)

    def _submitted(self, found: Investigation, task: ApprovalTask) -> Investigation:
        """Hand it in first: the same task twice is one task, so a stop in between does no harm."""
        self.queue.submit(task)
        return self._shelf.put(found.but(task_id=task.id, rounds=found.rounds + 1))

    def _heard(self, found: Investigation, after: Resumption) -> Investigation:
        """Go on as a colleague has decided."""
        decision = after.decision
        at = found.stopped.step if found.stopped is not None else Step.REVIEW
        said = Decided(
            task_id=after.task_id, step=at, choice=decision.choice, by=decision.by, at=decision.at,
            comment=decision.comment,
        )  # fmt: skip
        found = found.but(task_id=None, decisions=(*found.decisions, said))
        kept = self._shelf.put(_as_decided(found, at, after))
        if decision.choice is Choice.RETRY:
            kept = self._run(kept)
        self.queue.acknowledge(after.task_id)
        return kept


def written(edits: Mapping[str, str]) -> dict[str, str]:
    """Take what a person wrote into the fields of a draft; an empty field is none."""
    texts = {name: edits.get(name, "").strip()[:TEXT] for name in WRITTEN}
    return {name: text for name, text in texts.items() if text}


def _again(found: Investigation) -> Investigation:
    """Clear the way for another run of the step that failed, with its repair if there is one."""
    stopped = found.stopped
    if stopped is None:
        raise NotNowError("stale")
    repair = stopped.plan().repair
    return found.but(
        stopped=None,
        tries={**found.tries, stopped.step: stopped.attempt + 1},
        repairs=found.repairs if repair is None else (*found.repairs, repair),
    )


def _as_decided(found: Investigation, at: Step, after: Resumption) -> Investigation:
    match after.decision.choice:
        case Choice.RETRY:
            return _again(found)
        case Choice.RETURNED:
            return found
        case Choice.REJECT:
            return found.but(closed=Choice.REJECT)
        case Choice.APPROVE | Choice.EDIT:
            work: dict[str, Any] = after.state
            draft: dict[str, Any] = work["draft"]
            own = {name: text for name, text in found.edits.items() if draft[name] == text}
            kept = found.with_done(at, stopped=None, draft=draft, edits=own, typology=work["typology"])
            return kept.but(closed=after.decision.choice) if at is Step.REVIEW else kept


def _edited(task: QueuedTask, correction: Correction, page_case: PageCase, choice: Choice) -> dict[str, Any] | None:
    """Take a correction as the work that goes on; None where nothing was changed and no `edit` was chosen."""
    work: dict[str, Any] = task.state
    before: dict[str, Any] = work["draft"]
    given = {**written(correction.fields), "typology": correction.typology}
    cited = known(correction.cited, before["cited_tx_ids"])
    draft = {**before, **given, "cited_tx_ids": list(cited)}
    if choice is not Choice.EDIT:
        if draft != before:
            raise NotNowError("edited_not_chosen")
        return None
    wrong = found_wrong(draft, page_case)
    if wrong is FailureClass.HALLUCINATION:
        raise NotNowError("still_not_in_records")
    if wrong is not None:
        raise NotNowError("still_incomplete")
    return {**work, "draft": draft, "typology": draft["typology"]}


def _label(choice: Choice, edited: Mapping[str, Any] | None) -> HumanLabel | None:
    """Say what a correction teaches."""
    if choice is not Choice.EDIT or edited is None:
        return None
    return HumanLabel(typology=str(edited["typology"]))
