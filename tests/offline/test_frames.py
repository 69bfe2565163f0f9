import sys
from datetime import UTC, datetime

import pytest
from exports import failed, good, line, write

from otel_aml import offline
from otel_aml.errors import ConfigurationError
from otel_aml.offline.frames import Rows
from otel_aml.offline.reports import ToolFailureRow, TrendRow

TOOLS = Rows(ToolFailureRow, (ToolFailureRow("rules", "timeout", 2), ToolFailureRow(None, None, 1)))


@pytest.fixture
def report(tmp_path):
    return offline.report(write(tmp_path / "traces.jsonl", line(*good(2)), line(*failed(1))))


def test_rows_are_typed(report):
    """An editor knows their fields."""
    first = report.taxonomy[0]
    assert (first.failure_class, first.runs, first.rate) == ("tool_failure", 1, 0.5)
    assert [row.failure_class for row in report.taxonomy[1:3]] == ["format_violation", "hallucination"]


def test_paths_are_taken_as_they_come(tmp_path, report):
    """One or several, as a text or as a path."""
    write(tmp_path / "gold.jsonl", '{"case_id": "C-2", "typology": "layering"}')
    again = offline.report([tmp_path / "traces.jsonl"], gold=tmp_path / "gold.jsonl")
    assert report.taxonomy[0].runs == again.taxonomy[0].runs == 1
    assert {row.failure_class: row.runs for row in again.taxonomy}["typology_misjudge"] == 1


def test_a_data_frame_has_a_type_for_each_column():
    """Also where a value is missing: a count stays a whole number."""
    pytest.importorskip("pandas")
    frame = TOOLS.df()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "dependency": "string",
        "error_type": "string",
        "runs": "Int64",
    }
    assert frame["runs"].sum() == 3
    assert frame["dependency"].isna().tolist() == [False, True]


def test_a_data_frame_of_nothing_has_its_columns():
    """A notebook goes on without a special case, and times are times."""
    pytest.importorskip("pandas")
    frame = Rows(TrendRow).df()
    assert list(frame.columns) == ["started_at", "seconds", "class", "runs"]
    assert str(frame["started_at"].dtype).startswith("datetime64")


def test_an_arrow_table_has_the_same_columns():
    """With the types of the fields, whatever the values are."""
    arrow = pytest.importorskip("pyarrow")
    assert TOOLS.arrow().schema.types == [arrow.string(), arrow.string(), arrow.int64()]
    trend = Rows(TrendRow, (TrendRow(datetime(2026, 9, 1, tzinfo=UTC).replace(tzinfo=None), 60, "pass", 1),)).arrow()
    assert trend.schema.types == [arrow.timestamp("us"), arrow.int64(), arrow.string(), arrow.int64()]


def test_every_table_becomes_both(report):
    """No column of any is forgotten."""
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name, rows in report.tables.items():
        assert list(report.df(name).columns) == list(rows.kind.names()) == report.arrow(name).column_names


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_a_missing_library_is_said_in_one_sentence(library, monkeypatch):
    """With what to install."""
    monkeypatch.setitem(sys.modules, library, None)
    call = TOOLS.df if library == "pandas" else TOOLS.arrow
    with pytest.raises(ConfigurationError, match=rf"needs {library}.*pip install 'otel-aml\[notebook\]'"):
        call()


def test_a_table_that_is_not_there_is_said(report):
    """With those that are."""
    with pytest.raises(ConfigurationError, match="no table 'runs' in a report; there are taxonomy, cascades"):
        report.df("runs")


def test_a_notebook_shows_texts_as_texts(report):
    """A tool's name is no markup, and what is missing is a dash."""
    html = Rows(ToolFailureRow, (ToolFailureRow("<img src=x>", "\u202eabc", 2), *TOOLS))._repr_html_()
    assert "&lt;img src=x&gt;" in html
    assert "\\u202eabc" in html
    assert "<td>–</td>" in html  # noqa: RUF001 - the dash
    first = "tool_failure fails most, no cascade is significant; repair tool_failure first"
    assert f"<h3>{first}</h3>" in report._repr_html_()


def test_a_notebook_shows_a_hundred_rows():
    """And says how many more there are."""
    html = Rows(ToolFailureRow, tuple(ToolFailureRow(f"t{n}", None, 1) for n in range(103)))._repr_html_()
    assert html.count("<tr>") == 101
    assert "3 further rows" in html
