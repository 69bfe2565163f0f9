import io
import json
import os
import pwd
import sys
from datetime import UTC, datetime, timedelta

import pytest

from otel_aml.cli import queue as commands
from otel_aml.offline.labels import read_labels
from otel_aml.offline.problems import Problems
from otel_aml.recover.takeover import ApprovalTask, Choice, ResumePlan, TakeoverQueue

LOGIN = pwd.getpwuid(os.getuid()).pw_name
FORM = {
    "type": "object",
    "properties": {"reason": {"type": "string", "enum": ["known", "new"]}, "days": {"type": "integer"}},
    "required": ["reason"],
}


@pytest.fixture
def queue(tmp_path):
    """A queue where the commands look for one, with a failed investigation and a draft."""
    with TakeoverQueue(tmp_path / "takeover.db") as made:
        made.submit(
            ApprovalTask(
                id="err-1",
                kind="error_review",
                failure_class="tool_failure",
                step_id="typology",
                case_id="C-17",
                state=b'{"n": 1.0, "text": "\xe5\xae\xa1\xe2\x80\xae"}',
                plan=ResumePlan(done=["evidence"], left=["typology", "draft"]),
                technical_detail="TimeoutError at app.py:16\nsecond line",
                expires_at=datetime.now(UTC) + timedelta(days=1),
            )
        )
        made.submit(
            ApprovalTask(
                id="sar-1",
                kind="sar_approval",
                author="bo",
                typology="structuring",
                case_id="C-18",
                trace_id="0" * 31 + "1",
                state={},
                response_schema=FORM,
            )
        )
        yield made


