"""Running the demo: its own provider, its three files, and not a byte of content where none is wanted."""

import json
import logging
import socket
import sys

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_aml.demo import deal, run_demo, sending, write_demo
from otel_aml.demo.model import NOTICE, PARAPHRASES, VAGUE
from otel_aml.demo.notes import NOTES
from otel_aml.demo.signs import PHRASES
from otel_aml.errors import ConfigurationError

pytest.importorskip("opentelemetry.exporter.otlp.json.file")

FILES = ["gold.jsonl", "judged.jsonl", "traces.jsonl"]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def spans_of(path):
    return [
        span
        for line in lines_of(path)
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes_of(span):
    return {each["key"]: each["value"] for each in span.get("attributes", [])}


def untimed(span):
    """Leave out times, and the place of a line of code."""
    return {key: value for key, value in span.items() if not key.endswith("UnixNano") and key != "events"}


def test_it_writes_three_files(tmp_path):
    """Traces, labels and judgements, and no leftovers."""
    result = write_demo(tmp_path / "new", seed=7, cases=20)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == FILES
    assert [line["case_id"] for line in lines_of(tmp_path / "new" / "gold.jsonl")] == [
        run.demo_case.case_id for run in result.runs
    ]


def test_a_second_demo_takes_the_place_of_the_first(tmp_path):
    """The file exporter appends; a report must not count an earlier demo."""
    write_demo(tmp_path, seed=7, cases=20)
    write_demo(tmp_path, seed=8, cases=5)
    assert {line["case_id"] for line in lines_of(tmp_path / "gold.jsonl")} == {f"C-8-{n:03d}" for n in range(1, 6)}
    assert sum("failure.verdict" in attributes_of(span) for span in spans_of(tmp_path / "traces.jsonl")) == 5


def test_no_span_is_lost(tmp_path):
    """One verdict a case, and each span's parent is there."""
    write_demo(tmp_path, seed=7, cases=100)
    spans = spans_of(tmp_path / "traces.jsonl")
    ids = {span["spanId"] for span in spans}
    assert sum("failure.verdict" in attributes_of(span) for span in spans) == 100
    assert all(span.get("parentSpanId") in {None, *ids} for span in spans)
    assert len({span["traceId"] for span in spans}) == 100


def test_the_same_seed_writes_the_same(tmp_path):
    """Ids, attributes and verdicts alike; only times differ."""
    for folder in ("one", "two"):
        write_demo(tmp_path / folder, seed=7, cases=40)
    one, two = ([untimed(span) for span in spans_of(tmp_path / folder / "traces.jsonl")] for folder in ("one", "two"))
    assert one == two
    for name in ("gold.jsonl", "judged.jsonl"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()


def test_everything_says_that_it_is_synthetic(tmp_path):
    """Nobody shall take it for a customer's account."""
    write_demo(tmp_path, seed=7, cases=5)
    said = {"key": "aml.synthetic", "value": {"boolValue": True}}
    for line in lines_of(tmp_path / "traces.jsonl"):
        assert all(said in resource["resource"]["attributes"] for resource in line["resourceSpans"])
    roots = [span for span in spans_of(tmp_path / "traces.jsonl") if "parentSpanId" not in span]
    assert all(said in root["attributes"] for root in roots)


def test_labels_stand_in_the_gold_file_only(tmp_path):
    """The agent, and its spans, never know the truth."""
    write_demo(tmp_path, seed=7, cases=40)
    text = (tmp_path / "traces.jsonl").read_text()
    assert "aml.gold" not in text
    assert "aml.judge" not in text


def test_a_case_without_a_needed_note_has_no_doc_ids(tmp_path):
    """Absent means not asked; an empty list would be a label."""
    result = write_demo(tmp_path, seed=7, cases=60)
    for run, line in zip(result.runs, lines_of(tmp_path / "gold.jsonl"), strict=True):
        assert ("doc_ids" in line) is bool(run.demo_case.case.needed_notes)
        assert line["evidence_ids"] == list(run.demo_case.case.file.tx_ids)


def test_the_judge_is_asked_only_where_there_is_something_to_judge(tmp_path):
    """An answer, and a needed note that was retrieved."""
    result = write_demo(tmp_path, seed=7, cases=100)
    judged = {line["case_id"] for line in lines_of(tmp_path / "judged.jsonl")}
    for run in result.runs:
        needed = set(run.demo_case.case.needed_notes)
        is_there = run.answer is not None and bool(needed) and needed <= set(run.retrieved or ())
        assert (run.demo_case.case_id in judged) is is_there


def content_of(seed, cases):
    """Gather every word that must not leave the process."""
    yield from (NOTICE, VAGUE, *PHRASES.values(), *(note.note_id for note in NOTES))
    yield from (words for pair in PARAPHRASES.values() for words in pair)
    yield from (sentence for note in NOTES for sentence in note.text.split(". "))
    for demo_case in deal(seed, cases):
        file = demo_case.case.file
        yield from (file.subject, *file.tx_ids)
        yield from (account for row in file.transactions for account in (row.orig_acct, row.bene_acct))
    yield from ("The holder of account", "US dollars", "Counterparties:", "Method of operation", "TX-", "log-0")
    yield "The activity is read by"


@pytest.mark.slow
def test_without_content_not_a_byte_of_it_leaves(tmp_path):
    """Exceptions, statuses, stack traces and events included."""
    write_demo(tmp_path, seed=7, cases=200, capture_content=False, declare_notes=True)
    text = (tmp_path / "traces.jsonl").read_text()
    assert {words for words in content_of(7, 200) if words in text} == set()


def test_with_content_the_answer_stands_on_the_agent_span(tmp_path):
    """The other way round: what is captured can be read."""
    result = write_demo(tmp_path, seed=7, cases=20)
    text = (tmp_path / "traces.jsonl").read_text()
    assert all(run.demo_case.case.file.tx_ids[0] in text for run in result.runs)
    agents = [span for span in spans_of(tmp_path / "traces.jsonl") if span["name"].startswith("invoke_agent")]
    answered = sum(run.answer is not None for run in result.runs)
    assert sum("gen_ai.output.messages" in attributes_of(span) for span in agents) == answered


def test_the_caller_is_left_alone():
    """The global provider, the current span and the baggage of whoever runs the demo stay out of it."""
    before, exporter = trace.get_tracer_provider(), InMemorySpanExporter()
    outer = TracerProvider(shutdown_on_exit=False).get_tracer("outer")
    token = context.attach(baggage.set_baggage("who", "caller"))
    try:
        with outer.start_as_current_span("outer") as span:
            run_demo(7, 3, exporter=exporter)
            assert trace.get_current_span() is span
    finally:
        context.detach(token)
    assert trace.get_tracer_provider() is before
    assert sum(span.parent is None for span in exporter.get_finished_spans()) == 3


def test_progress_is_told_case_by_case(tmp_path):
    """A terminal can show it."""
    seen = []
    write_demo(tmp_path, seed=7, cases=12, progress=lambda run: seen.append(run.demo_case.case_id))
    assert seen == [f"C-7-{number:03d}" for number in range(1, 13)]


def test_the_environment_changes_nothing(tmp_path, monkeypatch):
    """Samplers, limits and resources of the surrounding service are not the demo's."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "10")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "5")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=secret")
    write_demo(tmp_path / "one", seed=7, cases=10)
    monkeypatch.undo()
    write_demo(tmp_path / "two", seed=7, cases=10)
    one, two = ([untimed(span) for span in spans_of(tmp_path / folder / "traces.jsonl")] for folder in ("one", "two"))
    assert one == two
    assert "secret" not in (tmp_path / "one" / "traces.jsonl").read_text()


def test_a_disabled_sdk_is_said(monkeypatch):
    """An empty trace file would look like a day without failures."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(ConfigurationError, match="OTEL_SDK_DISABLED"):
        run_demo(7, 1, exporter=InMemorySpanExporter())


def test_a_real_interrupt_goes_through(monkeypatch):
    """Ctrl-C ends the demo, not one of its runs."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("otel_aml.demo.agent.Copilot.run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_demo(7, 3, exporter=InMemorySpanExporter())


def test_an_interrupted_demo_leaves_the_earlier_files(tmp_path, monkeypatch):
    """Half a demo must not pass for a whole one."""
    write_demo(tmp_path, seed=7, cases=4)
    before = (tmp_path / "traces.jsonl").read_text()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("otel_aml.demo.agent.Copilot.run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_demo(tmp_path, seed=8, cases=4)
    assert (tmp_path / "traces.jsonl").read_text() == before


def test_a_missing_exporter_is_said_in_one_sentence(tmp_path, monkeypatch):
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.json.file", None)
    with pytest.raises(ConfigurationError, match=r"otel-aml\[file\]"):
        write_demo(tmp_path, seed=7, cases=1)


def test_a_collector_that_is_not_there_is_said_in_one_sentence(tmp_path, monkeypatch):
    """The files are written all the same."""
    monkeypatch.setattr(sending, "_SECONDS", 0.2)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigurationError, match=r"took 0 of [0-9]+ spans; see that a Collector"):
            write_demo(tmp_path, seed=7, cases=3, send_to=url)
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


def test_the_demo_warns_of_nothing(tmp_path, caplog):
    """No type that the SDK cannot export, no attribute beyond a limit."""
    with caplog.at_level(logging.WARNING):
        write_demo(tmp_path, seed=7, cases=40)
    assert caplog.records == []


def test_traces_of_another_kind_are_never_written_over(tmp_path):
    """The demo writes into the current folder, under a name that an app may use as well."""
    (tmp_path / "traces.jsonl").write_text('{"resourceSpans":[]}\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="was not written by the demo"):
        write_demo(tmp_path, seed=1, cases=1)
    assert (tmp_path / "traces.jsonl").read_text(encoding="utf-8") == '{"resourceSpans":[]}\n'
