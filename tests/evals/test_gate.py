"""The gate: what stops a merge, what does not, and what was not decided has never passed."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from exports import case, failed, good, line, span, trace_id, write
from prometheus_client.parser import text_string_to_metric_families

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.errors import ConfigurationError, InputError, NothingUnderstood
from otel_aml.evals import gate_output
from otel_aml.evals.agreement import Proportion
from otel_aml.evals.calibration import CalibrationFile
from otel_aml.evals.gate import UNCALIBRATED, Kind, Status, decide, fisher_upper, holm, saved_counts
from otel_aml.evals.gating import gate
from otel_aml.evals.limits import GateConfig, read_config
from otel_aml.evals.measures import ClassTally, Measures, Sighting

T, H, P = FailureClass.TOOL_FAILURE, FailureClass.HALLUCINATION, FailureClass.CONTEXT_POLLUTION


def config(floors=None, **more):
    return GateConfig.model_validate({"min_runs": 1, "floors": floors or {}, **more})


def seen(runs=100, **counts):
    """Measures with (fired, decided) for some classes; the rest is unchecked."""
    measures = Measures(runs=runs)
    for name, (fired, decided) in counts.items():
        tally = ClassTally(fired, decided, judged=decided, runs=[Sighting("ab" * 16, "cd" * 8, "C-1")] * min(fired, 1))
        measures.classes[FailureClass(name)] = tally
    return measures


def counts(**given):
    return {each: Proportion(*given.get(str(each), (0, 0))) for each in FAILURES}


def status(decision):
    (row,) = decision.rows
    return row.status


class TestLimits:
    @pytest.mark.parametrize(
        ("limit", "fired", "expected"),
        [
            pytest.param(0, 0, Status.PASSED, id="none, and none is allowed"),
            pytest.param(0, 1, Status.STOPPED, id="one too many"),
            pytest.param(3, 3, Status.PASSED, id="as many as allowed"),
            pytest.param("5%", 5, Status.PASSED, id="exactly the rate"),
            pytest.param("5%", 6, Status.STOPPED, id="above the rate"),
            pytest.param(0.05, 6, Status.STOPPED, id="a rate as a number"),
            pytest.param("0%", 1, Status.STOPPED, id="a rate of nothing"),
        ],
    )
    def test_a_class_is_held_to_its_limit(self, limit, fired, expected):
        """A whole number counts runs, anything else is a share of the decided."""
        assert status(decide(seen(tool_failure=(fired, 100)), config(tool_failure=limit))) is expected

    @pytest.mark.parametrize(
        ("bound", "fired", "expected"),
        [
            pytest.param("lenient", 8, Status.PASSED, id="8 of 100 may be a rate of 5 %"),
            pytest.param("lenient", 12, Status.STOPPED, id="12 of 100 hardly is"),
            pytest.param("strict", 4, Status.STOPPED, id="4 of 100 do not show 5 %"),
            pytest.param("strict", 0, Status.PASSED, id="0 of 100 do"),
        ],
    )
    def test_a_rate_can_be_held_by_its_interval(self, bound, fired, expected):
        """Either the failure or the success must be shown."""
        measures = seen(tool_failure=(fired, 100))
        assert status(decide(measures, config(tool_failure="5%", bound=bound))) is expected

    def test_a_class_that_was_not_decided_has_not_passed(self):
        """No run shows that nothing was invented."""
        (row,) = decide(seen(), config(hallucination=0)).rows
        assert (row.status, row.stops) == (Status.UNCHECKED, True)
        assert row.reason == "0 decided of 100 runs, at least 1 are needed"

    def test_too_few_runs_have_not_passed(self):
        """Also where none of them failed; where one did, that is said too."""
        few = config(hallucination=0, min_runs=50)
        assert status(decide(seen(hallucination=(0, 49)), few)) is Status.UNCHECKED
        (row,) = decide(seen(hallucination=(1, 49)), few).rows
        assert row.stops
        assert "1 of 49 runs" in row.reason
        assert status(decide(seen(hallucination=(0, 50)), few)) is Status.PASSED

    def test_a_share_of_the_runs_can_be_asked_for(self):
        """Sixty decided runs of a thousand say little about the rest."""
        measures = seen(runs=1_000, hallucination=(0, 60))
        assert status(decide(measures, config(hallucination=0, min_decided="50%"))) is Status.UNCHECKED

    def test_what_stops_names_its_runs(self):
        """So that somebody can look."""
        (row,) = decide(seen(hallucination=(1, 100)), config(hallucination=0)).rows
        assert [run.trace_id for run in row.runs] == ["ab" * 16]


class TestFloors:
    @pytest.mark.parametrize(
        ("metric", "failure_class"),
        [
            ("citation_traceability", "hallucination"),
            ("format_compliance", "format_violation"),
            ("tool_success", "tool_failure"),
        ],
    )
    def test_a_metric_of_a_class_is_what_did_not_fire(self, metric, failure_class):
        """100 % means none."""
        floor = config({metric: "100%"})
        assert status(decide(seen(**{failure_class: (1, 100)}), floor)) is Status.STOPPED
        assert status(decide(seen(**{failure_class: (0, 100)}), floor)) is Status.PASSED
        assert status(decide(seen(), floor)) is Status.UNCHECKED

    def test_recall_is_of_needed_notes(self):
        """Not of runs."""
        measures = seen(retrieval_miss=(2, 10))
        measures.needed_notes, measures.found_notes = 20, 17
        assert status(decide(measures, config({"recall_at_k": 0.85}))) is Status.PASSED
        assert status(decide(measures, config({"recall_at_k": 0.86}))) is Status.STOPPED

    @pytest.mark.parametrize(
        ("metric", "figure"),
        [
            ("typology_recall", Proportion(8, 12)),
            ("typology_precision", Proportion(8, 13)),
            ("typology_false_positive_rate", Proportion(3, 10)),
        ],
    )
    def test_typologies_are_held_against_the_labels(self, metric, figure):
        """Twelve cases with something to find, ten without."""
        measures = seen()
        measures.typologies.pairs.update(
            {
                ("cycle", "cycle"): 8,
                ("cycle", "fan_in"): 2,
                ("cycle", "none"): 2,
                ("none", "none"): 7,
                ("none", "fan_in"): 3,
            }
        )
        (row,) = decide(measures, config({metric: "50%"})).rows
        assert row.seen == figure
        assert row.status is (Status.PASSED if "rate" in metric or figure.value >= 0.5 else Status.STOPPED)
        rows = {each.typology: each for each in measures.typologies.rows()}
        assert rows["cycle"].recall == Proportion(8, 12)
        assert rows["fan_in"].false_positives == Proportion(5, 22)
        assert rows["fan_in"].precision == Proportion(0, 5)
        assert rows["fan_in"].recall.value is None

    def test_the_false_positive_rate_is_a_ceiling(self):
        """The one that is better when it is lower."""
        measures = seen()
        measures.typologies.pairs.update({("none", "none"): 7, ("none", "fan_in"): 3})
        assert status(decide(measures, config({"typology_false_positive_rate": "30%"}))) is Status.PASSED
        assert status(decide(measures, config({"typology_false_positive_rate": "29%"}))) is Status.STOPPED


class TestJudge:
    def test_a_judge_without_calibration_decides_nothing(self):
        """It is shown, for reference."""
        decision = decide(seen(context_pollution=(50, 100)), config(context_pollution=0))
        assert (status(decision), decision.passed) == (Status.REFERENCE, True)
        assert decision.rows[0].reason.startswith(UNCALIBRATED)

    def test_a_calibrated_judge_gates(self):
        """By the same limits as the others."""
        measures = seen(context_pollution=(50, 100))
        assert status(decide(measures, config(context_pollution=0), calibrated=True)) is Status.STOPPED
        assert status(decide(measures, config(context_pollution=50), calibrated=True)) is Status.PASSED

    @pytest.mark.parametrize(
        ("limits", "judged", "calibrated", "expected"),
        [
            pytest.param({"context_pollution": 0}, 0, False, False, id="a limit that only a judge can keep"),
            pytest.param({"hallucination": 0}, 100, False, False, id="words that were counted"),
            pytest.param({"context_pollution": 0}, 100, True, True, id="calibrated"),
            pytest.param({"hallucination": 0}, 0, False, None, id="no judge is asked"),
        ],
    )
    def test_it_is_told_whether_its_judge_is_calibrated(self, limits, judged, calibrated, expected):
        """In JSON, and as a gauge that an alert waits for; without a judge there is none."""
        measures = seen(context_pollution=(0, judged), hallucination=(0, 100))
        decision = decide(measures, config(**limits), calibrated=calibrated)
        assert decision.plain()["gate"]["judge_calibrated"] is expected
        gauges = {
            sample.name: sample.value
            for family in text_string_to_metric_families(gate_output.prometheus(decision).decode())
            for sample in family.samples
        }
        assert gauges["otel_aml_gate_passed"] == decision.passed
        assert gauges["otel_aml_gate_runs"] == 100
        assert gauges.get("otel_aml_judge_calibrated") == expected


class TestBaseline:
    BEFORE = counts(tool_failure=(10, 500), hallucination=(0, 500))

    @pytest.mark.parametrize(
        ("now", "expected"),
        [
            pytest.param((20, 200), Status.STOPPED, id="five times as many"),
            pytest.param((6, 200), Status.PASSED, id="one in a hundred more is no more than the threshold"),
            pytest.param((3, 40), Status.PASSED, id="more, and chance explains it"),
            pytest.param((0, 200), Status.PASSED, id="better"),
        ],
    )
    def test_worse_is_beyond_threshold_and_chance(self, now, expected):
        """Both."""
        decision = decide(seen(tool_failure=now), config(baseline="x"), baselines=[self.BEFORE])
        rows = {row.name: row for row in decision.rows}
        assert rows["tool_failure"].status is expected

    def test_what_was_decided_before_and_is_not_now_has_not_passed(self):
        """Labels that got lost hide a regression."""
        decision = decide(seen(tool_failure=(4, 200)), config(baseline="x"), baselines=[self.BEFORE])
        assert [row.name for row in decision.stopping] == ["hallucination"]
        assert decision.stopping[0].status is Status.UNCHECKED

    def test_what_was_never_decided_gets_no_row(self):
        """Nothing can be compared."""
        decision = decide(seen(tool_failure=(4, 200)), config(baseline="x"), baselines=[self.BEFORE])
        assert {row.name for row in decision.rows} == {"tool_failure", "hallucination"}

    def test_three_baselines_make_a_band(self):
        """Rates that swing by themselves stop nobody."""
        swinging = [counts(tool_failure=(each, 200)) for each in (4, 30, 12)]
        steady = [counts(tool_failure=(each, 200)) for each in (15, 15, 16)]
        measures = seen(tool_failure=(36, 200))
        assert status(decide(measures, config(baseline=["x"] * 3), baselines=swinging)) is Status.PASSED
        assert status(decide(measures, config(baseline=["x"] * 3), baselines=steady)) is Status.STOPPED

    def test_fisher_and_holm(self):
        """scipy 1.17.1: fisher_exact([[8, 2], [1, 5]], alternative="greater") gives 0.0244755."""
        assert fisher_upper(Proportion(8, 10), Proportion(1, 6)) == pytest.approx(0.024475524475524476)
        assert fisher_upper(Proportion(0, 10), Proportion(3, 10)) == pytest.approx(1.0)
        assert holm({T: 0.01, H: 0.04, P: 0.03}) == pytest.approx({T: 0.03, P: 0.06, H: 0.06})


class TestConfig:
    def test_limits_floors_and_paths_are_read(self, tmp_path):
        """Paths are taken from the folder of the file."""
        path = tmp_path / "gate.toml"
        path.write_text(
            '[gate]\nhallucination = 0\ntool_failure = "5%"\nbaseline = "main.json"\ngold = "gold.jsonl"\n'
            'bound = "lenient"\n[gate.floors]\nrecall_at_k = 0.9\n',
            encoding="utf-8",
        )
        found = read_config(path)
        assert {str(name): str(limit) for name, limit in found.limits.items()} == {
            "hallucination": "0",
            "tool_failure": "0.05",
        }
        assert found.baseline == (str(tmp_path / "main.json"),)
        assert found.gold == str(tmp_path / "gold.jsonl")
        assert read_config(path, replaced={"gold": "other"}).gold == "other"

    def test_pyproject_is_read_where_no_file_is_given(self, tmp_path):
        """`[tool.otel_aml.gate]`."""
        (tmp_path / "pyproject.toml").write_text("[tool.otel_aml.gate]\nhallucination = 0\n", encoding="utf-8")
        assert read_config(None, folder=tmp_path).limits[H].count == 0

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            pytest.param("[gate]\n", "nothing could stop a merge", id="nothing is set"),
            pytest.param("[other]\n", "has no table [gate]", id="no table"),
            pytest.param("gate = 3\n", "has no table [gate]", id="no table but a number"),
            pytest.param("[gate]\nhalucination = 0\n", "unknown setting 'halucination'", id="misspelt"),
            pytest.param('[gate]\nhallucination = "a few"\n', "is no share", id="words"),
            pytest.param('[gate]\nhallucination = "500%"\n', "is no share", id="more than all"),
            pytest.param("[gate]\nhallucination = -1\n", "no number of runs", id="negative"),
            pytest.param("[gate]\nhallucination = true\n", "is no share", id="a flag"),
            pytest.param("[gate.floors]\nrecal = 0.9\n", "unknown floor 'recal'", id="a floor misspelt"),
            pytest.param("[gate]\nfloors = 3\n", "a table of metrics", id="floors are no table"),
            pytest.param("[gate]\nbaseline = 3\n", "a path, or a list", id="a baseline that is no path"),
            pytest.param('[gate]\nhallucination = 0\nbound = "soft"\n', "unknown bound 'soft'", id="no such bound"),
            pytest.param("[gate]\nhallucination = 0\nmin_runs = 0\n", "min_runs", id="no runs at all"),
            pytest.param("[gate\n", "is no TOML", id="torn"),
        ],
    )
    def test_what_is_wrong_is_said_in_one_sentence(self, tmp_path, text, said):
        """A limit that is not understood is no limit."""
        (tmp_path / "gate.toml").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=said.replace("[", r"\[").replace("]", r"\]")) as caught:
            read_config(tmp_path / "gate.toml")
        assert "\n" not in str(caught.value)

    def test_a_missing_file_is_said(self, tmp_path):
        """With what to do."""
        with pytest.raises(ConfigurationError, match="does not exist"):
            read_config(tmp_path / "gate.toml")
        with pytest.raises(ConfigurationError, match="give --config"):
            read_config(None, folder=tmp_path)


class TestFiles:
    def test_a_file_with_a_failure_stops(self, tmp_path):
        """End to end, from lines."""
        traces = write(tmp_path / "traces.jsonl", line(*good(1)), line(*failed(2)))
        decision = gate([traces], config(tool_failure=0)).decision
        assert [(row.name, [run.trace_id for run in row.runs]) for row in decision.stopping] == [
            ("tool_failure", [trace_id(2)])
        ]
        assert gate([traces], config(tool_failure="50%")).decision.passed

    def test_what_holds_no_run_is_not_understood(self, tmp_path):
        """Nobody failed, and nobody passed."""
        traces = write(tmp_path / "traces.jsonl", line(span(1, 1, name="GET /")))
        with pytest.raises(NothingUnderstood):
            gate([traces], config(tool_failure=0))

    def test_an_earlier_answer_is_a_baseline(self, tmp_path):
        """A small file instead of the traces; traces do as well."""
        before = write(tmp_path / "before.jsonl", *(line(*good(each)) for each in range(1, 31)))
        now = write(tmp_path / "now.jsonl", *(line(*failed(each)) for each in range(1, 31)))
        saved = tmp_path / "main.json"
        saved.write_text(json.dumps(gate([before], config(tool_failure=0)).decision.plain()), encoding="utf-8")
        for baseline in (str(saved), before):
            decision = gate([now], config(baseline=baseline)).decision
            assert "tool_failure" in {row.name for row in decision.stopping if row.kind is Kind.BASELINE}
            assert gate([before], config(baseline=baseline)).decision.passed

    def test_an_answer_that_lacks_a_class_is_refused(self, tmp_path):
        """Another version's, or one that was changed."""
        path = tmp_path / "main.json"
        path.write_text('{"gate": {"counts": {"tool_failure": {"fired": 0, "decided": 1}}}}', encoding="utf-8")
        with pytest.raises(InputError, match="make it anew"):
            saved_counts(path)

    @pytest.mark.parametrize(
        ("judge", "rubric", "passes", "gates"),
        [
            pytest.param("m-1", "r-1", True, True, id="the one that passed"),
            pytest.param("m-2", "r-1", True, False, id="another model"),
            pytest.param("m-1", "r-2", True, False, id="another rubric"),
            pytest.param("m-1", "r-1", False, False, id="one that did not pass"),
        ],
    )
    def test_a_calibration_is_of_one_model_and_one_rubric(self, tmp_path, judge, rubric, passes, gates):
        """It expires when either changes."""
        (tmp_path / "gold.jsonl").write_text('{"case_id": "C-1", "doc_ids": ["n-1"]}\n', encoding="utf-8")
        (tmp_path / "judged.jsonl").write_text(
            json.dumps({"case_id": "C-1", "context_used": False, "judge": judge, "rubric": rubric}) + "\n",
            encoding="utf-8",
        )
        saved = CalibrationFile(judge="m-1", rubric="r-1", passes=passes)
        (tmp_path / "calibration.json").write_text(saved.model_dump_json(), encoding="utf-8")
        found = span(1, 2, 1, "search", "RETRIEVER", (1, 2), {"retrieval.documents.0.document.id": "n-1"})
        traces = write(tmp_path / "traces.jsonl", line(found, span(1, 1, role="AGENT", attributes=case(1))))
        settings = config(
            context_pollution=0,
            gold=str(tmp_path / "gold.jsonl"),
            judge=str(tmp_path / "judged.jsonl"),
            calibration=str(tmp_path / "calibration.json"),
        )
        assert status(gate([traces], settings).decision) is (Status.STOPPED if gates else Status.REFERENCE)


