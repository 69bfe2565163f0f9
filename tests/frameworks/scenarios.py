"""The scenarios that every framework plays, as data: what the model writes, what the tools do, the right verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

CANARY = "kanari"
"""Stands in every content: none of it may leave the process where content is switched off."""
SAID_BY_DEPENDENCY = f"{CANARY}.example"
"""Stands in what the services of tools say when they fail, and nowhere else."""
ACCOUNT = f"{CANARY}-account"
EVIDENCE = (f"{CANARY}-tx-1", f"{CANARY}-tx-2")
NOTE = f"{CANARY}-note-1"
QUESTION = f"Which typology does {CANARY} show?"
INSTRUCTIONS = f"You draft findings against money laundering for the bank of {CANARY}."


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The model hands its answer over."""

    fields: dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """The model's provider answers with an HTTP error."""

    status: int


Turn = tuple[Call, ...] | Answer | Refusal


class Does(StrEnum):
    """What a tool does when it is called."""

    WORK = "it works"
    BREAK = "its service is down"
    TIME_OUT = "its service does not answer in time"
    FIND_NOTHING = "it finds nothing"
    HANG = "it never returns"


@dataclass(frozen=True)
class Scenario:
    """One scenario.

    Args:
        name: How the table calls it.
        story: What happens, in a line.
        turns: What the model writes; the last turn is repeated for as long as it is asked.
        tools: What each tool does, call by call; afterwards it works.
        right: The verdict of each run inside a case.
        right_alone: The verdict of each run with nothing declared, if that differs.
        gives_up: The app lets no error of a tool end the run, so that the model can try again.
        deadline: The app gives the agent a deadline, which cuts it while a tool hangs.
        asks: A person must allow the first tool; then the run is resumed.
        checks: The checks that must be decided inside a case, whether content is captured or not.
        dependency: What failed, of a `tool_failure`; `model` for the model.
    """

    name: str
    story: str
    turns: tuple[Turn, ...]
    right: tuple[str, ...]
    tools: MappingProxyType[str, tuple[Does, ...]] = field(default_factory=lambda: MappingProxyType({}))
    right_alone: tuple[str, ...] = ()
    gives_up: bool = False
    deadline: bool = False
    asks: bool = False
    checks: tuple[str, ...] = ()
    dependency: str = ""

    def verdicts(self, *, alone: bool) -> tuple[str, ...]:
        """Say which verdicts are right."""
        return self.right_alone if alone and self.right_alone else self.right


TRANSACTIONS = Call("get_transactions", {"account": ACCOUNT})
SCREENING = Call("screen_sanctions", {"name": f"{CANARY} Ltd"})
NOTES = Call("search_notes", {"query": f"cash deposits of {CANARY}"})
GOOD = Answer({"typology": "structuring", "cited_tx_ids": list(EVIDENCE), "narrative": f"Deposits of {CANARY}."})
INVENTED = Answer({**GOOD.fields, "cited_tx_ids": [f"{CANARY}-tx-99"]})
BROKEN = Answer({"typology": "structuring", "narrative": f"Deposits of {CANARY}."})
"""Lacks what it cites."""
ALL_CHECKS = ("format_violation", "hallucination", "retrieval_miss")


def does(**tools: Does) -> MappingProxyType[str, tuple[Does, ...]]:
    """Say what each tool does at its first call."""
    return MappingProxyType({name: (each,) for name, each in tools.items()})


SCENARIOS = (
    Scenario(
        "success",
        "two tools and a note, then an answer that fits",
        ((TRANSACTIONS, SCREENING), (NOTES,), GOOD),
        right=("pass",),
        checks=ALL_CHECKS,
    ),
    Scenario(
        "tool raises",
        "a tool's service is down, and nothing makes it good",
        ((TRANSACTIONS,), GOOD),
        right=("tool_failure",),
        tools=does(get_transactions=Does.BREAK),
        dependency="get_transactions",
    ),
    Scenario(
        "tool recovers",
        "a tool's service times out once, the next call works",
        ((TRANSACTIONS,), (TRANSACTIONS,), (NOTES,), GOOD),
        right=("pass, recovered",),
        tools=does(get_transactions=Does.TIME_OUT),
        gives_up=True,
    ),
    Scenario(
        "arguments invalid",
        "the model's arguments do not fit the tool, and it never calls again",
        ((Call("get_transactions", {"acct": 7}),), GOOD),
        right=("format_violation",),
    ),
    Scenario(
        "schema fails",
        "the answer lacks a mandatory field, however often it is asked for",
        ((NOTES,), BROKEN),
        right=("format_violation",),
        checks=("format_violation",),
    ),
    Scenario(
        "schema repaired",
        "the answer lacks a mandatory field once, then it fits",
        ((NOTES,), BROKEN, GOOD),
        right=("pass, recovered",),
    ),
    Scenario(
        "retriever empty",
        "the retriever finds nothing, though the case needs a note",
        ((TRANSACTIONS,), (NOTES,), GOOD),
        right=("retrieval_miss",),
        right_alone=("pass",),
        tools=does(search_notes=Does.FIND_NOTHING),
        checks=ALL_CHECKS,
    ),
    Scenario(
        "citation invented",
        "the answer cites a transaction that the case does not hold",
        ((TRANSACTIONS,), (NOTES,), INVENTED),
        right=("hallucination",),
        right_alone=("pass",),
        checks=ALL_CHECKS,
    ),
    Scenario(
        "timeout",
        "the app's deadline cuts the run while a tool hangs",
        ((TRANSACTIONS,), GOOD),
        right=("cancelled",),
        tools=does(get_transactions=Does.HANG),
        deadline=True,
    ),
    Scenario(
        "429",
        "the model's provider says that there were too many requests",
        (Refusal(429),),
        right=("tool_failure",),
        dependency="model",
    ),
    Scenario(
        "parallel",
        "of two tools that run side by side one is down",
        ((TRANSACTIONS, SCREENING), GOOD),
        right=("tool_failure",),
        tools=does(screen_sanctions=Does.BREAK),
        dependency="screen_sanctions",
    ),
    Scenario(
        "interrupt",
        "a person must allow a call; the run stops, and is resumed",
        ((TRANSACTIONS,), (NOTES,), GOOD),
        right=("pass, paused", "pass"),
        asks=True,
    ),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
