"""A store that is added to is the store that one go would have made."""

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import duckdb
import pytest
from exports import case, failed, good, line, span, trace_id, write

from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline import analysis, appendable, workplaces
from otel_aml.offline import store as stores
from otel_aml.offline.analysis import Given, ingest
from otel_aml.offline.appending import append

TABLES = ["spans", "runs", "checks", "failures", "evidence", "problems", "readings", "sources"]
LONG = "x" * 600


def tables(path):
    """All rows of a store, in an order of their own."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {table: sorted(map(repr, connection.execute(f"from {table}").fetchall())) for table in TABLES}


def in_one_go(path, files, **given):
    ingest(Given(files=list(map(str, files)), **given), path, keep_text=False, replace=True)
    return tables(path)


def appended(path, files, **given):
    append(Given(files=list(map(str, files)), **given), path, keep_text=False)
    return tables(path)


def split_run(trace):
    """A run whose parts come in any order; its answer is longer than what a store keeps."""
    root = span(trace, 1, role="AGENT", attributes=case(trace, cited=("TX-9",), **{"input.value": LONG}))
    root["attributes"] = [each for each in root["attributes"] if each["key"] != "output.value"]
    answer = {"typology": "structuring", "cited_tx_ids": ["TX-9"], "narrative": LONG}
    text = {"key": "output.value", "value": {"stringValue": json.dumps(answer)}}
    root["attributes"].append(text)
    return [span(trace, 2, 1, "rules", "TOOL", (1, 2), {"error.type": "TimeoutError"}, status={"code": 2}), root]


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.duckdb"


@pytest.fixture
def whole(tmp_path):
    return tmp_path / "whole.duckdb"


def add(path, *lines, end="\n"):
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + end)


def test_a_file_that_grew_is_read_from_where_it_ended(tmp_path, store, whole):
    """The first of these runs gets its last span in the second go, and is weighed anew with its long answer."""
    file = tmp_path / "a.jsonl"
    call, root = split_run(1)
    add(file, line(root), line(*good(2)), "nonsense")
    first = appended(store, [file])
    assert "hallucination" in "".join(first["runs"])
    add(file, line(call), line(*failed(3)), "more nonsense", line(*good(2)))
    assert appended(store, [file]) == in_one_go(whole, [file])
    assert appended(store, [file]) == tables(whole)


@pytest.mark.slow
@pytest.mark.parametrize("cut", [10, 300, -1, -2])
def test_a_line_that_is_being_written_is_no_loss(tmp_path, store, whole, cut):
    """Half of a line counts as bad until its rest is there; whole JSON without its end counts as it is."""
    file = tmp_path / "a.jsonl"
    add(file, line(*good(1)))
    text = line(*failed(2)) + "\r\n"
    add(file, text[:cut], end="")
    assert appended(store, [file]) == in_one_go(whole, [file])
    assert appended(store, [file]) == tables(whole)
    add(file, text[cut:], end="")
    add(file, "nonsense", line(*good(3)))
    assert appended(store, [file]) == in_one_go(whole, [file])


def test_a_rotated_file_is_known_by_its_content(tmp_path, store, whole):
    """The old one has another name now, and a new one has its name; both may have grown."""
    file, rotated = tmp_path / "a.jsonl", tmp_path / "a-1.jsonl"
    call, root = split_run(1)
    add(file, line(root), "nonsense")
    appended(store, [file])
    add(file, line(*good(2)))
    file.rename(rotated)
    add(file, line(call), line(*good(3)))
    assert appended(store, [tmp_path]) == in_one_go(whole, [tmp_path])


@pytest.mark.slow
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_rotated_file_is_known_when_it_is_packed(tmp_path, store, whole, end):
    """As logrotate does; it may have grown before. Its spans have its new name, and its long texts are read from it."""
    file, rotated = tmp_path / "a.jsonl", tmp_path / "a-1.jsonl.gz"
    call, root = split_run(1)
    add(file, "nonsense", line(root), end=end)
    appended(store, [file])
    more = f"{line(*good(2))}\n" if end else ""
    rotated.write_bytes(gzip.compress(file.read_bytes() + b"\n" * (not end) + more.encode()))
    write(file, line(call), line(*good(3)))
    found = appended(store, [tmp_path])
    assert "is gone" not in "".join(found["problems"])
    assert found == in_one_go(whole, [tmp_path])
    assert appended(store, [tmp_path]) == found


def test_traces_without_a_run_and_spans_beyond_the_limit_are_counted(tmp_path, store, whole, monkeypatch):
    """As in one go."""
    for module in (stores, analysis, appendable):
        monkeypatch.setattr(module, "TRACE_SPANS", 3)
    file = tmp_path / "a.jsonl"
    add(file, line(*good(1)), line(*(span(2, number) for number in range(1, 5))))
    appended(store, [file])
    add(file, line(*(span(2, number) for number in range(5, 8))), line(*good(3)), line(span(4, 1)))
    again = append(Given(files=[str(file)]), store, keep_text=False)
    fresh = ingest(Given(files=[str(file)]), whole, keep_text=False, replace=True)
    assert (again.runless, again.read) == (fresh.runless, fresh.read)
    assert (again.runless, again.read.invalid_spans) == (2, 4)
    assert tables(store) == tables(whole)


def test_what_a_killed_process_left_beside_a_store_goes(tmp_path, store):
    """It may hold prompts. What another process is working in stays, and so does what is not ours."""
    left, young, ours, other = (tmp_path / name for name in (".otel-aml-1", ".otel-aml-2", ".otel-aml-3", ".other"))
    for folder in (left, young, ours, other):
        folder.mkdir()
        (folder / "store.duckdb").write_text("x", encoding="utf-8")
    for folder in (left, ours, other):
        os.utime(folder, (1, 1))
    lock = workplaces._locked(ours)
    add(tmp_path / "a.jsonl", line(*good(1)))
    appended(store, [tmp_path / "a.jsonl"])
    os.close(lock)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".otel-aml-2", ".otel-aml-3", ".other", "a.jsonl", "store.duckdb"
    ]  # fmt: skip


def test_a_store_of_an_earlier_version_is_said_to_be_one(tmp_path, store):
    """Its tables lack columns."""
    add(tmp_path / "a.jsonl", line(*good(1)))
    appended(store, [tmp_path / "a.jsonl"])
    with duckdb.connect(str(store)) as connection:
        connection.execute("alter table runs drop column conversation_id")
    with pytest.raises(InputError, match="give --replace"):
        appended(store, [tmp_path / "a.jsonl"])


def test_a_copy_of_a_file_gives_copies_of_spans(tmp_path, store, whole):
    """As in one go."""
    file = tmp_path / "a.jsonl"
    add(file, line(*good(1)), line(*failed(2)))
    appended(store, [file])
    shutil.copy(file, tmp_path / "b.jsonl")
    assert appended(store, [tmp_path]) == in_one_go(whole, [tmp_path])


def test_a_packed_file_is_read_once(tmp_path, store, whole):
    """It never grows."""
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line(*good(1)).encode()))
    appended(store, [tmp_path])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(line(*split_run(2)).encode()))
    assert appended(store, [tmp_path]) == in_one_go(whole, [tmp_path])


def test_what_is_not_given_again_stays(tmp_path, store, whole):
    """Yesterday's files may be in an archive."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    add(first, line(*good(1)))
    add(second, line(*failed(2)))
    appended(store, [first])
    assert appended(store, [second]) == in_one_go(whole, [first, second])


