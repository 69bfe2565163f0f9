import json
import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest
from handing import draft, review

from otel_aml.errors import AlreadyDecided, InvalidTask, NotAllowed, TaskHeld, UnknownTask
from otel_aml.offline.labels import Label, read_labels
from otel_aml.offline.problems import Problems
from otel_aml.recover.takeover import (
    Choice,
    HumanLabel,
    QueuedTask,
    ResumePlan,
    ReviewState,
    TakeoverQueue,
    TaskKind,
    TaskStatus,
)

EVERY = tuple(TaskStatus)
SECRET = "ConnectionError: postgres://user:hunter2@db"


class TestHandingOver:
    def test_what_is_handed_over_comes_back(self, queue):
        """State, plan, words: all that was done right."""
        task = review(state={"n": 2**200, "text": "审查"}, user_message="...")
        found = queue.show(queue.submit(task))
        assert (found.state, found.state_json) == ({"n": 2**200, "text": "审查"}, task.state_json)
        assert (found.plan, found.choices, found.user_message) == (task.plan, task.choices, "...")
        assert (found.status, found.review) == (TaskStatus.WAITING, ReviewState.ERROR)

    @pytest.mark.parametrize("document", [b'{"a": 1, "a": 2.50}', b'["\\u0000\\ud800", "\xe2\x80\xa8"]', b" 0 "])
    def test_the_state_is_kept_byte_for_byte(self, queue, document):
        """Whatever the database makes of numbers, NUL and line ends."""
        assert queue.show(queue.submit(review(state=document))).state_json.encode() == document

    def test_the_longest_state_comes_back(self, queue):
        """And one byte more leaves nothing behind."""
        document = json.dumps("审" * 1_747_000 + "x" * 1_878, ensure_ascii=False).encode()
        assert len(document) == 5 * 1024 * 1024
        assert queue.show(queue.submit(review(state=document))).state_json.encode() == document
        with pytest.raises(InvalidTask):
            queue.submit(review(state=document + b" "))
        assert queue.stats()["submitted"] == 1

    def test_the_same_task_again_is_the_same(self, queue, clock):
        """A step that runs again as it is resumed hands over again; its deadline may have moved."""
        first = queue.submit(review(id="thread-1:draft", expires_at=clock.now + timedelta(hours=1)))
        queue.claim("ann", task_id=first)
        again = queue.submit(review(id="thread-1:draft", expires_at=clock.now + timedelta(hours=2)))
        assert first == again == "thread-1:draft"
        assert queue.stats()["submitted"] == 1
        assert queue.show(first).claimed_by == "ann"

    @pytest.mark.parametrize("other", [{"state": {}}, {"case_id": "C-2"}, {"technical_detail": "x"}, {"author": "bo"}])
    def test_another_task_with_its_id_is_refused(self, queue, other):
        """It would be lost."""
        queue.submit(review(id="a"))
        with pytest.raises(InvalidTask, match="another task has the id 'a'"):
            queue.submit(review(id="a", **other))

    @pytest.mark.parametrize("given", [{}, None, "task"])
    def test_only_a_task_is_taken(self, queue, given):
        """One sentence for what is none."""
        with pytest.raises(InvalidTask, match="is no ApprovalTask"):
            queue.submit(given)

    def test_both_kinds_wait_in_one_queue(self, queue):
        """One table, one claim."""
        ids = [queue.submit(review(id="a")), queue.submit(draft(id="b"))]
        assert [queue.claim("ann").id, queue.claim("ann").id] == ids
        assert queue.claim("ann") is None


