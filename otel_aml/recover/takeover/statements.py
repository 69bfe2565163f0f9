"""What the queue asks its tables, in words that SQLite and PostgreSQL share; values stand as `$name`."""

from __future__ import annotations

from typing import Final

_HOLDS: Final = """
    (select count(*) from takeover_holds
     where takeover_holds.task_id = takeover_tasks.id or takeover_holds.case_id = takeover_tasks.case_id) as holds
"""
_SUMMARY: Final = f"""
    id, kind, case_id, trace_id, failure_class, step_id, author, typology, user_message, plan, choices, follows,
    created_us, due_us, expires_us, claimed_by, claimed_us, lease_us, escalation, state_bytes,
    length(technical_detail) as detail_length, choice, decided_by, decided_us, said, {_HOLDS}
"""
_PASSED_LEVEL: Final = """
    (case when expires_us <= $now then 1 else 0 end + case when due_us <= $now then 1 else 0 end)
"""

ONE: Final = f"select {_SUMMARY}, state, response_schema, edited from takeover_tasks where id = $id"  # noqa: S608
WHOLE: Final = f"""
    select takeover_tasks.*, length(technical_detail) as detail_length, {_HOLDS} from takeover_tasks where id = $id
"""  # noqa: S608
LIST: Final = f"""
    select {_SUMMARY}
    from takeover_tasks
    where (($waiting = 1 and decided_us is null and lease_us <= $now)
           or ($claimed = 1 and decided_us is null and lease_us > $now)
           or ($decided = 1 and decided_us is not null))
      and (cast($kind as text) is null or kind = $kind)
      and (cast($case_id as text) is null or case_id = $case_id)
      and (cast($claimed_by as text) is null
           or (claimed_key = $claimed_by and decided_us is null and lease_us > $now))
    order by
        case when decided_us is null then 0 else 1 end,
        case when decided_us is null then urgent_us else -decided_us end,
        created_us,
        id
    limit $limit offset $offset
"""  # noqa: S608
MATCHING: Final = """
    select id from takeover_tasks where substr(id, 1, $length) = $beginning order by id limit $limit
"""
NEXT: Final = """
    select id
    from takeover_tasks
    where decided_us is null
      and lease_us <= $now
      and (cast($kind as text) is null or kind = $kind)
      and (author_key is null or author_key != $author)
    order by urgent_us, created_us, id
    limit 1
"""
CLAIM: Final = """
    update takeover_tasks
    set claimed_by = $by, claimed_key = $key, claimed_us = coalesce($claimed, claimed_us), lease_us = $lease
    where id = $id
"""
RELEASE: Final = """
    update takeover_tasks
    set claimed_by = null, claimed_key = null, claimed_us = null, lease_us = 0
    where id = $id
"""
DECIDE: Final = """
    update takeover_tasks
    set choice = $choice, decided_by = $decided_by, decided_us = $decided_us, said = $said, edited = $edited
    where id = $id and decided_us is null
"""
PASSED: Final = f"""
    select id, {_PASSED_LEVEL} as passed
    from takeover_tasks
    where decided_us is null and urgent_us <= $now and escalation < {_PASSED_LEVEL}
    order by urgent_us, created_us, id
    limit $limit
"""  # noqa: S608
ESCALATE: Final = "update takeover_tasks set escalation = $level, escalated_us = $now where id = $id"
OUTLIVED: Final = """
    select id
    from takeover_tasks
    where decided_us <= $until
      and not exists (
          select 1 from takeover_holds
          where takeover_holds.task_id = takeover_tasks.id or takeover_holds.case_id = takeover_tasks.case_id
      )
    order by decided_us, id
    limit $limit
"""
DELETE: Final = "delete from takeover_tasks where id = $id"
WAS: Final = "select 1 from takeover_links where task_id = $id and act = $act limit 1"
PLACE_HOLD: Final = """
    insert into takeover_holds (id, task_id, case_id, reason, placed_by, placed_us)
    values ($id, $task_id, $case_id, $reason, $by, $now)
"""
END_HOLD: Final = "delete from takeover_holds where id = $id"
HOLDS: Final = "select id, task_id, case_id, reason, placed_by, placed_us from takeover_holds order by placed_us, id"
LABELLED: Final = """
    select id, kind, case_id, trace_id, failure_class, choice, decided_by, decided_us, said
    from takeover_tasks
    where decided_us > $at or (decided_us = $at and id > $id)
    order by decided_us, id
    limit $limit
"""
UNHEARD: Final = f"""
    select {_SUMMARY}, state, response_schema, edited
    from takeover_tasks
    where decided_us is not null and acknowledged_us is null
    order by decided_us, id
    limit $limit
"""  # noqa: S608
ACKNOWLEDGE: Final = """
    update takeover_tasks
    set acknowledged_us = $now
    where id = $id and decided_us is not null and acknowledged_us is null
"""
COUNTS: Final = """
    select
        sum(case when decided_us is null then 1 else 0 end) as open,
        sum(case when decided_us is null and lease_us <= $now then 1 else 0 end) as waiting,
        sum(case when decided_us is null and lease_us > $now then 1 else 0 end) as claimed,
        sum(case when decided_us is not null then 1 else 0 end) as decided,
        sum(case when decided_us is null and urgent_us <= $now then 1 else 0 end) as overdue,
        sum(case when decided_us is null and escalation > 0 then 1 else 0 end) as escalated,
        sum(case when decided_us is not null and acknowledged_us is null then 1 else 0 end) as unacknowledged,
        min(case when decided_us is null then created_us end) as oldest_us,
        (select count(*) from takeover_holds) as holds
    from takeover_tasks
"""
KINDS: Final = "select kind, count(*) as n from takeover_tasks where decided_us is null group by kind"
CHOICES: Final = "select choice, count(*) as n from takeover_tasks where decided_us is not null group by choice"
ACTS: Final = "select act, count(*) as n from takeover_links group by act"
HEAD: Final = "select seq, hash from takeover_head where place = 1"
MOVE_HEAD: Final = "update takeover_head set seq = $seq, hash = $hash where place = 1"
LINK: Final = """
    insert into takeover_links (seq, at_us, act, actor, via, task_id, data, previous, hash)
    values ($seq, $at, $act, $actor, $via, $task_id, $data, $previous, $hash)
"""
LINKS: Final = """
    select seq, at_us, act, actor, via, task_id, data, previous, hash
    from takeover_links
    where seq > $after
    order by seq
    limit $limit
"""
EVERY_TASK: Final = "select * from takeover_tasks where id > $after order by id limit $limit"


def insert(names: tuple[str, ...]) -> str:
    """Put a task in, unless its id is taken."""
    return (
        f"insert into takeover_tasks ({', '.join(names)}) values ({', '.join(f'${name}' for name in names)}) "  # noqa: S608
        "on conflict (id) do nothing"
    )
