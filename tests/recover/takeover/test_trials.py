"""Small versions of the trials; `.ci/full` runs 500 kills and 5,000 tasks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TRIALS = Path(__file__).parent / "trials.py"


def run(*words):
    done = subprocess.run([sys.executable, str(TRIALS), *words], capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_kills_lose_nothing(database, request):
    """Writers are killed at random moments: no task lost, torn or decided twice, all opens clean, the chain holds."""
    more = []
    if database == "postgres":
        request.getfixturevalue("cluster")
        more = ["--postgres", "--crashes", "2"]
    found = run("kills", "--kills", "20", *more)
    assert found["faults"] == []
    assert (found["kills"], found["killed"]) == (20, 60)
    assert found.get("server_crashes", 0) == (2 if more else 0)
    assert found["tasks"] >= found["said"] >= 20


@pytest.mark.slow
def test_many_workers_decide_each_task_once(where):
    """Fifty processes at one queue."""
    found = run("workers", "--tasks", "500", "--at", where)
    assert found["faults"] == []
    assert (found["tasks"], found["decided"], found["workers"]) == (500, 500, 50)
