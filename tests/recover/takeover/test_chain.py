import sqlite3

import psycopg
import pytest
from handing import draft, review

from otel_aml.errors import InvalidTask
from otel_aml.recover.takeover import Choice, Head, TakeoverQueue


@pytest.fixture
def told(where, queue):
    """A queue with nine links; gives the way to change its tables behind its back."""
    queue.submit(review(id="a"))
    queue.submit(draft(id="b"))
    queue.submit(review(id="c"))
    queue.technical_detail("a", by="op")
    queue.decide("a", Choice.RETRY, by="ann", comment="yes")
    queue.decide("b", Choice.RETURNED, by="ann", comment="no")
    queue.hold(by="legal", task_id="b")
    queue.hold(by="legal", case_id="C-17")
    queue.technical_detail("c", by="op")
    assert queue.verify().is_whole

    def change(statement):
        if where.startswith("postgresql"):
            with psycopg.connect(where) as connection:
                return connection.execute(statement).rowcount
        with sqlite3.connect(where) as connection:
            changed = connection.execute(statement).rowcount
        connection.close()
        return changed

    return change


BROKEN = [
    pytest.param("update takeover_links set actor = 'bo' where seq = 5", 5, "it was changed", id="who"),
    pytest.param("update takeover_links set at_us = at_us + 1 where seq = 1", 1, "it was changed", id="when"),
    pytest.param("update takeover_links set task_id = 'c' where seq = 4", 4, "it was changed", id="which"),
    pytest.param("update takeover_links set act = 'escalated' where seq = 9", 9, "it was changed", id="what"),
    pytest.param("update takeover_links set via = 'page' where seq = 6", 6, "it was changed", id="through what"),
    pytest.param("update takeover_links set data = '{}' where seq = 2", 2, "it was changed", id="digest"),
    pytest.param("update takeover_links set data = '{' where seq = 2", 2, "cannot be read", id="no JSON"),
    pytest.param("update takeover_links set hash = previous where seq = 3", 3, "it was changed", id="hash"),
    pytest.param("update takeover_links set previous = hash where seq = 3", 3, "the link before", id="previous"),
    pytest.param("delete from takeover_links where seq = 4", 5, "link 4 is missing", id="taken out"),
    pytest.param("delete from takeover_links where seq = 1", 2, "link 1 is missing", id="the first"),
    pytest.param("delete from takeover_links where seq = 9", 9, "ends at link 8, and its head says 9", id="the last"),
    pytest.param("delete from takeover_links", 1, "ends at link 0", id="all"),
    pytest.param("update takeover_head set seq = 8", 10, "its head says 8", id="head"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("statement", "seq", "reason"), BROKEN)
def test_the_first_broken_link_is_named(queue, told, statement, seq, reason):
    """Whatever was changed in the chain."""
    assert told(statement) > 0
    found = queue.verify()
    assert not found.is_whole
    assert found.broken.seq == seq
    assert reason in found.broken.reason


DISAGREEING = [
    pytest.param("update takeover_tasks set state = '{}' where id = 'a'", "a", "not what was submitted", id="state"),
    pytest.param("update takeover_tasks set due_us = 1 where id = 'a'", "a", "not what was submitted", id="deadline"),
    pytest.param("update takeover_tasks set author = null where id = 'b'", "b", "not what was submitted", id="author"),
    pytest.param("update takeover_tasks set salt = 'x' where id = 'c'", "c", "not what was submitted", id="salt"),
    pytest.param("update takeover_tasks set choice = 'approve' where id = 'b'", "b", "not the one", id="choice"),
    pytest.param("update takeover_tasks set decided_by = 'bo' where id = 'b'", "b", "not the one", id="decider"),
    pytest.param("update takeover_tasks set said = '{}' where id = 'b'", "b", "not the one", id="words"),
    pytest.param("update takeover_tasks set edited = '{}' where id = 'b'", "b", "not the one", id="work"),
    pytest.param("update takeover_tasks set decided_us = null where id = 'b'", "b", "decision is gone", id="undone"),
    pytest.param("update takeover_tasks set decided_us = 1 where id = 'c'", "c", "no link says so", id="forged"),
    pytest.param("delete from takeover_tasks where id = 'c'", "c", "it is gone", id="deleted"),
    pytest.param("update takeover_tasks set id = 'z' where id = 'c'", "z", "no link says", id="another id"),
    pytest.param("delete from takeover_holds where task_id = 'b'", "hold", "do not agree", id="hold"),
]


@pytest.mark.parametrize(("statement", "task_id", "reason"), DISAGREEING)
def test_a_task_that_was_changed_is_named(queue, told, statement, task_id, reason):
    """The chain says what was submitted and decided; its links alone would still hold."""
    assert told(statement) > 0
    found = queue.verify()
    assert found.broken is None
    assert not found.is_whole
    assert task_id in found.faults[0]
    assert reason in found.faults[0]


def test_the_faults_are_json(queue, told):
    """For a program that watches."""
    told("delete from takeover_tasks where id = 'c'")
    found = queue.verify().plain()
    assert (found["is_whole"], found["links"], found["tasks"], found["broken"]) == (False, 9, 2, None)
    assert found["head"] == str(queue.head())


class TestAKeptHead:
    def test_it_shows_that_the_end_was_cut_off(self, queue, told):
        """Cut with all that the links speak of, and the head set back, nothing else would tell."""
        before, kept = Head(8, _hash(queue, 8)), queue.head()
        told("delete from takeover_links where seq = 9")
        told(f"update takeover_head set seq = 8, hash = '{before.hash}'")
        assert queue.verify().is_whole
        assert queue.verify(kept=before).is_whole
        assert "its end was cut off" in queue.verify(kept=kept).faults[0]

    def test_it_shows_that_the_chain_was_written_anew(self, queue, told, tmp_path):
        """Another chain of the same length."""
        with TakeoverQueue(tmp_path / "other.db") as other:
            for number in range(9):
                other.submit(review(id=f"t{number}"))
            assert "written anew" in other.verify(kept=queue.head()).faults[0]
            assert other.verify(kept=Head(0, "0" * 64)).is_whole

    def test_it_is_read_as_it_is_written(self, queue, told):
        """By hand, from a mail."""
        assert Head.of(str(queue.head())) == queue.head()

    @pytest.mark.parametrize("text", ["", "9", "9:abc", "x:" + "0" * 64, "9:" + "G" * 64, "9:" + "0" * 65])
    def test_what_is_no_head_is_refused(self, text):
        """A slip must not pass for a broken chain."""
        with pytest.raises(InvalidTask, match="no head of a chain"):
            Head.of(text)


def test_a_task_decided_twice_would_be_seen(queue, where, told):
    """Also where someone makes the links hold."""
    with TakeoverQueue(where) as forger:
        with forger._database.transaction(writes=True) as session:
            forger._append(session, 0, "decided", by="x", task_id="a", data={"choice": "retry", "decision": ""})
    found = queue.verify()
    assert (found.broken.seq, found.broken.reason) == (10, "its task was decided before")


def test_the_chain_holds_no_word_of_a_case(queue, told, where):
    """It outlives what it speaks of: ids of tasks, names of staff, digests and numbers are all that stays."""
    with queue._database.transaction(writes=False) as session:
        rows = session.rows("select act, actor, via, task_id, data from takeover_links")
    text = " ".join(str(value) for row in rows for value in row.values())
    for word in ("C-17", "C-18", "tx-1", "yes", "structuring", "TimeoutError", "tool_failure"):
        assert word not in text


def _hash(queue, seq):
    with queue._database.transaction(writes=False) as session:
        (row,) = session.rows("select hash from takeover_links where seq = $seq", seq=seq)
    return row["hash"]
