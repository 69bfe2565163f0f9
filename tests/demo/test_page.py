"""The copilot's page, asked over HTTP: who may come in, what is kept, how it goes on, and what never shows."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from otel_aml.core.messages import CATALOGUE, Action
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.demo.page.cases import PageCase, deal_page_cases
from otel_aml.demo.page.investigation import Shelf, Step
from otel_aml.demo.page.office import NotNowError, written
from otel_aml.demo.page.texts import LOCALES, text
from otel_aml.errors import ConfigurationError
from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed
from otel_aml.recover.takeover import LEASE, Choice
from tests.demo.page_server import Visitor, serving

ROOT = Path(__file__).parent.parent.parent
ANALYST, COLLEAGUE = "Dana Ito", "Sam Okafor"
CLASS_OF = {
    "C-7-001": None,
    "C-7-002": FailureClass.TOOL_FAILURE,
    "C-7-003": FailureClass.FORMAT_VIOLATION,
    "C-7-004": FailureClass.HALLUCINATION,
    "C-7-005": FailureClass.RETRIEVAL_MISS,
    "C-7-006": FailureClass.CONTEXT_POLLUTION,
    "C-7-007": FailureClass.TYPOLOGY_MISJUDGE,
}


@pytest.fixture
def site(tmp_path):
    """A page of this test's own."""
    with serving(tmp_path / "page") as found:
        yield found


@pytest.fixture
def visitor(site):
    """Somebody who has come in by the link."""
    found = Visitor(site.port)
    found.enter(site.link)
    return found


def begun(office, case_id, **edits):
    """An investigation whose evidence is confirmed, as far as the copilot gets."""
    found = office.get(case_id)
    ids = office.cases[case_id].case.file.tx_ids
    return office.confirm(case_id, ANALYST, found.version, ids[:5], edits)


def handed_over(office, case_id):
    found = begun(office, case_id, where="In the north")
    return office.choose(case_id, ANALYST, found.version, Action.HAND_OVER)


def test_the_cases_fail_in_all_six_ways(site):
    """And one in none."""
    found = {case_id: begun(site.office, case_id).stopped for case_id in site.office.cases}
    assert {case_id: each and each.failure_class for case_id, each in found.items()} == CLASS_OF
    assert set(CLASS_OF.values()) == {None, *FAILURES}


def test_the_spans_say_what_the_page_says(tmp_path):
    """The verdict of each run is the class that its step was stopped for; what was repaired passes."""
    with serving(tmp_path) as site:
        stopped = [each.stopped for each in (begun(site.office, case_id) for case_id in CLASS_OF)]
    with analysed(Given(files=[str(tmp_path / "page-traces.jsonl")])) as analysis:
        classes = {run.trace_id: run.failure_class for run in reports.runs(analysis)}
    said = [(each.failure_class, classes[each.trace_id]) for each in stopped if each is not None]
    assert said == [(each, each) for each in CLASS_OF.values() if each is not None]


