"""Metrics from the processor itself: what they count, that they stay few, and that collecting them harms nobody."""

import os
import re
import textwrap
import threading
from collections import Counter

import pytest
from hypothesis import given
from opentelemetry.sdk.metrics import Counter as SdkCounter
from opentelemetry.sdk.metrics import MeterProvider, ObservableCounter
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from otel_aml.core.facts import Facts
from otel_aml.core.taxonomy import FailureClass
from otel_aml.core.tree import classify
from otel_aml.errors import ConfigurationError
from otel_aml.live import metrics as module
from otel_aml.live import stamp
from otel_aml.live.case import case
from otel_aml.live.install import install
from otel_aml.live.metrics import (
    ATTRIBUTE_VALUES,
    DEPENDENCIES,
    METRICS,
    SERIES,
    Asked,
    observe_circuits,
    observe_takeovers,
)
from otel_aml.live.processor import FailureSpanProcessor
from otel_aml.live.tally import FINDINGS, RUN_KINDS, Tally
from otel_aml.recover.takeover import ApprovalTask, TakeoverQueue
from tests.live.agents import AGENT, call, run
from tests.live.test_install import python
from tests.strategies import run_facts

GOLD = {"aml.gold.typology": "structuring", "aml.case.evidence_ids": ["TXN-1", "TXN-2"]}


class Metered:
    """A meter provider in memory, and what it collects."""

    def __init__(self, **reader):
        self.reader = InMemoryMetricReader(**reader)
        self.provider = MeterProvider([self.reader], shutdown_on_exit=False)

    def install(self, provider):
        return install(provider, metrics=self.provider)

    def collect(self):
        """All points, by the metric's name, as pairs of attributes and value."""
        data = self.reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: [(dict(point.attributes), point.value) for point in metric.data.data_points]
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def by(self, name, *keys):
        """The values of one metric added up by some of its attributes."""
        total = Counter()
        for attributes, value in self.collect()[name]:
            total[tuple(attributes[key] for key in keys) if len(keys) != 1 else attributes[keys[0]]] += value
        return total

    def value(self, name):
        return self.by(name)[()]


@pytest.fixture
def metered():
    made = Metered()
    yield made
    made.provider.shutdown()


@pytest.fixture
def sources(monkeypatch):
    """The doors of other parts, empty again after the test."""
    monkeypatch.setattr(module, "_circuits", [])
    monkeypatch.setattr(module, "_takeovers", [])


@pytest.fixture
def both(make, metered, sources):
    """A processor and its meter; circuits of other tests are known to the process too, so its doors are emptied."""
    traced = make()
    metered.install(traced.provider)
    return traced, metered


def answered(traced, cited, typology="structuring"):
    """A run with an answer, its evidence and its label."""
    with traced.tracer.start_as_current_span("investigate", attributes=AGENT | GOLD) as span:
        call(traced.tracer)
        span.set_attribute("aml.answer.cited_ids", cited)
        span.set_attribute("aml.answer.typology", typology)


