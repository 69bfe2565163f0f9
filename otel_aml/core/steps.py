"""A step of a run: the slim facts of one ended span, in one vocabulary whatever the framework's own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What a step did."""

    AGENT = "agent"
    MODEL = "model"
    TOOL = "tool"
    RETRIEVER = "retriever"
    CLIENT = "client"
    """Another call that left the process: HTTP, a database, a queue."""
    STEP = "step"
    """Anything else inside the process: a chain, a graph node, a span of the app."""


CALLS: Final = frozenset({Kind.MODEL, Kind.TOOL, Kind.RETRIEVER})
"""The kinds that reach outside the model and carry their own outcome."""
MAKES_A_RUN: Final = CALLS | {Kind.AGENT}
"""A trace without one of these is no run."""


class Sort(StrEnum):
    """What kind of incident a step ended in. Control flow is none at all."""

    FAILED = "failed"
    """An error."""
    REJECTED = "rejected"
    """What the model wrote was refused before anything ran: arguments, an unknown tool, an answer."""
    CANCELLED = "cancelled"
    """It was cut from outside."""
    ABANDONED = "abandoned"
    """Its consumer stopped reading a stream."""


class About(StrEnum):
    """What was rejected."""

    ARGUMENTS = "arguments"
    TOOL_NAME = "tool_name"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """How a step ended, where it did not end well.

    Args:
        type: The exception's name as recorded, qualified where the recorder did so; may be empty.
        message: Its text, bounded; only compared with other messages, never shown.
        error_type: How it failed in one word: `timeout`, `rate_limited`, ... or the exception's short name.
        retriable: Whether the same call may succeed later.
        about: What was rejected; None unless `sort` is REJECTED.
        subject: The tool that was called in vain, where the step itself is not that tool.
        noted: The app itself noted it on its own step, with `step_error`.
        survived: It was noted, and the step itself ended well.
        retrying: It was noted by an app that was about to try again.
        made_good: It was noted by a guard, and a later try of the same call worked.
        needs_person: It was noted with the word that a person should take over.
        tries: Tries that a guard made after the first.
        circuit_state: That of the dependency's circuit, where one guards it; else empty.
        of_provider: The error is one of a model provider (a rate limit, a 5xx, a failed generation).
        detail: Type, redacted message and place of the exception, for operators.
    """

    sort: Sort
    type: str = ""
    message: str = ""
    error_type: str = ""
    retriable: bool = False
    about: About | None = None
    subject: str = ""
    noted: bool = False
    survived: bool = False
    retrying: bool = False
    made_good: bool = False
    needs_person: bool = False
    tries: int = 0
    circuit_state: str = ""
    of_provider: bool = False
    detail: str = ""

    @property
    def short_type(self) -> str:
        """The last part of the exception's name."""
        return self.type.rpartition(".")[2]


@dataclass(slots=True, kw_only=True, unsafe_hash=True)  # never changed; `frozen` would make each cost 3 times as much
class Step:
    """One ended span.

    Args:
        span_id: 16 hex digits.
        parent_id: 16 hex digits; None for a root.
        name: The tool, retriever, model or agent; else the span's name.
        started_at: Nanoseconds since the epoch.
        ended_at: Nanoseconds since the epoch; equal to `started_at` if it never ended.
        arguments: What the call was given, as text or a digest of it; None where not recorded.
        incident: None if it ended well, or in mere control flow.
        asked_again: A tool asked the model for other arguments: control flow, but no accepted call.
        paused: It waits for a person.
        handed_over: A guard handed it over to a person.
        cut: A mark of failure may lie beyond the part of its result that was read.
        open: It never ended.
        step_id: The step's name in the app, if the app gave one.
    """

    span_id: str
    parent_id: str | None
    kind: Kind
    name: str
    started_at: int
    ended_at: int
    arguments: str | None = None
    incident: Incident | None = None
    asked_again: bool = False
    paused: bool = False
    handed_over: bool = False
    cut: bool = False
    open: bool = False
    step_id: str = ""

    @property
    def went_well(self) -> bool:
        """Whether it ended without an incident and gave what was asked."""
        return self.incident is None and not self.asked_again and not self.paused and not self.open
