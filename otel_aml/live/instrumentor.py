"""The zero-code and the declarative way in: `opentelemetry-instrument` finds this by its entry point.

Zero code: `OTEL_AML_ENABLED=true opentelemetry-instrument python app.py`; without the variable nothing happens.
`OTEL_AML_METRICS=true` exports its counts as metrics too.
Declarative: `instrumentation/development: {python: {otel_aml: {...}}}` in the configuration file; being named there
switches it on.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from otel_aml.errors import ConfigurationError
from otel_aml.live.install import install
from otel_aml.live.runs import IDLE_SECONDS, RUNS, STEPS, Limits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from opentelemetry.metrics import MeterProvider

_LOG: Final = logging.getLogger("otel_aml")
_TRUE: Final = frozenset({"true", "1", "yes", "on"})
N = TypeVar("N", int, float)


@dataclass
class Options:
    """What a declarative configuration file can set.

    Args:
        enabled: Whether the processor is attached.
        max_runs: Open runs held at most.
        max_steps: Spans held at most of one run.
        idle_seconds: A run in which nothing started for so long is dropped.
        metrics: Whether its counts are exported as metrics.
    """

    enabled: bool = True
    max_runs: int = RUNS
    max_steps: int = STEPS
    idle_seconds: float = IDLE_SECONDS
    metrics: bool = False


class FailureInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # the package has no types that mypy can follow
    """Attaches the processor to the global tracer provider."""

    configuration = Options

    def instrumentation_dependencies(self) -> Collection[str]:
        """Say that no package needs to be there."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        declared = {key: value for key, value in kwargs.items() if key in Options.__dataclass_fields__}
        is_enabled = (
            declared.get("enabled", True) is not False if declared else _is_true(os.environ.get("OTEL_AML_ENABLED", ""))
        )
        if not is_enabled:
            return
        try:
            install(
                kwargs.get("tracer_provider"),
                limits=_limits(Options(**declared)),
                metrics=_metrics(declared, kwargs.get("meter_provider")),
            )
        except Exception as error:  # noqa: BLE001 - the app starts, with or without us
            _LOG.warning("otel_aml is not attached: %s", error)

    def _uninstrument(self, **kwargs: Any) -> None:
        """Leave the processor: the SDK has no way to take one off."""


def _limits(options: Options) -> Limits:
    """Read the limits; a number may stand in quotes."""
    return Limits(
        runs=_number("max_runs", options.max_runs, int),
        steps=_number("max_steps", options.max_steps, int),
        idle_seconds=_number("idle_seconds", options.idle_seconds, float),
    )


def _metrics(declared: Mapping[str, Any], provider: MeterProvider | None) -> MeterProvider | bool:
    """Say through what metrics go, if they are wanted: by the file, or where that is silent by the variable."""
    is_wanted = _is_true(declared["metrics"]) if "metrics" in declared else _says_true("OTEL_AML_METRICS")
    return is_wanted and (provider or True)


def _number(name: str, value: Any, kind: type[N]) -> N:
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} is {value!r}; give a number above 0") from None


def _says_true(variable: str) -> bool:
    return _is_true(os.environ.get(variable, ""))


def _is_true(value: object) -> bool:
    return str(value).strip().lower() in _TRUE