class TestWhatIsCounted:
    def test_all_that_can_occur_is_there_before_the_first_run(self, both):
        """A series that is born at one is invisible to `increase()`, and the page would not come."""
        _, metered = both
        points = metered.collect()
        assert metered.by("otel_aml.runs", "failure.class") == dict.fromkeys(map(str, FailureClass), 0)
        assert len(points["otel_aml.runs"]) == len(RUN_KINDS)
        assert len(points["otel_aml.findings"]) == len(FINDINGS)
        assert all(value == 0 for series in points.values() for _, value in series)
        assert set(points) == {metric.name for metric in METRICS} - {
            "otel_aml.recovery.circuits",
            "otel_aml.takeover.open",
            "otel_aml.takeover.oldest_age",
            "otel_aml.takeover.escalations",
        }

    @given(facts=run_facts())
    def test_no_verdict_is_outside_the_closed_set(self, facts):
        """Whatever a run says, its series was there from the start."""
        tally = Tally()
        tally.add(stamp.attributes(classify(facts)), facts)
        assert sum(tally.runs.values()) == 1
        assert sum(tally.odd_runs.values()) == 0

    def test_a_verdict_that_cannot_be_is_still_counted(self):
        """A fault of ours costs a label, never a run."""
        tally = Tally()
        impossible = {
            "failure.class": "pass",
            "failure.coverage": "full",
            "failure.severity": "critical",
            "recovery.path": "auto_retry",
            "recovery.outcome": "exhausted",
            "recovery.attempts": 1,
            "failure.findings": (),
        }
        tally.add(impossible, facts=Facts())
        assert {tuple(kind) for kind, count in tally.odd_runs.items() if count} == {("pass", *["other"] * 4)}

    def test_a_run_is_counted_as_its_span_says(self, both):
        """One source: the verdict on the span and the metric agree on every label."""
        traced, metered = both
        run(traced.tracer, TimeoutError("x"))
        run(traced.tracer, ValueError("x"))
        run(traced.tracer)
        answered(traced, ["TXN-9"])
        keys = ("failure.class", "failure.coverage", "failure.severity", "recovery.path", "recovery.outcome")
        on_spans = Counter(
            tuple(span.attributes.get(key, "none") for key in keys)
            for span in traced.spans()
            if span.attributes.get("failure.verdict")
        )
        assert {kind: count for kind, count in metered.by("otel_aml.runs", *keys).items() if count} == on_spans
        assert on_spans.total() == 4

    def test_a_hallucination_behind_a_tool_failure_is_counted(self, both):
        """The run is named for the tool; the invented citation must page all the same."""
        traced, metered = both
        with traced.tracer.start_as_current_span("investigate", attributes=AGENT | GOLD) as span:
            call(traced.tracer, TimeoutError("x"))
            span.set_attribute("aml.answer.cited_ids", ["TXN-9"])
        assert traced.verdict()["failure.class"] == "tool_failure"
        found = metered.by("otel_aml.findings", "failure.class", "failure.severity", "otel_aml.finding.state")
        assert {key for key, count in found.items() if count} == {
            ("tool_failure", "high", "standing"),
            ("hallucination", "critical", "standing"),
        }
        assert metered.by("otel_aml.runs", "failure.severity")["critical"] == 1

    def test_what_was_made_good_is_a_finding_of_its_own(self, both):
        traced, metered = both
        with traced.tracer.start_as_current_span("investigate", attributes=AGENT):
            call(traced.tracer, TimeoutError("x"))
            call(traced.tracer)
        found = metered.by("otel_aml.findings", "failure.class", "otel_aml.finding.state")
        assert +found == {("tool_failure", "recovered"): 1}
        assert +metered.by("otel_aml.recovery.attempts", "recovery.outcome") == {"recovered": 1}

    def test_citations_by_whether_the_case_holds_them(self, both):
        traced, metered = both
        answered(traced, ["TXN-1", "TXN-2", "TXN-9"])
        answered(traced, ["TXN-1"])
        assert metered.by("otel_aml.citations", "otel_aml.citation.resolved") == {True: 3, False: 1}

    def test_labels_that_are_known_live(self, both):
        traced, metered = both
        answered(traced, ["TXN-1"])
        answered(traced, ["TXN-1"], typology="layering")
        answered(traced, ["TXN-1"], typology="none")
        assert metered.by("otel_aml.evaluation.labels", "otel_aml.label.outcome") == {"tp": 1, "fp": 1, "fn": 2}

    def test_the_processors_own_health(self, both):
        traced, metered = both
        root = traced.tracer.start_span("investigate", attributes=AGENT)
        assert metered.value("otel_aml.processor.open") == 1
        run(traced.tracer)
        traced.provider.shutdown()
        root.end()
        stats = metered.install(traced.provider).stats()
        assert metered.value("otel_aml.processor.spans") == stats["spans_seen"] == 3
        assert metered.value("otel_aml.processor.late") == stats["spans_late"] == 1
        assert metered.by("otel_aml.processor.dropped", "otel_aml.drop.reason") == stats["runs_dropped"]
        assert stats["runs_dropped"]["shutdown"] == 1
        assert metered.value("otel_aml.processor.open") == 0
        assert metered.value("otel_aml.processor.faults") == metered.value("otel_aml.processor.unstamped") == 0

    def test_counts_are_exact_from_many_threads(self, both):
        traced, metered = both

        def work():
            for _ in range(100):
                run(traced.tracer, TimeoutError("x"))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert metered.by("otel_aml.runs", "failure.class")["tool_failure"] == 800

    def test_delta_temporality(self, make):
        """Some backends want what came since the last time."""
        metered = Metered(
            preferred_temporality={
                ObservableCounter: AggregationTemporality.DELTA,
                SdkCounter: AggregationTemporality.DELTA,
            }
        )
        traced = make()
        metered.install(traced.provider)
        for times in (2, 1, 0):
            for _ in range(times):
                run(traced.tracer)
            assert metered.by("otel_aml.runs", "failure.class")["pass"] == times
        metered.provider.shutdown()


