"""The copilot's page in a real Chromium: what people see and press, in both languages, at three widths."""

import re

import pytest

from otel_aml.core.messages import WORDS, Word, action_label, saved_text
from otel_aml.core.taxonomy import FAILURES
from otel_aml.demo.page.cases import PageCase
from otel_aml.demo.page.texts import LOCALES, text
from tests.browser import WIDTHS, barriers, misplaced
from tests.demo.page_server import serving
from tests.demo.test_page import ANALYST, CLASS_OF, COLLEAGUE, SECRET, betraying

pytestmark = pytest.mark.browser

FAILING = [case_id for case_id, failure_class in CLASS_OF.items() if failure_class is not None]
RED = {"C-7-004", "C-7-007"}


class Browser:
    """A person at the page, and what their browser complained of."""

    def __init__(self, page, site, locale):
        self.page, self.site, self.locale = page, site, locale
        self.faults = []
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.goto(site.link)

    def says(self, key, **values):
        return text(key, self.locale, **values)

    def press(self, name):
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name).click()

    def follow(self, name):
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name).click()

    def open(self, case_id):
        self.page.goto(f"{self.site.url}/cases/{case_id}")

    def become(self, person):
        self.page.get_by_label(self.says("working_as")).select_option(person)
        self.press(self.says("switch"))

    def confirm(self, count):
        for box in self.page.get_by_role("checkbox").all()[:count]:
            box.check()
        self.page.get_by_label(self.says("where"), exact=True).fill("In the north")
        self.press(self.says("confirm"))

    def notice(self):
        return self.page.locator(".step-notice")

    def states(self):
        return self.page.locator(".step-state").all_inner_texts()

    def look(self):
        """See that all is in its place at every width, and open to everybody."""
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            assert misplaced(self.page) == [], (width, self.page.url)
        self.page.set_viewport_size({"width": 1280, "height": 900})
        assert barriers(self.page) == []

    def check_received(self):
        """Nothing technical in any response, headers included; and nothing that the browser complained of."""
        whole = self.site.recorded.text()
        assert whole.count("content-security-policy") > 50
        assert not re.findall(r"CNRY|hunter2|Traceback|Error\b|pydantic|\.py\b", whole)
        assert not [each for each in FAILURES if str(each) in whole]
        assert [each for each in self.faults if "422" not in each] == []


@pytest.fixture
def visit(open_page, tmp_path):
    """Come in, in a language; the tools of the copilot betray secrets in what they raise."""
    opened = []

    def come(locale="en", desk_of=betraying, **options):
        server = serving(tmp_path / f"{len(opened)}", desk_of=desk_of)
        site = server.__enter__()
        opened.append(server)
        return Browser(open_page(locale={"en": "en-GB", "zh": "zh-CN"}[locale], **options), site, locale)

    yield come
    for server in opened:
        server.__exit__(None, None, None)


@pytest.mark.parametrize("locale", LOCALES)
def test_each_way_to_fail_and_what_becomes_of_it(visit, locale):
    """The notice says what happened and what is kept; a colleague decides; the investigation goes on from there."""
    person = visit(locale)
    for case_id in FAILING:
        person.open(case_id)
        person.confirm(3)
        notice = person.notice()
        assert notice.get_attribute("data-tone") == ("red" if case_id in RED else "amber")
        assert saved_text(3, 1, locale) in notice.inner_text()
        assert 2 <= notice.get_by_role("button").count() <= 3
        assert notice.get_by_role("button").filter(has_text=WORDS[locale][Word.RECOMMENDED]).count() == 1
        person.page.reload()
        assert saved_text(3, 1, locale) in notice.inner_text()
        assert person.site.office.get(case_id).tries == {}
        person.press(action_label("hand_over", locale))
        assert notice.get_attribute("data-tone") == "calm"
        assert person.says("state_error") in person.states()
        person.become(COLLEAGUE)
        person.follow(person.says("queue"))
        person.follow(case_id)
        assert person.page.locator('[data-plan="done"]').count() == len(person.site.office.get(case_id).done)
        assert person.page.locator('[data-plan="enter"]').count() == 1
        person.press(person.says("take"))
        assert person.page.get_by_role("radio", checked=True).count() == 0
        unknown = person.page.locator(".unknown input")
        if unknown.count():
            unknown.uncheck()
        can_correct = person.page.get_by_label(person.says("typology"), exact=True).count()
        if case_id == "C-7-007":
            right = str(person.site.office.cases[case_id].case.typology)
            person.page.get_by_label(person.says("typology"), exact=True).select_option(right)
        choice = "choice_edit" if can_correct else "choice_retry"
        person.page.get_by_role("radio", name=person.says(choice)).check()
        person.page.get_by_label(person.says("comment"), exact=True).fill("I looked at it.")
        person.press(person.says("decide"))
        person.become(ANALYST)
        person.open(case_id)
        assert person.notice().count() == 0, case_id
        assert person.states()[:3] == [person.says("state_done")] * 3
        assert person.page.get_by_label(person.says("where"), exact=True).input_value() == "In the north"
    person.check_received()