class TestDoors:
    """Who may come in."""

    def test_without_the_link_nobody_comes_in(self, site):
        """Also not with a link that is nearly right."""
        stranger = Visitor(site.port)
        paths = ("/", "/queue", "/cases/C-7-001", "/page.css", "/enter/", "/enter/x", "/enter/%C3%A9")
        assert {stranger.ask("GET", path).status for path in paths} == {403}
        assert stranger.ask("POST", "/cases/C-7-001/evidence", {"csrf": "x"}).status == 403

    def test_only_our_own_name_is_answered(self, site, visitor):
        """A name that somebody pointed at this machine is none of ours."""
        hosts = ("example.com", f"example.com:{site.port}", "127.0.0.1", f"127.0.0.1:{site.port}.example.com", "")
        assert {visitor.ask("GET", "/", Host=host).status for host in hosts} == {421}
        assert visitor.ask("GET", "/", Host=f"localhost:{site.port}").status == 200

    def test_a_form_from_elsewhere_changes_nothing(self, site, visitor):
        """By its origin, its token, its kind."""
        form = {"csrf": visitor.csrf(), "version": "0", "confirmed": "TX-7-001-001"}
        post = "/cases/C-7-001/evidence"
        for origin in ("http://example.com", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{site.port}", None):
            assert visitor.ask("POST", post, form, Origin=origin).status == 403
        for token in ("", "x", "é", Visitor(site.port).csrf()):
            assert visitor.ask("POST", post, {**form, "csrf": token}).status == 403
        assert visitor.ask("POST", post, json.dumps(form), Content_Type="application/json").status == 415
        assert visitor.ask("POST", post, json.dumps(form), Content_Type="text/plain").status == 415
        assert visitor.ask("POST", post, b"csrf=%ff&\xff=").status in {400, 403}
        assert visitor.ask("POST", post, {**form, "who": "x" * 300_000}).status == 413
        assert visitor.ask("PUT", post, form).status == 405
        assert site.office.get("C-7-001").version == 0
        assert visitor.ask("POST", post, form).status == 303
        assert site.office.get("C-7-001").confirmed == ("TX-7-001-001",)

    def test_another_browser_cannot_use_this_ones_token(self, site, visitor):
        """Each has its own."""
        other = Visitor(site.port)
        other.enter(site.link)
        assert other.csrf() != visitor.csrf()
        assert other.ask("POST", "/language", {"csrf": visitor.csrf()}).status == 403

    def test_every_answer_is_kept_from_others(self, site, visitor):
        """No cache keeps it, no page frames it, no script runs in it."""
        answers = [visitor.ask("GET", path) for path in ("/", "/page.css", "/nowhere", "/queue")]
        answers += [visitor.ask("POST", "/person", {"csrf": "x"}), Visitor(site.port).ask("GET", "/")]
        for each in answers:
            policy = each.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src" not in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert each.headers["cache-control"] == "no-store"
            assert each.headers["x-content-type-options"] == "nosniff"
            assert "server" not in each.headers

    def test_only_who_holds_a_task_gets_a_script(self, site, visitor):
        """Our own, from our own address, and on that page alone."""
        found = handed_over(site.office, "C-7-002")
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
        before = visitor.ask("GET", f"/queue/{found.task_id}")
        visitor.ask("POST", f"/queue/{found.task_id}/take", {"csrf": visitor.csrf()})
        after = visitor.ask("GET", f"/queue/{found.task_id}")
        assert "script-src" not in before.headers["content-security-policy"]
        assert "<script" not in before.text
        policy = after.headers["content-security-policy"].split("; ")
        assert policy[0] == "default-src 'none'"
        assert [each for each in policy if "script" in each or "connect" in each] == [
            "script-src 'self'", "connect-src 'self'"
        ]  # fmt: skip
        assert re.findall("<script.*?</script>", after.text) == ['<script src="/lease.js" defer></script>']
        assert visitor.ask("GET", "/lease.js").headers["content-type"].startswith("text/javascript")

    def test_the_cookie_is_for_this_page_alone(self, site):
        """No script reads it, and no other site can have it sent."""
        cookie = Visitor(site.port).enter(site.link).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "expires" not in cookie

    def test_a_way_back_leads_nowhere_else(self, visitor):
        """A form may say where it was, on this page."""
        for back in ("//example.com/", "https://example.com", "/\\example.com", "/a\r\nSet-Cookie: x=1", "x"):
            answer = visitor.ask("POST", "/language", {"csrf": visitor.csrf(), "back": back})
            assert answer.headers["location"] == "/"
        answer = visitor.ask("POST", "/language", {"csrf": visitor.csrf(), "back": "/queue"})
        assert answer.headers["location"] == "/queue"

    def test_what_is_not_there_is_said(self, visitor):
        """In the page's own words."""
        for path in ("/nowhere", "/cases/C-7-999", "/cases/..%2f..%2fetc", "/queue/nothing", "/queue/%00"):
            answer = visitor.ask("GET", path)
            assert (answer.status, text("not_found", "en") in answer.text) == (404, True)
        for path in ("/cases/C-7-999/step", "/queue/nothing/decide"):
            assert visitor.ask("POST", path, {"csrf": visitor.csrf()}).status == 404


class TestGoingOn:
    """From where it stopped."""

    @pytest.mark.parametrize("case_id", ["C-7-002", "C-7-003", "C-7-005", "C-7-006"])
    def test_what_can_be_mended_is_mended(self, site, case_id):
        """By the recommended option alone, in two runs at most; no step that is done runs again."""
        found = begun(site.office, case_id)
        for _ in range(2):
            if found.stopped is not None:
                done = found.done
                options = found.stopped.notice(found.saved, "en").options
                (action,) = (each.action for each in options if each.recommended)
                found = site.office.choose(case_id, ANALYST, found.version, action)
                assert found.done[: len(done)] == done
        assert (found.step, found.stopped) == (Step.REVIEW, None)

    @pytest.mark.parametrize("case_id", ["C-7-004", "C-7-007"])
    def test_what_is_critical_is_mended_by_a_person(self, site, case_id):
        """Running again does not; a colleague's correction goes on to the review, with what the analyst wrote."""
        office = site.office
        found = begun(office, case_id, where="In the north")
        found = office.choose(case_id, ANALYST, found.version, Action.FIX)
        assert found.stopped is not None
        found = office.choose(case_id, ANALYST, found.version, Action.HAND_OVER)
        visitor = Visitor(site.port)
        visitor.enter(site.link)
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
        task = office.queue.show(found.task_id)
        known = office.cases[case_id].case.file.tx_ids
        draft = {name: task.state["draft"][name] for name in written(task.state["draft"])}
        assert draft["where"] == "In the north"
        right = str(office.cases[case_id].case.typology)
        form = {
            "csrf": visitor.csrf(), **draft, "choice": "edit", "typology": right, "comment": "put right",
            "cited": [each for each in task.state["draft"]["cited_tx_ids"] if each in known],
        }  # fmt: skip
        assert visitor.ask("POST", f"/queue/{task.id}/decide", form).status == 303
        after = office.get(case_id)
        assert (after.step, after.stopped, after.typology) == (Step.REVIEW, None, right)
        assert after.edits == {"where": "In the north"}
        assert after.decisions[0].by == COLLEAGUE
        labels = [each.gold_line() for each in office.queue.labels()]
        assert labels[0]["typology"] == right

    def test_a_correction_must_be_right(self, site, visitor):
        """What is still wrong is said, nothing is decided, and what was written stands in the form."""
        found = handed_over(site.office, "C-7-004")
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
        visitor.ask("POST", f"/queue/{found.task_id}/take", {"csrf": visitor.csrf()})
        draft = site.office.queue.show(found.task_id).state["draft"]
        form = {"csrf": visitor.csrf(), **draft, "cited": draft["cited_tx_ids"], "how": "In my <own> words"}
        for choice, said in (("edit", "still_not_in_records"), ("retry", "edited_not_chosen"), ("", "no_choice")):
            answer = visitor.ask("POST", f"/queue/{found.task_id}/decide", {**form, "choice": choice})
            assert (answer.status, text(said, "en").partition("“")[0] in answer.text) == (422, True)
            assert "In my &lt;own&gt; words" in answer.text
        returned = {"csrf": visitor.csrf(), "choice": "returned"}
        answer = visitor.ask("POST", f"/queue/{found.task_id}/decide", returned)
        assert answer.headers["location"].endswith("?said=no_comment")
        assert site.office.queue.show(found.task_id).decision is None

    def test_a_task_is_held_while_somebody_works_on_it(self, site, visitor):
        """By whoever holds it, and by nobody else; the answer says for how long, and no more."""
        found = handed_over(site.office, "C-7-002")
        queue, renew = site.office.queue, f"/queue/{found.task_id}/renew"

        def asked():
            answer = visitor.ask("POST", renew, {"csrf": visitor.csrf()})
            return answer.status, json.loads(answer.text)

        assert asked() == (409, {})
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
        assert asked() == (409, {})
        queue.claim(COLLEAGUE, task_id=found.task_id, lease=timedelta(minutes=1))
        status, said = asked()
        assert (status, list(said)) == (200, ["seconds"])
        assert 60 < said["seconds"] <= LEASE.total_seconds()
        assert queue.show(found.task_id).lease_ends_at - datetime.now(UTC) > timedelta(minutes=1)
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": "Mei Lin"})
        assert asked() == (409, {})
        assert queue.show(found.task_id).claimed_by == COLLEAGUE
        assert visitor.ask("POST", renew, {"csrf": "x"}).status == 403
        assert visitor.ask("GET", renew).status == 405
        queue.decide(found.task_id, Choice.REJECT, by=COLLEAGUE)
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
        assert asked() == (409, {})

    @pytest.mark.parametrize("locale", LOCALES)
    def test_a_task_says_what_is_asked(self, site, visitor, locale):
        """Of each way to fail, before and after it is taken, and how long it is held."""
        if locale == "zh":
            visitor.ask("POST", "/language", {"csrf": visitor.csrf()})
        failing = {case_id: each for case_id, each in CLASS_OF.items() if each is not None}
        tasks = {handed_over(site.office, case_id).task_id: each for case_id, each in failing.items()}
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
        for task_id, failure_class in tasks.items():
            asked = text(f"ask_{failure_class}", locale)
            page = visitor.ask("GET", f"/queue/{task_id}").text
            assert asked in page
            assert text("take_lead", locale) in page
            visitor.ask("POST", f"/queue/{task_id}/take", {"csrf": visitor.csrf()})
            page = visitor.ask("GET", f"/queue/{task_id}").text
            assert asked in page
            assert f"<b>{text('minutes', locale, n=15)}</b>" in page

    def test_an_approval_ends_it(self, site):
        """By another person than the author."""
        office = site.office
        found = begun(office, "C-7-001")
        found = office.send("C-7-001", ANALYST, found.version, {**found.draft, "who": "A baker"})
        assert found.edits == {"who": "A baker"}
        site.office.queue.claim(COLLEAGUE, task_id=found.task_id)
        after = office.decide(found.task_id, COLLEAGUE, Choice.APPROVE, "", None)
        assert (after.closed, after.step) == (Choice.APPROVE, None)
        assert office.queue.verify().is_whole

    def test_what_is_returned_goes_another_round(self, site, visitor):
        """With the comment on the page, and the next task following the first."""
        office = site.office
        found = begun(office, "C-7-001")
        sent = office.send("C-7-001", ANALYST, found.version, found.draft)
        office.decide(sent.task_id, COLLEAGUE, Choice.RETURNED, "Say <who> it was.", None)
        page = visitor.ask("GET", "/cases/C-7-001").text
        assert "Say &lt;who&gt; it was." in page
        assert text("state_returned", "en") in page
        again = office.send("C-7-001", ANALYST, office.get("C-7-001").version, {**found.draft, "who": "A baker"})
        assert office.queue.show(again.task_id).follows == sent.task_id

    def test_a_rejection_closes_it(self, site):
        """And nothing more can be done."""
        found = handed_over(site.office, "C-7-002")
        after = site.office.decide(found.task_id, COLLEAGUE, Choice.REJECT, "", None)
        assert after.closed is Choice.REJECT
        with pytest.raises(NotNowError, match="stale"):
            site.office.choose("C-7-002", ANALYST, after.version, Action.RETRY)

    def test_a_form_that_is_sent_twice_acts_once(self, site, visitor):
        """Whoever presses a button twice, or goes back, changes nothing more, and is told."""
        found = begun(site.office, "C-7-006")
        form = {"csrf": visitor.csrf(), "version": found.version, "action": "fix_and_run_again"}
        answers = [visitor.ask("POST", "/cases/C-7-006/step", form).headers["location"] for _ in range(3)]
        assert answers == ["/cases/C-7-006", *["/cases/C-7-006?said=stale"] * 2]
        assert site.office.get("C-7-006").tries == {Step.DRAFT: 1}

    def test_only_its_analyst_works_on_it(self, site, visitor):
        """Another may look, and decides in the queue; the analyst does not decide on a draft of their own."""
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
        form = {"csrf": visitor.csrf(), "version": "0", "confirmed": "TX-7-001-001"}
        visitor.ask("POST", "/cases/C-7-001/evidence", form)
        assert site.office.get("C-7-001").version == 0
        found = begun(site.office, "C-7-001")
        sent = site.office.send("C-7-001", ANALYST, found.version, found.draft)
        visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": ANALYST})
        answer = visitor.ask("POST", f"/queue/{sent.task_id}/decide", {"csrf": visitor.csrf(), "choice": "approve"})
        assert answer.headers["location"].endswith("?said=not_allowed")
        assert visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": "Nobody"}).status == 303
        assert f'value="{ANALYST}" selected' in visitor.ask("GET", "/").text


class TestKept:
    """Nothing is lost."""

    def test_everything_is_there_after_a_restart(self, tmp_path):
        """Also what was decided by another way while the page was away."""
        with serving(tmp_path) as site:
            handed_over(site.office, "C-7-002")
            before = site.office.get("C-7-002")
        traced = len((tmp_path / "page-traces.jsonl").read_text(encoding="utf-8").splitlines())
        from otel_aml import TakeoverQueue

        with TakeoverQueue(tmp_path / "takeover.db") as queue:
            queue.decide(before.task_id, Choice.RETRY, by=COLLEAGUE)
        with serving(tmp_path) as site:
            after = Shelf(tmp_path / "investigations").get("C-7-002")
            assert site.office.queue.resumptions() == []
        assert len((tmp_path / "page-traces.jsonl").read_text(encoding="utf-8").splitlines()) > traced
        assert (after.step, after.confirmed, after.edits) == (Step.REVIEW, before.confirmed, {"where": "In the north"})

    @pytest.mark.slow
    def test_a_killed_page_goes_on(self, tmp_path):
        """The command itself, with `kill -9` in the middle of an investigation."""
        with _Command(tmp_path) as first:
            visitor = Visitor(first.port)
            visitor.enter(first.link)
            form = {"csrf": visitor.csrf(), "version": "0", "confirmed": ["TX-7-004-001"], "who": "A baker"}
            assert visitor.ask("POST", "/cases/C-7-004/evidence", form).status == 303
            page = visitor.ask("GET", "/cases/C-7-004").text
        with _Command(tmp_path) as second:
            visitor = Visitor(second.port)
            visitor.enter(second.link)
            again = visitor.ask("GET", "/cases/C-7-004").text
            second.stop()
        notice = re.compile(r'<div class="step-notice".*?</form>', re.DOTALL)
        (before,), (after,) = notice.findall(page), notice.findall(again)
        token = re.compile(r'name="csrf" value="[^"]+"')
        assert token.sub("", before) == token.sub("", after)
        assert "1 confirmed piece of evidence · 1 edited field" in after

    def test_its_files_are_its_owners(self, tmp_path):
        """They hold a case."""
        with serving(tmp_path) as site:
            begun(site.office, "C-7-001")
        assert (tmp_path / "investigations").stat().st_mode & 0o077 == 0
        for path in (*(tmp_path / "investigations").iterdir(), tmp_path / "takeover.db"):
            assert path.stat().st_mode & 0o077 == 0


class _Command:
    """`otel-aml demo --serve` as a person starts it; killed at the end of its block, whatever happened in it."""

    def __init__(self, folder):
        code = "from otel_aml.cli import main; main()"
        command = [sys.executable, "-c", code, "demo", "--serve", "--seed", "7", "--out", str(folder)]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )

    def __enter__(self):
        try:
            line = self.process.stderr.readline()
            self.link = re.search(r"\S+/enter/[\w-]{40,}", line)[0]
            self.port = int(self.link.split("/")[2].partition(":")[2])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_raised):
        self.process.kill()
        self.process.communicate()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=30)[1]
        assert "Traceback" not in said


