"""The vocabulary of the Model Context Protocol: a call of a tool, seen by the client or by the server.

Source:
    OpenTelemetry semantic conventions for MCP; runs recorded with the Python SDK mcp 2.3.0. The server's spans say that
    a result was an error, and carry neither its text nor the arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import values
from otel_aml.core.steps import Kind
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Mapping

CALL: Final = "tools/call"


def kind(attributes: Mapping[str, Any]) -> Kind | None:
    """Say what the span did; None if it does not speak this vocabulary. Other methods are plain steps."""
    method = attributes.get(names.MCP_METHOD)
    if method is None:
        return None
    return Kind.TOOL if method == CALL else Kind.STEP


def dependency(attributes: Mapping[str, Any], of: Kind, span_name: str) -> str | None:
    """Name the tool, which stands after the method where no attribute names it."""
    if of is not Kind.TOOL or attributes.get(names.MCP_METHOD) != CALL:
        return None
    return values.text(span_name.removeprefix(CALL).strip()) or None


def words(result: Mapping[str, Any]) -> str:
    """Read the first text of a result's content; empty where it has none."""
    content = result.get("content")
    first = content[0] if values.is_list(content) and content else None
    text = first.get("text") if values.is_map(first) else None
    return text if isinstance(text, str) else ""
