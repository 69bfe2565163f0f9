"""The page as people see it, in a real Chromium."""

import re
from pathlib import Path

import pytest
from exports import write
from hostile import TEXTS, runs

from otel_aml.demo import run
from otel_aml.offline import onepage, reports
from otel_aml.offline.analysis import Given, analysed
from tests.browser import WIDTHS, barriers, misplaced

pytestmark = pytest.mark.browser

FIXTURES = Path(__file__).parent.parent / "fixtures" / "spans"
_TEXTS_OVER_TEXTS = """
() => {
  const found = [];
  const texts = [...document.querySelectorAll('svg text')].map((each) => [each, each.getBoundingClientRect()]);
  for (const [one, a] of texts) {
    if (a.left < -1 || a.right > innerWidth + 1) found.push(`${one.textContent} sticks out`);
    for (const [other, b] of texts) {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (one !== other && across > 1 && down > 4) found.push(`${one.textContent} over ${other.textContent}`);
    }
  }
  return found;
}
"""


def page_of(path, given, *, internal=False):
    with analysed(given) as analysis:
        onepage.write(analysis, reports.report(analysis), path, internal=internal)
    return path.as_uri()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The demo's report, one on recordings of real frameworks, and one on hostile texts, for operators."""
    folder = tmp_path_factory.mktemp("pages")
    run.write_demo(folder, seed=7, cases=120)
    demonstrated = Given(files=[str(folder / run.TRACES)], gold=folder / run.GOLD, judged=folder / run.JUDGED)
    hostile = Given(files=[write(folder / "hostile.jsonl", *runs(TEXTS))])
    return {
        "demo": page_of(folder / "demo.html", demonstrated),
        "recorded": page_of(folder / "recorded.html", Given(files=[str(FIXTURES / "*" / "*.jsonl")])),
        "hostile": page_of(folder / "hostile.html", hostile, internal=True),
    }


