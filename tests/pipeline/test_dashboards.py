"""The dashboards: as their program writes them, readable, and each query answered by a real Prometheus."""

import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from services import ROOT, until

pytestmark = pytest.mark.collector

FOLDER = ROOT / "monitoring" / "grafana"
BOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (FOLDER / "dashboards").glob("*.json")}
PANELS = [(name, panel) for name, board in BOARDS.items() for panel in board["panels"]]
QUERIES = [
    pytest.param(target, id=f"{name}: {panel['title']} {target['refId']}")
    for name, panel in PANELS
    for target in panel["targets"]
]


def test_they_are_up_to_date():
    """What is committed is what the program writes."""
    done = subprocess.run([sys.executable, FOLDER / "build.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_they_can_be_provisioned():
    """Grafana finds them by their folder, and an exemplar finds its trace by the data source's uid."""
    assert len({board["uid"] for board in BOARDS.values()}) == len(BOARDS) == 3
    for board in BOARDS.values():
        ids = [panel["id"] for panel in board["panels"] if "id" in panel]
        assert len(ids) == len(set(ids))
        assert {variable["name"] for variable in board["templating"]["list"]} >= {"datasource", "job"}
    sources = yaml.safe_load((FOLDER / "provisioning/datasources/otel_aml.yaml").read_text(encoding="utf-8"))
    uids = {source["uid"] for source in sources["datasources"]}
    leads = sources["datasources"][0]["jsonData"]["exemplarTraceIdDestinations"]
    assert {each["datasourceUid"] for each in leads} <= uids
    assert [each["name"] for each in leads] == ["trace_id"]


def test_they_read_back_into_the_typed_form():
    """The schema's own reader takes them."""
    from grafana_foundation_sdk.models.dashboard import Dashboard

    for board in BOARDS.values():
        assert Dashboard.from_json(board).title == board["title"]


@pytest.mark.parametrize(("name", "panel"), PANELS, ids=[f"{name}: {panel['title']}" for name, panel in PANELS])
def test_every_panel_says_what_it_shows(name, panel):
    """A title and a sentence; within the width of the page."""
    assert panel["title"]
    assert panel["description"]
    assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def _luminance(colour):
    def linear(part):
        value = int(part, 16) / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(colour[place : place + 2]) for place in (1, 3, 5))
    return red, green, blue


def _as_seen_without_green(colour):
    """How a person with deuteranopia sees it. Source: Machado, Oliveira, Fernandes, IEEE TVCG 15 (2009), severity 1."""
    rows = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
    seen = _luminance(colour)
    return tuple(sum(weight * part for weight, part in zip(row, seen, strict=True)) for row in rows)


def test_colours_can_be_told_apart_without_green():
    """The classes of failures, pair by pair, as most colour-blind people see them."""
    sys.path.insert(0, str(FOLDER))
    from build import COLOURS

    seen = {
        name: _as_seen_without_green(colour) for name, colour in COLOURS.items() if name not in {"pass", "cancelled"}
    }
    names = sorted(seen)
    pairs = [(one, other) for one in names for other in names if one < other]
    assert min(math.dist(seen[one], seen[other]) for one, other in pairs) > 0.05


@pytest.fixture(scope="module")
def filled(collector, prometheus):
    """Twice the same runs, so that every count has grown; and a process that measures itself."""
    here = Path(__file__).parent
    environment = collector.agent_environment()
    health = subprocess.Popen(
        [sys.executable, here / "health.py"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert health.stdout.readline() == "ready\n"
        for wave in (1, 2):
            sent = [
                subprocess.Popen([sys.executable, here / "agents.py", str(seed), "60"], env=environment)
                for seed in (1, 2)
            ]
            assert [each.wait(120) for each in sent] == [0, 0]
            until("the wave", lambda wave=wave: prometheus.query(f"sum(otel_aml_runs_total) == {wave * 120}"))
            if wave == 1:
                until("labels at zero", lambda: prometheus.query("otel_aml_evaluation_labels_total"))
                time.sleep(3)  # two scrapes, so that there is something to grow from
                health.stdin.write("\n")
                health.stdin.flush()
        until("the rules", lambda: prometheus.query("job:otel_aml_typology:recall7d >= 0"), patience=90)
        until("the rates", lambda: prometheus.query("job:otel_aml_failures:ratio_rate6h > 0"), patience=90)
        until("the ratio", lambda: prometheus.query("job:otel_aml_failures:ratio_rate1h > 0"), patience=90)
        yield
    finally:
        health.communicate("\n\n", timeout=30)


def asked(expression):
    for variable, value in (("$__rate_interval", "2m"), ("$__range", "15m"), ("$job", ".*")):
        expression = expression.replace(variable, value)
    assert "$" not in expression
    return expression


@pytest.mark.parametrize("target", QUERIES)
def test_every_query_is_answered(filled, prometheus, target):
    """Neither empty nor without a number, and within a second, as Prometheus itself keeps the time."""
    now = time.time()
    if target.get("instant"):
        found = prometheus.get("query", query=asked(target["expr"]), timeout="1s")["result"]
        values = [each["value"][1] for each in found]
    else:
        found = prometheus.get(
            "query_range", query=asked(target["expr"]), start=now - 900, end=now, step=15, timeout="1s"
        )["result"]
        values = [value for each in found for _, value in each["values"]]
    assert [value for value in values if value != "NaN"]
    for label in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
        assert all(label in each["metric"] for each in found)
