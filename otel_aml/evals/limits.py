"""What a gate is told, in TOML: limits per class, floors per metric, how many runs, a baseline."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.errors import ConfigurationError
from otel_aml.evals.jsonlines import first_fault

if TYPE_CHECKING:
    from collections.abc import Mapping

PYPROJECT: Final = "pyproject.toml"
_FILES: Final = ("contract", "gold", "judge", "calibration")
_EXAMPLE: Final = 'like: [gate] / hallucination = 0 / tool_failure = "5%"'


class Bound(StrEnum):
    """What a rate is compared with its limit by: as it is, or by an end of its Wilson interval at 95 %."""

    PLAIN = "plain"
    LENIENT = "lenient"
    """Stops only where chance alone hardly explains it."""
    STRICT = "strict"
    """Passes only where the runs show that the limit is kept."""


class Metric(StrEnum):
    """What a floor can be set for."""

    CITATION_TRACEABILITY = "citation_traceability"
    FORMAT_COMPLIANCE = "format_compliance"
    TOOL_SUCCESS = "tool_success"
    RECALL_AT_K = "recall_at_k"
    TYPOLOGY_RECALL = "typology_recall"
    TYPOLOGY_PRECISION = "typology_precision"
    TYPOLOGY_FALSE_POSITIVE_RATE = "typology_false_positive_rate"
    """The one that is better when it is lower: its value here is a ceiling."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of a class is let pass: so many runs, or such a share of the decided runs."""

    count: int | None = None
    share: float | None = None

    def __str__(self) -> str:
        """Say it as it was written."""
        return f"{self.share:.4g}" if self.count is None else str(self.count)


def _share(value: Any) -> float:
    """Read `"5%"` or 0.05 as a share."""
    if isinstance(value, str) and value.strip().endswith("%"):
        number = value.strip().removesuffix("%").strip()
        try:
            share = float(number) / 100
        except ValueError:
            share = -1.0
    elif isinstance(value, int | float) and not isinstance(value, bool):
        share = float(value)
    else:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f'{value!r} is no share; write "5%" or 0.05')
    return share


def _limit(value: Any) -> Limit:
    """Read a whole number as a count of runs, anything else as a share."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"{value} is no number of runs; write 0 or more")
        return Limit(count=value)
    return Limit(share=_share(value))


Share = Annotated[float, BeforeValidator(_share)]


class GateConfig(BaseModel):
    """`[gate]`, as it is used.

    Args:
        limits: By class.
        floors: By metric, as shares.
        min_runs: In how many runs a class, or a metric, must be decided.
        min_decided: And in which share of all runs.
        baseline: Earlier traces, stores or answers of `gate --json`; of three or more the noise band is drawn.
        min_increase: A rate that rose by no more than this is not worse.
        significance: Nor is one whose rise chance explains as often as this, over all classes together.
        band: How many standard deviations above the mean of the baselines is still noise.
        calibration: What `judge calibrate` wrote.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True)

    limits: dict[FailureClass, Limit] = Field(default_factory=dict[FailureClass, Limit])
    floors: dict[Metric, Share] = Field(default_factory=dict[Metric, float])
    min_runs: Annotated[int, Field(ge=1)] = 20
    min_decided: Share = 0.0
    bound: Bound = Bound.PLAIN
    baseline: tuple[str, ...] = ()
    min_increase: Share = 0.02
    significance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    band: Annotated[float, Field(gt=0)] = 3.0
    contract: str | None = None
    gold: str | None = None
    judge: str | None = None
    calibration: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _by_class(cls, data: Any) -> Any:
        """Gather the limits, which stand beside the other settings, and turn words into values."""
        if not isinstance(data, dict) or "limits" in data:
            return cast("Any", data)
        rest = dict(cast("dict[str, Any]", data))
        limits = {each: _limit(rest.pop(each)) for each in FAILURES if each in rest}
        floors = rest.pop("floors", {})
        if not isinstance(floors, dict):
            raise ValueError("floors: a table of metrics is expected")  # noqa: TRY004 - what pydantic takes
        asked = cast("dict[str, Any]", floors)
        unknown = [name for name in asked if name not in set(Metric)]
        if unknown:
            raise ValueError(f"unknown floor {unknown[0]!r}; there are {', '.join(Metric)}")
        baseline = rest.pop("baseline", ())
        if not isinstance(baseline, str | list | tuple):
            raise ValueError("baseline: a path, or a list of paths, is expected")  # noqa: TRY004 - what pydantic takes
        if "bound" in rest:
            rest["bound"] = _bound(rest["bound"])
        return {
            **rest,
            "limits": limits,
            "floors": {Metric(name): value for name, value in asked.items()},
            "baseline": (baseline,) if isinstance(baseline, str) else tuple(cast("list[Any]", baseline)),
        }

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.limits and not self.floors and not self.baseline:
            raise ValueError("neither a limit, nor a floor, nor a baseline is set, so that nothing could stop a merge")
        return self


