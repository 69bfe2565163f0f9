"""Two lines in an existing agent: attach the processor to a tracer provider, once."""

from __future__ import annotations

import inspect
import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from otel_aml.errors import ConfigurationError
from otel_aml.live.case import remember
from otel_aml.live.metrics import check, publish
from otel_aml.live.processor import FailureSpanProcessor

if TYPE_CHECKING:
    from pathlib import Path

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.trace.export import SpanExporter

    from otel_aml.conventions import Contract
    from otel_aml.live.runs import Limits

_INSTALLED: Final[dict[int, tuple[ref[Any], FailureSpanProcessor]]] = {}
"""By the identity of the provider: that of logfire cannot be hashed."""
_LOCK: Final = threading.Lock()


def install(
    provider: Any = None,
    *,
    contract: Contract | None = None,
    limits: Limits | None = None,
    metrics: MeterProvider | bool = False,
) -> FailureSpanProcessor:
    """Attach the processor to a tracer provider, once: again on the same provider only the contract can change.

    Args:
        provider: A tracer provider of the SDK, or one that wraps it; by default the global one.
        contract: What the app declares of its answers. Given again, it replaces the one before.
        limits: What is held at most.
        metrics: Export its counts as metrics: True through the global meter provider (it may be set later), or a meter
            provider. Once switched on they stay on.

    Returns:
        The processor; its `stats()` counts what it did.

    Raises:
        ConfigurationError: There is no provider yet to which a processor can be added, or `metrics` is none.
    """
    check(metrics)
    provider = trace.get_tracer_provider() if provider is None else provider
    if not hasattr(provider, "add_span_processor"):
        raise ConfigurationError(
            f"the tracer provider is a {type(provider).__name__}, to which no span processor can be added; set up "
            "tracing before otel_aml.install(), or call otel_aml.configure(service_name=...) instead"
        )
    with _LOCK:
        processor = _installed_on(provider)
        if processor is not None:
            processor.declare(contract)
        else:
            processor = FailureSpanProcessor(contract=contract, limits=limits)
            _add(provider, processor)
            _INSTALLED[id(provider)] = (ref(provider, partial(_forget, id(provider))), processor)
            remember(provider)
    if metrics:
        publish(processor, metrics)
    return processor


def _installed_on(provider: Any) -> FailureSpanProcessor | None:
    found = _INSTALLED.get(id(provider))
    return None if found is None or found[0]() is not provider else found[1]


def _forget(identity: int, gone: ref[Any]) -> None:
    """Let go of a provider that is no more, unless another has its place already."""
    found = _INSTALLED.get(identity)
    if found is not None and found[0] is gone:
        del _INSTALLED[identity]


def _add(provider: Any, processor: FailureSpanProcessor) -> None:
    """Add the processor; a provider that would throw its exporter away for it (phoenix-otel) is told not to."""
    add = provider.add_span_processor
    try:
        keeps = "replace_default_processor" in inspect.signature(add).parameters
    except (TypeError, ValueError):
        keeps = False
    if keeps:
        add(processor, replace_default_processor=False)
    else:
        add(processor)


def configure(
    service_name: str,
    *,
    traces: str | Path | None = None,
    contract: Contract | None = None,
    limits: Limits | None = None,
    metrics: MeterProvider | bool = False,
) -> FailureSpanProcessor:
    """Set tracing up where there is none yet: a global provider, an exporter and the processor.

    Args:
        service_name: The `service.name` of all spans.
        traces: A file for the official OTLP JSON file exporter (extra `file`); by default the spans go to the OTLP
            endpoint that the usual `OTEL_EXPORTER_OTLP_*` variables name (gRPC, or HTTP if
            `OTEL_EXPORTER_OTLP_PROTOCOL` says so).
        contract: What the app declares of its answers.
        limits: What is held at most.
        metrics: As of `install()`.

    Returns:
        The processor, as `install()` does. Calling it again changes nothing.

    Raises:
        ConfigurationError: Another provider is set already, or the extra `file` is missing.
    """
    current = trace.get_tracer_provider()
    if isinstance(current, TracerProvider):
        if _installed_on(current) is not None:
            return install(current, contract=contract, metrics=metrics)
        raise ConfigurationError(
            "a tracer provider is set already; call otel_aml.install() to add the processor to it, "
            "and leave otel_aml.configure() out"
        )
    exporter = _otlp_exporter() if traces is None else _file_exporter(os.fspath(traces))
    provider = TracerProvider(resource=Resource.create({"service.name": service_name}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return install(provider, contract=contract, limits=limits, metrics=metrics)


def _file_exporter(path: str) -> SpanExporter:
    try:
        from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    except ImportError as error:
        raise ConfigurationError(
            "writing traces to a file needs the official file exporter: pip install 'otel-aml[file]'"
        ) from error
    try:
        return FileSpanExporter(path)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write traces to {path!r} ({error.strerror or error}); name a file in a folder that exists"
        ) from error


def _otlp_exporter() -> SpanExporter:
    variables = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((os.environ[name] for name in variables if os.environ.get(name)), "grpc")
    if protocol.startswith("http"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

        return HttpExporter()
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

    return GrpcExporter()
