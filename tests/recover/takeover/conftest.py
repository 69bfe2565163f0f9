"""Each test of the queue runs on SQLite and on a real PostgreSQL."""

import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from clusters import Cluster, binaries

from otel_aml.recover.takeover import TakeoverQueue


@pytest.fixture(scope="session")
def cluster():
    """A PostgreSQL server; CI must have one."""
    if binaries() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI has no PostgreSQL server; .ci/run should have installed it")
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """An empty place for a queue."""
    if request.param == "sqlite":
        return str(tmp_path / "takeover.db")
    return request.getfixturevalue("cluster").schema()


@pytest.fixture
def clock():
    """A clock that stands until it is set."""
    held = SimpleNamespace(now=datetime(2026, 3, 1, 9, tzinfo=UTC))
    held.pass_ = lambda **span: setattr(held, "now", held.now + timedelta(**span))
    return held


@pytest.fixture
def queue(where, clock):
    with TakeoverQueue(where, clock=lambda: clock.now) as made:
        yield made