class TestFewSeries:
    @pytest.mark.slow
    def test_no_text_and_no_name_becomes_a_label(self, both):
        """2,000 runs, each with a tool, a message and a case of its own: the series are those of the start."""
        traced, metered = both
        before = {name: len(series) for name, series in metered.collect().items()}
        for number in range(2_000):
            with traced.tracer.start_as_current_span(f"run {number}", attributes=AGENT | {"aml.case.id": str(number)}):
                call(traced.tracer, ValueError(f"customer {number} not found"), name=f"tool_{number}")
        points = metered.collect()
        for attributes, _ in (point for series in points.values() for point in series):
            assert all(str(value).lower() in ATTRIBUTE_VALUES[name] for name, value in attributes.items())
        assert {name: len(series) for name, series in points.items()} == before
        assert sum(before.values()) <= 200
        values = {str(value) for series in points.values() for attributes, _ in series for value in attributes.values()}
        assert not [value for value in values if re.search(r"customer|not found|tool_\d|run \d", value)]
        assert metered.by("otel_aml.runs", "failure.class")["tool_failure"] == 2_000

    def test_a_thousand_circuits_are_few_series(self, both, sources):
        """The first twenty have their own, the others are added up."""
        _, metered = both
        observe_circuits(lambda: {f"tool_{number}": "open" if number % 2 else "closed" for number in range(1_000)})
        observe_takeovers(lambda: {"open": 1, "oldest_age_seconds": 2.0, "escalations": 3})
        found = metered.by("otel_aml.recovery.circuits", "failure.dependency", "recovery.circuit_state")
        assert len(found) == 3 * (DEPENDENCIES + 1)
        assert found["tool_1", "open"] == 1
        assert found["tool_1", "closed"] == found["tool_1", "half_open"] == 0
        assert found["other", "open"] == found["other", "closed"] == (1_000 - DEPENDENCIES) / 2
        assert sum(map(len, metered.collect().values())) <= SERIES

    def test_units_and_descriptions(self):
        """As the semantic conventions for metrics want them: things that are counted stand in braces."""
        for metric in METRICS:
            assert metric.name.startswith("otel_aml.")
            assert re.fullmatch(r"\{[a-z]+\}|s", metric.unit)
            assert metric.description.endswith(".")
            assert len(metric.name) <= 63


