-- Which way out was taken, and how did it end?
-- grain:     path, outcome
-- runs:      runs in which something failed, whether it was made good or not
-- attempts:  the median of the attempts made after the first
select
    path,
    outcome,
    cast(median(attempts) as double) as median_attempts,
    count(*) as run_count
from runs
where path is not null
group by
    path,
    outcome
order by
    run_count desc,
    path asc,
    outcome asc