class TestOutput:
    MEASURES = seen(tool_failure=(9, 100), hallucination=(0, 100), context_pollution=(1, 100))
    DECISION = decide(MEASURES, config(tool_failure="5%", hallucination=0, context_pollution=0))

    def test_junit_has_a_case_a_row(self):
        """As every CI server reads it."""
        suite = ET.fromstring(gate_output.junit(self.DECISION)).find("testsuite")
        assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
            "tests": "3",
            "failures": "1",
            "skipped": "1",
        }
        failure = suite.find("testcase[@name='tool_failure']/failure")
        assert "ab" * 16 in failure.text
        assert suite.find("testcase[@name='hallucination']/failure") is None

    def test_annotations_are_one_line_each(self):
        """A line break or a percent sign would end the command."""
        first, second = gate_output.workflow_commands(self.DECISION)
        assert first.startswith("::error title=otel-aml gate%3A tool_failure (limit)::9 %25 (9 of 100 runs)")
        assert second.startswith("::notice ")
        assert UNCALIBRATED in second
        assert "\n" not in first + second

    def test_what_a_case_is_called_forges_nothing(self):
        """Neither a command, nor a row, nor an element."""
        measures = seen(hallucination=(1, 1))
        measures.classes[H].runs = [Sighting("ab" * 16, "cd" * 8, "x\n::error::y|<b>\x00&]]>")]
        decision = decide(measures, config(hallucination=0))
        (only,) = gate_output.workflow_commands(decision)
        assert "\n" not in only
        assert ET.fromstring(gate_output.junit(decision)) is not None
        assert "\\|&lt;b>" in gate_output.markdown(decision)

    def test_the_summary_names_what_stops(self):
        """And the runs."""
        found = gate_output.markdown(self.DECISION)
        assert "### otel-aml gate: stopped" in found
        assert f"- {'ab' * 16} (case C-1)" in found

    def test_each_typology_stands_beside_its_labels(self):
        """In JSON and in the summary, whatever it is called."""
        measures = seen(typology_misjudge=(1, 3))
        measures.typologies.pairs.update({("cycle", "cycle"): 2, ("none", "a|<b>"): 1})
        decision = decide(measures, config(typology_misjudge=3))
        rows = {each["typology"]: each for each in decision.plain()["typologies"]}
        assert set(rows) == {"cycle", "none", "a|<b>"}
        assert rows["cycle"]["recall"]["value"] == 1.0
        assert rows["a|<b>"]["false_positive_rate"]["count"] == 1
        assert "| a\\|&lt;b> | 0.0% (0/1; 0.0% to 79.3%) | - (0/0) |" in gate_output.markdown(decision)

    def test_json_has_no_number_that_does_not_exist(self):
        """0/0 is null."""
        (row,) = json.loads(json.dumps(decide(seen(), config(hallucination=0)).plain(), allow_nan=False))["rows"]
        assert row["seen"] == {"value": None, "count": 0, "of": 0, "interval": None}


