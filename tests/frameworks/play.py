"""Plays every scenario on one framework, in a process of its own: `python play.py FRAMEWORK FOLDER [--content off]`.

Tracing is set up as an app would; then the recipe of docs/frameworks.md runs as it stands there. What was exported is
written into FOLDER, one file a scenario, and the verdicts are printed as JSON: those that the processor wrote on the
exported roots, and those of a replay of the same files without what the processor wrote.
"""

from __future__ import annotations

import argparse
import asyncio
import contextvars
import importlib
import importlib.metadata
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import recipes
from scenarios import EVIDENCE, NOTE, QUESTION, SCENARIOS, Scenario

FRAMEWORKS = {
    "pydantic-ai": ("on_pydantic_ai", ("pydantic-ai-slim",)),
    "langgraph-openinference": (
        "on_langgraph",
        ("langchain", "langgraph", "openinference-instrumentation-langchain"),
    ),
    "langgraph-openllmetry": ("on_langgraph", ("langchain", "langgraph", "opentelemetry-instrumentation-langchain")),
    "langgraph-genai": ("on_langgraph", ("langchain", "langgraph", "opentelemetry-instrumentation-genai-langchain")),
    "openai-agents": ("on_openai_agents", ("openai-agents", "openinference-instrumentation-openai-agents")),
    "smolagents": ("on_smolagents", ("smolagents", "openinference-instrumentation-smolagents")),
    "google-adk": ("on_google_adk", ("google-adk",)),
}
"""The module that builds the agent, and the packages whose versions count."""
OURS = ("failure.", "recovery.", "aml.citations.")


class Player:
    """Plays scenarios on one framework, and writes down what was exported."""

    def __init__(self, framework: str, folder: Path) -> None:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.folder = folder
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        trace.set_tracer_provider(self.provider)
        self.desk: Any = None
        self.module = importlib.import_module(FRAMEWORKS[framework][0])

    def play(self, scenario: Scenario, kind: str, url: str) -> dict[str, Any]:
        """Play one scenario.

        Args:
            scenario: Which.
            kind: `alone` (nothing is declared), `case` (inside a case), `private` (inside a case, content is off, and
                the app tells its answer).
            url: Where the scripted model is served.
        """
        from desk import Desk

        self.exporter.clear()
        self.desk = Desk(scenario)
        error = contextvars.Context().run(lambda: asyncio.run(self._work(scenario, kind, url)))
        spans = self.exporter.get_finished_spans()
        file = self.folder / f"{scenario.name.replace(' ', '_')}.{kind}.jsonl"
        write(file, spans)
        return {"live": live(file), "files": replayed(file, with_labels=kind != "alone"), "error": error}

    async def _work(self, scenario: Scenario, kind: str, url: str) -> str:
        copilot = self.module.Copilot(self.desk, url)
        try:
            answer = await self._run(kind, "C-1", self.desk.within(copilot.ask(QUESTION)), asks=scenario.asks)
            if scenario.asks and answer is None:
                await self._run(kind, "C-1", copilot.resume())
        except Exception as error:  # the app goes on
            return f"{type(error).__name__}: {error}"[:200]
        return ""

    async def _run(self, kind: str, case_id: str, work: Any, *, asks: bool = False) -> Any:
        """Await a run. Inside a case the app looks after its own deadline; what else is raised leaves the case."""
        if kind == "alone":
            return await work
        import otel_aml

        declared = {"evidence_ids": EVIDENCE, "relevant_doc_ids": [NOTE]}
        late: TimeoutError | None = None
        answer: Any = None
        with otel_aml.case(case_id, **declared) as run:
            if kind == "private" or not self.module.HAS_RETRIEVERS:
                self.desk.on_retrieved = run.retrieved
            if kind == "private":
                self.desk.on_refused = run.answer
            try:
                answer = await work
            except TimeoutError as error:
                late = error
            if kind == "private" and answer is not None:
                run.answer(answer)
            if asks and answer is None and late is None:
                run.paused()
        if late is not None:
            raise late
        return answer


def write(file: Path, spans: Any) -> None:
    """Write spans as OTLP JSON lines."""
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter

    file.unlink(missing_ok=True)
    exporter = FileSpanExporter(str(file))
    exporter.export(spans)
    exporter.shutdown()


