"""Calibration, closure, leakage, crosswalk: each says what is open, and never more than it knows."""

import json

import pytest

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.demo.golden import GOLDEN, LEAKING, search
from otel_aml.demo.notes import NOTES
from otel_aml.errors import ConfigurationError, InputError
from otel_aml.evals.calibration import calibrate
from otel_aml.evals.closure import read_closure
from otel_aml.evals.crosswalk import MEETINGS, SOURCES, Scheme, class_of, names_of
from otel_aml.evals.leakage import leakage, named_retriever, recall


def lines(path, *found):
    path.write_text("".join(f"{json.dumps(each)}\n" for each in found), encoding="utf-8")
    return path


def label(person, word, **more):
    return {"case_id": "C-1", "label": person, "context_used": word, "judge": "m-1", "rubric": "r-1", **more}


def labels(tp, fp, fn, tn, **more):
    """Positive is a note that was not used."""
    kinds = ((False, False, tp), (True, False, fp), (False, True, fn), (True, True, tn))
    return [label(person, judge, **more) for person, judge, count in kinds for _ in range(count)]


class TestCalibration:
    @pytest.mark.parametrize(
        ("found", "shortfall"),
        [
            pytest.param(labels(25, 5, 5, 25), None, id="a good judge"),
            pytest.param(labels(20, 4, 4, 20), "48 held-out labels, at least 50", id="too few labels"),
            pytest.param(labels(6, 2, 4, 60), "TPR 0.60 (6 of 10)", id="misses failures, agreement .92"),
            pytest.param(labels(60, 4, 2, 6), "TNR 0.60 (6 of 10)", id="sees failures everywhere"),
            pytest.param(labels(0, 0, 0, 60), "TPR does not exist", id="never asked about a failure"),
        ],
    )
    def test_a_judge_must_find_failures_and_let_the_rest_pass(self, tmp_path, found, shortfall):
        """Agreement alone proves nothing where one word is rare."""
        calibration = calibrate(lines(tmp_path / "labels.jsonl", *found))
        assert calibration.passes is (shortfall is None)
        assert shortfall is None or any(each.startswith(shortfall) for each in calibration.shortfalls)

    def test_only_held_out_labels_count(self, tmp_path):
        """Those that helped to write the prompt say nothing about it; those nobody is sure of neither."""
        found = labels(25, 0, 0, 25) + labels(0, 40, 0, 0, split="train") + [label(None, True), label(True, None)]
        calibration = calibrate(lines(tmp_path / "labels.jsonl", *found))
        assert (calibration.passes, calibration.unclear, calibration.set_aside) == (True, 2, 40)

    def test_the_rate_of_the_rest_is_corrected(self, tmp_path):
        """By the words of the same judge only."""
        path = lines(tmp_path / "labels.jsonl", *labels(46, 6, 4, 44))
        words = [
            {"case_id": f"C-{each}", "context_used": each >= 20, "judge": "m-1", "rubric": "r-1"} for each in range(100)
        ]
        calibration = calibrate(path, lines(tmp_path / "judged.jsonl", *words))
        assert calibration.corrected.value == pytest.approx(0.1)
        words[3]["rubric"] = "r-2"
        with pytest.raises(InputError, match="another judge or rubric"):
            calibrate(path, lines(tmp_path / "judged.jsonl", *words))

    @pytest.mark.parametrize(
        ("found", "said"),
        [
            pytest.param([], "no labels", id="empty"),
            pytest.param([label(True, True), label(True, True, judge="m-2")], "lines of 2 judges", id="two models"),
            pytest.param([{"label": True, "context_used": True}], "line 1", id="no judge"),
            pytest.param([label("yes", True)], "line 1", id="a word for a flag"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path, found, said):
        """With the line."""
        with pytest.raises(InputError, match=said):
            calibrate(lines(tmp_path / "labels.jsonl", *found))

    def test_the_command(self, run_cli, tmp_path):
        """0 where it passes, 1 where not; what it writes is JSON without what does not exist."""
        lines(tmp_path / "labels.jsonl", *labels(25, 5, 5, 25))
        code, out, err = run_cli("judge", "calibrate", "labels.jsonl", "--out", "calibration.json")
        assert (code, "tpr         0.83 (0.66 to 0.93), 25 of 30" in out, "may gate" in err) == (0, True, True)
        assert json.loads((tmp_path / "calibration.json").read_text(encoding="utf-8"))["passes"] is True
        lines(tmp_path / "labels.jsonl", *labels(0, 0, 0, 60))
        code, out, err = run_cli("judge", "calibrate", "labels.jsonl", "--json")
        assert (code, json.loads(out)["tpr"]["value"]) == (1, None)
        assert "judge not calibrated, offline reference only" in err


METRICS = "".join(f'[metrics."m{place}"]\ncloses = ["{each}"]\n' for place, each in enumerate(FAILURES))


class TestClosure:
    def test_both_directions_are_closed(self, run_cli, tmp_path):
        """A metric for each class, a class for each metric."""
        (tmp_path / "metrics.toml").write_text(METRICS, encoding="utf-8")
        assert read_closure(tmp_path / "metrics.toml").is_closed
        assert run_cli("closure", "metrics.toml")[0] == 0

    def test_what_is_open_is_named(self, run_cli, tmp_path):
        """And for the two that are usually lacking, that they are."""
        text = '[metrics."citation traceability"]\ncloses = ["hallucination"]\n[metrics.speed]\ncloses = []\n'
        (tmp_path / "metrics.toml").write_text(text, encoding="utf-8")
        code, _, err = run_cli("closure", "metrics.toml")
        assert code == 1
        assert "metric 'speed' closes no class" in err
        assert "no metric closes retrieval_miss; one that does: recall@k on paraphrased queries; lists" in err
        assert "no metric closes tool_failure; one that does: tool success rate\n" in err

    @pytest.mark.parametrize(
        "text", ['[metrics.a]\ncloses = ["halucination"]\n', "[metrics.a]\nclose = []\n", "[metrics\n", "a = 1\n"]
    )
    def test_what_is_wrong_is_said(self, tmp_path, text):
        """A class that is misspelt is no class."""
        (tmp_path / "metrics.toml").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"metrics\.toml"):
            read_closure(tmp_path / "metrics.toml")


class TestLeakage:
    @pytest.mark.parametrize(
        ("query", "doc_id", "title", "leaks"),
        [
            pytest.param("is this structuring?", "typ-structuring", "Structuring", True, id="the slug"),
            pytest.param("was it STRUCTURED by teller", "typ-structuring", "Structuring", True, id="inflected"),
            pytest.param("rules for shop's takings", "ord-1", "Takings of a shop", False, id="in another order"),
            pytest.param("the takings of a shop", "ord-1", "Takings of a shop", True, id="the title"),
            pytest.param("a fan-in of payments", "typ-fan-in", "Fan-in", True, id="two words"),
            pytest.param("a fan sent payments in", "typ-fan-in", "Fan-in", False, id="the words apart"),
            pytest.param("what typ of case is it", "typ-cycle", "Cycle", False, id="only the kind"),
        ],
    )
    def test_a_query_leaks_where_it_contains_slug_or_title(self, tmp_path, query, doc_id, title, leaks):
        """After folding case, punctuation and simple inflection."""
        others = [{"query": "x", "doc_ids": [each]} for each in ("typ-other", "typ-third")]
        golden = lines(tmp_path / "g.jsonl", {"query": query, "doc_ids": [doc_id], "titles": {doc_id: title}}, *others)
        assert bool(leakage(golden).leaking) is leaks

    def test_recall_and_hits_are_of_the_first_k(self, tmp_path):
        """With and without what leaks; where nothing was retrieved there is no figure."""
        golden = lines(
            tmp_path / "g.jsonl",
            {"query": "a b", "doc_ids": ["n-one", "m-two"], "retrieved": ["x", "n-one", "m-two"]},
            {"query": "about one", "doc_ids": ["one"], "retrieved": ["ONE"]},
            {"query": "c", "doc_ids": ["k-four"]},
        )
        found = leakage(golden, top_k=2)
        assert (recall(found.queries).recall.count, recall(found.queries).recall.of) == (2, 3)
        assert recall(found.clean).hits.plain()["value"] == 1.0
        assert recall(found.clean).recall.value == 0.5
        assert recall(()).recall.value is None

    def test_the_golden_queries_of_the_demo_do_not_leak_and_their_twins_do(self):
        """Three or more a note; the twin's recall is higher, and proves nothing."""
        clean = leakage(GOLDEN, retriever=search, top_k=1)
        twin = leakage(LEAKING, retriever=search, top_k=1)
        assert (len(clean.leaking), len(twin.clean)) == (0, 0)
        asked = [
            doc_id for line in GOLDEN.read_text(encoding="utf-8").splitlines() for doc_id in json.loads(line)["doc_ids"]
        ]
        assert min(asked.count(note.note_id) for note in NOTES) >= 3
        assert recall(twin.queries).recall.value > recall(clean.queries).recall.value

    def test_the_command(self, run_cli, tmp_path):
        """1 where a query leaks; a retriever is called by its name."""
        code, out, _ = run_cli("leakage", str(GOLDEN), "--retriever", "otel_aml.demo.golden:search")
        assert (code, "without leaking  66 queries" in out) == (0, True)
        code, out, err = run_cli("leakage", str(LEAKING), "--retriever", "otel_aml.demo.golden:search", "--json")
        assert (code, len(json.loads(out)["leaking"])) == (1, 66)
        assert "structure, not retrieval" in err
        (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
        assert run_cli("leakage", "empty.jsonl")[0] == 2

    @pytest.mark.parametrize("name", ["nowhere_at_all:f", "json:nothing", "json:__name__", "json", ""])
    def test_a_retriever_that_is_none_is_refused(self, name):
        """In one sentence."""
        with pytest.raises(ConfigurationError):
            named_retriever(name)


class TestCrosswalk:
    @pytest.mark.parametrize(
        ("name", "failure_class"),
        [
            ("Poor Information Retrieval", FailureClass.RETRIEVAL_MISS),
            ("rate-limiting", FailureClass.TOOL_FAILURE),
            ("1.4", FailureClass.CONTEXT_POLLUTION),
            ("FM-3.3", FailureClass.TYPOLOGY_MISJUDGE),
            ("invalid invocation", FailureClass.FORMAT_VIOLATION),
            ("Goal Deviation", None),
        ],
    )
    def test_a_name_of_others_has_one_class_or_lies_outside(self, name, failure_class):
        """Whatever its case and punctuation."""
        assert {each.failure_class for each in class_of(name)} == {failure_class}

    def test_what_is_unknown_stays_unknown(self, run_cli):
        """No nearest guess; 1 says so."""
        assert class_of("Rate") == class_of("") == class_of("!!") == ()
        assert names_of(FailureClass.PASS) == ()
        code, out, err = run_cli("crosswalk", "quantum failure")
        assert (code, out, "is unknown" in err) == (1, "", True)

    def test_both_ways_agree(self):
        """Each name leads back to where it came from, and each taxonomy has its source."""
        assert set(SOURCES) == set(Scheme)
        for each in MEETINGS:
            assert each in class_of(each.name, each.scheme)
        for failure_class in FAILURES:
            assert all(each.failure_class is failure_class for each in names_of(failure_class))
        assert len({(each.scheme, each.name) for each in MEETINGS}) == len(MEETINGS)

    def test_mast_has_fourteen_modes_and_agent_rx_ten(self):
        """As published."""
        counts = {scheme: sum(each.scheme is scheme for each in MEETINGS) for scheme in Scheme}
        assert (counts[Scheme.MAST], counts[Scheme.AGENT_RX]) == (14, 10)

    def test_the_command(self, run_cli):
        """A class, a name, all."""
        code, out, _ = run_cli("crosswalk", "hallucination", "--json")
        assert (code, {each["scheme"] for each in json.loads(out)}) == (0, set(map(str, Scheme)))
        assert "(weak)" in run_cli("crosswalk")[1]
