"""A real provider with the processor, in every arrangement in which it must work."""

from dataclasses import dataclass, field

import pytest
from opentelemetry.sdk.trace import (
    ConcurrentMultiSpanProcessor,
    SynchronousMultiSpanProcessor,
    TracerProvider,
)
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_aml.live.install import install
from otel_aml.live.processor import FailureSpanProcessor


@dataclass
class Traced:
    """A provider, what it exported, and the processor on it."""

    provider: TracerProvider
    exporter: InMemorySpanExporter
    processor: FailureSpanProcessor
    tracer: object = field(init=False)

    def __post_init__(self):
        self.tracer = self.provider.get_tracer("app")

    def spans(self):
        self.provider.force_flush()
        return self.exporter.get_finished_spans()

    def verdicts(self):
        """The verdict spans, by name."""
        return {span.name: span.attributes for span in self.spans() if span.attributes.get("failure.verdict")}

    def verdict(self):
        """The attributes of the only verdict span."""
        (attributes,) = self.verdicts().values()
        return attributes


def traced(*, export="simple", order="after", multi="sync", limits=None, contract=None, **provider):
    active = {"sync": SynchronousMultiSpanProcessor, "concurrent": ConcurrentMultiSpanProcessor}[multi]()
    made = TracerProvider(active_span_processor=active, shutdown_on_exit=False, **provider)
    exporter = InMemorySpanExporter()
    exporting = {"simple": SimpleSpanProcessor, "batch": BatchSpanProcessor}[export](exporter)
    if order == "after":
        made.add_span_processor(exporting)
    processor = install(made, contract=contract, limits=limits)
    if order == "before":
        made.add_span_processor(exporting)
    return Traced(made, exporter, processor)


ARRANGEMENTS = [
    pytest.param({"export": export, "order": order, "multi": multi}, id=f"{multi}, {order} {export}")
    for multi in ("sync", "concurrent")
    for export in ("simple", "batch")
    for order in ("before", "after")
]


@pytest.fixture(params=ARRANGEMENTS)
def arranged(request):
    made = traced(**request.param)
    yield made
    made.provider.shutdown()


@pytest.fixture
def simple():
    made = traced()
    yield made
    made.provider.shutdown()


@pytest.fixture
def make():
    made = []

    def build(**options):
        made.append(traced(**options))
        return made[-1]

    yield build
    for each in made:
        each.provider.shutdown()
