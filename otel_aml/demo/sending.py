"""The demo's spans on their way to a Collector: OTLP over HTTP, once all are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from otel_aml.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

_AT_ONCE: Final = 512
_PATH: Final = "/v1/traces"
_SECONDS: Final = 10.0


class Keeping(SpanExporter):
    """Passes spans on to another exporter, and keeps them."""

    def __init__(self, exporter: SpanExporter) -> None:
        self.spans: list[ReadableSpan] = []
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Pass them on."""
        self.spans += spans
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        """Close the other."""
        self._exporter.shutdown()


def send(spans: Sequence[ReadableSpan], endpoint: str) -> None:
    """Send spans to a Collector.

    Args:
        spans: As they were exported.
        endpoint: Like `http://127.0.0.1:4318`; headers and certificates come from the environment
            (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_CERTIFICATE`).

    Raises:
        ConfigurationError: It did not take them all.
    """
    exporter: SpanExporter = OTLPSpanExporter(
        endpoint=f"{endpoint.rstrip('/').removesuffix(_PATH)}{_PATH}", timeout=_SECONDS
    )
    sent = 0
    try:
        while sent < len(spans):
            some = spans[sent : sent + _AT_ONCE]
            if exporter.export(some) is not SpanExportResult.SUCCESS:
                raise ConfigurationError(
                    f"{endpoint!r} took {sent} of {len(spans)} spans; see that a Collector receives OTLP over HTTP "
                    "there, and that OTEL_EXPORTER_OTLP_HEADERS has its token"
                )
            sent += len(some)
    finally:
        exporter.shutdown()
