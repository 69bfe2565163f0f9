"""Failed runs as cases for an evaluation suite: JSON lines, and pytest that reruns them; every text is redacted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_aml.core.redaction import redact
from otel_aml.core.taxonomy import FAILURES
from otel_aml.core.tree import State
from otel_aml.errors import InputError
from otel_aml.offline.analysis import analysed
from otel_aml.offline.problems import Read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from otel_aml.core.taxonomy import FailureClass
    from otel_aml.offline.analysis import Given
    from otel_aml.offline.online import Weighed
    from otel_aml.offline.problems import Problem
    from otel_aml.offline.replay import RunRecord

CASES: Final = "cases.jsonl"
_INPUTS: Final = ("input.value", "gen_ai.input.messages")
"""Where a run root says what it was asked, the first of which counts."""
_PYTEST: Final = '''"""Runs that failed as {failure_class}, written by `otel-aml export-cases`: do they still?

`rerun` is a fixture of yours (conftest.py): a function that takes a case, runs the agent on it, and gives the
findings of that run, such as `failure.findings` of its verdict.
"""

import json
from pathlib import Path

import pytest

LINES = Path(__file__).with_name("{cases}").read_text(encoding="utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]


@pytest.mark.parametrize("case", CASES, ids=[f"{{case['trace_id']}}-{{case['span_id']}}" for case in CASES])
def test_{failure_class}_is_gone(case, rerun):
    """Once it is repaired."""
    assert case["class"] not in rerun(case)
'''


@dataclass(slots=True)
class Exported:
    """The cases of one class, in the order of their runs.

    Args:
        unseen: Cases whose input was not recorded.
    """

    failure_class: FailureClass
    cases: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    read: Read = field(default_factory=Read)
    problems: tuple[Problem, ...] = ()
    runless: int = 0

    @property
    def unseen(self) -> int:
        """How many cases have no input."""
        return sum(case["input"] is None for case in self.cases)

    def take(self, record: RunRecord, weighed: Weighed) -> None:
        """Keep a run in which the check fired, first or not."""
        verdict = weighed.verdict
        fired = verdict.answers[FAILURES.index(self.failure_class)].state is State.FIRED
        if not fired and f"{self.failure_class}:superseded" not in verdict.findings:
            return
        facts = record.facts
        needed = None if facts.needed_notes is None else [_listed(each) for each in facts.needed_notes]
        self.cases.append(
            {
                "trace_id": record.trace_id,
                "span_id": record.span_id,
                "case_id": None if record.case_id is None else redact(record.case_id),
                "class": str(self.failure_class),
                "findings": list(verdict.findings),
                "input": None,
                "expected": {
                    "typology": None if facts.gold_typology is None else redact(facts.gold_typology),
                    "needed_notes": needed,
                    "evidence_ids": _listed(facts.evidence_ids),
                },
                "seen": {
                    "typology": None if facts.typology is None else redact(facts.typology),
                    "retrieved_ids": _listed(facts.retrieved_ids),
                    "cited_ids": _listed(facts.cited_ids),
                },
            }
        )


def export(given: Given, failure_class: FailureClass, *, on_bytes: Callable[[int], None] | None = None) -> Exported:
    """Find the runs in which a check fired.

    Args:
        given: Files or a store, labels, a contract.
        failure_class: The check.
        on_bytes: Told how many bytes were read, now and then.

    Raises:
        InputError: Something cannot be read, or holds nothing that is understood.
    """
    found = Exported(failure_class)
    with analysed(given, on_bytes=on_bytes, on_run=found.take) as analysis:
        by_root = {(case["trace_id"], case["span_id"]): case for case in found.cases}
        wanted = {trace_id for trace_id, _ in by_root}
        for trace in analysis.store.traces():
            if trace.trace_id in wanted:
                for stored in trace.spans:
                    case = by_root.get((trace.trace_id, stored.span.span_id))
                    if case is not None:
                        case["input"] = _input(stored.span.attributes)
        found.read, found.problems, found.runless = analysis.read, analysis.problems, analysis.runless
    found.cases.sort(key=lambda case: (case["trace_id"], case["span_id"]))
    return found


def write(found: Exported, folder: Path) -> tuple[Path, Path]:
    """Write `cases.jsonl` and the tests over it, over nothing that is there.

    Raises:
        InputError: A file is there already, or cannot be written.
    """
    lines, tests = folder / CASES, folder / f"test_{found.failure_class}.py"
    text = _PYTEST.format(failure_class=found.failure_class, cases=CASES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lines.open("x", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(case)}\n" for case in found.cases)
        with tests.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(f"{str(error.filename)!r} exists already; give another folder") from error
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written ({error.strerror}); give another folder") from error
    return lines, tests


def _input(attributes: Any) -> str | None:
    for name in _INPUTS:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            return redact(value)
    return None


def _listed(ids: Iterable[str] | None) -> list[str] | None:
    return None if ids is None else sorted(map(redact, ids))
