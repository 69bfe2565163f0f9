"""Does every product metric close a class, and is every class closed by a metric?"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from otel_aml.core.taxonomy import FAILURES, TAXONOMY, FailureClass
from otel_aml.errors import ConfigurationError
from otel_aml.evals.jsonlines import first_fault, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OFTEN_LACKING: Final = frozenset({FailureClass.FORMAT_VIOLATION, FailureClass.RETRIEVAL_MISS})
"""The two that a list of metrics written before error analysis usually lacks."""


class _Metric(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    closes: list[str]


class _Metrics(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    metrics: dict[str, _Metric]


@dataclass(frozen=True, slots=True)
class Closure:
    """Both directions: the classes of each metric, the metrics of each class."""

    by_metric: dict[str, tuple[FailureClass, ...]]

    @property
    def by_class(self) -> dict[FailureClass, tuple[str, ...]]:
        """Give the metrics that close each class."""
        return {each: tuple(name for name, closed in self.by_metric.items() if each in closed) for each in FAILURES}

    @property
    def is_closed(self) -> bool:
        """Whether nothing is open in either direction."""
        return not any(self.open())

    def open(self) -> Iterator[str]:
        """Say what is open, one sentence each."""
        for failure_class, names in self.by_class.items():
            if not names:
                lacking = (
                    "; lists written before error analysis usually lack it" if failure_class in OFTEN_LACKING else ""
                )
                yield f"no metric closes {failure_class}; one that does: {TAXONOMY[failure_class].metric}{lacking}"
        for name, closed in self.by_metric.items():
            if not closed:
                yield f"metric {name!r} closes no class; name one, or say what decision it serves"

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "closed": self.is_closed,
            "classes": {str(each): list(names) for each, names in self.by_class.items()},
            "metrics": {name: list(map(str, closed)) for name, closed in self.by_metric.items()},
            "open": list(self.open()),
        }


def read_closure(path: Path) -> Closure:
    """Read a `metrics.toml`: a table `[metrics."name"]` for each, with `closes = ["class", ...]`.

    Raises:
        InputError: It cannot be read.
        ConfigurationError: Something in it is wrong.
    """
    try:
        found = _Metrics.model_validate(tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{str(path)!r} is no TOML: {error}") from error
    except ValidationError as error:
        raise ConfigurationError(
            f'{str(path)!r}: {first_fault(error)}; write [metrics."name"] closes = [...]'
        ) from error
    unknown = [word for metric in found.metrics.values() for word in metric.closes if word not in set(FAILURES)]
    if unknown:
        raise ConfigurationError(f"{str(path)!r}: no class {unknown[0]!r}; there are {', '.join(FAILURES)}")
    return Closure({name: tuple(map(FailureClass, metric.closes)) for name, metric in found.metrics.items()})
