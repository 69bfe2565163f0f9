import json
from pathlib import Path

import duckdb
import pytest
from exports import case, failed, good, line, span, trace_id, write
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.taxonomy import FailureClass
from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline import asking, evidence, reports, store
from otel_aml.offline.analysis import Given, analysed, ingest
from otel_aml.offline.online import Online
from otel_aml.offline.replay import RunRecord


def runs(*files, **labels):
    with analysed(Given(files=list(map(str, files)), **labels)) as analysis:
        return {run.trace_id: run for run in reports.runs(analysis)}


def written(path, *lines):
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return path


@pytest.fixture
def traces(tmp_path):
    """Four runs: good, failed, an invented citation, a long answer."""
    invented = good(3, **case(3, cited=("TX-1", "TX-9")))
    long = good(4, **{"input.value": "x" * 2_000})
    return write(tmp_path / "a.jsonl", *(line(*spans) for spans in (good(1), failed(2), invented, long)))


@pytest.fixture
def labels(tmp_path):
    return {
        "gold": written(
            tmp_path / "gold.jsonl",
            {"case_id": "C-1", "typology": "layering"},
            {"trace_id": trace_id(3), "typology": "structuring", "evidence_ids": ["TX-1", "tx-9 "]},
        ),
        "judged": written(tmp_path / "judged.jsonl", {"case_id": "C-4", "context_used": True}),
    }


def test_labels_come_on_top_of_what_spans_say(traces, labels):
    """Gold is normally not known when the run ends."""
    assert {trace[-1]: run.failure_class for trace, run in runs(traces).items()} == {
        "1": "pass",
        "2": "tool_failure",
        "3": "hallucination",
        "4": "pass",
    }
    found = runs(traces, **labels)
    assert (found[trace_id(1)].failure_class, found[trace_id(1)].decided_by) == ("typology_misjudge", "gold")
    assert found[trace_id(3)].failure_class == "pass"


@pytest.mark.parametrize("name", ["store.duckdb", "parquet"])
class TestStores:
    def test_a_store_gives_the_answers_of_its_files(self, tmp_path, traces, labels, name):
        """With labels at ingest, later, or both."""
        direct = runs(traces, **labels)
        early, late = tmp_path / f"early-{name}", tmp_path / f"late-{name}"
        ingest(Given(files=[traces], **labels), early, keep_text=False, replace=False)
        ingest(Given(files=[traces]), late, keep_text=False, replace=False)
        assert runs(early) == runs(late, **labels) == direct
        assert runs(late) == runs(traces)

    def test_the_problems_of_its_making_are_kept(self, tmp_path, traces, name):
        """What was not read is part of the answer."""
        with Path(traces).open("a", encoding="utf-8") as file:
            file.write("nonsense\n")
        ingest(Given(files=[traces]), tmp_path / name, keep_text=False, replace=False)
        with analysed(Given(files=[str(tmp_path / name)])) as analysis:
            assert (analysis.read.bad_lines, analysis.read.runs) == (1, 4)
            assert [problem.line for problem in analysis.problems] == [5]

    @pytest.mark.parametrize("keep_text", [True, False])
    def test_long_texts_are_kept_only_when_asked_for(self, tmp_path, traces, name, keep_text):
        """Prompts and answers are not for everyone who may count; the key stays."""
        path = tmp_path / name
        ingest(Given(files=[traces]), path, keep_text=keep_text, replace=False)
        source = "read_parquet($path)" if path.is_dir() else "source.spans"
        with duckdb.connect() as connection:
            if path.is_file():
                connection.execute("attach $path as source (read_only)", {"path": str(path)})
            rows = connection.execute(
                f"select attributes from {source} where attributes['input.value'] is not null "
                "or map_contains(attributes, 'input.value')",
                {"path": str(path / "spans.parquet")} if path.is_dir() else None,
            ).fetchall()
        ((attributes,),) = rows
        assert attributes["input.value"] == ("x" * 2_000 if keep_text else None)
        assert attributes["aml.case.id"] == "C-4"

    def test_a_store_is_not_written_over_by_accident(self, tmp_path, traces, name):
        """It may be the only copy."""
        path = tmp_path / name
        ingest(Given(files=[traces]), path, keep_text=False, replace=False)
        with pytest.raises(ConfigurationError, match="exists"):
            ingest(Given(files=[traces]), path, keep_text=False, replace=False)
        ingest(Given(files=[traces]), path, keep_text=False, replace=True)
        assert len(runs(path)) == 4

    def test_a_contract_is_refused_where_no_answers_are(self, tmp_path, traces, name):
        """It would check nothing, and look as if it had."""
        contract = written(tmp_path / "contract.json", {"evidence_ids": []})
        ingest(Given(files=[traces]), tmp_path / name, keep_text=False, replace=False)
        with pytest.raises(ConfigurationError, match="contract"):
            runs(tmp_path / name, contract=contract)


