"""The exception that is in flight as a span starts or ends: what cuts a span and shows in no status."""

from __future__ import annotations

from sys import exception


def identity() -> int:
    """Tell the exception that is in flight from others; 0 if there is none."""
    error = exception()
    return 0 if error is None else id(error)


def cut_by(before: int) -> str:
    """Name the exception that cuts the span that is ending: one that is no `Exception` and began inside it.

    Args:
        before: Identity of the exception that was in flight as the span started.

    Returns:
        Its qualified name; empty if nothing cuts the span.
    """
    error = exception()
    if error is None or isinstance(error, Exception) or id(error) == before:
        return ""
    kind = type(error)
    return f"{kind.__module__}.{kind.__qualname__}"
