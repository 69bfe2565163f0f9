-- How many failures would a naive count see, against one per run?
-- grain:     one row
-- first_failure_count: runs with a first failure
-- naive_count:         spans in error, and each check beyond tool_failure that fired: every symptom on its own
with

fired as (
    select
        trace_id,
        span_id,
        count(*) filter (where class = 'tool_failure') as tool_failure_count,
        count(*) filter (where class != 'tool_failure') as other_count
    from checks
    where answer = 'fired'
    group by
        trace_id,
        span_id
),

counted as (
    select
        runs.is_failure,
        greatest(runs.error_span_count, coalesce(fired.tool_failure_count, 0))
        + coalesce(fired.other_count, 0) as symptom_count
    from runs
    left join fired on
        runs.trace_id = fired.trace_id
        and runs.span_id = fired.span_id
)

select
    count(*) filter (where is_failure) as first_failure_count,
    coalesce(sum(symptom_count), 0) as naive_count
from counted
