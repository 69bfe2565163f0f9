"""A person takes over: the queue of tasks, what is asked, what was decided, and the proof of it."""

from __future__ import annotations

from otel_aml.recover.takeover.chain import Head
from otel_aml.recover.takeover.decision import Decision, HumanLabel
from otel_aml.recover.takeover.labels import DecidedLabel
from otel_aml.recover.takeover.queue import LEASE, RETENTION, TakeoverQueue
from otel_aml.recover.takeover.task import ApprovalTask, Choice, ResumePlan, TaskKind
from otel_aml.recover.takeover.verification import BrokenLink, Verification
from otel_aml.recover.takeover.view import QueuedTask, Resumption, ReviewState, TaskStatus, TaskSummary

__all__ = [
    "LEASE",
    "RETENTION",
    "ApprovalTask",
    "BrokenLink",
    "Choice",
    "DecidedLabel",
    "Decision",
    "Head",
    "HumanLabel",
    "QueuedTask",
    "ResumePlan",
    "Resumption",
    "ReviewState",
    "TakeoverQueue",
    "TaskKind",
    "TaskStatus",
    "TaskSummary",
    "Verification",
]
