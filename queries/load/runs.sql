-- Put verdicts into the table of runs.
-- $rows:     JSON list of objects, one a run, by the names of the columns; times in nanoseconds
insert into runs
with

given as (
    select
        unnest(from_json(
            $rows,
            '[{"trace_id":"VARCHAR","span_id":"VARCHAR","class":"VARCHAR","is_failure":"BOOLEAN",'
            || '"severity":"VARCHAR","findings":["VARCHAR"],"unchecked":["VARCHAR"],"recovered":"INTEGER",'
            || '"first_span_id":"VARCHAR","dependency":"VARCHAR","error_type":"VARCHAR","paused":"BOOLEAN",'
            || '"incomplete":"BOOLEAN","path":"VARCHAR","outcome":"VARCHAR","attempts":"INTEGER",'
            || '"coverage":"VARCHAR","case_id":"VARCHAR","conversation_id":"VARCHAR","service":"VARCHAR",'
            || '"agent":"VARCHAR",'
            || '"started_ns":"BIGINT","ended_ns":"BIGINT","online_class":"VARCHAR","decided_by":"VARCHAR",'
            || '"synthetic":"BOOLEAN","error_spans":"INTEGER"}]'
        )) as run
)

select
    given.run.trace_id,
    given.run.span_id,
    given.run.class,
    given.run.is_failure,
    given.run.severity,
    given.run.findings,
    given.run.unchecked,
    given.run.recovered,
    given.run.first_span_id,
    given.run.dependency,
    given.run.error_type,
    given.run.paused,
    given.run.incomplete,
    given.run.path,
    given.run.outcome,
    given.run.attempts,
    given.run.coverage,
    given.run.case_id,
    given.run.conversation_id,
    given.run.service,
    given.run.agent,
    make_timestamp(given.run.started_ns // 1000) as started_at,
    make_timestamp(given.run.ended_ns // 1000) as ended_at,
    (given.run.ended_ns - given.run.started_ns) / 1e6 as duration_ms,
    given.run.online_class,
    given.run.decided_by,
    given.run.synthetic,
    given.run.error_spans
from given
