"""How often is the verdict right? Precision and recall a class on labelled recordings, beside what guessing gets.

    python benchmarks/accuracy.py [FOLDER] [--leave-out FRAMEWORK ...] [--leave-each-out]

FOLDER holds `labels.json` and recordings as OTLP JSON lines (default: the recordings of the tests). Where
OTEL_AML_TRAIL or OTEL_AML_AGENTRX names a local folder of that data set, its traces are read too: TRAIL's nested spans
are turned into OTLP first, and each trace is held against its annotated categories. The data is never part of the
project. Intervals are Wilson's, 95 %.

Leaving a framework out takes its own words away (its sentences, its exceptions' names, its marks and the scope that
makes its outermost span a run) and reads its recordings without them: what is left is what the general rules get of a
framework that nobody has looked at.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import labelled_traces
import otlp

from otel_aml.conventions import (
    Contract,
    Declared,
    facts,
    gen_ai,
    is_run,
    langchain,
    marks,
    pydantic_ai,
    read,
    roots,
    runs,
    shapes,
)
from otel_aml.core.steps import Kind
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.core.tree import classify
from otel_aml.spans.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_aml.conventions import Reading
    from otel_aml.core.steps import Step
    from otel_aml.spans.model import SpanRecord

DEFAULT = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "spans"
Z = 1.959963984540054


@dataclass(frozen=True)
class Judged:
    """One labelled run: the right classes, what was said, and what the rules of others would go by.

    Args:
        has_error: Any of its spans is in error.
        tool_error: Any of its tools' spans is.
        unrecovered: One is, and no later span of the same tool is without an error.
    """

    framework: str
    right: frozenset[str]
    said: str
    has_error: bool = False
    tool_error: bool = False
    unrecovered: bool = False


def wilson(hits: int, of: int) -> tuple[float, float] | None:
    """Wilson's interval of a share, 95 %; None for 0 of 0.

    Source:
        E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if not of:
        return None
    share, square = hits / of, Z * Z
    middle = share + square / (2 * of)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max((middle - half) / (1 + square / of), 0.0), min((middle + half) / (1 + square / of), 1.0)


def share(hits: int, of: int) -> str:
    """Write a share with its interval."""
    interval = wilson(hits, of)
    if interval is None:
        return "-"
    return f"{hits / of:.3f} ({hits}/{of}, {interval[0]:.2f} to {interval[1]:.2f})"


def entries(folder: Path) -> Iterator[dict[str, Any]]:
    """Read labels in either form: `entries` with their contracts in files, or `recordings` with theirs beside."""
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    for entry in labels.get("entries", ()):
        contract = json.loads((folder / entry["contract"]).read_text(encoding="utf-8")) if entry["contract"] else None
        told = {"gold": entry["gold"], "judged": entry["judged"]}
        lines = {key: _lines(folder / name) if name else [] for key, name in told.items()}
        yield {"file": entry["file"], "contract": contract, "runs": entry["runs"], **lines}
    for entry in labels.get("recordings", ()):
        contract = labels["contracts"][entry["contract"]] if entry["contract"] else None
        gold = [{"typology": entry["gold"]}] if entry["gold"] else []
        yield {"file": entry["file"], "contract": contract, "runs": entry["runs"], "gold": gold, "judged": []}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def contract_of(found: dict[str, Any] | None) -> Contract | None:
    """Make a contract of what a file says of it."""
    if found is None:
        return None
    given = dict(found)
    if "answer_schema" in given:
        given["answer"] = given.pop("answer_schema")
    return Contract(**given)


def judged(folder: Path, only: Iterable[str] | None = None) -> Iterator[Judged]:
    """Classify every labelled run.

    Args:
        folder: With `labels.json`.
        only: Names that the folder of a recording starts with; None for all.
    """
    for entry in entries(folder):
        framework = entry["file"].partition("/")[0]
        if only is not None and not framework.startswith(tuple(only)):
            continue
        contract = contract_of(entry["contract"])
        unseen = [label for label in entry["runs"] if not label.get("optional")]
        for trace_id, spans in otlp.traces(folder / entry["file"]).items():
            by_id = {span.span_id: span for span in spans}
            for run in runs(spans):
                readings = [read(span, contract or Contract()) for span in run.spans]
                if not is_run(readings):
                    continue
                label = next((each for each in unseen if _fits(each, trace_id, run.root_id, by_id)), None)
                if label is None:
                    continue
                unseen.remove(label)
                told = _told(entry, trace_id)
                known = facts(readings, run.root_id, contract=contract, told=told, incomplete=run.incomplete)
                tools = _tools(run.spans, readings)
                yield Judged(
                    framework,
                    frozenset(label.get("accept", [label["class"]])),
                    str(classify(known).failure_class),
                    any(span.status is Status.ERROR for span in run.spans),
                    any(is_error for _, is_error in tools),
                    any(is_error and _is_unrecovered(step, tools) for step, is_error in tools),
                )
        for label in unseen:
            right = frozenset(label.get("accept", [label["class"]]))
            yield Judged(framework, right, said="not found")


