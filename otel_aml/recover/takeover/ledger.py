"""The chain in its table: read where it ends, and add a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_aml.recover.takeover import statements as sql
from otel_aml.recover.takeover.chain import Head, Link
from otel_aml.recover.takeover.jsontext import compact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_aml.recover.takeover.chain import Act
    from otel_aml.recover.takeover.database import Session


def head_of(session: Session, lock: str = "") -> Head:
    """Read where the chain ends."""
    ((seq, found),) = (row.values() for row in session.rows(f"{sql.HEAD} {lock}"))
    return Head(seq, found)


def append(  # noqa: PLR0913 - what a link says
    session: Session,
    lock: str,
    act: Act,
    *,
    now_us: int,
    by: str = "",
    via: str = "",
    task_id: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Add a link. Always the last thing that a transaction locks, so that no two wait for each other."""
    head = head_of(session, lock)
    link = Link(
        seq=head.seq + 1,
        at_us=now_us,
        act=str(act),
        by=by,
        via=via,
        task_id=task_id,
        data=data or {},
        previous=head.hash,
    )
    session.change(
        sql.LINK,
        seq=link.seq,
        at=link.at_us,
        act=link.act,
        actor=link.by,
        via=link.via,
        task_id=link.task_id,
        data=compact(link.data),
        previous=link.previous,
        hash=link.hash,
    )
    session.change(sql.MOVE_HEAD, seq=link.seq, hash=link.hash)
