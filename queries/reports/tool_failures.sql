-- Which tools and services failed for good, and how?
-- grain:     dependency, error type; null where it is not known
-- run_count: runs in which it did, first or not; what a later call made good does not count
with

failed as (
    select distinct
        trace_id,
        span_id,
        dependency,
        error_type
    from failures
    where
        class = 'tool_failure'
        and not is_recovered
        and not is_superseded
)

select
    dependency,
    error_type,
    count(*) as run_count
from failed
group by
    dependency,
    error_type
order by
    run_count desc,
    dependency asc nulls last,
    error_type asc nulls last
