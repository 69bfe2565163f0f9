"""The hash chain: each link holds the hash of the one before, so that none can be changed or taken out unseen.

A link says who did what to which task and when. What the task holds, and the words of a decision, stand in it only as
salted digests; the salt goes when the task is deleted, and what is left of it is that it was there.

What it cannot see: that the newest links were cut off together with all that they speak of, or that everything was
written anew by someone who can write the file. Against that, keep a head elsewhere and give it to `verify`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from otel_aml.errors import InvalidTask
from otel_aml.recover.takeover.jsontext import compact

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_HASH: Final = "0" * 64
"""What stands before the first link."""
_HEAD: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")


class Act(StrEnum):
    """What a link can say."""

    SUBMITTED = "submitted"
    DECIDED = "decided"
    DETAIL_VIEWED = "detail_viewed"
    ESCALATED = "escalated"
    HELD = "held"
    HOLD_RELEASED = "hold_released"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends: its newest link.

    Args:
        seq: How many links there are.
        hash: 64 hex; of no links `NO_HASH`.
    """

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def of(cls, text: str) -> Head:
        """Read what `str` writes.

        Raises:
            InvalidTask: It is no head.
        """
        found = _HEAD.fullmatch(text)
        if found is None:
            raise InvalidTask(
                f"{text!r:.90} is no head of a chain; give one as `queue verify` prints it, like 12:9f..."
            )
        return cls(int(found[1]), found[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link.

    Args:
        seq: Its place, from 1.
        at_us: When, in microseconds since 1970.
        act: What was done.
        by: Who did it; empty for what the app itself does.
        via: Through what.
        task_id: To which task; None where it concerns none.
        data: What the act says beside: digests and numbers, never a text from a case.
        previous: The hash of the link before.
    """

    seq: int
    at_us: int
    act: str
    by: str
    via: str
    task_id: str | None
    data: Mapping[str, Any]
    previous: str

    @property
    def hash(self) -> str:
        """The hash over all of it."""
        said = [self.seq, self.at_us, self.act, self.by, self.via, self.task_id, self.data, self.previous]
        return hashlib.sha256(compact(said).encode()).hexdigest()

    @property
    def head(self) -> Head:
        """The head of a chain that ends here."""
        return Head(self.seq, self.hash)


def digest(salt: str, *parts: object) -> str:
    """Digest parts so that nobody who lacks the salt can try what they were."""
    return hashlib.sha256(compact([salt, *parts]).encode()).hexdigest()
