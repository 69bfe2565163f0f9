"""Trials of the queue by processes: killed at any moment, and many at once.

    python tests/recover/takeover/trials.py kills [--postgres] [--kills 500] [--seed 1]
    python tests/recover/takeover/trials.py workers [--postgres] [--workers 50] [--tasks 5000]

Each prints one JSON object. Exit code 1 if anything was lost, torn or decided twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from clusters import Cluster

from otel_aml.errors import OtelAmlError
from otel_aml.recover.takeover import ApprovalTask, Choice, ResumePlan, TakeoverQueue, TaskStatus

WRITERS = 3
KILLS_A_QUEUE = 25
SECONDS = 0.06


def state_of(task_id):
    """The state of a task, which its id tells: a torn one would be seen. One in twenty is long."""
    rng = random.Random(task_id)
    size = 300_000 if rng.random() < 0.05 else rng.randrange(2_000)
    return {"id": task_id, "big": rng.getrandbits(200), "text": "审" + chr(0x20AC) * size}


def write(where, name, pipe):
    """Hand over, take and decide until killed; say of each thing that was done that it was."""
    rng = random.Random(name)
    queue = TakeoverQueue(where)
    number = 0
    while True:
        task_id = f"{name}-{number}"
        number += 1
        plan = ResumePlan(done=["evidence"], left=["draft", "review"])
        queue.submit(
            ApprovalTask(
                id=task_id, kind="error_review", failure_class="hallucination", state=state_of(task_id), plan=plan
            )
        )
        say(pipe, "submitted", task_id)
        task = queue.claim(name)
        if task is None or rng.random() < 0.2:
            continue
        choice = rng.choice([Choice.RETRY, Choice.APPROVE, Choice.EDIT])
        edited = state_of(task.id) if choice is Choice.EDIT else None
        queue.technical_detail(task.id, by=name)
        queue.decide(task.id, choice, by=name, edited=edited)
        say(pipe, "decided", task.id, str(choice), name)


def say(pipe, *words):
    """One line, which arrives whole or not at all."""
    os.write(pipe, (json.dumps(words) + "\n").encode())


def forked(work, *arguments):
    """Run it in a child; a child that cannot go on leaves with 3."""
    child = os.fork()
    if child:
        return child
    try:
        work(*arguments)
    except OtelAmlError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(3)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(4)
    os._exit(0)


class Kept:
    """What was said to be done."""

    def __init__(self):
        self.submitted = set()
        self.decided = {}
        self.faults = []

    def take(self, text):
        for line in text.decode().splitlines():
            act, task_id, *more = json.loads(line)
            if act == "submitted":
                self.submitted.add(task_id)
            elif task_id in self.decided:
                self.faults.append(f"{task_id} was decided twice")
            else:
                self.decided[task_id] = tuple(more)

    def compare(self, where):
        """Hold it against what the queue says."""
        with TakeoverQueue(where, create=False) as queue:
            found = queue.verify()
            if not found.is_whole:
                self.faults.append(str(found.plain())[:500])
            tasks = {each.id: each for each in queue.tasks(statuses=tuple(TaskStatus), limit=10**9)}
            missing = self.submitted - tasks.keys()
            self.faults += [f"{task_id} is lost" for task_id in missing]
            for task_id, (choice, by) in self.decided.items():
                decision = tasks[task_id].decision if task_id in tasks else None
                if decision is None or (decision.choice, decision.by) != (choice, by):
                    self.faults.append(f"{task_id} was decided {choice} by {by}; the queue says {decision}")
        return len(tasks), sum(each.decision is not None for each in tasks.values())

    def states(self, where):
        """See that every state is whole."""
        with TakeoverQueue(where, create=False) as queue:
            for each in queue.tasks(statuses=tuple(TaskStatus), limit=10**9):
                task = queue.show(each.id)
                edited = task.decision.edited if task.decision and task.decision.edited_json else None
                if task.state != state_of(each.id) or edited not in (None, state_of(each.id)):
                    self.faults.append(f"the state of {each.id} is torn")


def one_kill(where, name, rng, kept, server=None):
    """Let writers write for a moment, kill them (or the server), and look."""
    reading, writing = os.pipe()
    children = [forked(write, where, f"{name}.{number}", writing) for number in range(WRITERS)]
    os.close(writing)
    time.sleep(0)
    first = os.read(reading, 1)
    time.sleep(rng.random() * SECONDS)
    if server is not None:
        server()
    else:
        rng.shuffle(children)
        for child in children:
            os.kill(child, signal.SIGKILL)
    said = first
    while chunk := os.read(reading, 1 << 16):
        said += chunk
    os.close(reading)
    ends = [os.waitpid(child, 0)[1] for child in children]
    kept.faults += [f"a writer ended with {os.waitstatus_to_exitcode(end)}" for end in ends if not _expected(end)]
    kept.take(said)
    return sum(os.WIFSIGNALED(end) and os.WTERMSIG(end) == signal.SIGKILL for end in ends)


def _expected(end):
    return os.waitstatus_to_exitcode(end) in {-signal.SIGKILL, 3}


def opens_clean(where):
    """See that the file is whole to SQLite itself."""
    with sqlite3.connect(where) as connection:
        found = connection.execute("pragma integrity_check").fetchall()
    connection.close()
    return found == [("ok",)]


def crash(cluster, rng):
    """End the server as a loss of power does, or one of its processes."""
    if rng.random() < 0.5:
        cluster.stop(signal.SIGQUIT)
        cluster.start()
        return
    watch = psycopg.connect(cluster.url, autocommit=True)
    found = watch.execute("select pid from pg_stat_activity where application_name = 'otel-aml'").fetchall()
    if found:
        os.kill(rng.choice(found)[0], signal.SIGKILL)
        with suppress(psycopg.OperationalError):  # The server then ends all others and starts again.
            watch.execute("select pg_sleep(60)")
    watch.close()
    cluster.wait()


def kills(places, count, seed, cluster=None, crashes=0):
    """Kill so often; a new queue every few kills, so that each look is a whole one."""
    rng, total = random.Random(seed), Counter()
    faults, started = [], time.monotonic()
    for first in range(0, count + crashes, KILLS_A_QUEUE):
        where, kept = places(), Kept()
        for number in range(first, min(first + KILLS_A_QUEUE, count + crashes)):
            is_crash = cluster is not None and number * crashes // (count + crashes) != (number + 1) * crashes // (
                count + crashes
            )
            server = (lambda: crash(cluster, rng)) if is_crash else None
            total["killed"] += one_kill(where, f"k{number}", rng, kept, server)
            total["server_crashes" if is_crash else "kills"] += 1
            tasks, decided = kept.compare(where)
            if cluster is None and not opens_clean(where):
                kept.faults.append("the file is not whole")
        kept.states(where)
        total.update(tasks=tasks, decided=decided, said=len(kept.submitted), said_decided=len(kept.decided))
        faults += kept.faults
        sys.stderr.write(f"{dict(total)} {len(faults)} faults\n")
    return {**total, "seconds": round(time.monotonic() - started), "faults": faults[:20]}


def work(where, name, pipe):
    """Take and decide until nothing waits."""
    with TakeoverQueue(where) as queue:
        while (task := queue.claim(name)) is not None:
            queue.decide(task.id, Choice.RETRY, by=name)
            say(pipe, "decided", task.id, "retry", name)


def workers(where, count, tasks):
    """Let so many processes decide so many tasks."""
    kept, started = Kept(), time.monotonic()
    with TakeoverQueue(where) as queue:
        for number in range(tasks):
            task = ApprovalTask(id=f"t{number}", kind="error_review", failure_class="tool_failure", state=number)
            kept.submitted.add(queue.submit(task))
    submitted = time.monotonic()
    reading, writing = os.pipe()
    children = [forked(work, where, f"w{number}", writing) for number in range(count)]
    os.close(writing)
    said = b""
    while chunk := os.read(reading, 1 << 16):
        said += chunk
    os.close(reading)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    ended = time.monotonic()
    kept.take(said)
    found, decided = kept.compare(where)
    kept.faults += [f"a worker ended with {end}" for end in ends if end]
    if (found, decided, len(kept.decided)) != (tasks, tasks, tasks):
        kept.faults.append(f"{found} tasks, {decided} decided, {len(kept.decided)} said to be")
    by = Counter(name for _, name in kept.decided.values())
    return {
        "tasks": found,
        "decided": decided,
        "workers": count,
        "workers_that_decided": len(by),
        "submit_seconds": round(submitted - started, 1),
        "decide_seconds": round(ended - submitted, 1),
        "faults": kept.faults[:20],
    }


@contextmanager
def given(postgres):
    """A place for queues, and the server where there is one."""
    if postgres:
        cluster = Cluster()
        try:
            yield cluster.schema, cluster
        finally:
            cluster.close()
        return
    with tempfile.TemporaryDirectory() as folder:
        names = iter(range(10**6))
        yield (lambda: str(Path(folder) / f"takeover-{next(names)}.db")), None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("trial", choices=["kills", "workers"])
    arguments.add_argument("--postgres", action="store_true")
    arguments.add_argument("--at", help="a queue that is there, for the workers")
    arguments.add_argument("--kills", type=int, default=500)
    arguments.add_argument("--crashes", type=int, default=0, help="of the PostgreSQL server, beside the kills")
    arguments.add_argument("--workers", type=int, default=50)
    arguments.add_argument("--tasks", type=int, default=5_000)
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    with given(asked.postgres and not asked.at) as (places, cluster):
        if asked.trial == "kills":
            found = kills(places, asked.kills, asked.seed, cluster, asked.crashes)
        else:
            found = workers(asked.at or places(), asked.workers, asked.tasks)
    sys.stdout.write(f"{json.dumps(found)}\n")
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
