"""One store for many questions: to open one takes longer than to ask it."""

from contextlib import contextmanager
from functools import cache

from otel_aml.offline.store import Store


@contextmanager
def emptied():
    """Give a store whose tables of runs, checks and failures are empty."""
    store = _shared()
    for table in ("runs", "checks", "failures"):
        store.cursor().execute(f"delete from {table}")
    yield store


@cache
def _shared():
    return Store()