PLUGIN_TEST = """
from pathlib import Path

def test_the_agent_runs():
    Path("out.jsonl").write_text(Path({traces!r}).read_text())
"""


class TestPytest:
    @pytest.fixture
    def run(self, tmp_path):
        """Run pytest on a test that exports runs."""
        root = Path(__file__).parent.parent.parent

        def session(traces, *words, config="[gate]\ntool_failure = 0\nmin_runs = 1\n"):
            (tmp_path / "test_agent.py").write_text(PLUGIN_TEST.format(traces=traces), encoding="utf-8")
            (tmp_path / "gate.toml").write_text(config, encoding="utf-8")
            (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
            code = (
                f"import sys; sys.path.insert(0, {str(root)!r}); import pytest; "
                "sys.exit(pytest.main(sys.argv[1:] + ['-p', 'pytest_otel_aml', '-p', 'no:cacheprovider']))"
            )
            done = subprocess.run(
                [sys.executable, "-c", code, "-q", *words], capture_output=True, text=True, check=False, cwd=tmp_path
            )
            return done.returncode, done.stdout

        return session

    ASKED = ("--otel-aml-gate", "--otel-aml-traces", "out.jsonl", "--otel-aml-config", "gate.toml")

    @pytest.mark.parametrize("words", [(), ("-n1",)])
    def test_a_session_whose_runs_fail_fails(self, run, tmp_path, words):
        """Though all of its tests pass; the runs are those that the tests export, in whatever process."""
        code, out = run(write(tmp_path / "made.jsonl", line(*failed(1))), *self.ASKED, *words)
        assert code == 1, out
        assert "1 passed" in out
        assert "the gate stops this: tool_failure" in out
        assert trace_id(1) in out

    @pytest.mark.slow
    def test_a_session_whose_runs_are_good_passes(self, run, tmp_path):
        """And says what was looked at."""
        code, out = run(write(tmp_path / "made.jsonl", line(*good(1))), *self.ASKED)
        assert code == 0, out
        assert "the gate passes: 1 run" in out

    @pytest.mark.slow
    def test_traces_that_are_not_there_have_not_passed(self, run, tmp_path):
        """A test that exported nothing is no proof."""
        traces = write(tmp_path / "made.jsonl", line(*good(1)))
        code, out = run(traces, "--otel-aml-gate", "--otel-aml-traces", "none.jsonl", "--otel-aml-config", "gate.toml")
        assert (code, "unchecked: " in out) == (1, True)
        code, out = run(traces, "--otel-aml-gate")
        assert (code, "no traces: give --otel-aml-traces" in out) == (1, True)

    def test_without_the_option_nothing_happens(self, run, tmp_path):
        """Nobody who just has the package installed is gated."""
        code, out = run(write(tmp_path / "made.jsonl", line(*failed(1))))
        assert (code, "otel-aml" in out) == (0, False)
