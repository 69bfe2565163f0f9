"""The queue beside a model of it that a page holds: whatever people do, both say the same."""

import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from handing import review
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from otel_aml.errors import AlreadyDecided, NotAllowed, QueueError, TaskHeld, UnknownTask
from otel_aml.recover.takeover import Choice, TakeoverQueue, TaskStatus

PEOPLE = st.sampled_from(["ann", "bo", "cy"])
PLACES = st.integers(0, 7)
LEASE = 15


@dataclass
class Known:
    author: str
    holder: str | None = None
    until: int = 0
    decided_by: str | None = None


class People(RuleBasedStateMachine):
    """Three people, a few tasks, and time that passes."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.minute = 0
        start = datetime(2026, 1, 1, tzinfo=UTC)
        self.queue = TakeoverQueue(self.folder / "t.db", clock=lambda: start + timedelta(minutes=self.minute))
        self.known = {}

    def teardown(self):
        self.queue.close()
        shutil.rmtree(self.folder)

    def refusal(self, task_id, by):
        """Why this person may not take the task now; None where they may."""
        task = self.known.get(task_id)
        if task is None:
            return UnknownTask
        if task.decided_by:
            return AlreadyDecided
        if task.until > self.minute and task.holder != by:
            return TaskHeld
        return NotAllowed if task.author == by else None

    def tried(self, call):
        try:
            return call(), None
        except QueueError as error:
            return None, type(error)

    @rule(place=PLACES, author=PEOPLE)
    def submit(self, place, author):
        if f"t{place}" not in self.known:
            self.minute += 1  # So that no two are of one age.
            self.queue.submit(review(id=f"t{place}", author=author))
            self.known[f"t{place}"] = Known(author)

    @rule(minutes=st.integers(1, LEASE + 1))
    def wait(self, minutes):
        self.minute += minutes

    @rule(by=PEOPLE)
    def take_the_next(self, by):
        free = (task_id for task_id in self.known if self.refusal(task_id, by) is None)
        expected = next((task_id for task_id in free if self.known[task_id].until <= self.minute), None)
        task = self.queue.claim(by)
        assert (task and task.id) == expected
        if task:
            self.known[task.id].holder, self.known[task.id].until = by, self.minute + LEASE

    @rule(place=PLACES, by=PEOPLE)
    def take(self, place, by):
        task, refused = self.tried(lambda: self.queue.claim(by, task_id=f"t{place}"))
        assert refused is self.refusal(f"t{place}", by)
        if task:
            self.known[task.id].holder, self.known[task.id].until = by, self.minute + LEASE

    @rule(place=PLACES, by=PEOPLE)
    def renew(self, place, by):
        refusal = self.refusal(f"t{place}", by)
        if refusal is None and self.known[f"t{place}"].holder != by:
            refusal = TaskHeld
        until, refused = self.tried(lambda: self.queue.renew(f"t{place}", by))
        assert refused is refusal
        if until:
            self.known[f"t{place}"].until = self.minute + LEASE

    @rule(place=PLACES, by=PEOPLE)
    def release(self, place, by):
        task = self.known.get(f"t{place}")
        released, refused = self.tried(lambda: self.queue.release(f"t{place}", by))
        assert (refused is UnknownTask) == (task is None)
        if task:
            assert released == (task.decided_by is None and task.holder == by)
            if released:
                task.holder, task.until = None, 0

    @rule(place=PLACES, by=PEOPLE, choice=st.sampled_from([Choice.RETRY, Choice.APPROVE, Choice.REJECT]))
    def decide(self, place, by, choice):
        after, refused = self.tried(lambda: self.queue.decide(f"t{place}", choice, by=by))
        assert refused is self.refusal(f"t{place}", by)
        if after:
            self.known[f"t{place}"].decided_by = by

    @invariant()
    def both_say_the_same(self):
        found = {each.id: each for each in self.queue.tasks(statuses=tuple(TaskStatus))}
        assert found.keys() == self.known.keys()
        for task_id, task in self.known.items():
            decision = found[task_id].decision
            assert (decision and decision.by) == task.decided_by
            is_held = task.decided_by is None and task.until > self.minute
            assert found[task_id].claimed_by == (task.holder if is_held else None)
        assert self.queue.verify().is_whole


TestPeople = People.TestCase
TestPeople.settings = settings(max_examples=15, stateful_step_count=30)