def _tools(spans: Iterable[SpanRecord], readings: Iterable[Reading]) -> list[tuple[Step, bool]]:
    """List the calls of tools, and whether their spans are in error: nothing else counts for the rules of others."""
    pairs = zip(spans, readings, strict=True)
    return [(each.step, span.status is Status.ERROR) for span, each in pairs if each.step.kind is Kind.TOOL]


def _is_unrecovered(failed: Step, tools: Iterable[tuple[Step, bool]]) -> bool:
    later = (is_error for step, is_error in tools if step.name == failed.name and step.started_at >= failed.ended_at)
    return all(later)


def _fits(label: dict[str, Any], trace_id: str, root_id: str, by_id: dict[str, Any]) -> bool:
    if "trace_id" in label:
        return label["trace_id"] == trace_id and root_id in label["root_any"]
    return root_id in by_id and by_id[root_id].name == label["root"]


def _told(entry: dict[str, Any], trace_id: str) -> Declared:
    mine = [line for line in (*entry["gold"], *entry["judged"]) if line.get("trace_id", trace_id) == trace_id]
    found: dict[str, Any] = {}
    for line in mine:
        found |= {key: value for key, value in line.items() if value is not None}
    return Declared(
        gold_typology=found.get("typology"),
        evidence_ids=frozenset(found["evidence_ids"]) if "evidence_ids" in found else None,
        needed_notes=tuple(frozenset({each}) for each in found["doc_ids"]) if "doc_ids" in found else None,
        context_used=found.get("context_used"),
    )


def print_table(found: list[Judged]) -> None:
    """Print precision and recall a class, and what the constant rules get."""
    print("| class | precision | recall |\n| --- | --- | --- |")
    for each in (*map(str, FAILURES), "pass", "cancelled", "unclassified"):
        named = [run for run in found if run.said == each]
        labelled = [run for run in found if run.right == {each} or (each in run.right and run.said == each)]
        hits = sum(each in run.right for run in named)
        print(f"| `{each}` | {share(hits, len(named))} | {share(hits, len(labelled))} |")
    print(f"\nagreement: {share(sum(run.said in run.right for run in found), len(found))}")
    always = sum("pass" in run.right for run in found)
    naive = sum((FailureClass.TOOL_FAILURE if run.has_error else "pass") in run.right for run in found)
    print(f"always `pass`: {share(always, len(found))}")
    print(f"any ERROR span is a `tool_failure`, else `pass`: {share(naive, len(found))}")
    gold = [run for run in found if "tool_failure" in run.right]
    for rule, fired in (
        ("any tool error", [run for run in found if run.tool_error]),
        ("a tool error after which the same tool did not work", [run for run in found if run.unrecovered]),
    ):
        hits = sum("tool_failure" in run.right for run in fired)
        print(f"{rule} is a `tool_failure`: precision {share(hits, len(fired))}, recall {share(hits, len(gold))}")


SOURCES = {
    "langgraph": ("langgraph", "langchain"),
    "openai-agents": ("openai-agents",),
    "pydantic-ai": ("pydantic-ai",),
    "smolagents": ("smolagents",),
    "google-adk": ("google-adk",),
    "crewai": ("crewai",),
    "mcp": ("mcp ",),
}
"""How the sources in `marks` call each framework; its exceptions and scopes are named alike."""


