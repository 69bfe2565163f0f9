"""What a verdict rests on, as JSON, so that labels which come later can be laid over it without the texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final, cast

from otel_aml.core.facts import Ending, Facts, Failure
from otel_aml.core.taxonomy import FailureClass
from otel_aml.errors import InputError
from otel_aml.offline.online import Online
from otel_aml.offline.replay import RunRecord

Turn = Callable[[Any], Any]


def written(record: RunRecord) -> str:
    """Write a record as JSON; the same record always gives the same text."""
    return json.dumps(_turned(record), separators=(",", ":"), default=_turned)


def read(text: str) -> RunRecord:
    """Read a record back.

    Raises:
        InputError: It was written by another version, or changed.
    """
    try:
        return RunRecord(**_decoded(json.loads(text), _RECORD))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            "the store was written by another version of otel-aml; make it anew with `otel-aml ingest`"
        ) from error


def _turned(value: Any) -> Any:
    """Turn what JSON does not know into what it knows."""
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[Any]", value))  # type: ignore[redundant-cast]  # pyright sees no members
    return {name: getattr(value, name) for name in _names(value.__class__)}


@cache
def _names(of: type) -> tuple[str, ...]:
    return tuple(part.name for part in fields(of))


def _decoded(found: Mapping[str, Any], decoders: Mapping[str, Turn]) -> dict[str, Any]:
    """Decode the members of an object that are not plain; what is null stays None."""
    return {
        name: value if value is None or name not in decoders else decoders[name](value) for name, value in found.items()
    }


def _failure(found: Mapping[str, Any]) -> Failure:
    return Failure(**found)


def _failures(found: list[Any]) -> tuple[Failure, ...]:
    return tuple(map(_failure, found))


def _facts(found: Mapping[str, Any]) -> Facts:
    return Facts(**_decoded(found, _FACTS))


def _online(found: Mapping[str, Any]) -> Online:
    return Online(**_decoded(found, _ONLINE))


_FACTS: Final[Mapping[str, Turn]] = {
    "failed_calls": _failures,
    "broken_outputs": _failures,
    "recovered_calls": _failures,
    "recovered_outputs": _failures,
    "cited_ids": frozenset,
    "superseded_ids": frozenset,
    "superseded_typologies": frozenset,
    "superseded_live": lambda found: frozenset(map(FailureClass, found)),
    "evidence_ids": frozenset,
    "needed_notes": lambda found: tuple(map(frozenset, found)),
    "retrieved_ids": frozenset,
    "ending": Ending,
    "broken_at": _failure,
}
_ONLINE: Final[Mapping[str, Turn]] = {
    "failure_class": FailureClass,
    "findings": tuple,
    "unchecked": tuple,
    "first": _failure,
}
_RECORD: Final[Mapping[str, Turn]] = {"facts": _facts, "online": _online}
