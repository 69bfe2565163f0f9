"""What a file looks like that is not OTLP JSON lines, and how to get such lines instead."""

from __future__ import annotations

from typing import Final

_HOW: Final = (
    "export OTLP JSON lines with the SDK's OTLP JSON file exporter (pip install 'otel-aml[file]') "
    "or the Collector's file exporter"
)
_NOT_TEXT: Final = frozenset(range(9)) | frozenset(range(14, 32))


def looks_like(head: bytes, *, is_empty: bool = False) -> str:
    """Name what a file seems to hold, from its first bytes, and say what to do.

    Args:
        head: The start of its content, unpacked.
        is_empty: It holds nothing but blank lines.
    """
    if is_empty:
        return f"it is empty; {_HOW}"
    text = head.decode("utf-8", "replace").strip()
    return f"{_named(head, text)}; {_HOW}"


_FORMATS: Final = (
    ('"context": {', "it is what the ConsoleSpanExporter prints (the console exporter), not OTLP JSON"),
    ('"traceID"', "it is Jaeger's JSON, not OTLP JSON"),
    ('"localEndpoint"', "it is Zipkin's JSON, not OTLP JSON"),
)
"""Words that give a format away, the surest first."""


def _named(head: bytes, text: str) -> str:
    return _no_text(head) or next((what for word, what in _FORMATS if word in text), None) or _some_text(text)


def _no_text(head: bytes) -> str | None:
    if head.startswith(b"PAR1"):
        return "it is a Parquet file; give the folder that `otel-aml ingest` wrote, not a file in it"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16 text and must be UTF-8"
    if sum(byte in _NOT_TEXT for byte in head[:512]) > len(head[:512]) // 50:
        return "it is not text, perhaps OTLP in protobuf form (set `format: json`)"
    return None


def _some_text(text: str) -> str:
    if '"resourceSpans"' in text and text.startswith(("{\n", "{\r", "[")):
        return "it is one indented or bracketed document; put each request on a line of its own: jq -c . FILE"
    if text.startswith(("{", "[")):
        return "it is JSON, but no line of it is an OTLP export request"
    return "it looks like CSV" if "," in text.partition("\n")[0] else "it is text, but not JSON"
