"""Where a framework does not let the right verdict be seen: what is seen instead, and the upstream reason in words."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios import BY_NAME


@dataclass(frozen=True)
class Gap:
    """One cell that is not as it should be.

    Args:
        seen: The verdicts that are seen.
        reason: Why, upstream.
    """

    seen: tuple[str, ...]
    reason: str


_REPAIR_UNSEEN = "a refused answer leaves no mark on any span; declare the schema in a case"
_NO_RETRIEVER = "it has no retrievers, only tools: what `run.retrieved()` told live is in no file"
_ROOT_NEVER_ENDS = "OpenInference never ends the agent's span when the run raises: open a case around it"
_NO_PAUSE = "no span tells that a person is asked: `run.paused()` tells it live"
_TWO_RUNS = "the SDK does not ask again: the app runs the agent twice, which are two runs without a case around them"
_NO_RESULTS = "without inputs and results nothing tells a refused call from a failed one"

_FOUND: dict[tuple[str, str, str, tuple[str, ...]], Gap] = {
    ("pydantic-ai", "schema repaired", "alone", ("live", "files")): Gap(("pass",), _REPAIR_UNSEEN),
    ("pydantic-ai", "schema repaired", "private", ("live",)): Gap(("pass",), _REPAIR_UNSEEN),
    ("openai-agents", "schema fails", "alone", ("live", "files")): Gap(("format_violation",) * 2, _TWO_RUNS),
    ("openai-agents", "schema repaired", "alone", ("live", "files")): Gap(("format_violation", "pass"), _TWO_RUNS),
    ("openai-agents", "interrupt", "alone", ("live", "files")): Gap(
        ("pass",), "no span tells that a person is asked, and OpenInference exports nothing of the second half"
    ),
    ("openai-agents", "interrupt", "case", ("files",)): Gap(("pass", "pass"), _NO_PAUSE),
    ("openai-agents", "arguments invalid", "private", ("live",)): Gap(("tool_failure",), _NO_RESULTS),
    ("smolagents", "schema fails", "alone", ("live", "files")): Gap(("pass",), _REPAIR_UNSEEN),
    ("smolagents", "schema repaired", "alone", ("live", "files")): Gap(("pass",), _REPAIR_UNSEEN),
    ("smolagents", "timeout", "alone", ("live",)): Gap((), _ROOT_NEVER_ENDS),
    ("smolagents", "timeout", "alone", ("files",)): Gap(("pass",), _ROOT_NEVER_ENDS),
    ("smolagents", "429", "alone", ("live",)): Gap((), _ROOT_NEVER_ENDS),
    ("smolagents", "interrupt", "alone", ("live",)): Gap((), _ROOT_NEVER_ENDS),
    ("smolagents", "interrupt", "alone", ("files",)): Gap(("pass", "pass"), _NO_PAUSE),
    ("smolagents", "interrupt", "case", ("files",)): Gap(("pass", "pass"), _NO_PAUSE),
    ("langgraph-genai", "schema fails", "alone", ("live", "files")): Gap(("unclassified",), _REPAIR_UNSEEN),
    ("langgraph-genai", "schema repaired", "alone", ("live", "files")): Gap(("pass",), _REPAIR_UNSEEN),
    ("langgraph-genai", "interrupt", "alone", ("live", "files")): Gap(("pass", "pass"), _NO_PAUSE),
    ("langgraph-genai", "interrupt", "case", ("files",)): Gap(("pass", "pass"), _NO_PAUSE),
    ("google-adk", "tool recovers", "private", ("live",)): Gap(
        ("pass",), "its retry plugin hides the error in a result that is not recorded"
    ),
    ("google-adk", "arguments invalid", "private", ("live",)): Gap(("tool_failure",), _NO_RESULTS),
    **{
        (framework, "retriever empty", "case", ("files",)): Gap(("pass",), _NO_RETRIEVER)
        for framework in ("pydantic-ai", "openai-agents", "smolagents", "google-adk")
    },
}

GAPS = {(framework, name, kind, each): gap for (framework, name, kind, where), gap in _FOUND.items() for each in where}
"""By framework, scenario, kind and where it is seen."""


def right_or_gap(framework: str, name: str, kind: str, where: str) -> tuple[tuple[str, ...], str]:
    """Say what should be seen, and why if that is not the right verdict."""
    gap = GAPS.get((framework, name, kind, where))
    return (BY_NAME[name].verdicts(alone=kind == "alone"), "") if gap is None else (gap.seen, gap.reason)