@contextmanager
def without(framework: str, *, known: bool = False) -> Iterator[None]:
    """Take a framework's own words away.

    Args:
        framework: Which.
        known: It is still known that its package is one of an agent framework; nothing else.
    """
    packages = SOURCES[framework]
    words = tuple(name.strip().replace("-", "_") for name in packages) + tuple(
        name.replace("google-adk", "gcp.vertex.agent").strip() for name in packages
    )
    sentences = {
        name: tuple(each for each in getattr(marks, name) if not each.source.startswith(packages))
        for name in ("TOOL_MESSAGES", "RESULTS", "ENVELOPES", "STATUSES")
    }
    flow = {name: kind for name, kind in marks.CONTROL_FLOW.items() if not name.startswith(words)}
    scopes = frozenset(scope for scope in marks.FRAMEWORK_SCOPES if not any(word in scope for word in words))
    read_only = {
        "CONTROL_FLOW": flow,
        "REFUSAL_WORDS": _words(sentences["TOOL_MESSAGES"]),
        **{name: () for name, owner in _OWN_PHRASES.items() if owner == framework},
    }
    names = {"REJECTED_ANSWER": _OWN_ANSWERS, "ARGUMENT_ERRORS": _OWN_ARGUMENTS, "PROVIDER_ERRORS": _OWN_PROVIDERS}
    read_only |= {name: _less(getattr(marks, name), owned.get(framework, ())) for name, owned in names.items()}
    kept = marks.AGENT_PACKAGES if known else _less(marks.AGENT_PACKAGES, packages_of(words))
    if framework == "google-adk":
        read_only["HANDLED_ERROR"] = "\0"
    with ExitStack() as patched:
        patched.enter_context(patch.multiple(marks, **sentences, **read_only))
        patched.enter_context(patch.object(roots, "_FRAMEWORKS", scopes))
        patched.enter_context(patch.object(shapes, "AGENT_PACKAGES", kept))
        patched.enter_context(patch.object(langchain, "TOOL_MESSAGES", sentences["TOOL_MESSAGES"]))
        if framework == "langgraph":
            patched.enter_context(patch.object(langchain, "HANDED_OVER", "\0"))
            patched.enter_context(patch.object(gen_ai, "HANDED_OVER", "\0"))
        if framework == "pydantic-ai":
            rules = ("kind", "is_deferred", "refused_arguments", "owes_answer")
            patched.enter_context(patch.multiple(pydantic_ai, **dict.fromkeys(rules, lambda _: None)))
        yield


def packages_of(words: Iterable[str]) -> set[str]:
    """List the packages that begin with one of these words."""
    return {package for package in marks.AGENT_PACKAGES if package.startswith(tuple(words))}


def _less(known: Any, names: Iterable[str]) -> Any:
    if hasattr(known, "items"):
        return {name: how for name, how in known.items() if name not in names}
    return known - set(names)


def _words(sentences: Iterable[Any]) -> tuple[str, ...]:
    kept = {each.starts for each in sentences} | {each.holds for each in sentences if each.holds}
    return tuple(words for words in marks.REFUSAL_WORDS if words in kept)


_OWN_PHRASES = {"DECISIONS": "langgraph", "NO_ERROR": "google-adk"}
_OWN_ANSWERS = {
    "langgraph": ("StructuredOutputValidationError", "MultipleStructuredOutputsError", "OutputParserException"),
    "crewai": ("ConverterError",),
    "smolagents": ("AgentParsingError",),
}
_OWN_ARGUMENTS = {"langgraph": ("ToolInvocationError",), "smolagents": ("AgentToolCallError",)}
_OWN_PROVIDERS = {
    "pydantic-ai": ("ModelHTTPError", "ModelAPIError"),
    "smolagents": ("AgentGenerationError",),
    "google-adk": ("_ResourceExhaustedError",),
}


def print_labelled(folder: Path, name: str) -> None:
    """Print precision and recall on traces that others have labelled, a trace at a time."""
    found = labelled_traces.counts(folder)
    print(f"\n{name}: {sum(ours for ours, _, _ in found.values())} traces\n")
    print("| class | precision | recall |\n| --- | --- | --- |")
    for each, (ours, theirs, both) in found.items():
        print(f"| `{each}` | {share(both, ours)} | {share(both, theirs)} |")
    total = sum(ours for ours, _, _ in found.values())
    print(f"\nagreement: {share(sum(both for _, _, both in found.values()), total)}")
    print(f"always `pass`: {share(found.get('pass', (0, 0, 0))[1], total)}")


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--leave-out", action="append", choices=SOURCES, default=[])
    parser.add_argument("--leave-each-out", action="store_true")
    given = parser.parse_args()
    if not (given.folder / "labels.json").is_file():
        print(f"no labels.json in '{given.folder}'; name a folder of labelled recordings", file=sys.stderr)
        return 2
    left_out = list(SOURCES) if given.leave_each_out else given.leave_out
    if not left_out:
        print_table(list(judged(given.folder)))
    total: Counter[str] = Counter()
    for framework in left_out:
        with_words = list(judged(given.folder, [framework]))
        with without(framework):
            found = list(judged(given.folder, [framework]))
        with without(framework, known=True):
            with_package = list(judged(given.folder, [framework]))
        right = sum(run.said in run.right for run in found)
        total += Counter(right=right, of=len(found), known=sum(run.said in run.right for run in with_package))
        known = share(sum(run.said in run.right for run in with_words), len(with_words))
        print(f"without {framework}: {share(right, len(found))}; with its words: {known}")
    if len(left_out) > 1:
        print(f"each left out in turn: {share(total['right'], total['of'])}")
        print(f"and where only its package is known: {share(total['known'], total['of'])}")
    for variable in ("OTEL_AML_TRAIL", "OTEL_AML_AGENTRX"):
        if os.environ.get(variable):
            print_labelled(Path(os.environ[variable]), variable)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
