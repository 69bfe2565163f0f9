import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest
from handing import review

from otel_aml.errors import ConfigurationError, InvalidTask, OtelAmlError, QueueUnavailable
from otel_aml.recover.takeover import TakeoverQueue
from otel_aml.recover.takeover import sqlite as sqlite_module

ROOT = Path(__file__).resolve().parents[3]
SECRET = "a-word-that-nothing-else-holds"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class TestAFile:
    def test_only_its_owner_reads_it(self, tmp_path):
        """The log and the index beside it too, whatever the umask; and so the folder that is made for it."""
        before = os.umask(0)
        try:
            path = tmp_path / "new" / "takeover.db"
            with TakeoverQueue(path) as queue:
                queue.submit(review())
                found = {each.name: mode(each) for each in path.parent.iterdir()}
        finally:
            os.umask(before)
        assert set(found) == {"takeover.db", "takeover.db-wal", "takeover.db-shm"}
        assert set(found.values()) == {0o600}
        assert mode(path.parent) == 0o700

    def test_it_is_durable(self, tmp_path):
        """Write-ahead, and each commit on the disk before it is said."""
        with TakeoverQueue(tmp_path / "t.db") as queue, queue._database.transaction(writes=False) as session:
            found = {
                name: next(iter(session.rows(f"pragma {name}")[0].values()))
                for name in ("journal_mode", "synchronous", "secure_delete")
            }
        assert found == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}

    def test_what_is_deleted_is_overwritten(self, tmp_path, clock):
        """Neither the file nor the log holds it."""
        path = tmp_path / "t.db"
        with TakeoverQueue(path, clock=lambda: clock.now) as queue:
            queue.decide(queue.submit(review(state=SECRET)), "retry", by="ann")
            assert any(SECRET.encode() in each.read_bytes() for each in tmp_path.iterdir())
            clock.pass_(days=2000)
            assert queue.purge(by="office") == 1
            assert not any(SECRET.encode() in each.read_bytes() for each in tmp_path.iterdir())

    @pytest.mark.parametrize("others", [0o640, 0o604, 0o660])
    def test_one_that_others_read_is_refused(self, tmp_path, others):
        """It says how to mend it."""
        path = tmp_path / "t.db"
        TakeoverQueue(path).close()
        path.chmod(others)
        with pytest.raises(ConfigurationError, match=f"mode 0{others:o}.*chmod 600"):
            TakeoverQueue(path)

    def test_a_folder_where_anyone_may_write_is_refused(self, tmp_path):
        """Another file could be put in its place; unless the folder is sticky, as that for temporary files is."""
        folder = tmp_path / "open"
        folder.mkdir()
        folder.chmod(0o777)
        with pytest.raises(ConfigurationError, match="anyone may put files"):
            TakeoverQueue(folder / "t.db")
        assert list(folder.iterdir()) == []
        folder.chmod(0o1777)
        TakeoverQueue(folder / "t.db").close()

    def test_a_link_is_refused(self, tmp_path):
        """It may lead anywhere."""
        TakeoverQueue(tmp_path / "t.db").close()
        (tmp_path / "link.db").symlink_to(tmp_path / "t.db")
        (tmp_path / "nowhere.db").symlink_to(tmp_path / "new.db")
        for name in ("link.db", "nowhere.db"):
            with pytest.raises(ConfigurationError, match="no plain file"):
                TakeoverQueue(tmp_path / name)
        assert not (tmp_path / "new.db").exists()

    def test_another_users_file_is_refused(self, tmp_path, monkeypatch):
        """Its owner could read what is put in."""
        path = tmp_path / "t.db"
        TakeoverQueue(path).close()
        owner = path.stat().st_uid or 4321
        if owner == 4321:
            os.chown(path, owner, -1)
        monkeypatch.setattr(sqlite_module.os, "geteuid", lambda: owner + 1)
        with pytest.raises(ConfigurationError, match="belongs to another user"):
            TakeoverQueue(path)

    def test_a_folder_is_no_file(self, tmp_path):
        """One sentence."""
        with pytest.raises(ConfigurationError, match="no plain file"):
            TakeoverQueue(tmp_path)

    def test_what_is_no_queue_is_left_alone(self, tmp_path):
        """Another database, a text, an empty file that should hold one."""
        other, text, empty = tmp_path / "other.db", tmp_path / "text", tmp_path / "empty"
        with sqlite3.connect(other) as connection:
            connection.execute("create table mine (x)")
        connection.close()
        text.write_text("hello " * 100, encoding="utf-8")
        empty.touch()
        for path in (other, text, empty):
            path.chmod(0o600)
        before = other.read_bytes(), text.read_bytes()
        with pytest.raises(ConfigurationError, match="another database"):
            TakeoverQueue(other)
        with pytest.raises(ConfigurationError, match="no SQLite file"):
            TakeoverQueue(text)
        with pytest.raises(QueueUnavailable, match="is empty"):
            TakeoverQueue(empty, create=False)
        with sqlite3.connect(other) as connection:
            assert connection.execute("select name from sqlite_master").fetchall() == [("mine",)]
        connection.close()
        assert text.read_bytes() == before[1]

    def test_none_is_made_unasked(self, tmp_path):
        """Who only looks finds out that there is nothing, also where there is no folder."""
        for path in (tmp_path / "t.db", tmp_path / "no" / "t.db"):
            with pytest.raises(QueueUnavailable, match="No such file"):
                TakeoverQueue(path, create=False)
        assert list(tmp_path.iterdir()) == []

    def test_a_writer_that_waits_in_vain_says_so(self, tmp_path, monkeypatch):
        """And nothing was changed."""
        monkeypatch.setattr(sqlite_module, "_WAIT_SECONDS", 0.05)
        path = tmp_path / "t.db"
        with TakeoverQueue(path) as queue:
            with sqlite3.connect(path, isolation_level=None) as other:
                other.execute("begin immediate")
                with pytest.raises(QueueUnavailable, match="others have been writing"):
                    TakeoverQueue(path).submit(review())
                with pytest.raises(QueueUnavailable):
                    with TakeoverQueue(path, create=False) as second:
                        second.submit(review())
                other.execute("rollback")
            other.close()
            assert queue.stats()["submitted"] == 0

    def test_a_file_that_is_taken_away_is_missed(self, tmp_path):
        """SQLite would go on writing into one that nobody finds any more."""
        path = tmp_path / "t.db"
        with TakeoverQueue(path) as queue:
            queue.submit(review())
            for each in tmp_path.iterdir():
                each.unlink()
            with pytest.raises(QueueUnavailable, match="removed or replaced"):
                queue.submit(review())
            TakeoverQueue(path).close()
            with pytest.raises(QueueUnavailable, match="removed or replaced"):
                queue.stats()

    def test_a_full_disk_leaves_nothing_half_written(self, tmp_path):
        """It says so, and once there is room it goes on."""
        with TakeoverQueue(tmp_path / "t.db") as queue:
            queue.submit(review(id="small"))
            with queue._database.transaction(writes=False) as session:
                size = session.rows("pragma page_count")[0]["page_count"]
                session.rows(f"pragma max_page_count = {size + 2}")
            with pytest.raises(QueueUnavailable, match="full"):
                queue.submit(review(id="large", state="x" * 100_000))
            assert [each.id for each in queue.tasks()] == ["small"]
            assert queue.verify().is_whole
            queue.submit(review(id="large", state="x" * 100_000))
            assert queue.verify().tasks == 2

    def test_it_stays_where_it_was_opened(self, tmp_path, monkeypatch):
        """An app that goes to another folder goes on with the same file."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "other").mkdir()
        with TakeoverQueue("t.db") as queue:
            queue.submit(review())
            queue.close()
            monkeypatch.chdir(tmp_path / "other")
            queue.submit(review())
            assert queue.stats()["open"] == 2
        assert list((tmp_path / "other").iterdir()) == []

    def test_it_keeps_a_few_connections(self, tmp_path):
        """However many threads have used it."""
        with TakeoverQueue(tmp_path / "t.db") as queue:
            threads = [threading.Thread(target=queue.stats) for _ in range(30)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            assert 1 <= len(queue._database._idle._waiting) <= 8

    @pytest.mark.parametrize("where", ["mysql://x", "sqlite://x", "https://example.com", ":memory:", ""])
    def test_what_is_no_place_is_refused(self, where, tmp_path, monkeypatch):
        """A queue in memory would lose all."""
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InvalidTask):
            TakeoverQueue(where)
        assert list(tmp_path.iterdir()) == []


class TestBoth:
    def test_it_is_opened_again(self, where):
        """What was submitted is there; closed, it opens itself."""
        with TakeoverQueue(where) as queue:
            task_id = queue.submit(review())
        with TakeoverQueue(where, create=False) as queue:
            assert queue.show(task_id).id == task_id
            queue.close()
            assert queue.show(task_id).id == task_id

    def test_many_make_it_at_once(self, where):
        """Workers that start together on an empty place."""
        faults = []

        def open_it():
            try:
                TakeoverQueue(where).close()
            except OtelAmlError as error:
                faults.append(error)

        threads = [threading.Thread(target=open_it) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert faults == []

    def test_one_of_another_release_is_refused(self, where):
        """It says which."""
        with TakeoverQueue(where) as queue, queue._database.transaction(writes=True) as session:
            session.change("update takeover_head set version = 2")
        with pytest.raises(ConfigurationError, match="version 2"):
            TakeoverQueue(where)

    def test_the_databases_clock_is_the_default(self, where):
        """All who share a queue share it."""
        with TakeoverQueue(where) as queue:
            found = queue.show(queue.submit(review()))
            assert 0 <= found.age_seconds < 60

    def test_a_forked_child_uses_connections_of_its_own(self, where):
        """A server of several workers forks after it has set up."""
        code = """
