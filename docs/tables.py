"""Draws the tables of README.md and docs/ from the code: `python docs/tables.py` writes them, a test holds them equal.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; what is around it is written by hand.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from otel_aml.core.messages import CODES, user_message
from otel_aml.core.precedents import BOUNDARIES
from otel_aml.core.redaction import RULE_NAMES
from otel_aml.core.taxonomy import FAILURES, OTHER_VALUES, TAXONOMY
from otel_aml.core.tree import BRANCHES
from otel_aml.live.metrics import ATTRIBUTE_VALUES, METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = (
    "README.md",
    "docs/frameworks.md",
    "docs/metrics.md",
    "docs/recovery.md",
    "docs/redaction.md",
    "docs/taxonomy.md",
)
_PLACE: Final = re.compile(r"(<!-- table: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def values() -> str:
    """All nine values, for the README."""
    failures = (
        (f"`{spec.failure_class}`", f"{spec.definition}", spec.severity, f"`{spec.path}`") for spec in TAXONOMY.values()
    )
    others = ((f"`{value}`", meaning, "", "") for value, meaning in OTHER_VALUES.items())
    return _table(("`failure.class`", "meaning", "severity", "first step"), (*failures, *others))


def classes() -> str:
    """The six, with all that is known of them."""
    return _table(
        ("class", "definition", "root cause", "told by", "severity (weight)", "recovery path", "metric it closes"),
        (
            (
                f"`{spec.failure_class}`",
                spec.definition,
                spec.root_cause,
                spec.eval_type,
                f"{spec.severity} ({spec.weight})",
                f"`{spec.path}`: {spec.path_note}",
                spec.metric,
            )
            for spec in TAXONOMY.values()
        ),
    )


def others() -> str:
    """The three values that are no failure of the taxonomy."""
    return _table(("value", "meaning"), ((f"`{value}`", meaning) for value, meaning in OTHER_VALUES.items()))


def tree() -> str:
    """The six questions, in order."""
    return _table(
        ("", "layer", "question", "class"),
        (
            (str(number), branch.layer, branch.question, f"`{branch.failure_class}`")
            for number, branch in enumerate(BRANCHES, start=1)
        ),
    )


def boundaries() -> str:
    """The rule of each pair, and its two precedents."""
    pairs = sorted(BOUNDARIES.values(), key=lambda boundary: [FAILURES.index(each) for each in boundary.classes])
    return "\n".join(
        f"### {boundary.classes[0]} / {boundary.classes[1]}\n\n{boundary.rule}\n\n"
        + "".join(f"- `{precedent.failure_class}`: {precedent.story}\n" for precedent in boundary.precedents)
        for boundary in pairs
    )


def metrics() -> str:
    """Every metric of the processor."""
    return _table(
        ("metric", "kind", "unit", "attributes", "meaning"),
        (
            (
                f"`{metric.name}`",
                metric.kind,
                f"`{metric.unit}`",
                ", ".join(f"`{name}`" for name in metric.attributes),
                metric.description,
            )
            for metric in METRICS
        ),
    )


def metric_attributes() -> str:
    """What the attributes of metrics can hold."""
    return _table(
        ("attribute", "values"),
        ((f"`{name}`", ", ".join(f"`{value}`" for value in found)) for name, found in ATTRIBUTE_VALUES.items()),
    )


def redaction() -> str:
    """What is taken out of texts."""
    return _table(("rule", "takes out"), ((f"`{name}`", what) for name, what in RULE_NAMES.items()))


def codes() -> str:
    """What a code that a user quotes stands for."""
    return _table(
        ("code", "class", "path", "what the user reads"),
        (
            (code, f"`{failure_class}`", f"`{path}`" if path else "-", user_message(failure_class, path))
            for (failure_class, path), code in sorted(CODES.items(), key=lambda item: item[1])
        ),
    )


def report() -> str:
    """What `otel-aml demo` prints; it runs for this."""
    command = (sys.executable, "-c", "from otel_aml.cli import main; main()", "demo", "--out", ".")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 - our own command
            command,
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
            capture_output=True,
            text=True,
            check=True,
        )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(("```text", "$ otel-aml demo", *lines, "```", ""))


_KINDS: Final = {
    "alone": "With the two lines alone:",
    "case": "Inside `case()`, with a `Contract`, the evidence and the needed note; the answer is read from the spans:",
    "private": "Inside `case()` with content switched off; the app tells its answer and what was retrieved (live):",
}


def played() -> str:
    """What was seen of each framework in each scenario, as `tests/frameworks/record.py` wrote it down."""
    folder = ROOT / "tests" / "frameworks"
    sys.path.insert(0, str(folder))
    from gaps import right_or_gap  # the tests' own data

    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    reasons: dict[str, int] = {}

    def seen(framework: str, scenario: str, kind: str, where: str) -> str:
        verdicts = results[framework]["scenarios"][scenario][kind][where]
        _, reason = right_or_gap(framework, scenario, kind, where)
        mark = f" <sup>{reasons.setdefault(reason, len(reasons) + 1)}</sup>" if reason else ""
        return ("; ".join(verdicts) or "nothing") + mark

    def cell(framework: str, scenario: str, kind: str) -> str:
        live = seen(framework, scenario, kind, "live")
        files = live if kind == "private" else seen(framework, scenario, kind, "files")
        return live if live == files else f"live: {live}, files: {files}"

    def table(kind: str) -> str:
        names = next(iter(results.values()))["scenarios"]
        rows = ((name, *(cell(framework, name, kind) for framework in results)) for name in names)
        return f"{_KINDS[kind]}\n\n" + _table(("scenario", *results), rows)

    tables = [table(kind) for kind in _KINDS]
    notes = "".join(f"{number}. {reason[0].upper()}{reason[1:]}.\n" for reason, number in reasons.items())
    versions = "".join(
        f"- {framework}: {', '.join(f'{name} {version}' for name, version in found['versions'].items())}\n"
        for framework, found in results.items()
    )
    return "\n".join(
        (*tables, "A number marks what is not the right verdict; upstream is why:\n", notes, "Played on:\n", versions)
    )


TABLES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "values": values,
        "classes": classes,
        "others": others,
        "tree": tree,
        "boundaries": boundaries,
        "codes": codes,
        "metrics": metrics,
        "metric_attributes": metric_attributes,
        "redaction": redaction,
        "played": played,
        "report": report,
    },
)


def drawn(page: str) -> str:
    """Give the text of a page with its tables as the code has them."""
    return _PLACE.sub(lambda found: f"{found[1]}\n{TABLES[found['name']]()}\n{found[3]}", page)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = tuple(head)
    lines = [names, ("---",) * len(names), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("|  |", "| |").replace("|  |", "| |")


def main() -> None:
    """Write the tables into the pages."""
    for name in PAGES:
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = drawn(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            sys.stdout.write(f"wrote the tables of {name}\n")


if __name__ == "__main__":
    main()
