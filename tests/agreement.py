"""Live and replay side by side: the same runs, classified as they end and again from disturbed lines."""

import json
import random
from dataclasses import dataclass

from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_aml.live.install import install
from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed
from tests.random_runs import RandomRuns

OURS = ("failure.", "recovery.", "aml.citations.")


@dataclass(frozen=True)
class Compared:
    """What a verdict must have in common."""

    failure_class: str
    findings: tuple[str, ...]
    unchecked: tuple[str, ...]
    first_span_id: str | None


def live(folder, seed, runs):
    """Make runs on a provider with the processor; write the spans, and the cases as gold lines.

    Returns:
        The live verdicts, by trace id and span id.
    """
    provider = TracerProvider(shutdown_on_exit=False)
    memory = InMemorySpanExporter()
    install(provider)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    exporter = FileSpanExporter(str(folder / "live.jsonl"))
    maker = RandomRuns(provider, seed)
    verdicts = {}
    for _ in range(runs):
        maker.make()
        spans = memory.get_finished_spans()
        memory.clear()
        exporter.export(spans)
        verdicts |= {key(span): compared(span.attributes) for span in spans if span.attributes.get("failure.verdict")}
    exporter.shutdown()
    gold = [json.dumps({"case_id": made.case_id} | made.gold) + "\n" for made in maker.made if made.gold]
    (folder / "gold.jsonl").write_text("".join(gold), encoding="utf-8")
    return verdicts


def key(span):
    context = span.get_span_context()
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def compared(attributes):
    return Compared(
        attributes["failure.class"],
        tuple(attributes["failure.findings"]),
        tuple(attributes["failure.unchecked"]),
        attributes.get("failure.span_id"),
    )


def disturb(folder, seed):
    """Take off what the processor wrote, one span a line, then shuffle the lines and deliver some of them twice."""
    dice = random.Random(seed)
    lines = []
    with (folder / "live.jsonl").open(encoding="utf-8") as exported:
        for line in exported:
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    lines += [one_line(resource, scope, span) for span in scope["spans"]]
    lines += dice.sample(lines, len(lines) // 5)
    dice.shuffle(lines)
    (folder / "stripped.jsonl").write_text("".join(lines), encoding="utf-8")


def one_line(resource, scope, span):
    kept = [each for each in span.get("attributes", []) if not each["key"].startswith(OURS) or is_a_step(each)]
    alone = {"scope": scope["scope"], "spans": [span | {"attributes": kept}]}
    return json.dumps({"resourceSpans": [{"resource": resource["resource"], "scopeSpans": [alone]}]}) + "\n"


def is_a_step(attribute):
    """What the app itself noted with `step_error` is no verdict."""
    return attribute["key"] in {"failure.step.class", "failure.retriable", "failure.step_id"}


def replayed(folder):
    """The verdicts of the replay, by trace id and span id."""
    given = Given(files=[str(folder / "stripped.jsonl")], gold=folder / "gold.jsonl")
    with analysed(given) as analysis:
        return {
            (run.trace_id, run.span_id): Compared(
                run.failure_class, tuple(run.findings), tuple(run.unchecked), run.first_span_id
            )
            for run in reports.runs(analysis)
        }
