"""An investigation as it stands: four steps, what a person has confirmed and edited, and where it stopped."""

from __future__ import annotations

import os
import re
import tempfile
from datetime import datetime  # noqa: TC003 - pydantic reads it
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from otel_aml.core.messages import user_message
from otel_aml.core.recovery import RecoveryPlan, Repair, StepError, plan_recovery
from otel_aml.core.taxonomy import FailureClass  # noqa: TC001 - pydantic reads it
from otel_aml.recover.notice import Saved, UserNotice, user_notice
from otel_aml.recover.takeover import Choice, ResumePlan

if TYPE_CHECKING:
    from collections.abc import Iterable

_FIXED: Final = ConfigDict(frozen=True, extra="forbid")
_ID: Final = re.compile(r"C-[0-9]{1,18}-[0-9]{3}")
_REFERENCE: Final = 8


class Step(StrEnum):
    """The four steps."""

    EVIDENCE = "evidence"
    TYPOLOGY = "typology"
    DRAFT = "draft"
    REVIEW = "review"


STEPS: Final = tuple(Step)


class Stopped(BaseModel):
    """Where an investigation stopped, and why; the technical detail is for the queue alone, no page reads it."""

    model_config = _FIXED

    step: Step
    failure_class: FailureClass
    retriable: bool
    attempt: int
    trace_id: str
    at: datetime
    technical_detail: str = Field(repr=False)

    def error(self) -> StepError:
        """Give the error as data."""
        return StepError(
            step_id=str(self.step),
            failure_class=self.failure_class,
            user_message=user_message(self.failure_class, None),
            technical_detail=self.technical_detail,
            retriable=self.retriable,
            attempt=self.attempt,
        )

    def plan(self) -> RecoveryPlan:
        """Say what should be done about it. Each step of the copilot may be done twice: it only reads and writes."""
        return plan_recovery(self.error(), idempotent=True)

    def notice(self, saved: Saved, locale: str) -> UserNotice:
        """Say what the person sees."""
        notice = user_notice(self.error(), self.plan(), locale=locale, saved=saved)
        return notice.model_copy(update={"reference": self.trace_id[:_REFERENCE]})


class Decided(BaseModel):
    """One decision of a colleague, as the page tells it."""

    model_config = _FIXED

    task_id: str
    step: Step
    choice: Choice
    by: str
    at: datetime
    comment: str = ""


class Investigation(BaseModel):
    """One investigation.

    Args:
        version: Counts its changes: a form that was drawn of an older one changes nothing.
        confirmed: Ids of the transactions that the person has confirmed.
        edits: What the person wrote into fields of the draft; it stands whatever the copilot drafts.
        done: The steps that are done, in order.
        typology: What the activity is taken for.
        draft: The draft as the copilot, or a colleague, wrote it.
        tries: Tries already made after the first, of each step.
        repairs: What to change as the step runs again, in the order in which it was chosen.
        stopped: Where it stopped; None while nothing has failed.
        task_id: The task that waits for a colleague; None where none does.
        rounds: Tasks that were submitted so far.
        decisions: What colleagues decided, oldest first.
        closed: How it ended.
    """

    model_config = _FIXED

    id: str
    author: str
    version: int = 0
    confirmed: tuple[str, ...] = ()
    edits: dict[str, str] = Field(default_factory=dict[str, str])
    done: tuple[Step, ...] = ()
    typology: str | None = None
    draft: dict[str, Any] | None = None
    tries: dict[Step, int] = Field(default_factory=dict[Step, int])
    repairs: tuple[Repair, ...] = ()
    stopped: Stopped | None = None
    task_id: str | None = None
    rounds: int = 0
    decisions: tuple[Decided, ...] = ()
    closed: Choice | None = None

    @property
    def step(self) -> Step | None:
        """The step that it stands at; None once all are done."""
        return next((step for step in STEPS if step not in self.done), None)

    @property
    def saved(self) -> Saved:
        """What is kept of the person's own work, as counts."""
        return Saved(confirmed_evidence=len(self.confirmed), edited_fields=len(self.edits))

    @property
    def work(self) -> dict[str, Any]:
        """The work as it is frozen for a colleague: what the person wrote stands in the draft."""
        return {
            "confirmed_evidence": list(self.confirmed),
            "edited_fields": self.edits,
            "typology": self.typology,
            "draft": None if self.draft is None else {**self.draft, **self.edits},
        }

    @property
    def plan(self) -> ResumePlan:
        """What is done, what is left, and where to enter."""
        return ResumePlan(done=tuple(map(str, self.done)), left=tuple(str(s) for s in STEPS if s not in self.done))

    def but(self, **changes: Any) -> Investigation:
        """Give it with changes, as a later version."""
        return self.model_copy(update={"version": self.version + 1, **changes})

    def with_done(self, step: Step, **changes: Any) -> Investigation:
        """Give it with a step done."""
        return self.but(done=tuple(each for each in STEPS if each in {*self.done, step}), **changes)


class Shelf:
    """Keeps investigations, one file each: written whole and durable before anybody is told of it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder

    def get(self, case_id: str) -> Investigation | None:
        """Read one; None where there is none yet."""
        if not _ID.fullmatch(case_id):
            return None
        try:
            return Investigation.model_validate_json((self._folder / f"{case_id}.json").read_bytes())
        except FileNotFoundError:
            return None

    def put(self, investigation: Investigation) -> Investigation:
        """Keep one, in the place of the earlier version."""
        with tempfile.NamedTemporaryFile("wb", dir=self._folder, suffix=".part", delete=False) as file:
            file.write(investigation.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._folder / f"{investigation.id}.json")
        return investigation


def known(names: Iterable[str], among: Iterable[str]) -> tuple[str, ...]:
    """Keep of names those that are known, once each, in the order in which they are known."""
    given = set(names)
    return tuple(name for name in among if name in given)
