import duckdb
import pytest
from exports import line, span, write

from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline.loading import load
from otel_aml.offline.store import Store


def test_a_limit_that_is_none_is_said(monkeypatch):
    """It is a setting, not a fault."""
    monkeypatch.setenv("OTEL_AML_MEMORY_LIMIT", "plenty")
    with pytest.raises(ConfigurationError, match="OTEL_AML_MEMORY_LIMIT"):
        Store()


def test_what_does_not_fit_is_said():
    """With what to do about it."""
    with pytest.raises(InputError, match="fewer files"), Store():
        raise duckdb.OutOfMemoryException("failed to allocate\nPossible solutions")


def test_nothing_is_drawn_into_an_answer():
    """DuckDB draws a bar on standard output once a query takes two seconds: in the middle of our JSON."""
    with Store() as store:
        for connection in (store._connection, store.cursor(), store.loader()._connection, store._writer):
            assert connection.execute("select current_setting('enable_progress_bar')").fetchone() == (False,)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    """What DuckDB spills may hold prompts."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Store():
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_only_what_the_vocabularies_read_is_handed_over(tmp_path):
    """The rest of a span stays in the database."""
    read = {"output.value": "a", "retrieval.documents.0.document.id": "n", "failure.class": "pass"}
    path = write(tmp_path / "a.jsonl", line(span(1, 1, attributes=read | {"thread.id": 5, "output.values": "x"})))
    with Store() as store:
        load(store, [path])
        ((stored,),) = (trace.spans for trace in store.traces())
    assert stored.span.attributes == read
