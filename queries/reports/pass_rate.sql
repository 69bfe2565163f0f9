-- How many of the runs that ended have passed?
-- grain:         one row
-- ended_count:   runs that were not cancelled, and that do not wait for a person
-- checked_count: of these, runs that failed or are unclassified, and those of which a check was decided
-- passed_count:  of the checked, runs that pass: a run of which nothing was checked has not
-- rate:          passed of checked, 0 to 1; null where there are none
with

ended as (
    select
        class = 'pass' as is_pass,
        class != 'pass' or coverage != 'none' as is_checked
    from runs
    where
        class != 'cancelled'
        and not (class = 'pass' and paused)
),

counted as (
    select
        count(*) as ended_count,
        count(*) filter (where is_checked) as checked_count,
        count(*) filter (where is_pass and is_checked) as passed_count
    from ended
)

select
    ended_count,
    checked_count,
    passed_count,
    cast(passed_count as double) / nullif(checked_count, 0) as rate
from counted
