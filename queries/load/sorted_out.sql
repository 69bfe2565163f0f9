-- Which of the exported spans can be read, as requests of their own?
-- grain:     request of up to 100 spans of one line, resource and scope
-- $most:     how many attributes, events or links one span may have
with

readable as (
    select
        exported.line_number,
        exported.resource_attributes,
        exported.scope,
        exported.span_json,
        row_number() over () // 100 as block
    from exported
    where
        not is_crowded(exported.span_json, $most)
        and hex_id(exported.span_json ->> '$.traceId', 16) is not null
        and hex_id(exported.span_json ->> '$.spanId', 8) is not null
)

select
    line_number,
    encode(
        '{"resourceSpans":[{"resource":{"attributes":' || resource_attributes || '},"scopeSpans":[{"scope":' || scope
        || ',"spans":[' || string_agg(span_json, ',') || ']}]}]}'
    ) as request
from readable
group by
    line_number,
    resource_attributes,
    scope,
    block
order by line_number
