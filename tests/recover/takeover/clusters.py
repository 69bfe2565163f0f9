"""A PostgreSQL server of our own: made in a folder of its own, reached by a socket in it, ended by its pid."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psycopg

ALWAYS_THERE = Path("/usr/lib/postgresql")
USER = "otel"


def binaries():
    """The folder of the newest server that is installed; None without one."""
    found = shutil.which("initdb")
    folders = sorted(
        (each.parent for each in ALWAYS_THERE.glob("*/bin/initdb")), key=lambda each: float(each.parent.name)
    )
    return folders[-1] if folders else Path(found).resolve().parent if found else None


class Cluster:
    """A server that only this process and its children reach. It refuses to run as root, so root lends it a user."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="aml-pg-"))
        self._as = {}
        if os.geteuid() == 0:
            user = self._user()
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._server = None
        self._schemas = 0
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()

    @property
    def url(self):
        return f"postgresql://{USER}@/postgres?host={self.folder}"

    @property
    def pid(self):
        return self._server.pid

    def schema(self):
        """Give the URL of an empty schema."""
        self._schemas += 1
        name = f"queue_{self._schemas}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"create schema {name}")
        return f"{self.url}&options=-csearch_path%3D{name}"

    def start(self):
        command = [binaries() / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses="]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, **self._as)
        self.wait()

    def wait(self):
        """Wait until it answers, as it does after its recovery."""
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5).close()
            except psycopg.OperationalError:
                if time.monotonic() > until or self._server.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self, how=signal.SIGINT):
        """End it: SIGINT in order, SIGQUIT at once, as if the power went."""
        self._server.send_signal(how)
        self._server.wait(60)

    def close(self):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            self.stop(signal.SIGQUIT)  # Nothing of it is kept.
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program, *words):
        done = subprocess.run(
            [binaries() / program, *words], cwd=self.folder, capture_output=True, text=True, check=False, **self._as
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")

    @staticmethod
    def _user():
        for name in ("postgres", "nobody"):
            with suppress(KeyError):
                return pwd.getpwnam(name)
        raise RuntimeError("no user to run PostgreSQL as")
