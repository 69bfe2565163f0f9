"""Does the chain hold, and do the tasks agree with it? Names the first link that does not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_aml.recover.takeover import statements as sql
from otel_aml.recover.takeover.chain import NO_HASH, Act, Head, Link
from otel_aml.recover.takeover.rows import DECIDED, SUBMITTED, fingerprint

if TYPE_CHECKING:
    from otel_aml.recover.takeover.database import Row, Session

_A_BATCH: Final = 500
_FEW: Final = 4
FAULTS: Final = 1_000
"""So many faults are told at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """The first link that does not hold.

    Args:
        seq: Its place, from 1.
        reason: What is wrong with it.
    """

    seq: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was found.

    Args:
        links: How many links were read.
        tasks: How many tasks were held against them.
        head: Where the chain ends.
        broken: The first link that does not hold; None where all do.
        faults: Tasks, decisions and holds that do not agree with the chain, or a kept head that it does not pass
            through; each in a sentence.
    """

    links: int
    tasks: int
    head: Head
    broken: BrokenLink | None = None
    faults: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return self.broken is None and not self.faults

    def plain(self) -> dict[str, Any]:
        """Give it as a JSON object."""
        return {
            "is_whole": self.is_whole,
            "links": self.links,
            "tasks": self.tasks,
            "head": str(self.head),
            "broken": None if self.broken is None else {"seq": self.broken.seq, "reason": self.broken.reason},
            "faults": list(self.faults),
        }


@dataclass(slots=True)
class _Said:
    """What the links say of one task."""

    task: str | None = None
    decision: str | None = None
    is_deleted: bool = False


@dataclass(slots=True)
class _Known:
    tasks: dict[str, _Said] = field(default_factory=dict[str, _Said])
    holds: set[str] = field(default_factory=set[str])
    kept_hash: str | None = None


def verify(session: Session, kept: Head | None) -> Verification:
    """Read the chain once, then every task once.

    Args:
        session: A transaction that sees one moment.
        kept: A head from earlier that the chain must pass through.
    """
    known = _Known(kept_hash=NO_HASH)
    end, count, broken = Head(0, NO_HASH), 0, None
    while broken is None:
        rows = session.rows(sql.LINKS, after=end.seq, limit=_A_BATCH)
        for row in rows:
            reason = _fault(row, end) or _take(row, known)
            if reason is not None:
                broken = BrokenLink(seq=row["seq"], reason=reason)
                break
            end, count = Head(row["seq"], row["hash"]), count + 1
            if kept is not None and kept.seq == end.seq:
                known.kept_hash = end.hash
        if len(rows) < _A_BATCH:
            break
    (head,) = session.rows(sql.HEAD)
    if broken is None and (head["seq"], head["hash"]) != (end.seq, end.hash):
        broken = BrokenLink(
            seq=end.seq + 1,
            reason=f"the chain ends at link {end.seq}, and its head says {head['seq']}: links are missing or added",
        )
    faults = [] if broken is not None else _passes(kept, end, known)
    tasks = 0
    if broken is None:
        tasks, more = _compared(session, known)
        faults += more
    return Verification(links=count, tasks=tasks, head=end, broken=broken, faults=tuple(faults[:FAULTS]))


def _fault(row: Row, before: Head) -> str | None:
    """Say what is wrong with a link in itself."""
    if row["seq"] != before.seq + 1:
        return f"link {before.seq + 1} is missing"
    if row["previous"] != before.hash:
        return "it does not hold the hash of the link before"
    try:
        data = json.loads(row["data"])
    except ValueError:
        return "what it says cannot be read"
    link = Link(
        seq=row["seq"],
        at_us=row["at_us"],
        act=row["act"],
        by=row["actor"],
        via=row["via"],
        task_id=row["task_id"],
        data=data,
        previous=row["previous"],
    )
    return None if link.hash == row["hash"] else "its hash is not that of what it says: it was changed"


def _take(row: Row, known: _Known) -> str | None:
    """Take up what a link says; or say why it cannot be."""
    act, task_id, data = row["act"], row["task_id"], json.loads(row["data"])
    if act in {Act.HELD, Act.HOLD_RELEASED}:
        (known.holds.add if act == Act.HELD else known.holds.discard)(data["hold"])
    if task_id is None:
        return None
    said = known.tasks.get(task_id)
    if act == Act.SUBMITTED:
        known.tasks[task_id] = _Said(task=data["task"])
        return None if said is None else "its task was submitted before"
    if said is None or said.is_deleted:
        return "its task was never submitted, or was deleted before"
    return _take_end(act, data, said)


def _take_end(act: str, data: dict[str, Any], said: _Said) -> str | None:
    """Take up that a task was decided or deleted."""
    if act == Act.DECIDED:
        is_second = said.decision is not None
        said.decision = data["decision"]
        return "its task was decided before" if is_second else None
    if act == Act.DELETED:
        said.is_deleted = True
        return "its task was deleted undecided" if said.decision is None else None
    return None


def _passes(kept: Head | None, end: Head, known: _Known) -> list[str]:
    if kept is None:
        return []
    if kept.seq > end.seq:
        return [f"the head that was kept is link {kept.seq}, and the chain ends at {end.seq}: its end was cut off"]
    if known.kept_hash != kept.hash:
        return [f"link {kept.seq} is another than the head that was kept: the chain was written anew"]
    return []


def _compared(session: Session, known: _Known) -> tuple[int, list[str]]:
    """Hold every task against what the links say of it."""
    faults: list[str] = []
    count, after = 0, ""
    present: set[str] = set()
    while True:
        rows = session.rows(sql.EVERY_TASK, after=after, limit=_FEW)
        for row in rows:
            present.add(row["id"])
            reason = _differs(row, known.tasks.get(row["id"]))
            if reason is not None:
                faults.append(f"task {row['id']}: {reason}")
        count += len(rows)
        if len(rows) < _FEW:
            break
        after = rows[-1]["id"]
    lost = (task_id for task_id, said in known.tasks.items() if not said.is_deleted and task_id not in present)
    faults += [f"task {task_id}: it is gone, and no link says that it was deleted" for task_id in lost]
    holds = {row["id"] for row in session.rows(sql.HOLDS)}
    faults += [f"hold {each}: the chain and the table do not agree on it" for each in sorted(holds ^ known.holds)]
    return count, faults


def _differs(row: Row, said: _Said | None) -> str | None:
    if said is None:
        return "no link says that it was submitted"
    if said.is_deleted:
        return "it is there, and a link says that it was deleted"
    if fingerprint(row, SUBMITTED) != said.task:
        return "what it holds is not what was submitted"
    if (row["decided_us"] is None) != (said.decision is None):
        return "it was decided, and no link says so" if said.decision is None else "its decision is gone"
    if said.decision is not None and fingerprint(row, DECIDED) != said.decision:
        return "its decision is not the one that was made"
    return None
