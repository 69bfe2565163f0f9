"""Real pages in a real Chromium: Debian's, driven by playwright. Without it a test is skipped, but CI must have it.

A test module marks itself `pytestmark = pytest.mark.browser` and takes the fixtures `chromium` and `open_page` from
`tests/conftest.py`. A plain `pytest` leaves these tests out; `pytest -m browser` runs them.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from contextlib import contextmanager
from importlib import resources

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
IS_CI = bool(os.environ.get("CI"))
WIDTHS = (390, 1280, 2560)
"""A telephone, a laptop, a wide screen."""


def _missing(what):
    (pytest.fail if IS_CI else pytest.skip)(f"{what} is not installed; see .ci/run")


@contextmanager
def running():
    """Give a headless browser, and end it."""
    if PROGRAM is None:
        _missing("chromium")
    if importlib.util.find_spec("playwright") is None:
        _missing("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


def opened(browser, *, width=1280, height=900, dark=False, **options):
    """Give a fresh page, with cookies of its own; `page.context.close()` ends it."""
    scheme = "dark" if dark else "light"
    size = {"width": width, "height": height}
    page = browser.new_context(viewport=size, color_scheme=scheme, **options).new_page()
    page.set_default_timeout(20_000)
    return page


def barriers(page):
    """Say what axe finds against people who use a keyboard or a screen reader: one line for each element."""
    if importlib.util.find_spec("axe_playwright_python") is None:
        _missing("axe-playwright-python")
    source = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    page.evaluate(f"{source}\n;undefined")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def misplaced(page):
    """Say what is clipped, sticks out of the page, or lies over something else, by the boxes as they are drawn.

    Looked at is what people read or touch: each run of text, each control, each picture. What is hidden from the eye
    on purpose (`display: none`, or a box of a pixel for screen readers) is left out, and so is what a box with a
    scrollbar of its own holds out of sight.
    """
    page.wait_for_load_state()
    return page.evaluate(_MISPLACED)


_MISPLACED = r"""
() => {
  const slack = 1.5, found = [], things = [];
  const name = (element) => {
    const words = (element.innerText || element.value || '').trim().replace(/\s+/g, ' ').slice(0, 40);
    return `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') || ''}"> ${words}`;
  };
  const seen = (element) => element.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const whole = document.scrollingElement;
  if (whole.scrollWidth > window.innerWidth + slack)
    found.push(`the page is ${whole.scrollWidth} px wide in a window of ${window.innerWidth} px`);
  const kinds = 'button, input, select, textarea, img, svg, canvas, progress, meter, summary';
  for (const element of document.body.querySelectorAll('*')) {
    if (!seen(element) || element.closest('svg') && element.tagName !== 'svg') continue;
    if (element.matches(kinds) && element.type !== 'hidden') {
      things.push({element, box: element.getBoundingClientRect()});
      if (element.matches('button, select') && element.scrollWidth > element.clientWidth + slack)
        found.push(`${name(element)} is wider than its box`);
      continue;
    }
    if (element.closest('button, select, textarea, svg, option')) continue;
    for (const node of element.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects())
        if (box.width > 1 && box.height > 1) things.push({element, box});
    }
  }
  const shown = [];
  for (const {element, box} of things) {
    let clip = {left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity}, hidden = false;
    for (let above = element.parentElement; above && above !== document.body; above = above.parentElement) {
      const style = getComputedStyle(above);
      if (style.overflowX === 'visible' && style.overflowY === 'visible' && style.clipPath === 'none') continue;
      const edge = above.getBoundingClientRect();
      if (edge.width <= 1.5 && edge.height <= 1.5) { hidden = true; break; }
      const scrolls = [style.overflowX, style.overflowY].some((each) => each === 'auto' || each === 'scroll');
      const cut = {
        left: Math.max(box.left, edge.left), right: Math.min(box.right, edge.right),
        top: Math.max(box.top, edge.top), bottom: Math.min(box.bottom, edge.bottom),
      };
      const lost = Math.max(box.width - (cut.right - cut.left), box.height - (cut.bottom - cut.top));
      if (lost > slack && !scrolls) found.push(`${name(element)} is clipped by ${name(above)}`);
      clip = {
        left: Math.max(clip.left, edge.left), right: Math.min(clip.right, edge.right),
        top: Math.max(clip.top, edge.top), bottom: Math.min(clip.bottom, edge.bottom),
      };
    }
    const own = element.getBoundingClientRect();
    if (hidden || own.width <= 1.5 && own.height <= 1.5) continue;
    const rect = {
      left: Math.max(box.left, clip.left), right: Math.min(box.right, clip.right),
      top: Math.max(box.top, clip.top), bottom: Math.min(box.bottom, clip.bottom),
    };
    if (rect.right - rect.left < 1 || rect.bottom - rect.top < 1) continue;
    if (rect.left < -slack || rect.right > whole.scrollWidth + slack)
      found.push(`${name(element)} lies outside of the page`);
    shown.push({element, rect});
  }
  shown.sort((one, other) => one.rect.top - other.rect.top);
  for (let i = 0; i < shown.length; i += 1) {
    for (let j = i + 1; j < shown.length; j += 1) {
      const one = shown[i], other = shown[j];
      if (other.rect.top >= one.rect.bottom - slack) break;
      if (one.element.contains(other.element) || other.element.contains(one.element)) continue;
      const across = Math.min(one.rect.right, other.rect.right) - Math.max(one.rect.left, other.rect.left);
      const down = Math.min(one.rect.bottom, other.rect.bottom) - Math.max(one.rect.top, other.rect.top);
      if (across > slack && down > slack * 2) found.push(`${name(one.element)} and ${name(other.element)} overlap`);
    }
  }
  return [...new Set(found)];
}
"""
