import pytest

from otel_aml.errors import InputError
from otel_aml.offline.cells import guarded, write
from otel_aml.offline.reports import Inflation, Report

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\ufeff=1", "＝1", "\n-1", "-5.25", "\u202e=1"]  # noqa: RUF001 - the look-alike is the point
EMPTY = Report(inflation=Inflation(0, 0), min_both=5, synthetic=0)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_would_run_gets_an_apostrophe(text):
    """Also where something that is not seen stands before it."""
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a=1", "timeout -x", "", "'=1", "5", 0, -5.25, None, True])
def test_everything_else_stays(value):
    """Numbers above all."""
    assert guarded(value) == value


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    """With what to do."""
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="another path"):
        write(EMPTY, tmp_path / "file" / "tables")


def test_tables_without_rows_keep_their_heads(tmp_path):
    """A sheet that reads them finds its columns."""
    write(EMPTY, tmp_path / "tables")
    assert (tmp_path / "tables" / "recovery.csv").read_text(encoding="utf-8") == "path,outcome,runs,median_attempts\n"