@pytest.mark.parametrize(("locale", "dark"), [("en", False), ("zh", True)])
def test_everything_is_in_its_place_and_open_to_all(visit, locale, dark):
    """At 390, 1280 and 2560 px, in light and dark: nothing clipped, nothing over another, no barrier."""
    person = visit(locale, dark=dark)
    person.look()
    person.open("C-7-001")
    person.look()
    for case_id in ("C-7-002", "C-7-004"):
        person.open(case_id)
        person.confirm(12)
        person.look()
    person.press(action_label("hand_over", locale))
    person.look()
    person.become(COLLEAGUE)
    person.page.goto(f"{person.site.url}/queue")
    person.look()
    person.follow("C-7-004")
    person.look()
    person.press(person.says("take"))
    person.look()
    person.page.get_by_role("radio", name=person.says("choice_edit")).check()
    person.press(person.says("decide"))
    assert person.says("still_not_in_records") in person.page.locator(".said").first.inner_text()
    assert person.page.get_by_role("radio", checked=True).count() == 1
    person.look()
    person.page.goto(f"{person.site.url}/nowhere")
    person.look()


def test_it_can_be_worked_by_the_keyboard_alone(visit):
    """From the link to the hand-over: everything that is pressed has been reached by the tab key."""
    person = visit()
    page = person.page

    def tab_to(what):
        for _ in range(80):
            page.keyboard.press("Tab")
            reached = page.evaluate("document.activeElement.innerText || document.activeElement.value || ''")
            if reached.startswith(what):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
                return
        raise AssertionError(what)

    tab_to("Skip to the content")
    page.keyboard.press("Enter")
    tab_to("Case C-7-002")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cases/C-7-002")
    tab_to("TX-7-002-001")
    page.keyboard.press("Space")
    tab_to("Confirm the evidence")
    page.keyboard.press("Enter")
    person.notice().wait_for()
    tab_to("Ask a colleague")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="A colleague has been asked").wait_for()
    assert person.site.office.get("C-7-002").task_id is not None


def test_two_people_at_once(visit, chromium):
    """What one holds the other sees held; what is decided meanwhile shows with a reload, and no stale button acts."""
    dana = visit(desk_of=PageCase.desk)
    dana.open("C-7-002")
    dana.confirm(2)
    stale = dana.page.context.new_page()
    stale.goto(dana.page.url)
    dana.press("Ask a colleague")
    page = chromium.new_context().new_page()
    sam = Browser(page, dana.site, "en")
    sam.become(COLLEAGUE)
    page.goto(f"{dana.site.url}/queue/C-7-002:typology:1")
    sam.press("Take this task")
    dana.become("Mei Lin")
    dana.page.goto(f"{dana.site.url}/queue/C-7-002:typology:1")
    assert "Sam Okafor holds this task" in dana.page.locator(".next").inner_text()
    assert dana.page.get_by_role("button", name="Record my decision").count() == 0
    page.get_by_role("radio", name="Run the step again").check()
    sam.press("Record my decision")
    dana.become(ANALYST)
    with stale.expect_navigation():
        stale.get_by_role("button", name="Try again").click()
    assert "changed nothing" in stale.locator(".said").first.inner_text()
    assert dana.site.office.get("C-7-002").tries == {"typology": 1}
    page.context.close()


