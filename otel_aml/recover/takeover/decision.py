"""What a person decides: once, by name, with what it teaches."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from otel_aml.errors import InvalidTask
from otel_aml.recover.takeover.jsontext import compact, parsed
from otel_aml.recover.takeover.moments import moment
from otel_aml.recover.takeover.task import Choice
from otel_aml.recover.takeover.texts import checked_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanLabel:
    """What a person knows of a run; None: nothing is said. It becomes a line of `gold.jsonl` or `judged.jsonl`.

    Args:
        typology: The right typology.
        doc_ids: The notes that the case needs.
        evidence_ids: Every evidence id of the case.
        context_used: Whether the answer follows the notes that it was given.
    """

    typology: str | None = None
    doc_ids: tuple[str, ...] | None = None
    evidence_ids: tuple[str, ...] | None = None
    context_used: bool | None = None

    def __post_init__(self) -> None:
        if self.typology is not None:
            checked_name(self.typology, "typology")
        for name in ("doc_ids", "evidence_ids"):
            ids = getattr(self, name)
            if isinstance(ids, str):
                raise InvalidTask(f"{name} is one text; give a list of ids")
            if ids is not None:
                object.__setattr__(self, name, tuple(checked_name(each, f"one of {name}") for each in ids))
        if self.context_used is not None and not isinstance(self.context_used, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTask("context_used is neither true nor false")

    def plain(self) -> dict[str, Any]:
        """Give what is said as a JSON object."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: list(value) if name.endswith("_ids") else value for name, value in said.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The one decision of a task.

    Args:
        choice: What was decided.
        by: Who, as the app has authenticated them.
        at: When, in UTC.
        via: Through what, as the app says (`page`, `cli: login`).
        comment: Why, in the person's words.
        response: The further answers that the task asked for.
        label: What the decision teaches.
        edited_json: Of an `edit`, the corrected work as JSON text, as it was given.
    """

    choice: Choice
    by: str
    at: datetime
    via: str = ""
    comment: str = ""
    response: Mapping[str, Any] | None = None
    label: HumanLabel = field(default_factory=HumanLabel)
    edited_json: str | None = field(default=None, repr=False)

    @property
    def edited(self) -> Any:
        """The corrected work; None without one."""
        return None if self.edited_json is None else parsed(self.edited_json, "the edited work")

    def plain(self) -> dict[str, Any]:
        """Give all but the corrected work as a JSON object."""
        return {
            "choice": str(self.choice),
            "by": self.by,
            "at": self.at.isoformat(),
            "via": self.via,
            "comment": self.comment,
            "response": None if self.response is None else dict(self.response),
            "label": self.label.plain(),
        }


def said_text(*, comment: str, response: Mapping[str, Any] | None, label: HumanLabel, via: str) -> str:
    """Write what was said beside the choice as the table holds it."""
    said = {"comment": comment, "response": response, "label": label.plain(), "via": via}
    return compact(said)


def decision_of(row: Mapping[str, Any]) -> Decision | None:
    """Read the decision of a row of the table; None while it is open."""
    if row["decided_us"] is None:
        return None
    said: dict[str, Any] = parsed(row["said"], "the decision")
    return Decision(
        choice=Choice(row["choice"]),
        by=row["decided_by"],
        at=moment(row["decided_us"]),
        via=said["via"],
        comment=said["comment"],
        response=said["response"],
        label=HumanLabel(**said["label"]),
        edited_json=row.get("edited"),
    )
