-- Put the answers of the six checks into their table.
-- $rows:     JSON list of objects, one a run and check, by the names of the columns
insert into checks
with

given as (
    select
        unnest(from_json(
            $rows,
            '[{"trace_id":"VARCHAR","span_id":"VARCHAR","class":"VARCHAR","answer":"VARCHAR","decided_by":"VARCHAR"}]'
        )) as answered
)

select
    given.answered.trace_id,
    given.answered.span_id,
    given.answered.class,
    given.answered.answer,
    given.answered.decided_by
from given