class TestLooking:
    def test_a_list_shows_what_waits(self, run, queue):
        """The most urgent first, and the counts."""
        queue.claim("ann", task_id="sar-1")
        found = run("queue", "list")
        first, second = found.out.splitlines()
        assert first.split()[:4] == ["err-1", "error_review", "waiting", "tool_failure"]
        assert second.split()[:3] == ["sar-1", "sar_approval", "claimed"]
        assert "ann" in second
        assert "otel-aml: waiting 1, claimed 1, decided 0, overdue 0; the oldest waits" in found.err

    def test_a_list_says_when_by_the_hour_where_that_is_near(self, run, queue):
        """A day says nothing of a decision that is due this afternoon."""
        for number, left in enumerate([timedelta(hours=3), timedelta(days=3)]):
            moment = datetime.now(UTC) + left
            queue.submit(
                ApprovalTask(
                    id=f"due-{number}", kind="error_review", failure_class="tool_failure", state=1, expires_at=moment
                )
            )
            line = next(each for each in run("queue", "list").out.splitlines() if each.startswith(f"due-{number}"))
            assert (f"by {moment:%H:%M} UTC" if number == 0 else f"by {moment:%Y-%m-%d}") in line

    def test_a_list_is_narrowed(self, run, queue):
        """By status, kind and case; as JSON with the counts."""
        queue.decide("err-1", "retry", by="ann")
        assert run("queue", "list", "--case", "C-17").out == ""
        found = json.loads(run("queue", "list", "--status", "decided", "--status", "waiting", "--json").out)
        assert [each["id"] for each in found["tasks"]] == ["sar-1", "err-1"]
        assert found["counts"]["decided"] == 1
        found = json.loads(run("queue", "list", "--kind", "error_review", "--json").out)
        assert found["tasks"] == []

    def test_a_task_shows_how_it_goes_on(self, run, queue):
        """By the beginning of its id; no detail, and nothing is logged."""
        head = queue.head()
        out = run("queue", "show", "err").out
        for line in ("done      evidence", "left      typology, draft", "enter at  typology", "case      C-17"):
            assert line in out.splitlines()
        assert "TimeoutError" not in out
        assert queue.head() == head
        assert "answer    reason: string, one of known, new, needed" in run("queue", "show", "sar").out

    def test_the_detail_is_asked_for_and_logged(self, run, queue):
        """With the login, whatever name is given."""
        assert "TimeoutError" not in run("queue", "show", "err", "--json").out
        out = run("queue", "show", "err", "--internal", "--by", "op").out
        assert "detail    TimeoutError at app.py:16\ndetail    second line\n" in out
        assert json.loads(run("queue", "show", "err", "--internal", "--json").out)["technical_detail"].startswith(
            "Time"
        )
        with queue._database.transaction(writes=False) as session:
            seen = session.rows("select actor, via from takeover_links where act = 'detail_viewed' order by seq")
        assert [tuple(each.values()) for each in seen] == [("op", f"cli: {LOGIN}"), (LOGIN, f"cli: {LOGIN}")]

    def test_the_state_is_printed_as_it_was_given(self, run, queue):
        """Into a file byte for byte."""
        assert run("queue", "show", "err-1", "--state").out == queue.show("err-1").state_json

    def test_on_a_terminal_it_moves_nothing(self, run, queue, monkeypatch):
        """What turns the direction of writing is spelt out; it is the same JSON."""
        shown = commands._for_terminal('{"a": "审\u202e\x9b\U000e0001", "b":\n1}')
        assert shown == '{"a": "审\\u202e\\u009b\\udb40\\udc01", "b":\n1}'
        assert json.loads(shown) == {"a": "审\u202e\x9b\U000e0001", "b": 1}

    @pytest.mark.parametrize("words", [("list",), ("show", "evil"), ("claim",), ("list", "--json")])
    def test_nothing_from_outside_moves_the_cursor(self, run, queue, words):
        """A message or a comment of any lines stays one line."""
        text = "\x1b[2J\r\nforged  line\u202e"
        queue.submit(
            ApprovalTask(
                id="evil",
                kind="error_review",
                failure_class="hallucination",
                state={},
                user_message=text,
                due_at=datetime(2020, 1, 1, tzinfo=UTC),
            )
        )
        queue.decide("err-1", Choice.REJECT, by="ann", comment=text)
        out = run("queue", *words).out + run("queue", "show", "err-1").out
        assert "evil" in out
        assert not {"\x1b", "\r", "\u202e"} & set(out)
        assert not any(line.startswith("forged") for line in out.splitlines())

    def test_several_that_begin_so_are_said(self, run, queue):
        """And none is picked."""
        for number in range(5):
            queue.submit(ApprovalTask(id=f"err-1{number}", kind="error_review", failure_class="hallucination", state=1))
        assert run("queue", "show", "err-1").code == 0
        found = run("queue", "show", "err")
        assert (found.code, found.out) == (2, "")
        assert "several tasks begin with err: err-1, err-10, err-11...; give more" in found.err
        found = run("queue", "show", "x")
        assert (found.code, found.out) == (2, "")
        assert "no task begins with 'x'" in found.err


