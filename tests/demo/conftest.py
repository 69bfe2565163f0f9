"""A copilot that can be sent over one case, with a given fault, while its spans are kept."""

import json
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_aml.demo.agent import Copilot, Outcome
from otel_aml.demo.cases import CaseKind, draw_cases
from otel_aml.demo.faults import DemoCase, FaultPlan, desk_for


@dataclass
class Handle:
    """Stands in for the handle of `case()`, and notes what it is told."""

    answers: list = field(default_factory=list)
    ids: list | None = None
    is_paused: bool = False

    def answer(self, value):
        self.answers.append(value)

    def retrieved(self, ids):
        self.ids = list(ids)

    def paused(self):
        self.is_paused = True


@dataclass
class Trip:
    """What came of one run."""

    case: object
    handle: Handle
    outcome: Outcome
    spans: tuple
    desk: object
    error: BaseException | None

    @property
    def draft(self):
        return json.loads(self.outcome.answer)

    def named(self, name):
        return [span for span in self.spans if span.name == name]


CASES = draw_cases(Random(11), seed=11, count=120)


@pytest.fixture
def travel():
    """Send the copilot over a case of a kind, under a plan."""

    def send(plan=None, *, kind=CaseKind.STRUCTURING, capture_content=True, **faults):
        case = next(case for case in CASES if case.kind is kind)
        plan = replace(plan or FaultPlan(follows_notes=True), **faults)
        exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        handle, outcome, error = Handle(), Outcome(), None
        desk = desk_for(DemoCase(case, plan))
        copilot = Copilot(provider.get_tracer("test"), desk, handle, outcome, capture_content=capture_content)
        try:
            copilot.run(case.file)
        except BaseException as raised:
            error = raised
        return Trip(case, handle, outcome, exporter.get_finished_spans(), desk, error)

    return send