def holding(visit, case_id="C-7-004"):
    """Somebody who has just taken a task, with a clock of the test's own in the browser."""
    person = visit(desk_of=PageCase.desk)
    person.open(case_id)
    person.confirm(2)
    person.press("Ask a colleague")
    person.become(COLLEAGUE)
    task_id = person.site.office.get(case_id).task_id
    person.page.clock.install()
    person.page.goto(f"{person.site.url}/queue/{task_id}")
    person.press("Take this task")
    person.asked = []
    person.page.on("request", lambda each: person.asked.append(each.url) if "renew" in each.url else None)
    return person, task_id


def test_a_task_is_held_while_a_person_works_on_it(visit):
    """Each minute in which a key is pressed renews the lease; one in which nothing is done sends nothing."""
    person, task_id = holding(visit)
    page, left = person.page, person.page.locator("#lease b")
    queue = person.site.office.queue
    assert left.inner_text() == "15 min"
    page.clock.run_for(5 * 60_000)
    assert (left.inner_text(), person.asked) == ("10 min", [])
    before = queue.show(task_id).lease_ends_at
    page.get_by_label("Comment", exact=True).press("a")
    with page.expect_response("**/renew") as answer:
        page.clock.run_for(60_000)
    assert answer.value.ok
    page.wait_for_function("document.querySelector('#lease b').textContent === '15 min'")
    assert queue.show(task_id).lease_ends_at > before
    assert len(person.asked) == 1


def test_whoever_does_nothing_is_told_that_the_task_is_free(visit):
    """After 15 minutes nothing was asked for; what was written is still there, and a key holds the task again."""
    person, _ = holding(visit)
    page = person.page
    page.get_by_label("Comment", exact=True).fill("half a thought")
    with page.expect_response("**/renew"):
        page.clock.run_for(60_000)
    page.wait_for_function("document.querySelector('#lease b').textContent === '15 min'")
    page.clock.run_for(16 * 60_000)
    assert len(person.asked) == 1
    assert page.locator("#lease").is_hidden()
    assert page.locator("#lease-over").inner_text() == person.says("not_held_any_more")
    assert page.get_by_label("Comment", exact=True).input_value() == "half a thought"
    person.look()
    page.get_by_label("Comment", exact=True).press("a")
    with page.expect_response("**/renew"):
        page.clock.run_for(60_000)
    page.wait_for_function("!document.getElementById('lease').hidden")
    assert page.locator("#lease-over").is_hidden()


def test_a_task_that_another_has_taken_is_not_taken_back(visit):
    """The page says so, and the other keeps it."""
    person, task_id = holding(visit)
    queue = person.site.office.queue
    queue.release(task_id, COLLEAGUE)
    queue.claim("Mei Lin", task_id=task_id)
    person.page.get_by_label("Comment", exact=True).press("a")
    with person.page.expect_response("**/renew") as answer:
        person.page.clock.run_for(60_000)
    assert answer.value.status == 409
    person.page.wait_for_function("document.getElementById('lease').hidden")
    assert person.page.locator("#lease-over").is_visible()
    assert queue.show(task_id).claimed_by == "Mei Lin"


def test_a_closed_page_asks_for_nothing_more(visit):
    """The lease runs out by itself."""
    person, task_id = holding(visit)
    until = person.site.office.queue.show(task_id).lease_ends_at
    person.page.get_by_label("Comment", exact=True).press("a")
    person.page.goto("about:blank")
    person.page.clock.run_for(5 * 60_000)
    assert person.asked == []
    assert person.site.office.queue.show(task_id).lease_ends_at == until


@pytest.mark.parametrize("locale", LOCALES)
def test_a_count_has_one_name_and_stands_once(visit, locale):
    """Beside a notice the page does not say again, in other words, what is kept."""
    person = visit(locale)
    person.open("C-7-004")
    person.confirm(3)
    assert saved_text(3, 1, locale) in person.notice().inner_text()
    assert person.page.locator("main dl dd").all_inner_texts() == ["rapid movement"]
    assert [each.inner_text() for each in person.notice().get_by_role("heading", level=3).all()] == [
        WORDS[locale][each] for each in (Word.HAPPENED, Word.SAFE, Word.NEXT)
    ]


def test_the_secret_was_there_to_be_found(visit):
    """The check of the responses would have seen it."""
    person = visit()
    person.open("C-7-002")
    person.confirm(1)
    assert SECRET in person.site.office.get("C-7-002").stopped.technical_detail
    assert SECRET not in person.page.content()