class TestDeciding:
    def test_a_task_is_taken_and_decided(self, run, queue):
        """By the login, and the second is told."""
        assert "err-1" in run("queue", "claim").out
        assert queue.show("err-1").claimed_by == LOGIN
        found = run("queue", "decide", "err", "retry", "--comment", "it is back")
        assert found.out.startswith(f"decided   err-1: retry by {LOGIN} at ")
        assert found.out.endswith("; goes on at typology\n")
        decision = queue.show("err-1").decision
        assert (decision.by, decision.via, decision.comment) == (LOGIN, f"cli: {LOGIN}", "it is back")
        found = run("queue", "decide", "err", "reject")
        assert (found.code, found.out) == (2, "")
        assert f"was decided: retry by {LOGIN}" in found.err

    def test_the_next_one_by_kind_for_a_time(self, run, queue):
        """And again to hold it longer; given back it is free; when nothing waits the exit code says so."""
        assert json.loads(run("queue", "claim", "--kind", "sar_approval", "--json").out)["id"] == "sar-1"
        run("queue", "claim", "sar", "--minutes", "60")
        task = queue.show("sar-1")
        assert task.lease_ends_at - task.claimed_at >= timedelta(minutes=60)
        found = run("queue", "claim", "--kind", "sar_approval")
        assert (found.code, found.out, "nothing waits" in found.err) == (1, "", True)
        assert run("queue", "release", "sar", "--by", "cy").code == 1
        assert run("queue", "release", "sar").out == "released  sar-1\n"
        assert queue.show("sar-1").claimed_by is None

    def test_an_edit_brings_the_work(self, run, queue, tmp_path, monkeypatch):
        """From a file or from a pipe, with the answers that are asked for and with labels."""
        (tmp_path / "work.json").write_bytes(b'{"n": 2.50}')
        words = ["--answer", "reason=new", "--answer", "days=3", "--typology", "layering"]
        words += ["--doc-id", "n1", "--doc-id", "n2", "--evidence-id", "tx-1", "--context", "ignored", "--json"]
        found = run("queue", "decide", "sar", "edit", "--edited", "work.json", *words)
        assert json.loads(found.out)["goes_on"] is False
        decision = queue.show("sar-1").decision
        assert decision.edited_json == '{"n": 2.50}'
        assert decision.response == {"reason": "new", "days": 3}
        assert decision.label.plain() == {
            "typology": "layering",
            "doc_ids": ["n1", "n2"],
            "evidence_ids": ["tx-1"],
            "context_used": False,
        }
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[1]")))
        run("queue", "decide", "err", "edit", "--edited", "-")
        assert queue.resumption("err-1").state == [1]

    WRONG = (
        (("err", "agree"), "agree"),
        (("err", "returned"), "what to change"),
        (("err", "edit"), "corrected work"),
        (("err", "edit", "--edited", "none.json"), "'none.json' cannot be read"),
        (("err", "retry", "--answer", "a=1"), "asks for none"),
        (("sar", "approve"), "lacks 'reason'"),
        (("sar", "approve", "--answer", "reason"), "give name=value"),
        (("sar", "approve", "--answer", "reason=odd"), "none of 'known', 'new'"),
        (("sar", "retry"), "does not offer retry"),
        (("sar", "approve", "--by", "Bo"), "another person must decide"),
        (("err", "retry", "--typology", ""), "typology"),
        (("err", "retry", "--evidence-id", "\x00"), "evidence_ids"),
        (("err", "retry", "--by", " "), "by"),
        (("err", "edit", "--edited", __file__), "JSON"),
    )

    @pytest.mark.parametrize(("words", "said"), WRONG)
    def test_what_cannot_be_taken_is_said(self, run, queue, words, said):
        """With 2 and one sentence of ours, and nothing is changed."""
        head = queue.head()
        found = run("queue", "decide", *words)
        assert "Value error" not in found.err
        assert (found.code, found.out) == (2, "")
        assert said in found.err
        assert queue.head() == head

    def test_nobody_decides_their_own_under_another_name(self, run, queue):
        """The login counts too."""
        queue.submit(ApprovalTask(id="own", kind="sar_approval", author=LOGIN.upper(), state={}))
        found = run("queue", "decide", "own", "approve", "--by", "someone")
        assert found.code == 2
        assert "another person must decide" in found.err

    def test_a_name_in_the_environment_is_not_the_login(self, monkeypatch):
        """Anyone can set it."""
        monkeypatch.setenv("LOGNAME", "boss")
        monkeypatch.setenv("USER", "boss")
        assert commands._login() == LOGIN


