-- Which failures go together more often than chance would have it, and which of the two is seen first?
-- grain:     pair of classes, and pair of symptoms (how it failed, and what); each pair once, in one direction
-- class:     its check fired. symptom: one way it failed, also where a later call made it good, not where an answer
--            was replaced
-- cause, effect: what is seen first in more runs, and the other; a draw goes by the order of the tree, then by name.
--            The words name an order and no mechanism: q_value says that the two co-occur, q_order that one precedes
-- run_count: runs in which both checks were decided (of a symptom: the check that it belongs to), never all runs
-- tested:    all pairs of which each side is there in $min_both of these runs or more. To look at n_both before
--            testing would pick pairs by their outcome
-- shown:     tested pairs seen together in $min_both runs or more
-- lift:      at most max_lift. conviction: null where it is infinite or 0/0
-- p_value:   Fisher's exact test, one-sided. q_value: Benjamini-Hochberg over all tested pairs of the grain
-- test_count: how many these are
-- before:    runs in which the cause is seen first. after: the effect. ties: both at once, or a time is not known
-- p_order:   sign test over before and after, two-sided; null where both are 0. q_order: over the pairs that are shown
-- median_lag_ms: from cause to effect, over the runs in which both times are known
-- case_count: distinct cases among the runs with both; runs of one case are not independent of each other
-- $min_both: in how many runs two must be seen together
with

numbered as (
    select
        trace_id,
        span_id,
        unchecked,
        row_number() over () as run_number,
        coalesce(case_id, trace_id || span_id) as case_key
    from runs
),

symptoms as materialized (
    select
        numbered.run_number,
        numbered.unchecked,
        numbered.case_key,
        failures.class,
        failures.is_recovered,
        failures.seen_at,
        classes.place,
        concat_ws(' ', coalesce(failures.error_type, failures.class), failures.dependency) as symptom
    from failures
    inner join classes on failures.class = classes.class
    inner join numbered
        on
            failures.trace_id = numbered.trace_id
            and failures.span_id = numbered.span_id
    where
        not failures.is_superseded
        and not list_contains(numbered.unchecked, failures.class)
),

named as (
    select
        * exclude (is_recovered, symptom),
        'class' as grain,
        class as item
    from symptoms
    where not is_recovered
    union all
    select
        * exclude (is_recovered, symptom),
        'symptom' as grain,
        symptom as item
    from symptoms
),

items as materialized (
    select
        grain,
        class,
        place,
        item,
        run_number,
        any_value(unchecked) as unchecked,
        any_value(case_key) as case_key,
        min(seen_at) as seen_at
    from named
    group by
        grain,
        class,
        place,
        item,
        run_number
),

known as (
    select
        grain,
        class,
        item
    from items
    group by all
    having count(*) >= $min_both
),

-- What is rarer than that is in no pair.
frequent as (
    select items.*
    from items
    semi join known
        on
            items.grain = known.grain
            and items.class = known.class
            and items.item = known.item
),

coverages as (
    select
        unchecked,
        count(*) as run_count
    from runs
    group by unchecked
),

decided as (
    select
        one.class,
        other.class as other_class,
        sum(coverages.run_count) as run_count
    from classes as one
    cross join classes as other
    inner join coverages
        on
            not list_contains(coverages.unchecked, one.class)
            and not list_contains(coverages.unchecked, other.class)
    where
        one.is_failure
        and other.is_failure
    group by all
),

seen as (
    select
        frequent.grain,
        frequent.class,
        frequent.item,
        classes.class as other_class,
        count(*) as item_count
    from frequent
    inner join classes
        on
            classes.is_failure
            and not list_contains(frequent.unchecked, classes.class)
    group by all
),

occurrences as (
    select *
    from seen
    where item_count >= $min_both
),

testable as (
    select
        grain,
        class,
        other_class,
        count(*) as item_count
    from occurrences
    group by all
),

test_counts as (
    select
        one.grain,
        sum(
            if(one.class = other.class, one.item_count * (one.item_count - 1), one.item_count * other.item_count)
        ) / 2 as test_count
    from testable as one
    inner join testable as other
        on
            one.grain = other.grain
            and one.class = other.other_class
            and one.other_class = other.class
    group by one.grain
),

met as (
    select
        one.grain,
        one.class as one_class,
        other.class as other_class,
        one.item as one_item,
        other.item as other_item,
        count(*) as n_both,
        count(*) filter (where one.seen_at < other.seen_at) as one_first,
        count(*) filter (where one.seen_at > other.seen_at) as other_first,
        count(distinct one.case_key) as case_count,
        median(date_diff('microseconds', one.seen_at, other.seen_at)) / 1e3 as lag_ms
    from frequent as one
    inner join frequent as other
        on
            one.grain = other.grain
            and one.run_number = other.run_number
            and (one.place, one.item) < (other.place, other.item)
    group by all
),