def _bound(value: Any) -> Bound:
    if value not in set(Bound):
        raise ValueError(f"unknown bound {value!r}; there are {', '.join(Bound)}")
    return Bound(value)


def read_config(
    path: Path | None, *, folder: Path | None = None, replaced: Mapping[str, Any] | None = None
) -> GateConfig:
    """Read the table `[gate]` of a file, or `[tool.otel_aml.gate]` of `pyproject.toml`.

    Paths in it are taken from the folder of the file.

    Args:
        path: The file; without one, `pyproject.toml` in `folder`.
        folder: Where that is looked for; by default the current one.
        replaced: Settings that go before those of the file, such as options; their paths are taken as they are.

    Raises:
        ConfigurationError: There is no such table, or something in it is wrong.
    """
    found = (folder or Path()) / PYPROJECT if path is None else path
    table = _table(_toml(found, is_given=path is not None), found)
    try:
        return GateConfig.model_validate(_anchored(table, found.parent) | dict(replaced or {}))
    except ValidationError as error:
        raise ConfigurationError(f"{str(found)!r}: {_first(error)}") from error


def _toml(path: Path, *, is_given: bool) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        if is_given:
            raise ConfigurationError(f"{str(path)!r} does not exist; give a TOML file with a table [gate]") from error
        raise ConfigurationError(
            f"no limits: there is no {PYPROJECT} here; give --config gate.toml, {_EXAMPLE}"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"{str(path)!r} cannot be read ({error.strerror}); give a TOML file") from error
    except ValueError as error:
        raise ConfigurationError(f"{str(path)!r} is no TOML: {error}") from error


def _table(document: Mapping[str, Any], path: Path) -> dict[str, Any]:
    if path.name == PYPROJECT:
        table: Any = document
        for name in ("tool", "otel_aml", "gate"):
            table = cast("dict[str, Any]", table).get(name) if isinstance(table, dict) else None
        name = "[tool.otel_aml.gate]"
    else:
        table, name = document.get("gate"), "[gate]"
    if not isinstance(table, dict):
        raise ConfigurationError(f"{str(path)!r} has no table {name}; write one, {_EXAMPLE}")
    return cast("dict[str, Any]", table)


def _first(error: ValidationError) -> str:
    """Say what was wrong first, in words."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] == "extra_forbidden":
        known = [*FAILURES, *(name for name in GateConfig.model_fields if name != "limits")]
        return f"unknown setting {first['loc'][0]!r}; there are {', '.join(known)}"
    return first_fault(error)


def _anchored(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Take relative paths from the folder of the file in which they stand; what is no path is refused later."""

    def at(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(at, cast("list[Any]", value)))  # type: ignore[redundant-cast]  # pyright sees no members
        return str(folder / value) if isinstance(value, str) else value

    paths = {name: at(table[name]) for name in (*_FILES, "baseline") if name in table}
    return dict(table) | paths