def test_of_a_file_that_is_gone_the_saved_spans_count(tmp_path, store):
    """Its long texts are lost, and it is said."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    call, root = split_run(1)
    add(first, line(root))
    add(second, line(call))
    appended(store, [first])
    first.unlink()
    found = appended(store, [second])
    assert len(found["spans"]) == 2
    assert "tool_failure" in found["runs"][0]
    assert "is gone or was changed" in found["problems"][0]


def test_a_file_that_was_written_anew_is_a_new_one(tmp_path, store):
    """What it held before stays."""
    file = tmp_path / "a.jsonl"
    add(file, line(*good(1)))
    appended(store, [file])
    write(file, line(*failed(2)), line(*good(3)))
    found = appended(store, [file])
    assert len(found["runs"]) == 3
    assert len(found["sources"]) == 2
    assert appended(store, [file]) == found


def test_labels_are_laid_over_all_runs(tmp_path, store, whole):
    """Also over those that nothing new touches."""
    file, gold = tmp_path / "a.jsonl", tmp_path / "gold.jsonl"
    add(file, line(*good(1)))
    appended(store, [file])
    add(file, line(*good(2)))
    write(gold, json.dumps({"case_id": "C-1", "typology": "layering"}), json.dumps({"case_id": "C-7", "typology": "x"}))
    assert appended(store, [file], gold=gold) == in_one_go(whole, [file], gold=gold)


def test_a_store_that_was_made_otherwise_is_refused(tmp_path, store):
    """Half of its verdicts would rest on another contract."""
    file = tmp_path / "a.jsonl"
    contract = tmp_path / "contract.json"
    contract.write_text('{"evidence_ids": ["TX-1"]}', encoding="utf-8")
    add(file, line(*good(1)))
    appended(store, [file])
    before = store.read_bytes()
    with pytest.raises(ConfigurationError, match="contract"):
        appended(store, [file], contract=contract)
    with pytest.raises(ConfigurationError, match="keep-text"):
        append(Given(files=[str(file)]), store, keep_text=True)
    for into in (tmp_path / "parquet", tmp_path, tmp_path / "why?.duckdb"):
        with pytest.raises(ConfigurationError, match="cannot be added to"):
            append(Given(files=[str(file)]), into, keep_text=False)
    with pytest.raises(ConfigurationError, match="standard input"):
        append(Given(files=["-"]), store, keep_text=False)
    (tmp_path / "other.duckdb").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="no more spans"):
        append(Given(files=[str(file)]), tmp_path / "other.duckdb", keep_text=False)
    assert store.read_bytes() == before


def parts_of(seed):
    """Lines of many runs, their spans dealt out over three goes and two files."""
    rng = random.Random(seed)
    spans = [each for trace in range(1, 60) for each in rng.choice([good, failed, split_run])(trace)]
    spans += rng.sample(spans, 20)
    rng.shuffle(spans)
    lines = [line(*spans[start : start + 3]) for start in range(0, len(spans), 3)] + ["nonsense", "{"]
    rng.shuffle(lines)
    cuts = sorted(rng.sample(range(1, len(lines)), 2))
    return lines[: cuts[0]], lines[cuts[0] : cuts[1]], lines[cuts[1] :]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_in_however_many_goes_the_tables_are_the_same(tmp_path, store, whole, seed):
    """Growing, rotated, with copies and torn lines."""
    file = tmp_path / "a.jsonl"
    for number, part in enumerate(parts_of(seed)):
        add(file, *part, end="" if number == 1 else "\n")
        if number == 1:
            file.rename(tmp_path / "a-1.jsonl")
        found = appended(store, [tmp_path])
    assert found == in_one_go(whole, [tmp_path])


COMMAND = [sys.executable, "-c", "from otel_aml.cli import main; main()", "ingest", ".", "--into", "out/store.duckdb"]


def killed(folder, seconds):
    """Start the command and kill it; say whether it had not ended by itself."""
    process = subprocess.Popen([*COMMAND, "--append"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return False
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return True


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_kill_at_any_point_leaves_a_store_that_can_be_added_to(tmp_path, whole, seed):
    """Started again it gives what one go gives; benchmarks/kill_ingest.py does so a hundred times."""
    rng = random.Random(seed)
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "out").mkdir()
    store = folder / "out" / "store.duckdb"
    kills, took = 0, 1.0
    for part in parts_of(seed):
        add(folder / "a.jsonl", *part)
        for _ in range(4):
            kills += killed(folder, rng.uniform(0.3, 1.0) * took)
        started = time.monotonic()
        subprocess.run([*COMMAND, "--append"], cwd=folder, check=True, capture_output=True)
        took = time.monotonic() - started
    assert kills
    found = tables(store)
    subprocess.run([*COMMAND[:-1], str(whole)], cwd=folder, check=True, capture_output=True)
    assert found == tables(whole)
    assert [path.name for path in store.parent.iterdir() if not path.name.startswith(".")] == ["store.duckdb"]
    assert trace_id(1) in found["runs"][0]