directed as (
    select
        grain,
        n_both,
        case_count,
        least(one_first, other_first) as after_count,
        greatest(one_first, other_first) as before_count,
        one_first + other_first as order_count,
        n_both - one_first - other_first as tie_count,
        if(other_first > one_first, other_class, one_class) as cause_class,
        if(other_first > one_first, one_class, other_class) as effect_class,
        if(other_first > one_first, other_item, one_item) as cause,
        if(other_first > one_first, one_item, other_item) as effect,
        if(other_first > one_first, -lag_ms, lag_ms) as median_lag_ms
    from met
),

counted as (
    select
        directed.*,
        test_counts.test_count,
        cast(decided.run_count as double) as n,
        cast(causes.item_count as double) as n_cause,
        cast(effects.item_count as double) as n_effect,
        causes.item_count * effects.item_count / decided.run_count as expected
    from directed
    inner join test_counts on directed.grain = test_counts.grain
    inner join decided
        on
            directed.cause_class = decided.class
            and directed.effect_class = decided.other_class
    inner join occurrences as causes
        on
            directed.grain = causes.grain
            and directed.cause_class = causes.class
            and directed.cause = causes.item
            and directed.effect_class = causes.other_class
    inner join occurrences as effects
        on
            directed.grain = effects.grain
            and directed.effect_class = effects.class
            and directed.effect = effects.item
            and directed.cause_class = effects.other_class
),

-- Terms further from the mean than that add nothing to a double.
bounded as (
    select
        *,
        greatest(n_both, n_cause + n_effect - n, floor(expected - 9 * sqrt(expected) - 50)) as least_both,
        least(n_cause, n_effect, ceil(greatest(n_both, expected) + 9 * sqrt(expected) + 50)) as most_both,
        greatest(0, after_count - cast(9 * sqrt(order_count) as bigint) - 50) as least_after
    from counted
),

tested as (
    select
        *,
        n_both >= $min_both as is_shown,
        least(1.0, list_sum(list_transform(
            range(cast(least_both as bigint), cast(most_both as bigint) + 1),
            lambda k: exp(
                lgamma(n_cause + 1) - lgamma(k + 1) - lgamma(n_cause - k + 1)
                + lgamma(n - n_cause + 1) - lgamma(n_effect - k + 1) - lgamma(n - n_cause - n_effect + k + 1)
                - lgamma(n + 1) + lgamma(n_effect + 1) + lgamma(n - n_effect + 1)
            )
        ))) as p_value,
        case
            when n_both >= $min_both and order_count > 0
                then least(1.0, 2 * list_sum(list_transform(
                    range(least_after, after_count + 1),
                    lambda k: exp(
                        lgamma(order_count + 1) - lgamma(k + 1) - lgamma(order_count - k + 1) - order_count * ln(2)
                    )
                )))
        end as p_order
    from bounded
),

ranked as (
    select
        *,
        count(p_order) over (partition by grain) as order_test_count,
        row_number() over (
            partition by grain
            order by
                p_value asc,
                cause asc,
                effect asc
        ) as place,
        row_number() over (
            partition by grain
            order by
                p_order asc nulls last,
                cause asc,
                effect asc
        ) as order_place
    from tested
),

-- A pair that never met is tested, too: its p is 1, it stands behind all others and moves none of them.
adjusted as (
    select
        *,
        least(1.0, min(p_value * test_count / place) over (
            partition by grain
            order by place asc
            rows between current row and unbounded following
        )) as q_value,
        case
            when p_order is not null
                then least(1.0, min(p_order * order_test_count / order_place) over (
                    partition by grain
                    order by order_place asc
                    rows between current row and unbounded following
                ))
        end as q_order
    from ranked
)

select
    grain,
    cause,
    effect,
    cause_class,
    effect_class,
    n_both,
    before_count,
    after_count,
    tie_count,
    p_value,
    q_value,
    p_order,
    q_order,
    median_lag_ms,
    case_count,
    cast(test_count as bigint) as test_count,
    cast(n as bigint) as run_count,
    cast(n_cause as bigint) as n_cause,
    cast(n_effect as bigint) as n_effect,
    n_both / n as support,
    n_both / n_cause as confidence,
    n * n_both / (n_cause * n_effect) as lift,
    n / greatest(n_cause, n_effect) as max_lift,
    n_both / n - n_cause * n_effect / (n * n) as leverage,
    case when n_both < n_cause then n_cause * (n - n_effect) / (n * (n_cause - n_both)) end as conviction
from adjusted
where is_shown
order by
    grain asc,
    q_value asc,
    lift desc,
    cause asc,
    effect asc,
    cause_class asc,
    effect_class asc
