"""What the checks of pages see: each finds what it is there for, and nothing where nothing is."""

import pytest

from tests.browser import barriers, misplaced

pytestmark = pytest.mark.browser

HEAD = '<!doctype html><html lang="en"><title>A page</title><body style="margin:0"><main>'
PLACES = [
    pytest.param("<h1>Fine</h1><p>One.</p><p>Two.</p><button>Go</button>", "", id="fine"),
    pytest.param('<p style="width:2000px">wide</p>', "px wide in a window", id="wider than the window"),
    pytest.param('<div style="overflow:hidden;height:9px"><p>cut off</p></div>', "is clipped by", id="clipped"),
    pytest.param('<p>below</p><p style="margin-top:-30px">above</p>', "overlap", id="overlapping"),
    pytest.param('<p style="margin-left:-40px">left</p>', "outside of the page", id="outside"),
    pytest.param('<p style="display:none;margin-top:-30px">away</p><p>here</p>', "", id="hidden on purpose"),
    pytest.param('<div style="overflow:auto;height:30px"><p>a</p><p>b</p><p>c</p></div>', "", id="scrolls by itself"),
]


@pytest.mark.parametrize(("body", "said"), PLACES)
def test_what_is_misplaced_is_found(open_page, body, said):
    """A check that cannot fail is none."""
    page = open_page(width=390)
    page.set_content(HEAD + body)
    found = misplaced(page)
    assert any(said in each for each in found) if said else not found


def test_barriers_are_found(open_page):
    """A field without a name cannot be spoken."""
    page = open_page()
    page.set_content(f"{HEAD}<h1>Form</h1><label>Name <input></label></main>")
    assert barriers(page) == []
    page.set_content(f"{HEAD}<h1>Form</h1><input></main>")
    assert any(each.startswith("label:") for each in barriers(page))