@pytest.mark.slow
def test_a_command_ends_with_its_block(tmp_path):
    """Also where a test fails in the middle, so that no server is left behind."""
    with pytest.raises(RuntimeError, match="midway"), _Command(tmp_path) as command:
        assert command.process.poll() is None
        raise RuntimeError("midway")
    assert command.process.returncode == -signal.SIGKILL


def test_a_port_that_is_taken_is_said(site, tmp_path):
    """In one sentence."""
    from otel_aml.demo.page.serving import serve

    with pytest.raises(ConfigurationError, match="cannot be had"):
        serve(tmp_path, seed=7, port=site.port, say=print)


SECRET = "CNRY123456789"


def betraying(page_case, investigation):
    """A desk whose every fault says something that nobody may read."""
    desk = PageCase.desk(page_case, investigation)
    if page_case.calls_lost and not investigation.tries:

        def lost(_file, _arguments):
            raise TimeoutError(f"{SECRET} password=hunter2 {page_case.id}")

        return replace(desk, rule_engine=lost)
    return desk


def test_no_technical_detail_is_in_any_answer(tmp_path):
    """Not in a page, its source, a header, nor a refusal: neither what a tool said nor the name of a class."""
    with serving(tmp_path, desk_of=betraying) as site:
        visitor = Visitor(site.port)
        visitor.enter(site.link)
        for locale in LOCALES:
            for case_id in CLASS_OF:
                found = site.office.get(case_id)
                if found.step is Step.EVIDENCE:
                    found = begun(site.office, case_id)
                visitor.ask("GET", f"/cases/{case_id}")
                if found.stopped is not None and found.task_id is None:
                    form = {"csrf": visitor.csrf(), "version": found.version, "action": "hand_over"}
                    visitor.ask("POST", f"/cases/{case_id}/step", form)
                    visitor.ask("GET", f"/cases/{case_id}")
                task_id = site.office.get(case_id).task_id
                if task_id is not None:
                    visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": COLLEAGUE})
                    visitor.ask("POST", f"/queue/{task_id}/take", {"csrf": visitor.csrf()})
                    visitor.ask("GET", f"/queue/{task_id}")
                    visitor.ask("POST", f"/queue/{task_id}/decide", {"csrf": visitor.csrf(), "choice": "approve"})
                    visitor.ask("POST", "/person", {"csrf": visitor.csrf(), "person": ANALYST})
            visitor.ask("GET", "/queue")
            if locale == "en":
                visitor.ask("POST", "/language", {"csrf": visitor.csrf()})
        details = [site.office.queue.technical_detail(each.id, by="ops") for each in site.office.queue.tasks()]
    said = site.recorded.text()
    assert len(visitor.seen) > 60
    words = r"CNRY|hunter2|Traceback|Error\b|pydantic|\.py\b|typ-(?!rapid|gather|fan|cycle|struct|funnel)"
    assert not re.findall(words, said)
    assert not [each for each in FAILURES if str(each) in said]
    assert len(details) >= 4
    assert all(each and each not in said for each in details)
    assert any(SECRET in each for each in details)


def test_the_check_for_details_can_fail(tmp_path):
    """The secret is there to be found: on the span, where it belongs."""
    with serving(tmp_path, desk_of=betraying) as site:
        begun(site.office, "C-7-002")
    assert SECRET in (tmp_path / "page-traces.jsonl").read_text(encoding="utf-8")


def test_a_fault_of_the_page_itself_says_nothing(tmp_path, monkeypatch, caplog):
    """A closed text, in the person's language."""
    with serving(tmp_path) as site:
        visitor = Visitor(site.port)
        visitor.enter(site.link)

        def broken(_case_id):
            raise RuntimeError(SECRET)

        monkeypatch.setattr(site.office, "get", broken)
        answer = visitor.ask("GET", "/cases/C-7-001")
    assert answer.status == 500
    assert text("broken", "en") in answer.text
    assert SECRET not in answer.text


def test_other_seeds_fail_in_the_same_ways():
    """The page is no stage set for one seed."""
    for seed in range(8, 14):
        assert len({case.id for case in deal_page_cases(seed)}) == len(CLASS_OF)


def test_the_texts_are_there_in_both_languages():
    """As many as the catalogue of messages has."""
    assert set(LOCALES) == set(CATALOGUE)
