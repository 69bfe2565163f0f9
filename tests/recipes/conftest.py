"""Waiting is noted, not done."""

from __future__ import annotations

import asyncio
import time

import pytest


@pytest.fixture
def waits(monkeypatch):
    """The seconds that somebody wanted to sleep."""
    found, real = [], asyncio.sleep
    monkeypatch.setattr(time, "sleep", found.append)

    async def sleep(seconds, *rest):
        if seconds:
            found.append(seconds)
        await real(0, *rest)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found
