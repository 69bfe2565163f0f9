-- Put the symptoms of runs into their table.
-- $rows:     JSON list of objects, one a symptom, by the names of the columns; times in nanoseconds
insert into failures
with

given as (
    select
        unnest(from_json(
            $rows,
            '[{"trace_id":"VARCHAR","span_id":"VARCHAR","class":"VARCHAR","seen_span_id":"VARCHAR",'
            || '"dependency":"VARCHAR","error_type":"VARCHAR","step_id":"VARCHAR","is_first":"BOOLEAN",'
            || '"is_recovered":"BOOLEAN","is_superseded":"BOOLEAN","seen_ns":"BIGINT"}]'
        )) as symptom
)

select
    given.symptom.trace_id,
    given.symptom.span_id,
    given.symptom.class,
    given.symptom.seen_span_id,
    given.symptom.dependency,
    given.symptom.error_type,
    given.symptom.step_id,
    given.symptom.is_first,
    given.symptom.is_recovered,
    given.symptom.is_superseded,
    make_timestamp(given.symptom.seen_ns // 1000) as seen_at
from given
