"""The rules and alerts: checked and tested by promtool, and the tests themselves by rules that are wrong."""

import re
import shutil
import subprocess

import pytest
import yaml
from services import ROOT, program

from otel_aml.core.taxonomy import FailureClass
from otel_aml.evals import gate_output
from otel_aml.evals.gate import Decision
from otel_aml.live.metrics import METRICS

pytestmark = pytest.mark.collector

FOLDER = ROOT / "monitoring" / "prometheus"
ALERTS = {
    rule["alert"]: rule
    for group in yaml.safe_load((FOLDER / "rules" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}


def promtool(*args):
    done = subprocess.run([program("promtool"), *map(str, args)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_promtool_finds_nothing_wrong():
    """As it is, with the example configuration."""
    code, said = promtool("check", "config", FOLDER / "prometheus.yml")
    assert code == 0, said
    code, said = promtool("check", "rules", *sorted((FOLDER / "rules").glob("*.yml")))
    assert code == 0, said


@pytest.mark.parametrize("name", ["minutes.yml", "days.yml", "labels.yml"])
def test_every_alert_fires_when_it_must(name):
    """And not before."""
    code, said = promtool("test", "rules", FOLDER / "tests" / name)
    assert code == 0, said


def test_every_alert_is_tested():
    """Each fires somewhere in the tests."""
    tests = "".join(path.read_text(encoding="utf-8") for path in (FOLDER / "tests").glob("*.yml"))
    fires = {alert for alert in ALERTS if f"runbook_url: docs/runbooks/{alert}.md" in tests}
    assert fires == set(ALERTS)


HALLUCINATED = 'otel_aml_findings_total{failure_class="hallucination", otel_aml_finding_state!="recovered"}'
BORN = f"sum by (job) (increase({HALLUCINATED}[10m])) > 0"
CRITICAL = 'failure_severity="critical", failure_class!="hallucination"'
MUTANTS = [
    ("days", "alerts", "ratio_rate6h > 6 * 0.01", "ratio_rate6h > 60 * 0.01"),
    ("days", "alerts", "ratio_rate3d > 0.01", "ratio_rate3d > 0.1"),
    ("days", "recording", 'failure_class!="cancelled"', 'failure_class!=""'),
    ("labels", "alerts", "recall7d < 0.9", "recall7d < 0.99"),
    ("labels", "alerts", "positives7d >= 20", "positives7d >= 2"),
    ("labels", "recording", '=~"tp|fn"', '=~"tp|fn|fp"'),
    ("minutes", "alerts", "ratio_rate5m > 14.4", "ratio_rate5m > 140"),
    ("minutes", "alerts", "ratio_rate5m > 14.4", "ratio_rate1h > 14.4"),
    ("minutes", "alerts", "offset 10m) > 0", "offset 10m) > 10"),
    ("minutes", "alerts", BORN, "vector(0) > 0"),
    ("minutes", "alerts", 'otel_aml_finding_state!="recovered"', 'otel_aml_finding_state="standing"'),
    ("minutes", "alerts", CRITICAL, 'failure_class!="hallucination"'),
    ("minutes", "alerts", CRITICAL, 'failure_severity="high"'),
    ("minutes", "alerts", 'circuit_state="open"', 'circuit_state="closed"'),
    ("minutes", "alerts", "seconds) > 3600", "seconds) > 36000"),
    ("minutes", "alerts", "judge_calibrated) == 0", "judge_calibrated) == 1"),
    ("minutes", "alerts", "absent(otel_aml_runs_total)", "vector(1) > 2"),
    ("minutes", "alerts", "offset 1h) unless", "offset 1h) and"),
    ("minutes", "alerts", 'reason!="shutdown"', 'reason!=""'),
    ("minutes", "alerts", "send_failed_spans", "sent_spans"),
    ("minutes", "alerts", "faults_total", "late_total"),
    ("minutes", "recording", '!~"pass|cancelled"', '!~"pass|cancelled|unclassified"'),
]


@pytest.mark.parametrize(("tests", "rules", "right", "wrong"), MUTANTS)
def test_a_wrong_rule_is_noticed(tmp_path, tests, rules, right, wrong):
    """A check that cannot fail checks nothing."""
    shutil.copytree(FOLDER, tmp_path / "prometheus")
    path = tmp_path / "prometheus" / "rules" / f"{rules}.yml"
    before = path.read_text(encoding="utf-8")
    after = before.replace(right, wrong)
    assert after != before
    path.write_text(after, encoding="utf-8")
    code, said = promtool("check", "rules", path)
    assert code == 0, said
    code, said = promtool("test", "rules", tmp_path / "prometheus" / "tests" / f"{tests}.yml")
    assert code == 1, said
    assert "FAILED" in said


GATE = Decision(rows=(), runs=1, counts={}, judge_calibrated=True)
HEADINGS = ["What it means", "Is it real", "What to do now", "What to do after"]


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_page_for_the_person_who_is_woken(alert):
    """What it means, how to see whether it is real, what to do; named by the alert itself."""
    rule = ALERTS[alert]
    assert rule["annotations"]["runbook_url"] == f"docs/runbooks/{alert}.md"
    assert rule["labels"]["severity"] in {"page", "ticket"}
    page = (ROOT / "docs" / "runbooks" / f"{alert}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {alert}\n")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == HEADINGS


def test_no_page_without_an_alert():
    """Nobody reads what nothing names."""
    assert {path.stem for path in (ROOT / "docs" / "runbooks").glob("*.md")} == {*ALERTS, "README"}


def test_rules_speak_of_metrics_that_there_are():
    """By the names that the processor gives, as Prometheus spells them; and of classes that there are."""
    text = "".join(path.read_text(encoding="utf-8") for path in (FOLDER / "rules").glob("*.yml"))
    named = set(re.findall(r"\b(otel_aml_[a-z_]+)[{\[) ]", re.sub(r"record: .*|job\S*:otel_aml\S*", "", text)))
    suffix = {"counter": "_total", "updowncounter": "", "gauge": ""}
    given = {
        f"{each.name}{'.seconds' if each.unit == 's' else ''}".replace(".", "_") + suffix[each.kind] for each in METRICS
    }
    labels = {name.replace(".", "_") for each in METRICS for name in each.attributes}
    of_gate = set(re.findall(r"^# TYPE (\S+)", gate_output.prometheus(GATE).decode(), re.MULTILINE))
    assert named - labels - given <= of_gate
    classes = {name for found in re.findall(r'failure_class!?[=~]+"([^"]+)"', text) for name in found.split("|")}
    assert classes <= {str(each) for each in FailureClass}
