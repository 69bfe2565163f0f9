-- What should be repaired first? The gravest, then the most frequent; weights are never multiplied into counts.
-- grain:     class with at least one finding
-- runs:      runs whose first failure it is; 0 where it only came after another
with

first_failures as (
    select
        class,
        count(*) as run_count
    from runs
    where is_failure
    group by class
),

findings as (
    select
        class,
        count(*) as finding_count
    from checks
    where answer = 'fired'
    group by class
)

select
    classes.class,
    classes.severity,
    coalesce(first_failures.run_count, 0) as run_count
from findings
inner join classes on findings.class = classes.class
left join first_failures on findings.class = first_failures.class
order by
    classes.weight desc,
    run_count desc,
    findings.finding_count desc,
    classes.place asc
