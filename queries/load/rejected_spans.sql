-- Which exported spans were left out, and why?
-- grain:     line, reason
-- $most:     how many attributes, events or links one span may have
with

looked_at as (
    select
        exported.line_number,
        is_crowded(exported.span_json, $most) as is_crowded,
        case
            when not is_crowded(exported.span_json, $most)
                then from_json(exported.span_json, '{"traceId":"VARCHAR","spanId":"VARCHAR"}')
        end as ids
    from exported
),

explained as (
    select
        looked_at.line_number,
        case
            when looked_at.is_crowded then 'too many attributes, events or links on one span'
            when hex_id(looked_at.ids.traceid, 16) is null then 'no valid trace id'
            when hex_id(looked_at.ids.spanid, 8) is null then 'no valid span id'
        end as reason
    from looked_at
)

select
    line_number,
    reason,
    count(*) as span_count
from explained
where reason is not null
group by
    line_number,
    reason
order by
    line_number,
    reason
