-- Which failed runs should be looked at first?
-- grain:     run; the worst of each class, then the second worst, and so on; columns as in reports/runs, which is at
--            hand as run_rows()
-- worst:     with the most checks that fired, then with the most spans in error
-- $most:     how many runs
with

found as (
    select
        trace_id,
        span_id,
        class,
        error_span_count,
        len(list_filter(findings, lambda finding: not contains(finding, ':'))) as finding_count
    from runs
    where is_failure
),

weighed as (
    select
        found.*,
        classes.weight
    from found
    inner join classes on found.class = classes.class
),

ranked as (
    select
        *,
        row_number() over (
            partition by class
            order by
                finding_count desc,
                error_span_count desc,
                trace_id asc,
                span_id asc
        ) as place
    from weighed
)

select run_rows.* -- noqa: AM04
from ranked
inner join run_rows() as run_rows
    on
        ranked.trace_id = run_rows.trace_id
        and ranked.span_id = run_rows.span_id
order by
    ranked.place asc,
    ranked.weight desc,
    ranked.finding_count desc,
    ranked.error_span_count desc,
    ranked.trace_id asc,
    ranked.span_id asc
limit $most
