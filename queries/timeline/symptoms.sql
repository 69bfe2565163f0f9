-- What failed in a run?
-- grain:     symptom, in the order of time
-- $trace_id, $span_id: the run
select
    class,
    seen_span_id,
    error_type,
    dependency,
    step_id,
    is_first,
    is_recovered,
    is_superseded
from failures
where
    trace_id = $trace_id
    and span_id = $span_id
order by
    seen_at asc,
    class asc,
    seen_span_id asc,
    error_type asc,
    dependency asc
