"""The takeover queue: what a person is to decide waits here, is taken by one, decided once, and lost never.

    queue = TakeoverQueue("takeover.db")
    queue.submit(ApprovalTask.of_error(error, state=state, plan=ResumePlan(done=["evidence"], left=["draft"])))
    task = queue.claim("ann")
    queue.decide(task.id, Choice.RETRY, by="ann")
    queue.resumption(task.id)

What a method returns is committed and durable; what it raises has changed nothing.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from otel_aml.errors import AlreadyDecided, InvalidTask, NotAllowed, TaskHeld, UnknownTask
from otel_aml.recover.takeover import labels, verification
from otel_aml.recover.takeover import statements as sql
from otel_aml.recover.takeover.chain import Act, Head
from otel_aml.recover.takeover.decision import HumanLabel, decision_of, said_text
from otel_aml.recover.takeover.jsontext import json_text, parsed
from otel_aml.recover.takeover.ledger import append, head_of
from otel_aml.recover.takeover.moments import lasting, microseconds, moment
from otel_aml.recover.takeover.numbers import numbers
from otel_aml.recover.takeover.responses import checked_response
from otel_aml.recover.takeover.rows import DECIDED, NEVER, SUBMITTED, fingerprint, is_same, row_of
from otel_aml.recover.takeover.task import ApprovalTask, Choice, TaskKind, checked_id, is_beginning, member
from otel_aml.recover.takeover.texts import checked_name, checked_text, same_person
from otel_aml.recover.takeover.view import (
    QueuedTask,
    Resumption,
    TaskStatus,
    TaskSummary,
    resumption_of,
    summary_of,
    task_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from datetime import datetime
    from types import TracebackType

    from otel_aml.recover.takeover.database import Database, Row, Session
    from otel_aml.recover.takeover.verification import Verification

LEASE: Final = timedelta(minutes=15)
RETENTION: Final = timedelta(days=5 * 365 + 2)
"""Five years, whichever leap days they hold."""
_A_BATCH: Final = 100
_UNDECIDED: Final = (TaskStatus.WAITING, TaskStatus.CLAIMED)
_NEEDS_A_COMMENT: Final = frozenset({Choice.RETURNED})


class TakeoverQueue:
    """The queue of everything that waits for a person.

    Safe to share between threads and processes. Its calls block for the time of a disk write: from `async` code call
    them by `asyncio.to_thread`.

    Args:
        where: A path: one SQLite file, made with mode 0600. Or `postgresql://...` (extra `postgres`).
        create: Whether to make the file or the tables where there are none.
        authors_may_decide: Whether the author of a task may decide it. By default another person must.
        clock: Says the time as an aware datetime; by default the database's clock, which all who share it share.

    Raises:
        ConfigurationError: The place cannot be used safely, or psycopg is missing.
        QueueUnavailable: It cannot be opened or reached.
    """

    def __init__(
        self,
        where: str | Path = "takeover.db",
        *,
        create: bool = True,
        authors_may_decide: bool = False,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._database = _database(where, create=create)
        self._authors_may_decide = authors_may_decide
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections. The queue can be used again, and then opens new ones."""
        self._database.close()

    # --- the agent: hands over, and goes on ----------------------------------------------------------------------

    def submit(self, task: ApprovalTask) -> str:
        """Freeze a task into the queue, whole.

        The same task again (by its id) changes nothing: a submission can be repeated after a crash, and by a step that
        runs again as it is resumed.

        Returns:
            Its id.

        Raises:
            InvalidTask: Another task has this id, or had it before it was deleted.
        """
        if not isinstance(task, ApprovalTask):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTask(f"a {type(task).__name__} is no ApprovalTask; make one of it")
        row = row_of(task)
        names = (*row, "created_us")
        with self._database.transaction(writes=True) as session:
            now = self._now(session)
            is_new = session.change(sql.insert(names), **row, created_us=now)
            if is_new and self._was_deleted(session, task.id):
                raise InvalidTask(f"a task {task.id!r} was kept for its time and deleted; give the new one another id")
            if is_new:
                said = fingerprint({**row, "created_us": now}, SUBMITTED)
                self._append(session, now, Act.SUBMITTED, task_id=task.id, data={"task": said})
            elif not is_same(row, self._locked(session, task.id)):
                raise InvalidTask(f"another task has the id {task.id!r}; give each its own")
        return task.id

    def resumption(self, task_id: str) -> Resumption | None:
        """Say how the investigation goes on; None while nobody has decided.

        Raises:
            UnknownTask: There is no such task.
        """
        with self._database.transaction(writes=False) as session:
            return resumption_of(_one(session, sql.ONE, task_id))

    def resumptions(self, *, limit: int = 100) -> list[Resumption]:
        """List the decisions that nobody has acknowledged, oldest first.

        An agent that goes on by itself looks here when it starts, so that a decision is not lost that was made while
        it was away, or just before it was killed.
        """
        with self._database.transaction(writes=False) as session:
            found = [resumption_of(row) for row in session.rows(sql.UNHEARD, limit=_count(limit))]
            return [each for each in found if each is not None]

    def acknowledge(self, task_id: str) -> bool:
        """Say that the agent has gone on, or that whoever must know of the decision does.

        Call it when that is safe: until then `resumptions` lists the decision again. False where it was said before, or
        nothing is decided.

        Raises:
            UnknownTask: There is no such task.
        """
        with self._database.transaction(writes=True) as session:
            self._locked(session, task_id)
            return bool(session.change(sql.ACKNOWLEDGE, id=task_id, now=self._now(session)))

    # --- the person: looks, takes, decides -----------------------------------------------------------------------

    def tasks(  # noqa: PLR0913 - what a list can be narrowed by
        self,
        *,
        statuses: Collection[TaskStatus] = _UNDECIDED,
        kind: TaskKind | None = None,
        case_id: str | None = None,
        claimed_by: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[TaskSummary]:
        """List tasks, the most urgent first; what is decided last, newest first. `stats()` has the counts.

        Args:
            statuses: Which; those that are undecided unless given.
            kind: Only this kind.
            case_id: Only this case.
            claimed_by: Only what this person holds.
            limit: At most so many.
            offset: Pass over so many.
        """
        with self._database.transaction(writes=False) as session:
            now = self._now(session)
            found = session.rows(
                sql.LIST,
                now=now,
                waiting=int(TaskStatus.WAITING in statuses),
                claimed=int(TaskStatus.CLAIMED in statuses),
                decided=int(TaskStatus.DECIDED in statuses),
                kind=None if kind is None else str(member(TaskKind, kind, "kind")),
                case_id=None if case_id is None else checked_name(case_id, "case_id"),
                claimed_by=None if claimed_by is None else same_person(checked_name(claimed_by, "claimed_by")),
                limit=_count(limit),
                offset=_count(offset),
            )
            return [summary_of(row, now) for row in found]

    def matching(self, beginning: str, *, limit: int = 10) -> list[str]:
        """Give the ids that begin so, in order."""
        if not is_beginning(beginning):
            return []
        with self._database.transaction(writes=False) as session:
            found = session.rows(sql.MATCHING, beginning=beginning, length=len(beginning), limit=_count(limit))
            return [row["id"] for row in found]

    def show(self, task_id: str) -> QueuedTask:
        """Show one task with its state and plan; never the technical detail.

        Raises:
            UnknownTask: There is no such task.
        """
        with self._database.transaction(writes=False) as session:
            return task_of(_one(session, sql.ONE, task_id), self._now(session))

    def technical_detail(self, task_id: str, *, by: str, via: str = "") -> str:
        """Give the technical detail to an operator. That they saw it is a link in the chain, written first.

        Raises:
            UnknownTask: There is no such task.
        """
        checked_name(by, "by")
        checked_text(via, "via")
        with self._database.transaction(writes=True) as session:
            found = self._locked(session, task_id)
            self._append(session, self._now(session), Act.DETAIL_VIEWED, by=by, via=via, task_id=task_id)
        return str(found["technical_detail"])

    def claim(
        self, by: str, *, task_id: str | None = None, kind: TaskKind | None = None, lease: timedelta = LEASE
    ) -> QueuedTask | None:
        """Take a task: the one named, or the most urgent that is free and not this person's own work.

        Nobody else can take or decide it until the lease ends. Taking again what one holds renews the lease.

        Returns:
            The task; None where none is named and none waits.

        Raises:
            UnknownTask, TaskHeld, AlreadyDecided, NotAllowed: The task that is named cannot be taken.
        """
        checked_name(by, "by")
        key, length = same_person(by), lasting(lease, "lease")
        with self._database.transaction(writes=True) as session:
            now = self._now(session)
            if task_id is not None:
                found = self._locked(session, task_id)
                self._check_free(found, by, now)
                first = found["lease_us"] <= now or found["claimed_key"] != key
            else:
                waiting = session.rows(
                    f"{sql.NEXT} {self._database.lock_free}",
                    now=now,
                    kind=None if kind is None else str(member(TaskKind, kind, "kind")),
                    author="" if self._authors_may_decide else key,
                )
                if not waiting:
                    return None
                task_id, first = str(waiting[0]["id"]), True
            session.change(
                sql.CLAIM, id=task_id, by=by, key=key, claimed=now if first else None, lease=min(now + length, NEVER)
            )
            return task_of(_one(session, sql.ONE, task_id), now)

    def renew(self, task_id: str, by: str, *, lease: timedelta = LEASE) -> datetime:
        """Hold a task longer, as a page does while someone works on it.

        Returns:
            When the lease now ends.

        Raises:
            UnknownTask, AlreadyDecided: There is nothing to hold.
            TaskHeld: Another person has taken it since; or nobody holds it.
        """
        with self._database.transaction(writes=True) as session:
            now = self._now(session)
            found = self._locked(session, task_id)
            self._check_free(found, by, now)
            if found["claimed_key"] != same_person(by):
                raise TaskHeld(f"{by} does not hold the task {task_id}; claim it")
            until = min(now + lasting(lease, "lease"), NEVER)
            session.change(sql.CLAIM, id=task_id, by=by, key=same_person(by), claimed=None, lease=until)
            return moment(until)

    def release(self, task_id: str, by: str) -> bool:
        """Give a task back undecided; False where this person did not hold it.

        Raises:
            UnknownTask: There is no such task.
        """
        with self._database.transaction(writes=True) as session:
            found = self._locked(session, task_id)
            holds = found["decided_us"] is None and found["claimed_key"] == same_person(by)
            return bool(holds and session.change(sql.RELEASE, id=task_id))

    def decide(  # noqa: PLR0913 - what a person can say
        self,
        task_id: str,
        choice: Choice,
        *,
        by: str,
        via: str = "",
        comment: str = "",
        edited: Any = None,
        response: Mapping[str, Any] | None = None,
        label: HumanLabel | None = None,
    ) -> Resumption:
        """Decide a task, once and for good. A task that nobody holds is taken by it.

        Args:
            task_id: The task.
            choice: One of its `choices`.
            by: Who decides, from the app's authenticated user: never from a form.
            via: Through what, for the record.
            comment: Why, in words; `returned` must say what to change.
            edited: Of an `edit`, the corrected work: a JSON value or a JSON document as `bytes`, like a state.
            response: The further answers that the task asks for.
            label: What the decision teaches. An approval labels the task's own typology unless this says another.

        Returns:
            How the investigation goes on.

        Raises:
            UnknownTask: There is no such task.
            AlreadyDecided: It is decided; the error carries the decision.
            TaskHeld: Another person holds it.
            NotAllowed: They made what is to be decided, or the task does not offer this choice.
            InvalidTask: What was said cannot be taken.
        """
        choice = member(Choice, choice, "choice")
        checked_name(by, "by")
        checked_text(comment, "comment")
        if (choice is Choice.EDIT) != (edited is not None):
            raise InvalidTask("an edit, and nothing else, comes with the corrected work; give both or neither")
        if choice in _NEEDS_A_COMMENT and not comment.strip():
            raise InvalidTask(f"{choice} says nothing; give a comment that says what to change")
        edited_json = None if edited is None else json_text(edited, "the edited work")
        with self._database.transaction(writes=True) as session:
            now = self._now(session)
            found = self._locked(session, task_id)
            self._check_free(found, by, now)
            offered = parsed(found["choices"], "the choices")
            if choice not in offered:
                raise NotAllowed(f"the task {task_id} does not offer {choice}; it offers {', '.join(offered)}")
            schema = found["response_schema"]
            said = said_text(
                comment=comment,
                response=checked_response(response, None if schema is None else parsed(schema, "the schema")),
                label=labels.with_approval(label or HumanLabel(), choice, found["typology"]),
                via=checked_text(via, "via"),
            )
            decided: dict[str, Any] = {
                "choice": str(choice),
                "decided_by": by,
                "decided_us": now,
                "said": said,
                "edited": edited_json,
            }
            session.change(sql.DECIDE, id=task_id, **decided)
            data = {"choice": str(choice), "decision": fingerprint({**found, **decided}, DECIDED)}
            self._append(session, now, Act.DECIDED, by=by, via=via, task_id=task_id, data=data)
            after = resumption_of({**found, **decided})
        if after is None:
            raise AssertionError("a decided row has a decision")
        return after

    # --- the office: deadlines, holds, retention, proof ----------------------------------------------------------

    def expire(self) -> list[TaskSummary]:
        """Escalate what has passed its `expires_at` or `due_at` since it was last asked; nothing is ever closed.

        Each of the two escalates once. A task that is held stays held. Whoever calls tells those who must know.

        Returns:
            What is newly escalated, the most urgent first.
        """
        escalated: list[TaskSummary] = []
        while True:
            with self._database.transaction(writes=True) as session:
                now = self._now(session)
                passed = session.rows(f"{sql.PASSED} {self._database.lock_free}", now=now, limit=_A_BATCH)
                for row in passed:
                    session.change(sql.ESCALATE, id=row["id"], level=row["passed"], now=now)
                    self._append(
                        session, now, Act.ESCALATED, task_id=row["id"], data={"escalation": int(row["passed"])}
                    )
                escalated += [summary_of(_one(session, sql.ONE, row["id"]), now) for row in passed]
            if len(passed) < _A_BATCH:
                return escalated

    def hold(self, *, by: str, task_id: str | None = None, case_id: str | None = None, reason: str = "") -> str:
        """Put a task, or all of a case (also what comes later), under legal hold: kept until it is released.

        Returns:
            The id of the hold.

        Raises:
            InvalidTask: Neither or both are given.
            UnknownTask: There is no such task.
        """
        checked_name(by, "by")
        checked_text(reason, "reason")
        if (task_id is None) == (case_id is None):
            raise InvalidTask("a hold is on one task or on one case; give one of the two")
        if case_id is not None:
            checked_name(case_id, "case_id")
        hold_id = secrets.token_hex(8)
        with self._database.transaction(writes=True) as session:
            now = self._now(session)
            if task_id is not None:
                self._locked(session, task_id)
            session.change(sql.PLACE_HOLD, id=hold_id, task_id=task_id, case_id=case_id, reason=reason, by=by, now=now)
            self._append(session, now, Act.HELD, by=by, task_id=task_id, data={"hold": hold_id})
        return hold_id

    def release_hold(self, hold_id: str, *, by: str) -> None:
        """End a legal hold.

        Raises:
            UnknownTask: There is no such hold.
        """
        checked_name(by, "by")
        with self._database.transaction(writes=True) as session:
            if not session.change(sql.END_HOLD, id=hold_id):
                raise UnknownTask(f"there is no hold {hold_id!r:.60}; give the id of one that is listed")
            self._append(session, self._now(session), Act.HOLD_RELEASED, by=by, data={"hold": hold_id})

    def holds(self) -> list[dict[str, Any]]:
        """List the legal holds, oldest first, as JSON objects."""
        with self._database.transaction(writes=False) as session:
            found = session.rows(sql.HOLDS)
            return [
                {**{key: value for key, value in row.items() if key != "placed_us"}, "at": _said_at(row["placed_us"])}
                for row in found
            ]

    def purge(self, *, by: str, retention: timedelta = RETENTION) -> int:
        """Delete what was decided longer ago than the retention and is under no hold. What is undecided stays.

        Each deletion is a link in the chain, which verifies as before. In SQLite what is deleted is overwritten; in
        PostgreSQL the server's vacuum does it.

        Returns:
            How many were deleted.
        """
        checked_name(by, "by")
        length, count = lasting(retention, "retention"), 0
        while True:
            with self._database.transaction(writes=True) as session:
                now = self._now(session)
                found = session.rows(f"{sql.OUTLIVED} {self._database.lock_free}", until=now - length, limit=_A_BATCH)
                for row in found:
                    session.change(sql.DELETE, id=row["id"])
                    self._append(session, now, Act.DELETED, by=by, task_id=row["id"])
            count += len(found)
            if len(found) < _A_BATCH:
                break
        self._database.forget()
        return count

    def labels(self) -> Iterator[labels.DecidedLabel]:
        """Give every decision with what it teaches, oldest first, a batch at a time.

        `gold_line()` and `judged_line()` of each are lines that `--gold` and `--judge` read.
        """
        after: tuple[int, str] = (-NEVER, "")
        while True:
            with self._database.transaction(writes=False) as session:
                found = session.rows(sql.LABELLED, at=after[0], id=after[1], limit=_A_BATCH)
            for row in found:
                decision = decision_of(row)
                if decision is not None:
                    yield labels.DecidedLabel.of(row, decision)
            if len(found) < _A_BATCH:
                return
            after = (found[-1]["decided_us"], found[-1]["id"])

    def head(self) -> Head:
        """Give the head of the chain. Kept elsewhere, it shows later whether links were cut off or written anew."""
        with self._database.transaction(writes=False) as session:
            return head_of(session)

    def verify(self, *, kept: Head | None = None) -> Verification:
        """Check the chain, and every task, decision and hold against it.

        Args:
            kept: A head of this chain from earlier, kept elsewhere.
        """
        with self._database.transaction(writes=False) as session:
            return verification.verify(session, kept)

    def stats(self) -> dict[str, Any]:
        """Count what waits and what was done, as numbers that metrics can observe.

        Returns:
            `open`: tasks that are undecided; of them `waiting` (nobody holds them) and `claimed`. `decided`.
            `open_by_kind`. `oldest_age_seconds`: the age of the oldest that is open, 0 without one.
            `overdue`: open beyond `expires_at` or `due_at`. `escalated`: open, and `expire` has said so.
            `unacknowledged`: decided, and nobody has said that it was heard. `decisions_by_choice`.
            `holds`: legal holds. And since ever: `submitted`, `escalations`, `detail_views`, `deleted`.
        """
        with self._database.transaction(writes=False) as session:
            return numbers(session, self._now(session))

    # --- within a transaction ------------------------------------------------------------------------------------

    def _now(self, session: Session) -> int:
        return self._database.now_us(session) if self._clock is None else microseconds(self._clock())

    def _locked(self, session: Session, task_id: str) -> Row:
        return _one(session, f"{sql.WHOLE} {self._database.lock}", task_id)

    def _was_deleted(self, session: Session, task_id: str) -> bool:
        return bool(session.rows(sql.WAS, id=task_id, act=str(Act.DELETED)))

    def _check_free(self, found: Row, by: str, now: int) -> None:
        """See that this person may take the task now."""
        task_id, key = found["id"], same_person(by)
        decision = decision_of(found)
        if decision is not None:
            raise AlreadyDecided(
                f"the task {task_id} was decided: {decision.choice} by {decision.by} at {decision.at.isoformat()}",
                decision,
            )
        if found["lease_us"] > now and found["claimed_key"] != key:
            raise TaskHeld(f"{found['claimed_by']} holds the task {task_id} until {_said_at(found['lease_us'])}")
        if not self._authors_may_decide and found["author_key"] == key:
            raise NotAllowed(f"{by} made what the task {task_id} asks about; another person must decide it")

    def _append(self, session: Session, now: int, act: Act, **said: Any) -> None:
        append(session, self._database.lock, act, now_us=now, **said)


def _database(where: str | Path, *, create: bool) -> Database:
    text = str(where)
    if text.startswith(("postgresql://", "postgres://")):
        from otel_aml.recover.takeover.postgres import PostgresDatabase

        return PostgresDatabase(text, create=create)
    scheme = text.partition("://")[0]
    if "://" in text and scheme.isalnum():
        raise InvalidTask(f"a queue cannot be kept at {scheme}://...; give the path of a file, or postgresql://...")
    if not text or text.startswith(":"):
        raise InvalidTask(f"{text!r} is no file; a queue is kept in one, so that nothing is lost")
    from otel_aml.recover.takeover.sqlite import SqliteDatabase

    return SqliteDatabase(Path(where), create=create)


def _one(session: Session, statement: str, task_id: str) -> Row:
    found = session.rows(statement, id=checked_id(task_id))
    if not found:
        raise UnknownTask(f"there is no task {task_id!r}; `tasks()` lists them")
    return found[0]


def _count(asked: int) -> int:
    return min(max(asked, 0), NEVER)


def _said_at(count: int) -> str:
    return moment(count).isoformat()
