-- What does each of the six checks say of a run?
-- grain:     check, in the order of the tree
-- $trace_id, $span_id: the run
with

of_run as (
    select
        class,
        answer,
        decided_by
    from checks
    where
        trace_id = $trace_id
        and span_id = $span_id
)

select
    of_run.class,
    of_run.answer,
    of_run.decided_by
from of_run
inner join classes on of_run.class = classes.class
order by classes.place asc
