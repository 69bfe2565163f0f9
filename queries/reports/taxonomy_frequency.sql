-- How often is each class the first failure of a run?
-- grain:     class; the six, and what is not one of them: pass, unclassified, cancelled, paused
-- runs:      runs whose verdict it is; a run that waits for a person and has not failed is paused and nothing else
-- decided:   runs in which the check was decided; of a pass: the runs that ended, and of which a check was decided
-- rate:      runs of those decided, 0 to 1; null for what no check decides
-- share:     of the runs in the six, 0 to 1; the shares sum to 1
-- findings:  runs in which the check fired, whether first or not
-- recovered: failures of that class that a later call made good
with

named as (
    select
        is_failure,
        coverage,
        case when class = 'pass' and paused then 'paused' else class end as class
    from runs
),

counted as (
    select
        class,
        count(*) as run_count,
        count(*) filter (where coverage != 'none') as decided_run_count
    from named
    group by class
),

ended as (
    select count(*) filter (where is_failure or class = 'unclassified' or coverage != 'none') as run_count
    from named
    where class not in ('cancelled', 'paused')
),

checked as (
    select
        class,
        count(*) filter (where answer != 'unchecked') as decided_count,
        count(*) filter (where answer = 'fired') as finding_count
    from checks
    group by class
),

made_good as (
    select
        class,
        count(*) as recovered_count
    from failures
    where is_recovered
    group by class
),

joined as (
    select
        classes.class,
        classes.place,
        classes.is_failure,
        classes.severity,
        classes.weight,
        coalesce(counted.run_count, 0) as run_count,
        coalesce(counted.decided_run_count, 0) as decided_run_count,
        case
            when classes.is_failure then coalesce(checked.decided_count, 0)
            when classes.class = 'pass' then ended.run_count
        end as decided_count,
        case when classes.is_failure then coalesce(checked.finding_count, 0) end as finding_count,
        case when classes.is_failure then coalesce(made_good.recovered_count, 0) end as recovered_count
    from classes
    cross join ended
    left join counted on classes.class = counted.class
    left join checked on classes.class = checked.class
    left join made_good on classes.class = made_good.class
)

select
    class,
    run_count,
    decided_count,
    severity,
    weight,
    finding_count,
    recovered_count,
    case
        when is_failure then cast(run_count as double) / nullif(decided_count, 0)
        when class = 'pass' then cast(decided_run_count as double) / nullif(decided_count, 0)
    end as rate,
    case
        when is_failure
            then cast(run_count as double) / nullif(sum(run_count) filter (where is_failure) over (), 0)
    end as share
from joined
order by
    is_failure desc,
    case when is_failure then run_count end desc,
    place asc