def test_the_conversation_of_a_run_is_kept(tmp_path):
    """It joins a run that was interrupted with its resumption, each a run of its own."""
    spans = [*good(1, **{"gen_ai.conversation.id": "thread-7"}), *good(2)]
    ingest(
        Given(files=[write(tmp_path / "a.jsonl", line(*spans))]), tmp_path / "s.duckdb", keep_text=False, replace=False
    )
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        rows = connection.execute("select conversation_id from runs order by trace_id").fetchall()
    assert rows == [("thread-7",), (None,)]


def test_a_folder_of_other_things_is_never_replaced(tmp_path, traces):
    """Not even when asked to."""
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "notes.txt").touch()
    with pytest.raises(ConfigurationError):
        ingest(Given(files=[traces]), folder, keep_text=False, replace=True)
    assert (folder / "notes.txt").exists()


def of_others(folder, name):
    """Something of the user's under a name that ingest could take for its own."""
    path = folder / name
    if name == "folder":
        path.mkdir()
        (path / "runs.parquet").write_text("mine")
        (path / "notes.txt").write_text("mine")
    elif name == "mine.duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table runs as select 1")
            connection.execute("create table mine as select 1")
    else:
        path.write_text("mine")
    return path


@pytest.mark.parametrize("name", ["notes.txt", "store.duckdb", "mine.duckdb", "folder"])
def test_nothing_but_a_store_is_ever_replaced(tmp_path, traces, name):
    """Not even when asked to: it may be the only copy of something else."""
    path = of_others(tmp_path, name)
    before = sorted((each.name, each.read_bytes()) for each in (path.iterdir() if path.is_dir() else [path]))
    with pytest.raises(ConfigurationError, match="nothing else is replaced"):
        ingest(Given(files=[traces]), path, keep_text=False, replace=True)
    assert before == sorted((each.name, each.read_bytes()) for each in (path.iterdir() if path.is_dir() else [path]))


@pytest.mark.parametrize("name", ["store.duckdb", "parquet"])
def test_a_store_with_a_table_of_the_users_is_not_replaced(tmp_path, traces, name):
    """What was put beside ours would go with it."""
    path = tmp_path / name
    ingest(Given(files=[traces]), path, keep_text=False, replace=False)
    if path.is_dir():
        (path / "mine.parquet").touch()
    else:
        with duckdb.connect(str(path)) as connection:
            connection.execute("create view mine as select 1")
    with pytest.raises(ConfigurationError, match="nothing else is replaced"):
        ingest(Given(files=[traces]), path, keep_text=False, replace=True)


@pytest.mark.parametrize("role", ["files", "gold", "judged", "contract"])
def test_what_is_read_is_never_written_over(tmp_path, traces, labels, role):
    """By whatever name it goes."""
    given = {"files": [traces], "contract": written(tmp_path / "contract.json", {}), **labels}
    file = Path(traces) if role == "files" else given[role]
    (tmp_path / "other").symlink_to(tmp_path)
    before = file.read_bytes()
    for into in (file, tmp_path / "other" / file.name):
        with pytest.raises(ConfigurationError, match="is read"):
            ingest(Given(**given), into, keep_text=False, replace=True)
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", ["store.duckdb", "parquet"])
def test_a_neighbour_of_a_store_is_left_alone(tmp_path, traces, name):
    """Nor is anything else left behind."""
    (tmp_path / f"{name}.part").write_text("mine")
    for replace in (False, True):
        ingest(Given(files=[traces]), tmp_path / name, keep_text=False, replace=replace)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["a.jsonl", name, f"{name}.part"])


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["st[1]", "st*", "st?", "st\udce9", "st{1,2}"])
@pytest.mark.parametrize("name", ["store.duckdb", "parquet"])
def test_a_store_is_opened_by_its_own_name(tmp_path, traces, labels, folder, name):
    """Brackets and stars are no pattern, and a name need not be UTF-8."""
    for each, file in (("st1", write(tmp_path / "b.jsonl", line(*failed(1)))), (folder, traces)):
        ingest(Given(files=[file]), tmp_path / each / name, keep_text=False, replace=False)
    assert runs(tmp_path / folder / name) == runs(traces)
    assert runs(tmp_path / folder / name, **labels) == runs(traces, **labels)
    given = Given(files=[str(tmp_path / folder / name)])
    assert asking.answer("select count(*) from runs", given, rows=5, seconds=60).rows == ((4,),)


