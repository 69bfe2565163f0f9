"""The demo's verdicts equal the truth of its generator, run by run, once labels and the judge's words are merged in."""

from collections import defaultdict

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_aml import conventions
from otel_aml.conventions import Declared
from otel_aml.conventions.aml import each_needed
from otel_aml.core.taxonomy import FAILURES
from otel_aml.core.tree import State, classify
from otel_aml.demo import CONTRACT, DEFAULT_CASES, DEFAULT_SEED, run_demo, truth
from otel_aml.spans.sdk import record

DECIDED_WITHOUT_CONTENT = {
    "tool_failure",
    "tool_failure:recovered",
    "format_violation",
    "hallucination",
    "retrieval_miss",
}


def demo_of(seed, cases, **options):
    """Run the demo; give its result and its spans by case id."""
    exporter = InMemorySpanExporter()
    result = run_demo(seed, cases, exporter=exporter, **options)
    by_trace = defaultdict(list)
    for span in exporter.get_finished_spans():
        by_trace[span.context.trace_id].append(span)
    return result, {root_of(spans).attributes["aml.case.id"]: spans for spans in by_trace.values()}


def root_of(spans):
    (root,) = [span for span in spans if span.attributes.get("failure.verdict")]
    return root


def merged(spans, gold, context_used):
    """Merge the online verdict with a replay that knows the labels: a check that was decided beats one that was not."""
    online = root_of(spans).attributes
    (run,) = conventions.runs([record(span) for span in spans])
    told = Declared(
        evidence_ids=frozenset(gold["evidence_ids"]),
        needed_notes=each_needed(gold.get("doc_ids")),
        gold_typology=gold["typology"],
        context_used=context_used,
    )
    readings = [conventions.read(span, CONTRACT) for span in run.spans]
    replay = classify(conventions.facts(readings, run.root_id, contract=CONTRACT, told=told))
    known = {*replay.findings, *online["failure.findings"]}
    findings = []
    for failure_class, answer in zip(FAILURES, replay.answers, strict=True):
        was_fired = failure_class in online["failure.findings"]
        if answer.state is State.FIRED or (answer.state is State.UNCHECKED and was_fired):
            findings.append(str(failure_class))
        findings += [note for note in (f"{failure_class}:recovered", f"{failure_class}:superseded") if note in known]
    standing = next((found for found in findings if ":" not in found), None)
    return standing or online["failure.class"], tuple(findings), online.get("failure.paused", False)


def disagreements(seed, cases):
    result, spans = demo_of(seed, cases)
    judged = {line["case_id"]: line["context_used"] for line in result.judged}
    for run in result.runs:
        case_id, expected = run.demo_case.case_id, truth(run.demo_case)
        found = merged(spans[case_id], run.gold, judged.get(case_id))
        if found != (expected.failure_class, expected.findings, expected.paused):
            yield case_id, run.demo_case.plan, found, expected


@pytest.mark.parametrize("seed", range(1_000, 1_050))
def test_verdicts_equal_the_truth_for_unseen_seeds(seed):
    """Fifty seeds that no one has looked at: not one run may be named wrongly."""
    assert list(disagreements(seed, 60)) == []


def test_verdicts_equal_the_truth_in_the_default_demo():
    """What `otel-aml demo` shows is right."""
    assert list(disagreements(DEFAULT_SEED, DEFAULT_CASES)) == []


@pytest.mark.parametrize("cases", [1, 2, 5])
def test_verdicts_equal_the_truth_in_a_tiny_demo(cases):
    """Where every fault meets every other."""
    assert not [found for seed in range(10) for found in disagreements(seed, cases)]


@pytest.mark.parametrize("seed", [7, 8])
def test_without_content_the_online_verdict_decides_what_code_can_decide(seed):
    """A bank that captures no content still learns of failed tools, broken forms, inventions and missed notes."""
    result, spans = demo_of(seed, 200, capture_content=False, declare_notes=True)
    for run in result.runs:
        online = root_of(spans[run.demo_case.case_id]).attributes
        found = DECIDED_WITHOUT_CONTENT & set(online["failure.findings"])
        assert found == DECIDED_WITHOUT_CONTENT & set(truth(run.demo_case).findings), run.demo_case.plan


def test_without_content_what_needs_a_label_is_unchecked():
    """Unchecked is never a pass."""
    result, spans = demo_of(7, 30, capture_content=False, declare_notes=True)
    for run in result.runs:
        unchecked = root_of(spans[run.demo_case.case_id]).attributes["failure.unchecked"]
        assert {"context_pollution", "typology_misjudge"} <= set(unchecked)
