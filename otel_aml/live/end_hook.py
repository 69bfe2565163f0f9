"""How a verdict gets onto a span that is about to end, on any SDK and whatever the order of processors.

`on_end` gets a copy that cannot be written. `_on_ending` is called once the span counts as ended, so its setters do
nothing (opentelemetry-python#5614; so on every release from 1.40 to 1.45.2). What works everywhere, with public calls
alone, is to put a closure in the place of `end` on that one span: it fixes the time of the end first, so that our work
is not in the span's duration, lets the verdict be written, and then ends the span.

On an SDK whose `_on_ending` can write, `on_ending_writes()` says so, and the processor uses that instead.
"""

from __future__ import annotations

import contextlib
import logging
from functools import cache
from time import time_ns
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import Span


def attach(span: Span, before_end: Callable[[Span, int], None]) -> None:
    """Have `before_end(span, end_time)` called once, just before the span ends.

    The closure holds the span, so that a root to which nothing else refers can still end. It takes itself off first:
    a second `end()` meets the SDK's own guard.
    """
    original = span.end
    turn = [True]

    def end(end_time: int | None = None) -> None:
        try:
            turn.pop()
        except IndexError:
            original(end_time)
            return
        vars(span).pop("end", None)
        ended_at = time_ns() if end_time is None else end_time
        try:
            before_end(span, ended_at)
        finally:
            original(ended_at)

    span.end = end  # type: ignore[method-assign]  # on this instance alone: see above


@cache
def on_ending_writes() -> bool:
    """Find out, once, whether this SDK lets `_on_ending` write on the span."""
    seen: list[Any] = []

    class Probe(SpanProcessor):
        def _on_ending(self, span: Span) -> None:
            span.set_attribute("probe", True)  # noqa: FBT003 - the SDK's signature

        def on_end(self, span: ReadableSpan) -> None:
            seen.append((span.attributes or {}).get("probe"))

    quiet = logging.getLogger("opentelemetry.sdk.trace")
    with contextlib.suppress(Exception):
        was_disabled, quiet.disabled = quiet.disabled, True
        try:
            provider = TracerProvider(shutdown_on_exit=False)
            provider.add_span_processor(Probe())
            provider.get_tracer("otel_aml.probe").start_span("probe").end()
        finally:
            quiet.disabled = was_disabled
    return seen == [True]