def exported(file: Path) -> list[dict[str, Any]]:
    """Read the spans of a file, in the order of their starts; `attributes` as a plain object."""
    found = [
        span | {"scope": scope["scope"].get("name", ""), "attributes": _plain(span.get("attributes", []))}
        for line in file.read_text(encoding="utf-8").splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    return sorted(found, key=lambda span: int(span["startTimeUnixNano"]))


def _plain(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: _value(pair["value"]) for pair in pairs}


def _value(value: dict[str, Any]) -> Any:
    if "arrayValue" in value:
        return [_value(each) for each in value["arrayValue"].get("values", [])]
    return next(iter(value.values()), None)


def live(file: Path) -> list[dict[str, Any]]:
    """Read the verdicts that the processor wrote on exported roots."""
    roots = [span["attributes"] for span in exported(file) if span["attributes"].get("failure.verdict")]
    return [
        {
            "verdict": words(
                root["failure.class"], int(root["failure.recovered"]), is_paused=bool(root.get("failure.paused"))
            ),
            "unchecked": sorted(root["failure.unchecked"]),
            "dependency": root.get("failure.dependency", ""),
        }
        for root in roots
    ]


def replayed(file: Path, *, with_labels: bool) -> list[dict[str, Any]]:
    """Classify a file without what the processor wrote; with the contract and the labels of the case, if any."""
    from desk import Finding

    from otel_aml.offline import reports
    from otel_aml.offline.analysis import Given, analysed

    bare = file.with_suffix(".bare")
    bare.write_text("".join(map(_bare, file.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    contract, gold = file.with_suffix(".contract"), file.with_suffix(".gold")
    declared = {"answer_schema": Finding.model_json_schema(), "cited_ids": "cited_tx_ids", "typology": "typology"}
    contract.write_text(json.dumps(declared), encoding="utf-8")
    gold.write_text(
        json.dumps({"case_id": "C-1", "evidence_ids": EVIDENCE, "doc_ids": [NOTE]}) + "\n", encoding="utf-8"
    )
    given = Given(files=[str(bare)])
    if with_labels:
        given = Given(files=[str(bare)], contract=contract, gold=gold)
    starts = {span["spanId"]: int(span["startTimeUnixNano"]) for span in exported(file)}
    with analysed(given) as analysis:
        runs = sorted(reports.runs(analysis), key=lambda run: starts.get(run.span_id, 0))
        return [
            {
                "verdict": words(run.failure_class, run.recovered, is_paused=bool(run.paused)),
                "unchecked": sorted(run.unchecked),
            }
            for run in runs
        ]


def _bare(line: str) -> str:
    found = json.loads(line)
    for resource in found["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                kept = [each for each in span.get("attributes", []) if not each["key"].startswith(OURS)]
                span["attributes"] = kept
    return json.dumps(found) + "\n"


def words(failure_class: str, recovered: int, *, is_paused: bool) -> str:
    """Say a verdict in words."""
    return failure_class + (", recovered" if recovered else "") + (", paused" if is_paused else "")


def environment(framework: str, *, content: bool) -> dict[str, str]:
    """Give the variables that the docs name for content switched on or off."""
    return recipes.variables(recipes.recipes().get(f"{framework} {'with' if content else 'without'} content", ""))


def main() -> None:
    """Play them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--content", choices=("on", "off"), default="on")
    parser.add_argument("--only", help="the name of one scenario")
    given = parser.parse_args()
    is_on = given.content == "on"
    os.environ.update(environment(given.framework, content=is_on))
    logging.disable(logging.CRITICAL)
    code = recipes.recipes()[given.framework if is_on else recipes.without_content(given.framework)]
    from desk import Finding, provider

    import otel_aml

    player = Player(given.framework, given.folder)
    exec(compile(code, f"docs/frameworks.md: {given.framework}", "exec"), {})  # the page's own code
    otel_aml.install(contract=otel_aml.Contract(answer=Finding, cited_ids="cited_tx_ids", typology="typology"))
    played: dict[str, Any] = {}
    with provider(lambda: player.desk) as url:
        for scenario in SCENARIOS:
            if given.only in (None, scenario.name):
                kinds = ("alone", "case") if is_on else ("private",)
                played[scenario.name] = {kind: player.play(scenario, kind, url) for kind in kinds}
    versions = {name: importlib.metadata.version(name) for name in FRAMEWORKS[given.framework][1]}
    faults = otel_aml.install().stats()["faults"]
    json.dump({"versions": versions, "faults": faults, "scenarios": played}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
