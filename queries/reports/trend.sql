-- How often is each class the first failure of a run, as time goes by?
-- grain:     stretch of time, class that any run has; a stretch without runs is there, with zeros
-- started_at: when the stretch begins, UTC
-- seconds:   how long it lasts: the shortest of a fixed list that gives at most $most stretches
-- runs:      runs that started in it and whose verdict it is; without a start a run is left out
with

named as (
    select
        epoch(started_at) as started_s,
        case when class = 'pass' and paused then 'paused' else class end as class
    from runs
    where started_at is not null
),

bounds as (
    select
        min(started_s) as first_s,
        max(started_s) as last_s
    from named
),

lengths as (
    select unnest([1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 86400, 604800, 2419200, 31449600, 314496000]) as seconds
),

spread as (
    select
        lengths.seconds,
        floor(bounds.last_s / lengths.seconds) - floor(bounds.first_s / lengths.seconds) + 1 as stretch_count
    from lengths
    cross join bounds
),

chosen as (
    select min(seconds) as seconds
    from spread
    where stretch_count <= $most
),

stretches as (
    select
        chosen.seconds,
        unnest(
            range(
                cast(floor(bounds.first_s / chosen.seconds) as bigint),
                cast(floor(bounds.last_s / chosen.seconds) as bigint) + 1
            )
        ) as place
    from bounds
    cross join chosen
),

counted as (
    select
        named.class,
        cast(floor(named.started_s / chosen.seconds) as bigint) as place,
        count(*) as run_count
    from named
    cross join chosen
    group by
        named.class,
        cast(floor(named.started_s / chosen.seconds) as bigint)
),

seen as (
    select distinct class
    from named
)

select
    stretches.seconds,
    classes.class,
    make_timestamp(stretches.place * stretches.seconds * 1000000) as started_at,
    coalesce(counted.run_count, 0) as run_count
from stretches
cross join seen
inner join classes on seen.class = classes.class
left join counted
    on
        stretches.place = counted.place
        and seen.class = counted.class
order by
    classes.place asc,
    stretches.place asc
