"""`otel-aml explain`: what a class means, and what parts it from another."""

from __future__ import annotations

import json as json_module
import sys
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from otel_aml.cli.common import AsJson, console
from otel_aml.core.precedents import BOUNDARIES, Boundary, between
from otel_aml.core.taxonomy import FAILURES, OTHER_VALUES, TAXONOMY, FailureClass
from otel_aml.core.tree import BRANCHES
from otel_aml.errors import ConfigurationError

EXAMPLES: Final = """
Examples:

    otel-aml explain hallucination

    otel-aml explain retrieval_miss context_pollution
"""


def explain(
    failure_class: Annotated[
        str, typer.Argument(metavar="CLASS", help="A value of failure.class.", show_default=False)
    ],
    other: Annotated[
        str | None,
        typer.Argument(metavar="[OTHER]", help="Another of the six: what parts the two?", show_default=False),
    ] = None,
    *,
    json: AsJson = False,
) -> None:
    """Say what a class means, or what parts it from another."""
    found = _named(failure_class)
    answer = _class(found) if other is None else _boundary(_between(found, _named(other)))
    if json:
        sys.stdout.write(f"{json_module.dumps(answer, indent=2)}\n")
        return
    _draw(answer)


def _named(word: str) -> FailureClass:
    try:
        return FailureClass(word.strip().lower().replace("-", "_"))
    except ValueError:
        known = ", ".join(FailureClass)
        raise ConfigurationError(f"no class {word!r}; there are {known}") from None


def _between(one: FailureClass, other: FailureClass) -> Boundary:
    try:
        return between(one, other)
    except ValueError as error:
        raise ConfigurationError(f"{error}; they are {', '.join(FAILURES)}") from None


def _class(failure_class: FailureClass) -> dict[str, Any]:
    if failure_class not in TAXONOMY:
        return {"class": str(failure_class), "definition": OTHER_VALUES[failure_class]}
    spec = TAXONOMY[failure_class]
    branch = next(branch for branch in BRANCHES if branch.failure_class is failure_class)
    met = (BOUNDARIES[frozenset({failure_class, other})] for other in FAILURES if other is not failure_class)
    return {
        "class": str(failure_class),
        "definition": spec.definition,
        "check": branch.question,
        "asked": FAILURES.index(failure_class) + 1,
        "layer": branch.layer,
        "told_by": str(spec.eval_type),
        "root_cause": spec.root_cause,
        "severity": str(spec.severity),
        "path": str(spec.path),
        "path_note": spec.path_note,
        "metric": spec.metric,
        "boundaries": [_boundary(each) for each in met],
    }


def _boundary(boundary: Boundary) -> dict[str, Any]:
    return {
        "between": list(map(str, boundary.classes)),
        "rule": boundary.rule,
        "precedents": [{"class": str(each.failure_class), "story": each.story} for each in boundary.precedents],
    }


def _draw(answer: dict[str, Any]) -> None:
    if "rule" in answer:
        _draw_boundary(answer)
        return
    out = console()
    out.print(Text(answer["class"], style="bold"))
    for name, value in answer.items():
        if name not in ("class", "boundaries"):
            out.print(Text(f"  {name.replace('_', ' '):<10}  {value}"))
    for boundary in answer.get("boundaries", []):
        (other,) = (each for each in boundary["between"] if each != answer["class"])
        out.print()
        out.print(Text(f"  or {other}? {boundary['rule']}"))


def _draw_boundary(boundary: dict[str, Any]) -> None:
    out = console()
    out.print(Text(" or ".join(boundary["between"]) + "?", style="bold"))
    out.print(Text(f"  {boundary['rule']}"))
    for precedent in boundary["precedents"]:
        out.print(Text(f"  {precedent['class']}: {precedent['story']}"))
