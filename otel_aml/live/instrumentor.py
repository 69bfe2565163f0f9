"""The zero-code and the declarative way in: `opentelemetry-instrument` finds this by its entry point.

Zero code: `OTEL_AML_ENABLED=true opentelemetry-instrument python app.py`; without the variable nothing happens.
Declarative: `instrumentation/development: {python: {otel_aml: {...}}}` in the configuration file; being named there
switches it on.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from otel_aml.live.install import install
from otel_aml.live.runs import IDLE_SECONDS, RUNS, STEPS, Limits

if TYPE_CHECKING:
    from collections.abc import Collection

_LOG: Final = logging.getLogger("otel_aml")
_TRUE: Final = frozenset({"true", "1", "yes", "on"})


@dataclass
class Options:
    """What a declarative configuration file can set.

    Args:
        enabled: Whether the processor is attached.
        max_runs: Open runs held at most.
        max_steps: Spans held at most of one run.
        idle_seconds: A run in which nothing started for so long is dropped.
    """

    enabled: bool = True
    max_runs: int = RUNS
    max_steps: int = STEPS
    idle_seconds: float = IDLE_SECONDS


class FailureInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # the package has no types that mypy can follow
    """Attaches the processor to the global tracer provider."""

    configuration = Options

    def instrumentation_dependencies(self) -> Collection[str]:
        """Say that no package needs to be there."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        declared = {key: value for key, value in kwargs.items() if key in Options.__dataclass_fields__}
        is_enabled = bool(declared.pop("enabled", True)) if declared else _is_enabled_by_variable()
        if not is_enabled:
            return
        try:
            options = Options(**declared)
            limits = Limits(runs=options.max_runs, steps=options.max_steps, idle_seconds=options.idle_seconds)
            install(kwargs.get("tracer_provider"), limits=limits)
        except Exception as error:  # noqa: BLE001 - the app starts, with or without us
            _LOG.warning("otel_aml is not attached: %s", error)

    def _uninstrument(self, **kwargs: Any) -> None:
        """Leave the processor: the SDK has no way to take one off."""


def _is_enabled_by_variable() -> bool:
    return os.environ.get("OTEL_AML_ENABLED", "").strip().lower() in _TRUE
