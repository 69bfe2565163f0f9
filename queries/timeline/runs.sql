-- Which runs does a reference mean?
-- grain:     run, ordered by trace and root
-- $prefix:   how its trace id begins, in lower case
select
    trace_id,
    span_id,
    class,
    severity,
    findings,
    unchecked,
    recovered,
    first_span_id,
    paused,
    incomplete,
    path,
    outcome,
    attempts,
    coverage,
    case_id,
    online_class,
    decided_by,
    dependency,
    error_type,
    service,
    agent
from runs
where starts_with(trace_id, $prefix)
order by
    trace_id asc,
    span_id asc
