"""Settings for every test: properties run the same way each time, and are never late by the clock. And a browser."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests import browser

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="module")
def chromium():
    """A browser for the tests of a module: playwright holds the thread's event loop as long as it runs."""
    with browser.running() as found:
        yield found


@pytest.fixture
def open_page(chromium):
    """Open fresh pages: `open_page(width=390, dark=True)`; each is closed after the test."""
    pages = []

    def open_one(**options):
        pages.append(browser.opened(chromium, **options))
        return pages[-1]

    yield open_one
    for page in pages:
        page.context.close()