class TestTheOffice:
    def test_decisions_come_back_as_labels(self, run, queue, tmp_path):
        """In the form that `--gold` and `--judge` read."""
        run("queue", "decide", "sar", "approve", "--answer", "reason=new", "--context", "used")
        run("queue", "decide", "err", "retry")
        gold = run("queue", "export")
        assert json.loads(gold.out) == {"trace_id": "0" * 31 + "1", "case_id": "C-18", "typology": "structuring"}
        assert "decisions: 2, lines: 1; the others say nothing" in gold.err
        assert run("queue", "export", "--as", "decisions").err == "otel-aml: decisions: 2, lines: 2\n"
        (tmp_path / "gold.jsonl").write_text(gold.out, encoding="utf-8")
        (tmp_path / "judged.jsonl").write_text(run("queue", "export", "--as", "judged").out, encoding="utf-8")
        label = read_labels(tmp_path / "gold.jsonl", tmp_path / "judged.jsonl", Problems()).of("0" * 31 + "1", None)
        assert (label.typology, label.context_used) == ("structuring", True)
        every = [json.loads(line) for line in run("queue", "export", "--as", "decisions").out.splitlines()]
        assert [(each["task_id"], each["choice"], each["by"]) for each in every] == [
            ("sar-1", "approve", LOGIN),
            ("err-1", "retry", LOGIN),
        ]
        assert all(datetime.fromisoformat(each["at"]).tzinfo for each in every)

    def test_the_chain_is_checked(self, run, queue):
        """0 where it holds, 1 where it does not, with the first link that is broken."""
        found = run("queue", "verify")
        head = found.out.splitlines()[1].split()[1]
        assert (found.code, head) == (0, str(queue.head()))
        assert run("queue", "verify", "--head", head).code == 0
        assert run("queue", "verify", "--head", "x").code == 2
        with queue._database.transaction(writes=True) as session:
            session.change("update takeover_links set actor = 'x' where seq = 2")
        found = run("queue", "verify")
        assert found.code == 1
        assert "BROKEN    link 2: its hash is not that of what it says" in found.out
        assert json.loads(run("queue", "verify", "--json").out)["broken"]["seq"] == 2

    def test_a_kept_head_shows_what_was_cut_off(self, run, queue):
        """Nothing else would."""
        found = run("queue", "verify", "--head", "99:" + "0" * 64)
        assert (found.code, "FAULT" in found.out) == (1, True)

    def test_what_is_late_is_escalated(self, run, queue):
        """Once."""
        late = ApprovalTask(
            id="late",
            kind="error_review",
            failure_class="hallucination",
            state={},
            due_at=datetime(2020, 1, 1, tzinfo=UTC),
        )
        queue.submit(late)
        found = run("queue", "expire")
        assert found.out.startswith("late ")
        assert "OVERDUE (1)" in found.out
        assert json.loads(run("queue", "expire", "--json").out) == {"escalated": []}
        assert "overdue 1" in run("queue", "list").err

    def test_a_hold_keeps_what_a_purge_would_delete(self, run, queue):
        """Placed, listed, ended."""
        queue._clock = lambda: datetime(2020, 1, 1, tzinfo=UTC)
        queue.decide("err-1", "retry", by="ann")
        found = run("queue", "hold", "--case", "C-17", "--reason", "subpoena")
        assert f"case C-17, by {LOGIN} at " in found.out
        assert found.out.endswith(": subpoena\n")
        assert "deleted: 0" in run("queue", "purge").err
        assert "hold      a legal hold keeps it" in run("queue", "show", "err-1").out
        run("queue", "hold", "--task", "err")
        holds = json.loads(run("queue", "hold", "--json").out)["holds"]
        assert {each["task_id"] for each in holds} == {"err-1", None}
        for each in holds:
            assert run("queue", "hold", "--end", each["id"]).code == 0
        assert "deleted: 0" in run("queue", "purge", "--days", "10000").err
        assert "deleted: 1, decided more than 1827 days ago" in run("queue", "purge").err
        assert run("queue", "show", "err-1").code == 2
        assert run("queue", "verify").code == 0

    def test_the_numbers(self, run, queue):
        """Those of the library."""
        found = json.loads(run("queue", "stats").out)
        assert found.keys() == queue.stats().keys()
        assert found["open"] == 2


class TestWhere:
    @pytest.mark.parametrize("command", ["list", "claim", "verify", "export", "expire", "purge", "stats"])
    def test_a_queue_that_is_not_there_is_not_made(self, run, tmp_path, command):
        """A misspelt name must not look like an empty queue."""
        found = run("queue", command, "--queue", "takover.db")
        assert (found.code, found.out) == (2, "")
        assert "there is no queue 'takover.db'" in found.err
        assert list(tmp_path.iterdir()) == []

    def test_it_is_named_by_a_variable(self, run, queue, tmp_path, monkeypatch):
        """Where a password would be read by others on a command line."""
        monkeypatch.setenv("OTEL_AML_QUEUE", str(tmp_path / "takeover.db"))
        monkeypatch.chdir("/")
        assert json.loads(run("queue", "stats").out)["open"] == 2

    def test_help_has_examples(self, run):
        """For each there is a line."""
        assert "otel-aml queue decide" in run("queue", "--help").out
