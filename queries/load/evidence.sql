-- Put what the verdicts rest on into its table.
-- $rows:     JSON list of objects: the ids of a run, and its record as JSON text
insert into evidence
with

given as (
    select unnest(from_json($rows, '[{"trace_id":"VARCHAR","span_id":"VARCHAR","record":"VARCHAR"}]')) as kept
)

select
    given.kept.trace_id,
    given.kept.span_id,
    given.kept.record
from given