class TestCollectingHarmsNobody:
    def test_it_waits_for_no_lock_of_the_agents(self, both):
        """The SDK holds its own lock while it collects; an agent that needs that one must not be waited for."""
        traced, metered = both
        run(traced.tracer)
        processor = metered.install(traced.provider)
        held, done, found = threading.Event(), threading.Event(), []

        def hold():
            with processor._registry._lock, processor.tally._lock:
                held.set()
                done.wait(20)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(5)
        collector = threading.Thread(target=lambda: found.append(metered.by("otel_aml.runs", "failure.class")["pass"]))
        collector.start()
        collector.join(10)
        done.set()
        holder.join()
        assert found == [1]

    def test_a_source_that_never_answers_costs_only_its_own(self, both, sources):
        """A queue behind a dead database: its series are missing, which an alert can see; the others are there."""
        _, metered = both
        release = threading.Event()
        observe_takeovers(lambda: release.wait(30) and {"open": 1})
        observe_circuits(lambda: {"rule_engine": "open"})
        points = metered.collect()
        release.set()
        assert "otel_aml.takeover.open" not in points
        assert "otel_aml.recovery.circuits" in points
        assert "otel_aml.runs" in points

    def test_the_queues_add_up(self, both, sources):
        """Tasks and escalations together, the age of the oldest of all; what a source does not tell is left out."""
        _, metered = both
        observe_takeovers(lambda: {"open": 3, "claimed": 1, "oldest_age_seconds": 740.5, "escalations": 1, "more": {}})
        observe_takeovers(lambda: {"open": 1, "oldest_age_seconds": 3.0})
        assert metered.value("otel_aml.takeover.open") == 4
        assert metered.value("otel_aml.takeover.oldest_age") == 740.5
        assert metered.value("otel_aml.takeover.escalations") == 1

    def test_a_real_queue_is_told_in_full(self, both, sources, tmp_path):
        """What `TakeoverQueue.stats` calls its numbers is what is read: a claimed task is open, once."""
        _, metered = both
        with TakeoverQueue(tmp_path / "takeover.db") as queue:
            for number in range(3):
                task = ApprovalTask(id=f"t-{number}", kind="error_review", failure_class="tool_failure", state={})
                queue.submit(task)
            queue.claim("ann")
            observe_takeovers(queue.stats)
            assert metered.value("otel_aml.takeover.open") == 3
            assert 0 < metered.value("otel_aml.takeover.oldest_age") < 3_600
            assert metered.value("otel_aml.takeover.escalations") == 0

    def test_a_slow_source_is_a_collection_late(self):
        """It is asked once at a time, and its answer is good for a while."""
        gate, asked = threading.Semaphore(0), []

        def source():
            asked.append(1)
            gate.acquire(timeout=20)
            return {"open": len(asked)}

        slow = Asked(source, wait_seconds=0.01)
        assert slow.answer() == {}
        assert slow.answer() == {}
        assert len(asked) == 1
        gate.release()
        slow._thread.join(10)
        assert slow.answer() == {"open": 1}
        gate.release()

    def test_an_old_answer_is_none(self):
        """A number of an hour ago, shown as now, would be worse than a gap."""
        answers = iter([{"open": 1}])
        source = Asked(lambda: next(answers), fresh_seconds=0.0)
        assert source.answer() == {}

    def test_a_source_that_fails_is_counted(self, both, sources, caplog):
        _, metered = both

        def broken():
            raise RuntimeError("a secret")

        observe_circuits(broken)
        assert "otel_aml.recovery.circuits" not in metered.collect()
        assert metered.value("otel_aml.processor.faults") >= 1
        assert "RuntimeError in a source of metrics" in caplog.text
        assert "a secret" not in caplog.text

    def test_a_fault_of_ours_costs_one_metric(self, both, monkeypatch):
        _, metered = both
        monkeypatch.setattr(module.Published, "dropped", lambda self: 1 / 0)
        points = metered.collect()
        assert "otel_aml.processor.dropped" not in points
        assert metered.value("otel_aml.processor.faults") >= 1

    def test_a_run_that_ends_in_the_middle_of_counting_another(self):
        """A signal handler, or the garbage collector, may end a run on the same thread at any moment."""
        tally, facts = Tally(), Facts()
        verdict = stamp.attributes(classify(facts))

        class Interrupted(dict):
            def get(self, key, default=None):
                if key == "aml.citations.cited":
                    tally.add(verdict, facts)
                return super().get(key, default)

        tally.add(Interrupted(verdict), facts)
        assert sum(tally.runs.values()) == 2

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_counts_on(self):
        """The lock may be held by a thread that the child does not have."""
        tally, facts = Tally(), Facts()
        held, done = threading.Event(), threading.Event()

        def hold():
            with tally._lock:
                held.set()
                done.wait(20)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(5)
        child = os.fork()
        if child == 0:
            tally.add(stamp.attributes(classify(facts)), facts)
            os._exit(sum(tally.runs.values()))
        _, status = os.waitpid(child, 0)
        done.set()
        holder.join()
        assert os.waitstatus_to_exitcode(status) == 1


