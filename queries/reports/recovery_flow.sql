-- What was done about each class of failure, and how did it end?
-- grain:     class, path, outcome
-- class:     the verdict; of a run that passes, the first of the failures that were made good or replaced
-- runs:      runs in which something failed, whether it was made good or not
with

failed as (
    select
        path,
        outcome,
        case when class != 'pass' or len(findings) = 0 then class else split_part(findings[1], ':', 1) end as class
    from runs
    where path is not null
)

select
    failed.class,
    failed.path,
    failed.outcome,
    count(*) as run_count
from failed
inner join classes on failed.class = classes.class
group by
    failed.class,
    failed.path,
    failed.outcome,
    classes.place
order by
    classes.place asc,
    run_count desc,
    failed.path asc,
    failed.outcome asc
