-- What is the verdict of each run?
-- grain:     run, ordered by trace and root
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
order by
    trace_id asc,
    span_id asc