class TestSwitchingOn:
    def test_off_by_default(self, make):
        """An agent pays nothing for what nobody asked for."""
        assert make().processor.tally is None

    def test_again_changes_nothing(self, make, metered):
        traced = make()
        first = metered.install(traced.provider)
        tally = first.tally
        assert metered.install(traced.provider) is first
        assert first.tally is tally
        run(traced.tracer)
        assert metered.by("otel_aml.runs", "failure.class")["pass"] == 1

    def test_two_tracer_providers_add_up(self, make, metered):
        """The SDK ignores a second set of the same instruments: there is one for all."""
        for traced in (make(), make()):
            metered.install(traced.provider)
            run(traced.tracer)
        assert metered.by("otel_aml.runs", "failure.class")["pass"] == 2
        assert metered.value("otel_aml.processor.spans") == 4

    @pytest.mark.parametrize("wrong", ["yes", 1, object()])
    def test_what_is_no_meter_provider_is_said(self, wrong):
        """And nothing is attached by halves."""
        provider = TracerProvider(shutdown_on_exit=False)
        with pytest.raises(ConfigurationError, match="give a meter provider, or True"):
            install(provider, metrics=wrong)
        assert not provider._active_span_processor._span_processors

    def test_the_global_meter_provider_may_come_later(self, tmp_path):
        """Set up in any order; and named twice, by True and by itself, it is one."""
        done = python(
            textwrap.dedent(
                """
                import otel_aml
                from opentelemetry import metrics
                from opentelemetry.sdk.metrics import MeterProvider
                from opentelemetry.sdk.metrics.export import InMemoryMetricReader
                from opentelemetry.sdk.trace import TracerProvider

                first, second, third = TracerProvider(), TracerProvider(), TracerProvider()
                otel_aml.install(first, metrics=True)
                reader = InMemoryMetricReader()
                metrics.set_meter_provider(MeterProvider([reader]))
                otel_aml.install(second, metrics=True)
                otel_aml.install(third, metrics=metrics.get_meter_provider())
                for each in (first, second, third):
                    with each.get_tracer("app").start_as_current_span("a", attributes={
                        "gen_ai.operation.name": "invoke_agent"
                    }):
                        pass
                found = {
                    metric.name: sum(point.value for point in metric.data.data_points)
                    for resource in reader.get_metrics_data().resource_metrics
                    for scope in resource.scope_metrics
                    for metric in scope.metrics
                }
                print("runs", found["otel_aml.runs"], "spans", found["otel_aml.processor.spans"])
                """
            ),
            folder=tmp_path,
        )
        assert "runs 3 spans 3" in done.stdout, done.stderr

    def test_as_prometheus_shows_them(self, make):
        """The names that rules and dashboards are written with."""
        exporter = pytest.importorskip("opentelemetry.exporter.prometheus", reason="the exporter is in the extra `dev`")
        client = pytest.importorskip("prometheus_client")
        reader = exporter.PrometheusMetricReader()
        provider = MeterProvider([reader], shutdown_on_exit=False)
        traced = make()
        install(traced.provider, metrics=provider)
        run(traced.tracer, TimeoutError("x"))
        try:
            text = client.generate_latest().decode()
        finally:
            provider.shutdown()
        families = set(re.findall(r"^# TYPE (otel_aml_\w+) ", text, re.MULTILINE))
        assert families >= {
            "otel_aml_runs_total",
            "otel_aml_findings_total",
            "otel_aml_citations_total",
            "otel_aml_evaluation_labels_total",
            "otel_aml_recovery_attempts_total",
            "otel_aml_processor_dropped_total",
            "otel_aml_processor_open",
        }
        (failed,) = re.findall(r"^otel_aml_runs_total\{(.*)\} 1\.0$", text, re.MULTILINE)
        assert (
            dict(re.findall(r'(\w+)="([^"]*)"', failed)).items()
            >= {
                "failure_class": "tool_failure",
                "failure_coverage": "partial",
                "failure_severity": "high",
                "recovery_path": "auto_retry",
                "recovery_outcome": "none",
            }.items()
        )


def test_a_case_is_counted_with_content_off(make, metered):
    """What the handle is told is exported as counts, in metrics too."""
    traced = make()
    metered.install(traced.provider)
    with case("C-17", evidence_ids=["TXN-1"], tracer_provider=traced.provider) as told:
        run(traced.tracer)
        told.answer('{"typology": "structuring", "cited_tx_ids": ["TXN-1", "TXN-8"], "narrative": "n"}')
    assert metered.by("otel_aml.citations", "otel_aml.citation.resolved") == {True: 1, False: 1}
    assert metered.by("otel_aml.runs", "failure.class")["hallucination"] == 1


def test_meter_providers_are_told_apart_by_their_identity(make):
    """One that a library wraps may be equal to another, and then it cannot be hashed."""

    class Wrapped(MeterProvider):
        def __eq__(self, other):
            return isinstance(other, Wrapped)

        __hash__ = None

    readers = [InMemoryMetricReader(), InMemoryMetricReader()]
    providers = [Wrapped(metric_readers=[reader], shutdown_on_exit=False) for reader in readers]
    before = len(module._published)
    for provider in providers:
        for _ in range(2):
            module.publish(FailureSpanProcessor(), provider)
    assert len(module._published) == before + 2
    assert all(reader.get_metrics_data() is not None for reader in readers)
    published = [module._published[id(provider)][1] for provider in providers]
    assert published[0] is not published[1]
    assert [len(each.processors) for each in published] == [2, 2]