import os, sys
from otel_aml.recover.takeover import ApprovalTask, TakeoverQueue
with TakeoverQueue(sys.argv[1]) as queue:
    def submit():
        return queue.submit(ApprovalTask(kind="error_review", failure_class="hallucination", state=1))
    submit()
    child = os.fork()
    if not child:
        for _ in range(20):
            submit()
        os._exit(0)
    for _ in range(20):
        submit()
    assert os.waitpid(child, 0)[1] == 0
    assert queue.stats()["open"] == 41 and queue.verify().is_whole
"""
        done = subprocess.run(
            [sys.executable, "-c", code, where], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


class TestAServer:
    def test_it_comes_back(self, cluster):
        """Connections that the server has left are made anew; a call while it is away is one sentence."""
        with TakeoverQueue(cluster.schema()) as queue:
            queue.submit(review())
            cluster.stop()
            with pytest.raises(QueueUnavailable) as raised:
                queue.submit(review())
            assert "\n" not in str(raised.value)
            cluster.start()
            queue.submit(review())
            assert queue.stats()["open"] == 2

    def test_each_commit_is_on_its_disk(self, cluster):
        """Also where the server is set to say so before."""
        where = cluster.schema()
        with TakeoverQueue(f"{where}%20-csynchronous_commit%3Doff") as queue:
            with queue._database.transaction(writes=False) as session:
                assert session.rows("show synchronous_commit")[0]["synchronous_commit"] == "on"

    def test_nothing_is_made_unasked(self, cluster):
        """Who only looks has no right to make tables."""
        with pytest.raises(QueueUnavailable, match="holds no queue"):
            TakeoverQueue(cluster.schema(), create=False)

    def test_another_encoding_is_refused(self, cluster):
        """It would not hold every text."""
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute("create database latin encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'")
        with pytest.raises(ConfigurationError, match="LATIN1"):
            TakeoverQueue(cluster.url.replace("/postgres?", "/latin?"))

    @pytest.mark.parametrize(
        "url", ["postgresql://u:hunter2@127.0.0.1:1/x", "postgresql://u:hunter2@/x?nonsense=1", "postgres://[::1"]
    )
    def test_a_password_is_not_said(self, url):
        """An error ends in a log."""
        pytest.importorskip("psycopg")
        with pytest.raises(OtelAmlError) as raised:
            TakeoverQueue(url)
        assert "hunter2" not in str(raised.value)
        assert "\n" not in str(raised.value)


def test_without_the_driver_it_says_what_to_install():
    """And a file needs no driver; nothing is loaded before it is needed."""
    code = """
import sys
import otel_aml
assert not any(name.partition(".")[0] in {"sqlite3", "psycopg"} or "takeover" in name for name in sys.modules)
otel_aml.TakeoverQueue, otel_aml.ApprovalTask
assert not any(name.partition(".")[0] in {"sqlite3", "psycopg"} for name in sys.modules)
sys.modules["psycopg"] = None
try:
    otel_aml.TakeoverQueue("postgresql://x")
except otel_aml.OtelAmlError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "pip install 'otel-aml[postgres]'" in done.stdout