class TestTheDetail:
    def test_no_view_of_a_task_holds_it(self, queue):
        """Not the list, not the page, not the resumption, not what is exported."""
        task_id = queue.submit(review(technical_detail=SECRET))
        seen = [queue.tasks()[0], queue.tasks()[0].plain(), queue.show(task_id), queue.claim("ann"), queue.stats()]
        seen += [queue.show(task_id).plain(), queue.decide(task_id, Choice.RETRY, by="ann"), queue.resumption(task_id)]
        seen += [each.plain() for each in queue.labels()]
        texts = [repr(each) for each in seen] + [str(vars(each)) for each in seen if hasattr(each, "__dict__")]
        assert "hunter2" not in " ".join(texts)
        assert all(getattr(each, "has_technical_detail", True) for each in seen)

    def test_each_look_at_it_is_a_link(self, queue):
        """Who and when, also of the second look."""
        task_id = queue.submit(review(technical_detail=SECRET))
        before = queue.head().seq
        assert queue.technical_detail(task_id, by="op", via="page") == SECRET
        assert queue.technical_detail(task_id, by="op") == SECRET
        assert queue.head().seq == before + 2
        assert queue.stats()["detail_views"] == 2
        assert queue.verify().is_whole

    def test_there_may_be_none(self, queue):
        """A list says so, so that nobody looks in vain."""
        queue.submit(review(technical_detail=""))
        assert not queue.tasks()[0].has_technical_detail


class TestClaiming:
    def test_the_most_urgent_is_next(self, queue, clock):
        """By the earlier of its two moments, then by age."""
        late = queue.submit(review(due_at=clock.now + timedelta(days=30)))
        never = queue.submit(review())
        soon = queue.submit(draft(due_at=clock.now + timedelta(days=40), expires_at=clock.now + timedelta(days=1)))
        clock.pass_(seconds=1)
        younger = queue.submit(review())
        order = [soon, late, never, younger]
        assert [each.id for each in queue.tasks()] == order
        assert [queue.claim("ann").id for _ in order] == order

    def test_what_one_holds_nobody_else_takes(self, queue):
        """Not the next, not by name; and the sentence says who and until when."""
        task_id = queue.submit(review())
        assert queue.claim("ann").claimed_by == "ann"
        assert queue.claim("bo") is None
        with pytest.raises(TaskHeld, match=r"ann holds .* until 2026-03-01T09:15"):
            queue.claim("bo", task_id=task_id)
        with pytest.raises(TaskHeld):
            queue.decide(task_id, Choice.RETRY, by="bo")

    def test_a_lease_that_ends_frees_it(self, queue, clock):
        """Whoever went home does not block a case; and does not decide what another took since."""
        task_id = queue.submit(review())
        queue.claim("ann", lease=timedelta(minutes=5))
        clock.pass_(minutes=5)
        assert queue.tasks()[0].status is TaskStatus.WAITING
        assert queue.claim("bo").id == task_id
        with pytest.raises(TaskHeld):
            queue.decide(task_id, Choice.RETRY, by="ann")
        with pytest.raises(TaskHeld):
            queue.renew(task_id, "ann")

    def test_late_but_first_is_in_time(self, queue, clock):
        """Nobody has taken it since, so the work is not thrown away."""
        task_id = queue.submit(review())
        queue.claim("ann", lease=timedelta(minutes=5))
        clock.pass_(hours=3)
        assert queue.decide(task_id, Choice.RETRY, by="ann").decision.by == "ann"

    def test_a_lease_is_renewed(self, queue, clock):
        """As a page does while someone works; since when they hold it stays."""
        task_id, since = queue.submit(review()), clock.now
        queue.claim("ann", lease=timedelta(minutes=5))
        clock.pass_(minutes=4)
        assert queue.renew(task_id, "ANN", lease=timedelta(minutes=5)) == clock.now + timedelta(minutes=5)
        clock.pass_(minutes=4)
        found = queue.claim("ann", task_id=task_id)
        assert (found.claimed_at, found.lease_ends_at) == (since, clock.now + timedelta(minutes=15))

    def test_only_the_holder_renews_and_releases(self, queue):
        """A name is the same however it is spelt."""
        task_id = queue.submit(review())
        with pytest.raises(TaskHeld, match="does not hold"):
            queue.renew(task_id, "ann")
        queue.claim("Ann Lee")
        assert not queue.release(task_id, "bo")
        assert queue.release(task_id, "ann lee")
        assert queue.claim("bo").id == task_id

    def test_nobody_is_given_their_own_work(self, queue):
        """The next one skips it, and by name it is refused."""
        own, other = queue.submit(draft(author="Ann")), queue.submit(draft(author="bo"))
        assert queue.claim("ann").id == other
        with pytest.raises(NotAllowed, match="another person must decide"):
            queue.claim("ann ", task_id=own)
        with pytest.raises(NotAllowed):
            queue.decide(own, Choice.APPROVE, by="ANN")

    def test_authors_may_decide_where_that_is_wanted(self, where):
        """A team of one."""
        with TakeoverQueue(where, authors_may_decide=True) as queue:
            task_id = queue.submit(draft(author="ann"))
            assert queue.claim("ann").id == task_id
            assert queue.decide(task_id, Choice.APPROVE, by="ann").decision.choice is Choice.APPROVE

    def test_a_kind_can_be_asked_for(self, queue):
        """Who may sign drafts and who looks at errors need not be the same."""
        queue.submit(review())
        task_id = queue.submit(draft())
        assert queue.claim("ann", kind=TaskKind.SAR_APPROVAL).id == task_id
        assert queue.claim("ann", kind="sar_approval") is None

    @pytest.mark.parametrize("lease", [timedelta(0), timedelta(seconds=-1), timedelta(days=40_000)])
    def test_a_lease_lasts_and_ends(self, queue, lease):
        """Else a task would be claimed and free, or nobody's any more."""
        queue.submit(review())
        with pytest.raises(InvalidTask, match="longer than nothing"):
            queue.claim("ann", lease=lease)


