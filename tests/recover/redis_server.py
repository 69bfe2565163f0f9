"""A Redis server of a test's own: on a free port of the loopback, in a folder of its own, ended by its pid."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
import redis

PROGRAM = shutil.which("redis-server")
IS_CI = bool(os.environ.get("CI"))
PATIENCE_SECONDS = 60
HIGHEST_PORT = 55_535
"""A cluster talks on the port ten thousand above."""


class RedisServer:
    """One that can be killed, stopped in its tracks, and started again on the same port, empty."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.options = options
        self.port = 0
        while not 0 < self.port <= HIGHEST_PORT:
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                self.port = found.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process = None

    def start(self):
        command = [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--save", "", "--appendonly", "no", "--logfile", "redis.log", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                with redis.Redis.from_url(self.url) as client:
                    client.ping()
            except redis.RedisError:
                time.sleep(0.02)
            else:
                return self
        raise AssertionError((self.folder / "redis.log").read_text(encoding="utf-8"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.thaw()
            self.kill()


def start(folder, *options):
    """Start one; without the program a test is skipped, but CI must have it."""
    if PROGRAM is None:
        (pytest.fail if IS_CI else pytest.skip)("redis-server is not installed; apt-get install redis-server")
    return RedisServer(folder, *options).start()