def test_half_an_emoji_costs_no_run(tmp_path):
    """JSON inside of a text can hold one too, which only shows when it is read; and so can a file's name."""
    said = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "name": "get_\ud83d", "arguments": {}}]}])
    attributes = {"gen_ai.tool.definitions": json.dumps([{"name": "a"}]), "gen_ai.output.messages": said}
    called = [span(3, 1, role="AGENT"), span(3, 2, 1, "chat", "LLM", (1, 2), attributes)]
    path = write(tmp_path / "tr\udce9.jsonl", line(*good(1)), line(*called), "nonsense")
    ingest(Given(files=[path]), tmp_path / "store.duckdb", keep_text=True, replace=False)
    with analysed(Given(files=[str(tmp_path / "store.duckdb")])) as analysis:
        assert {run.trace_id for run in reports.runs(analysis)} == {trace_id(1), trace_id(3)}
        assert Path(analysis.problems[0].file).name == "tr\\udce9.jsonl"
        (failed_run,) = (run for run in analysis.rows("runs") if run["trace_id"] == trace_id(3))
        assert failed_run["dependency"] == "get_?"


def test_spans_beyond_what_is_looked_at_count_as_invalid(tmp_path, monkeypatch):
    """A verdict without them is not drawn in silence, also with --strict."""
    monkeypatch.setattr(store, "TRACE_SPANS", 2)
    path = write(tmp_path / "a.jsonl", line(*(span(1, number, role="AGENT") for number in range(1, 6))))
    with analysed(Given(files=[path])) as analysis:
        assert analysis.read.invalid_spans == 3


def test_another_database_is_no_store(tmp_path):
    """It is said what is missing."""
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t as select 1")
    with pytest.raises(InputError, match="otel-aml ingest"):
        runs(path)


def test_a_label_that_belongs_to_no_run_is_a_problem(tmp_path, traces):
    """It may be a misspelt id."""
    gold = written(tmp_path / "gold.jsonl", {"case_id": "C-99", "typology": "a"})
    with analysed(Given(files=[traces], gold=gold)) as analysis:
        assert "belong to no run" in analysis.problems[-1].reason


def test_the_symptoms_of_a_run_are_rows(tmp_path):
    """One row for each that failed for good or was made good."""
    again = span(2, 3, 1, "get_transactions", "TOOL", (3, 4))
    path = write(tmp_path / "a.jsonl", line(*failed(1)), line(again, *failed(2)))
    store = tmp_path / "store.duckdb"
    ingest(Given(files=[path]), store, keep_text=False, replace=False)
    with duckdb.connect(str(store), read_only=True) as connection:
        rows = connection.execute(
            "select trace_id, class, dependency, error_type, is_first, is_recovered from failures order by all"
        ).fetchall()
    assert rows == [
        (trace_id(1), "tool_failure", "get_transactions", "timeout", True, False),
        (trace_id(2), "tool_failure", "get_transactions", "timeout", False, True),
    ]


IDS = st.frozensets(st.text(max_size=4), max_size=3)
FAILURE = st.builds(Failure, span_id=st.text(max_size=4), retriable=st.booleans(), attempts=st.integers(0, 5))
FACTS = st.builds(
    Facts,
    failed_calls=st.lists(FAILURE, max_size=2).map(tuple),
    cited_ids=st.none() | IDS,
    evidence_ids=st.none() | IDS,
    needed_notes=st.none() | st.lists(IDS, max_size=2).map(tuple),
    typology=st.none() | st.text(max_size=4),
    superseded_live=st.frozensets(st.sampled_from(FailureClass), max_size=2),
    ending=st.sampled_from(Ending),
    broken_at=st.none() | FAILURE,
)
ONLINE = st.builds(
    Online,
    failure_class=st.sampled_from(FailureClass),
    findings=st.lists(st.text(max_size=4), max_size=2).map(tuple),
    unchecked=st.none() | st.lists(st.text(max_size=4), max_size=2).map(tuple),
    first=st.none() | FAILURE,
)


@given(FACTS, st.none() | ONLINE)
def test_evidence_comes_back_as_it_was(facts, online):
    """Labels are laid over it months later."""
    record = RunRecord(trace_id="a", span_id="b", facts=facts, online=online, labelled={"hallucination": "gold"})
    assert evidence.read(evidence.written(record)) == record


@pytest.mark.parametrize("text", ["", "{}", '{"trace_id":"a","span_id":"b","facts":{"new":1},"online":null}', "[1]"])
def test_evidence_of_another_version_is_refused(text):
    """Half of it would be worse than none."""
    with pytest.raises(InputError, match="another version"):
        evidence.read(text)
