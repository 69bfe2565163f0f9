-- Which runs does a reference mean?
-- grain:     run, ordered by trace and root; columns as in reports/runs, which is at hand as run_rows()
-- $prefix:   how its trace id begins, in lower case
select * -- noqa: AM04
from run_rows()
where starts_with(trace_id, $prefix)
order by
    trace_id asc,
    span_id asc
