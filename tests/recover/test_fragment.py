"""A notice as a piece of HTML: what any web app can put into its page in one line."""

import json
import random
from html.parser import HTMLParser

import pytest

from otel_aml.core.messages import CATALOGUE, Word, saved_text, word
from otel_aml.core.recovery import plan_recovery
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.recover.classifying import classify_error
from otel_aml.recover.fragment import style_sheet
from otel_aml.recover.notice import Option, Saved, UserNotice, user_notice
from tests.recover.canaries import Canaries
from tests.recover.test_notice import FORBIDDEN, failed, notices

VOID = {"input", "path", "circle"}


class Tags(HTMLParser):
    """Reads a fragment: its tags with their attributes, its texts, and whether all that is opened is closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words, self.opened = [], [], []
        self.feed(html)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize("locale", CATALOGUE)
@pytest.mark.parametrize("handed_over", [False, True])
@pytest.mark.parametrize(("error", "plan"), list(notices()))
def test_every_notice_can_be_drawn(error, plan, handed_over, locale):
    """Whole, in its language, with its own buttons and no others; and it gives no more away than its other forms."""
    notice = user_notice(error, plan, locale=locale, saved={"confirmed_evidence": 3, "edited_fields": 1})
    html = notice.to_html(handed_over=handed_over)
    found = Tags(html)
    text = " ".join(found.words)
    offered = [] if handed_over else [(str(each.action), each.recommended) for each in notice.options]
    buttons = found.all("button")
    assert [(each["value"], "recommended" in each["class"]) for each in buttons] == offered
    assert all(each["name"] == "action" and each["type"] == "submit" for each in buttons)
    assert notice.message in text
    assert notice.code in text
    assert saved_text(3, 1, locale) in text
    assert text.count(word(Word.RECOMMENDED, locale)) == (0 if handed_over else 1)
    assert found.all("div")[0]["lang"] == {"en": "en", "zh": "zh-Hans"}[locale]
    assert found.all("div")[0]["data-tone"] == ("calm" if handed_over else notice.tone)
    assert not FORBIDDEN.search(html)


def test_there_is_no_script_and_nothing_from_elsewhere():
    """Nor an attribute that runs one: it can stand in a page with the strictest policy."""
    found = Tags(user_notice(*failed()).to_html())
    assert {tag for tag, _ in found.tags} <= {
        "style", "div", "svg", "path", "circle", "h2", "h3", "p", "strong", "span", "form", "button", "small", "b"
    }  # fmt: skip
    names = {name for _, attributes in found.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in {"style", "src", "href"}}
    assert "url(" not in style_sheet()
    assert "@import" not in style_sheet()


def test_what_the_app_gives_is_escaped():
    """Its own address and fields, and a notice that it has put together itself."""
    bad = '"><script>alert(1)</script>'
    notice = UserNotice(code=bad, message=bad, options=(Option(action="retry", label=bad),), reference=bad)
    found = Tags(notice.to_html(action=f"/steps?{bad}", fields={bad: bad}, nonce=bad))
    assert not found.all("script")
    assert found.all("form") == [{"class": "step-notice-options", "method": "post", "action": f"/steps?{bad}"}]
    assert found.all("input") == [{"type": "hidden", "name": bad, "value": bad}]
    assert found.all("style") == [{"nonce": bad}]
    assert found.words.count(bad) == 4


def test_counts_that_nobody_checked_are_escaped():
    """A notice can be put together without a check; what is drawn of it is text all the same."""
    bad = "<script>alert(1)</script>"
    saved = Saved.model_construct(confirmed_evidence=bad, edited_fields=0)
    notice = UserNotice.model_construct(**{**dict(user_notice(*failed())), "saved": saved})
    assert not Tags(notice.to_html()).all("script")


def test_a_page_may_keep_the_style_sheet_itself():
    """Where its policy allows no style in a page."""
    assert not Tags(user_notice(*failed()).to_html(style=False)).all("style")
    assert style_sheet().count("--notice-") > 20


@pytest.mark.parametrize("given", [{"level": 0}, {"level": 7}, {"action": "javascript:alert(1)"}])
def test_what_cannot_be_drawn_is_refused(given):
    """It is the app's own mistake, and shows the first time."""
    with pytest.raises(ValueError, match="give"):
        user_notice(*failed()).to_html(**given)


def test_the_heading_takes_its_place_in_the_page():
    """Readers who go from heading to heading find it."""
    assert Tags(user_notice(*failed()).to_html(level=3)).all("h3")
    assert len(Tags(user_notice(*failed()).to_html(level=6)).all("h6")) == 4


@pytest.mark.parametrize("locale", CATALOGUE)
@pytest.mark.parametrize("handed_over", [False, True])
def test_it_answers_three_questions_in_order(handed_over, locale):
    """What happened, what is safe, what you can do now: each with a heading, and each count once."""
    notice = user_notice(*failed(), locale=locale, saved={"confirmed_evidence": 3})
    found = Tags(notice.to_html(handed_over=handed_over))
    assert len(found.all("h3")) == 3
    asked = [word(each, locale) for each in (Word.HAPPENED, Word.SAFE, Word.NEXT)]
    answers = [notice.message, saved_text(3, 0, locale)]
    answers.append(word(Word.WAITS, locale) if handed_over else notice.options[0].label)
    places = [found.words.index(each) for pair in zip(asked, answers, strict=True) for each in pair]
    assert places == sorted(places)
    assert found.words.count(saved_text(3, 0, locale)) == 1


def test_no_canary_is_drawn():
    """2,000 random errors with secrets wherever an error can hold one."""
    canaries = Canaries(seed=8)
    dice = random.Random(8)
    for _ in range(2_000):
        raw, words = canaries.error()
        step = classify_error(raw, next(iter(words)), failure_class=dice.choice((None, *FAILURES)))
        html = user_notice(step, plan_recovery(step)).to_html()
        assert not canaries.seen([html]), raw


def test_a_wait_is_told():
    """Above the buttons."""
    notice = user_notice(*failed(retriable=True, retry_after_ms=45_000))
    assert "Worth trying again in 45 s" in notice.to_html()


def test_a_notice_knows_its_language():
    """What speaks it to a person needs to."""
    assert [user_notice(*failed(), locale=each).locale for each in ("zh_TW", "fr", "en")] == ["zh", "en", "en"]
    problem = user_notice(*failed(FailureClass.HALLUCINATION), locale="zh").to_problem()
    assert "locale" not in json.dumps(problem)
