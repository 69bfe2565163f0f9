-- Which of these lines are export requests, and what do they hold?
-- grain:     line
-- request:   the resources with their scopes, the spans still as JSON; null where the line is not JSON, or is refused
-- span_count: spans in it, valid or not
-- is_odd:    a member has no scopes, or a scope no spans: what stands there may be no list
-- refusal:   why a line was not parsed at all
-- $lines:    bytes of each line
-- $places:   its number in the file
-- $most:     how many resources, scopes or spans one line may hold (a short line cannot hold too many: it is not asked)
create or replace temp table requests as
with

numbered as (
    select
        unnest($places) as line_number,
        unnest($lines) as encoded
),

decoded as (
    select
        line_number,
        try(decode(encoded)) as body
    from numbered
),

measured as (
    select
        line_number,
        body,
        case
            when strlen(body) > 4000000
                then coalesce(greatest(
                    try(json_array_length(body, '$.resourceSpans')),
                    try(list_sum(json_array_length(body, '$.resourceSpans[*].scopeSpans'))),
                    try(list_sum(json_array_length(body, '$.resourceSpans[*].scopeSpans[*].spans')))
                ) > $most, false)
            else false
        end as is_crowded
    from decoded
),

parsed as (
    select
        line_number,
        body,
        is_crowded,
        case when not is_crowded then try(from_json(body, request_shape())) end as request
    from measured
)

select
    parsed.line_number,
    parsed.request,
    case when parsed.request is not null and parsed.request.resourcespans is null then json_keys(parsed.body) end
        as key_names,
    list_sum(
        list_transform(parsed.request.resourcespans, lambda spans_of: resource_span_count(spans_of))
    ) as span_count,
    len(list_filter(parsed.request.resourcespans, lambda spans_of: is_odd_resource(spans_of))) > 0 as is_odd,
    case
        when parsed.request is not null and parsed.request.resourcespans is null
            then json_type(parsed.body, '$.resourceSpans')
    end as holds,
    case
        when parsed.body is null then 'not UTF-8 text'
        when parsed.is_crowded then 'too many resources, scopes or spans in one line'
    end as refusal
from parsed
