import re
from pathlib import Path

import pytest

from otel_aml.offline import sql
from otel_aml.offline.reports import VALUES
from otel_aml.offline.store import Store

QUERIES = Path(__file__).parent.parent.parent / "queries"
FILES = sorted(QUERIES.rglob("*.sql"))
NAMES = [str(path.relative_to(QUERIES).with_suffix("")) for path in FILES]
INDEX = (QUERIES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_query_asks_a_question_and_is_listed(name):
    """The header is the docstring; the index leads to it."""
    first = sql.query(name).partition("\n")[0]
    assert first.startswith("-- ")
    assert "?" in first or name in ("load/runs", "load/checks", "load/failures", "load/evidence")
    assert f"`{name.split('/')[-1]}`" in INDEX or f"`{name}`" in INDEX


def test_an_unknown_query_is_an_error():
    """A misspelt name is a fault of ours."""
    with pytest.raises(LookupError):
        sql.query("reports/absent")


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("reports/")])
def test_every_report_runs_on_nothing_and_has_a_total_order(name):
    """An empty store is no error, and two runs print the same."""
    with Store() as store:
        rows = list(store.rows(name, {key: value for key, value in VALUES.items() if f"${key}" in sql.query(name)}))
    lengths = {"inflation": 1, "pass_rate": 1, "synthetic": 1, "taxonomy_frequency": 10, "check_coverage": 6}
    length = lengths.get(name.split("/")[-1], 0)
    assert length == 1 or re.search(r"\norder by", sql.query(name))
    assert len(rows) == length


@pytest.mark.parametrize("table", ["spans", "runs", "checks", "failures"])
def test_the_index_lists_the_columns_of_the_tables(table):
    """Users build on them: a change is a changelog entry."""
    with Store() as store:
        columns = [name for name, *_ in store.cursor().execute(f"describe {table}").fetchall()]
    cell = next(line for line in INDEX.splitlines() if line.startswith(f"| `{table}` |")).split("|")[3]
    assert re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", cell)) == columns