@pytest.mark.parametrize("name", ["demo", "recorded", "hostile"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_clipped_or_lies_over_another(pages, open_page, name, width):
    """On a telephone, a laptop, a wide screen; whatever the texts are."""
    page = open_page(width=width)
    page.goto(pages[name])
    assert misplaced(page) == []
    assert page.evaluate(_TEXTS_OVER_TEXTS) == []


@pytest.mark.parametrize("name", ["demo", "recorded", "hostile"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everyone_can_read_it(pages, open_page, name, dark):
    """With a keyboard, a screen reader, in the dark."""
    page = open_page(dark=dark)
    page.goto(pages[name])
    assert barriers(page) == []


@pytest.mark.parametrize("name", ["demo", "recorded"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_label_and_every_column_can_be_read(pages, open_page, name, width):
    """No label of a usual name is cut, and no table hides a column behind a scrollbar."""
    page = open_page(width=width)
    page.goto(pages[name])
    assert [text for text in page.locator("svg text").all_text_contents() if "…" in text] == []
    hidden = "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1)"
    assert page.evaluate(f"{hidden}.map((each) => each.ariaLabel)") == []


@pytest.mark.parametrize("name", ["demo", "recorded"])
def test_the_first_screen_answers_the_three_questions(pages, open_page, name):
    """On a laptop, without scrolling: what fails most, what it drags along or why nothing, what to repair, and why."""
    page = open_page(width=1280, height=900)
    page.goto(pages[name])
    box = page.locator(".answers").bounding_box()
    assert box["y"] + box["height"] < 900
    texts = page.locator(".answer").all_inner_texts()
    assert [text.split("\n")[0] for text in texts] == ["Fails most", "Drags along", "Repair first"]
    assert "first failure of" in texts[0]
    assert re.search(r"times as often as chance|No cascade is significant here, because", texts[1])
    assert "Its severity is" in texts[2]


def test_what_is_unclassified_is_not_drawn_like_a_failure(pages, open_page):
    """Its mark is hollow, its ribbon striped: the colours are for the six."""
    page = open_page()
    page.goto(pages["recorded"])
    fill = "(each) => getComputedStyle(each).fill"
    assert "stripes" in page.locator("path.ribbon.other").first.evaluate(fill)
    assert "stripes" not in page.locator("path.ribbon.high").first.evaluate(fill)


def test_no_text_runs_and_nothing_is_loaded(pages, open_page):
    """The texts are there to be read."""
    page = open_page()
    happened = []
    page.on("console", lambda said: happened.append(said.text))
    page.on("pageerror", lambda error: happened.append(str(error)))
    page.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda asked: happened.append(asked.url))
    page.goto(pages["hostile"])
    for place in page.locator("th button").all():
        place.click()
    page.mouse.move(300, 600)
    page.wait_for_timeout(200)
    assert happened == [pages["hostile"]]
    assert page.title().startswith("Failure report: ")
    assert "<script>document.title = 'ran'</script>" in page.inner_text("main")


def test_a_script_that_got_in_would_not_run(pages, open_page):
    """The policy holds where escaping should ever fail."""
    page = open_page()
    page.goto(pages["demo"])
    refused = page.evaluate(
        """async () => {
        const refused = [];
        document.addEventListener('securitypolicyviolation', (event) => refused.push(event.effectiveDirective));
        const script = document.createElement('script');
        script.textContent = "document.title = 'ran'";
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src="http://127.0.0.1:9/x"><p style="color: red">');
        await new Promise((then) => setTimeout(then, 200));
        return [document.title, ...refused.sort()];
        }"""
    )
    assert refused[0].startswith("Failure report")
    assert refused[1:] == ["img-src", "script-src-elem", "style-src-attr"]


def test_it_can_be_read_without_scripts(pages, open_page):
    """Every number is in the page, and no button is dead."""
    page = open_page(java_script_enabled=False)
    page.goto(pages["demo"])
    assert page.locator("button").count() == 0
    assert page.locator("h1").inner_text().endswith("first.")
    assert page.locator("table").count() >= 5


def test_a_table_is_sorted_by_its_heads(pages, open_page):
    """Numbers as numbers, from the largest; again turns it round; a screen reader is told."""
    page = open_page()
    page.goto(pages["demo"])
    table = page.locator("table.sorts").first
    head = table.locator("th", has_text="found")
    head.locator("button").click()
    found = [int(cell) for cell in table.locator("tbody tr td:last-child").all_inner_texts()]
    assert found == sorted(found, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    found = [int(cell) for cell in table.locator("tbody tr td:last-child").all_inner_texts()]
    assert found == sorted(found)
    table.locator("th button").first.click()
    names = [name.split()[0] for name in table.locator("tbody th").all_inner_texts()]
    assert names == sorted(names)
    assert head.get_attribute("aria-sort") is None


def test_it_prints_on_white_with_all_that_is_in_it(pages, open_page):
    """Also from a dark screen."""
    page = open_page(width=794, dark=True)
    page.goto(pages["demo"])
    page.emulate_media(media="print", color_scheme="dark")
    assert misplaced(page) == []
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 28, 26)"
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every((each) => each.scrollWidth <= innerWidth)")
    assert page.locator("article").count() == page.locator("article:visible").count() > 0


@pytest.mark.parametrize(("name", "banners"), [("demo", 1), ("recorded", 0), ("hostile", 1)])
def test_it_prints_its_banners_in_ink(pages, open_page, name, banners):
    """A browser leaves backgrounds out: what was white on red must not become white on white."""
    page = open_page(width=794, dark=True)
    page.goto(pages[name])
    assert page.pdf(format="A4").startswith(b"%PDF-")
    page.emulate_media(media="print", color_scheme="dark")
    colours = page.locator(".banner").evaluate_all("(all) => all.map((each) => getComputedStyle(each).color)")
    assert colours == ["rgb(29, 28, 26)"] * banners