WRONG = [
    pytest.param({"choice": "agree"}, InvalidTask, "choice is 'agree'", id="no choice"),
    pytest.param({"choice": "edit"}, InvalidTask, "corrected work", id="an edit without work"),
    pytest.param({"choice": "retry", "edited": {}}, InvalidTask, "corrected work", id="work without an edit"),
    pytest.param({"choice": "edit", "edited": {1: 1}}, InvalidTask, "no text", id="no JSON"),
    pytest.param({"choice": "returned", "comment": " "}, InvalidTask, "what to change", id="returned in silence"),
    pytest.param({"choice": "retry", "by": ""}, InvalidTask, "by is ''", id="nobody"),
    pytest.param({"choice": "retry", "comment": "x" * 20_000}, InvalidTask, "at most", id="a long comment"),
    pytest.param({"choice": "retry", "response": {}}, InvalidTask, "asks for none", id="a response"),
    pytest.param({"choice": "reject"}, NotAllowed, "it offers retry, edit, returned", id="not offered"),
]

STATES = [
    ("approve", "approved", True),
    ("edit", "approved", True),
    ("returned", "returned", False),
    ("reject", "rejected", False),
    ("retry", "retrying", True),
]


class TestDeciding:
    def test_a_task_is_decided_once(self, queue):
        """The second is told of the first, also when they are the same person."""
        task_id = queue.submit(review())
        queue.decide(task_id, Choice.RETRY, by="ann")
        for by, choice in (("ann", "retry"), ("bo", "reject")):
            with pytest.raises(AlreadyDecided, match="retry by ann at 2026-03-01") as raised:
                queue.decide(task_id, choice, by=by)
            assert raised.value.decision.by == "ann"
        for late in (lambda: queue.claim("bo", task_id=task_id), lambda: queue.renew(task_id, "ann")):
            with pytest.raises(AlreadyDecided):
                late()
        assert not queue.release(task_id, "ann")

    def test_many_at_once_and_one_decides(self, where):
        """Threads that share one queue."""
        with TakeoverQueue(where) as queue:
            task_id, said = queue.submit(review()), []

            def decide(name):
                try:
                    queue.decide(task_id, Choice.RETRY, by=name)
                    said.append(name)
                except AlreadyDecided:
                    pass

            threads = [threading.Thread(target=decide, args=(f"p{number}",)) for number in range(8)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            assert said == [queue.show(task_id).decision.by]
            assert queue.verify().is_whole

    def test_what_was_said_comes_back(self, queue, clock):
        """All of it, with who and when."""
        form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        task_id = queue.submit(review(response_schema=form))
        label = HumanLabel(typology="layering", doc_ids=["n1"], evidence_ids=[], context_used=False)
        queue.decide(
            task_id, "edit", by="Ann", via="page", comment="a\nb", edited={"x": 2**70}, response={"n": 1}, label=label
        )
        found = queue.show(task_id)
        assert found.response_schema == form
        assert (found.status, found.review) == (TaskStatus.DECIDED, ReviewState.APPROVED)
        decision = found.decision
        assert (decision.choice, decision.by, decision.at, decision.via) == (Choice.EDIT, "Ann", clock.now, "page")
        assert (decision.comment, decision.response, decision.label) == ("a\nb", {"n": 1}, label)
        assert decision.edited == {"x": 2**70}

    @pytest.mark.parametrize(("said", "error", "sentence"), WRONG)
    def test_what_cannot_be_taken_changes_nothing(self, queue, said, error, sentence):
        """The task waits as before."""
        task_id = queue.submit(review(choices=["retry", "edit", "returned"]))
        head = queue.head()
        with pytest.raises(error, match=sentence):
            queue.decide(task_id, **({"by": "ann"} | said))
        assert queue.head() == head
        assert queue.tasks()[0].status is TaskStatus.WAITING

    @pytest.mark.parametrize(("choice", "state", "goes_on"), STATES)
    def test_the_investigation_goes_on_from_where_it_stopped(self, queue, choice, state, goes_on):
        """With the corrected work where there is some; with nothing after a return or a rejection."""
        plan = ResumePlan(done=["evidence"], left=["typology", "draft"], enter_at="draft")
        task_id = queue.submit(review(state=b'{"n": 1.0}', plan=plan))
        assert queue.resumption(task_id) is None
        edited = {"n": 2} if choice == "edit" else None
        given = queue.decide(task_id, choice, by="ann", comment="because", edited=edited)
        found = queue.resumption(task_id)
        assert given == found
        assert (found.plan, found.goes_on) == (plan, goes_on)
        assert found.state_json == ('{"n":2}' if edited else '{"n": 1.0}')
        assert queue.show(task_id).review == state

    def test_the_states_of_a_review(self, queue):
        """A draft waits, is in review, is returned, and its next round names it; a failed step shows its error."""
        first = queue.submit(draft())
        assert queue.show(first).review is ReviewState.WAITING
        queue.claim("ann")
        assert queue.show(first).review is ReviewState.IN_REVIEW
        queue.decide(first, Choice.RETURNED, by="ann", comment="name the counterparty")
        assert queue.show(first).review is ReviewState.RETURNED
        second = queue.submit(draft(follows=first))
        assert queue.show(second).follows == first
        failed = queue.submit(review())
        queue.claim("ann", task_id=failed)
        assert queue.show(failed).review is ReviewState.ERROR

    @pytest.mark.parametrize(
        "ask",
        [
            lambda queue: queue.show("nobody"),
            lambda queue: queue.resumption("nobody"),
            lambda queue: queue.claim("ann", task_id="nobody"),
            lambda queue: queue.renew("nobody", "ann"),
            lambda queue: queue.release("nobody", "ann"),
            lambda queue: queue.decide("nobody", "retry", by="ann"),
            lambda queue: queue.technical_detail("nobody", by="ann"),
            lambda queue: queue.acknowledge("nobody"),
            lambda queue: queue.hold(by="ann", task_id="nobody"),
            lambda queue: queue.release_hold("nobody", by="ann"),
        ],
    )
    def test_what_is_not_there_is_said(self, queue, ask):
        """And nothing is logged of it."""
        with pytest.raises(UnknownTask, match="nobody"):
            ask(queue)
        assert queue.head().seq == 0


class TestGoingOn:
    def test_a_decision_waits_for_its_agent(self, queue, clock):
        """One that was away, or was killed before it went on, finds it; acknowledged, it is found no more."""
        ids = [queue.submit(review(id=name)) for name in "abc"]
        assert queue.resumptions() == []
        for task_id, choice in zip(ids[:2], ("retry", "reject"), strict=True):
            clock.pass_(seconds=1)
            queue.decide(task_id, choice, by="ann")
        assert queue.resumptions() == [queue.resumption("a"), queue.resumption("b")]
        assert queue.resumptions(limit=1) == [queue.resumption("a")]
        assert [queue.acknowledge("a"), queue.acknowledge("a"), queue.acknowledge("c")] == [True, False, False]
        assert [each.task_id for each in queue.resumptions()] == ["b"]
        assert queue.stats()["unacknowledged"] == 1
        assert queue.verify().is_whole

    def test_metrics_observe_the_numbers(self, queue, monkeypatch):
        """The names are those that the door of the metrics asks for."""
        queue.submit(review())
        wanted = {"open", "oldest_age_seconds", "escalations"}
        assert {name: queue.stats()[name] for name in wanted} == {
            "open": 1,
            "oldest_age_seconds": 0.0,
            "escalations": 0,
        }


class TestLooking:
    def test_a_list_is_narrowed(self, queue, clock):
        """By status, kind, case and holder, a page at a time."""
        held, free = queue.submit(review(id="a")), queue.submit(draft(id="b"))
        done = queue.submit(review(case_id="C-19"))
        queue.claim("ann", task_id=held)
        queue.decide(done, "retry", by="ann")
        clock.pass_(minutes=1)

        def ids(**by):
            return [each.id for each in queue.tasks(**by)]

        assert ids() == [held, free]
        assert ids(statuses=EVERY) == [held, free, done]
        assert ids(statuses=["decided"]) == [done]
        assert ids(kind="sar_approval") == [free]
        assert ids(case_id="C-19", statuses=EVERY) == [done]
        assert ids(claimed_by="Ann") == [held]
        assert ids(limit=1) == [held]
        assert ids(limit=1, offset=1) == [free]
        assert ids(limit=-1) == []
        assert not any(isinstance(each, QueuedTask) for each in queue.tasks())
        with pytest.raises(InvalidTask):
            queue.tasks(kind="other")

    def test_an_id_is_found_by_how_it_begins(self, queue):
        """What is no beginning of an id finds nothing."""
        for name in ("ab-1", "ab-2", "b"):
            queue.submit(review(id=name))
        assert queue.matching("ab") == ["ab-1", "ab-2"]
        assert queue.matching("ab", limit=1) == ["ab-1"]
        assert queue.matching("%") == queue.matching("\udcff") == queue.matching("AB") == []

    def test_a_summary_is_json(self, queue, clock):
        """Moments as text, closed sets as their words."""
        task_id = queue.submit(draft(due_at=clock.now + timedelta(days=30)))
        clock.pass_(seconds=90)
        queue.decide(task_id, "approve", by="ann")
        found = json.loads(json.dumps(queue.tasks(statuses=EVERY)[0].plain()))
        assert found["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
        assert (found["created_at"], found["due_at"]) == ("2026-03-01T09:00:00+00:00", "2026-03-31T09:00:00+00:00")
        assert (found["age_seconds"], found["review"], found["decision"]["by"]) == (90.0, "approved", "ann")

    def test_the_numbers(self, queue, clock):
        """What metrics observe."""
        assert queue.stats() == {
            "open": 0,
            "waiting": 0,
            "claimed": 0,
            "decided": 0,
            "open_by_kind": {"sar_approval": 0, "error_review": 0},
            "oldest_age_seconds": 0.0,
            "overdue": 0,
            "escalated": 0,
            "unacknowledged": 0,
            "decisions_by_choice": {"approve": 0, "edit": 0, "returned": 0, "reject": 0, "retry": 0},
            "holds": 0,
            "submitted": 0,
            "escalations": 0,
            "detail_views": 0,
            "deleted": 0,
        }
        ids = [queue.submit(each) for each in (review(), draft(expires_at=clock.now), review())]
        queue.claim("ann", task_id=ids[0])
        queue.decide(ids[2], "retry", by="ann")
        queue.expire()
        queue.hold(by="legal", case_id="C-17")
        clock.pass_(seconds=60)
        found = queue.stats()
        assert [found[name] for name in ("open", "waiting", "claimed", "decided", "unacknowledged")] == [2, 1, 1, 1, 1]
        assert found["open_by_kind"] == {"sar_approval": 1, "error_review": 1}
        assert (found["oldest_age_seconds"], found["overdue"], found["escalated"]) == (60.0, 1, 1)
        assert (found["escalations"], found["holds"], found["submitted"]) == (1, 1, 3)
        assert found["decisions_by_choice"]["retry"] == 1


class TestDeadlines:
    def test_each_deadline_escalates_once_and_closes_nothing(self, queue, clock):
        """First the missed decision, then the missed deadline."""
        task_id = queue.submit(draft(expires_at=clock.now + timedelta(days=1), due_at=clock.now + timedelta(days=30)))
        queue.claim("ann", lease=timedelta(days=100))
        assert queue.expire() == []
        levels = []
        for days in (1, 1, 28, 1):
            clock.pass_(days=days)
            levels.append([(each.id, each.escalation) for each in queue.expire()])
        assert levels == [[(task_id, 1)], [], [(task_id, 2)], []]
        found = queue.show(task_id)
        assert (found.status, found.claimed_by, found.is_overdue) == (TaskStatus.CLAIMED, "ann", True)
        queue.decide(task_id, "approve", by="ann")
        assert not queue.show(task_id).is_overdue
        assert queue.expire() == []
        assert queue.verify().is_whole

    def test_many_at_once(self, queue, clock):
        """More than are taken in one go."""
        for _ in range(205):
            queue.submit(review(expires_at=clock.now))
        assert len(queue.expire()) == 205
        assert queue.expire() == []


class TestKeeping:
    def test_what_was_kept_for_its_time_is_deleted_and_the_chain_holds(self, queue, clock):
        """Five years after the decision, not after the submission; the undecided never."""
        old, open_ = queue.submit(review(technical_detail=SECRET)), queue.submit(draft())
        clock.pass_(days=400)
        queue.decide(old, "retry", by="ann", comment="words")
        clock.pass_(days=1826)
        assert queue.purge(by="office") == 0
        clock.pass_(days=1)
        kept = queue.head()
        assert queue.purge(by="office") == 1
        assert [each.id for each in queue.tasks(statuses=EVERY)] == [open_]
        found = queue.verify(kept=kept)
        assert found.is_whole
        assert (found.tasks, queue.stats()["deleted"]) == (1, 1)
        with pytest.raises(InvalidTask, match="kept for its time and deleted"):
            queue.submit(review(id=old))
        assert queue.verify().is_whole

    @pytest.mark.parametrize("on", ["task", "case"])
    def test_a_legal_hold_keeps_it(self, queue, clock, on):
        """On a task or on a case, until it is released; each is a link."""
        task_id = queue.submit(review())
        queue.decide(task_id, "retry", by="ann")
        hold = queue.hold(
            by="legal", reason="subpoena", **({"task_id": task_id} if on == "task" else {"case_id": "C-17"})
        )
        assert queue.show(task_id).on_hold
        assert [(each["id"], each["reason"]) for each in queue.holds()] == [(hold, "subpoena")]
        clock.pass_(days=4000)
        assert queue.purge(by="office") == 0
        assert queue.verify().is_whole
        queue.release_hold(hold, by="legal")
        assert queue.purge(by="office") == 1
        assert queue.verify().is_whole

    def test_a_hold_on_a_case_holds_what_comes_later(self, queue):
        """Who placed it does not know what is still to come."""
        queue.hold(by="legal", case_id="C-17")
        assert queue.show(queue.submit(review())).on_hold
        assert not queue.show(queue.submit(draft())).on_hold

    @pytest.mark.parametrize("of", [{}, {"task_id": "a", "case_id": "b"}])
    def test_a_hold_is_on_one_thing(self, queue, of):
        """Else it is not clear what is kept."""
        with pytest.raises(InvalidTask, match="one of the two"):
            queue.hold(by="legal", **of)

    def test_the_time_is_configured(self, queue, clock):
        """Longer than nothing."""
        queue.decide(queue.submit(review()), "retry", by="ann")
        clock.pass_(days=31)
        with pytest.raises(InvalidTask):
            queue.purge(by="office", retention=timedelta(0))
        assert queue.purge(by="office", retention=timedelta(days=30)) == 1


class TestLabels:
    def test_decisions_are_labels(self, queue, tmp_path):
        """The lines are those that `--gold` and `--judge` read."""
        approved = queue.submit(draft(id="a"))
        queue.decide(approved, "approve", by="ann")
        corrected = queue.submit(draft(id="b", trace_id=None, case_id="C-2"))
        label = HumanLabel(typology="layering", doc_ids=["n1"], evidence_ids=["tx-1"], context_used=True)
        queue.decide(corrected, "edit", by="ann", edited={}, label=label)
        queue.decide(queue.submit(review(id="c")), "retry", by="ann")
        queue.decide(queue.submit(draft(id="d", case_id="C-4", trace_id=None)), "reject", by="ann")
        queue.submit(draft())
        found = list(queue.labels())
        assert [each.decision.choice for each in found if each.gold_line()] == ["approve", "edit"]
        labels = read(tmp_path, found)
        assert labels.of("0af7651916cd43dd8448eb211c80319c", None) == Label(typology="structuring")
        assert labels.of("", "C-2") == Label(
            typology="layering", doc_ids=frozenset({"n1"}), evidence_ids=frozenset({"tx-1"}), context_used=True
        )
        assert {key for key in ("C-17", "C-4") if labels.of("", key) != Label()} == set()

    def test_an_approval_can_name_another_typology(self, queue):
        """The person's word wins."""
        queue.decide(queue.submit(draft()), "approve", by="ann", label=HumanLabel(typology="layering"))
        (found,) = queue.labels()
        assert found.gold_line()["typology"] == "layering"

    def test_all_come_in_order(self, queue, clock):
        """Also those of one moment, more than are read in one go."""
        ids = [queue.submit(review(id=f"t{number:03}")) for number in range(215)]
        for task_id in reversed(ids[:110]):
            queue.decide(task_id, "retry", by="ann")
        clock.pass_(seconds=1)
        for task_id in ids[110:]:
            queue.decide(task_id, "retry", by="ann")
        assert [each.task_id for each in queue.labels()] == ids

    @pytest.mark.parametrize(
        "said", [{"typology": ""}, {"doc_ids": "n1"}, {"evidence_ids": [""]}, {"context_used": "yes"}]
    )
    def test_a_wrong_label_is_refused(self, said):
        """A line of labels would be refused as a whole."""
        with pytest.raises(InvalidTask):
            HumanLabel(**said)


def read(folder, found):
    paths = SimpleNamespace(gold=folder / "gold.jsonl", judged=folder / "judged.jsonl")
    paths.gold.write_text("".join(f"{json.dumps(each.gold_line())}\n" for each in found if each.gold_line()))
    paths.judged.write_text("".join(f"{json.dumps(each.judged_line())}\n" for each in found if each.judged_line()))
    problems = Problems()
    labels = read_labels(paths.gold, paths.judged, problems)
    assert list(problems.ordered()) == []
    return labels
