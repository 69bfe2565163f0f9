"""The same provider with the processor as in `tests/live`, and Redis, real."""

from __future__ import annotations

import pytest

from tests.live.conftest import make, simple
from tests.recover import redis_server

__all__ = ["make", "own_redis", "shared_redis", "simple"]


@pytest.fixture(scope="module")
def shared_redis(tmp_path_factory):
    """One server for all tests of a module that leave it running."""
    server = redis_server.start(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def own_redis(tmp_path):
    """A server that a test may kill."""
    server = redis_server.start(tmp_path)
    yield server
    server.stop()
