-- Which spans do the requests hold, in our own columns?
-- grain:     copy of a span, as exported; one whose ids are none, or that holds too much, is left out
-- $file:     name of the file
-- $most:     how many attributes, events or links one span may have (a short span is not asked)
insert into spans
with

parsed as (
    select
        exported.line_number,
        exported.resource_attributes,
        exported.scope_name,
        exported.scope_version,
        from_json(exported.span_json, span_shape()) as span
    from exported
    where not is_crowded(exported.span_json, $most)
),

identified as (
    select
        parsed.line_number,
        parsed.resource_attributes,
        parsed.scope_name,
        parsed.scope_version,
        parsed.span,
        hex_id(parsed.span.traceid, 16) as trace_id,
        hex_id(parsed.span.spanid, 8) as span_id,
        hex_id(parsed.span.parentspanid, 8) as parent_id
    from parsed
)

select
    identified.trace_id,
    identified.span_id,
    identified.parent_id,
    coalesce(identified.span.name, '') as name,
    identified.scope_name,
    identified.scope_version,
    coalesce(identified.resource_attributes['service.name'], '') as service,
    span_kind(identified.span.kind) as kind,
    has_remote_parent(identified.span.flags) as has_remote_parent,
    nanoseconds(identified.span.starttimeunixnano) as started_ns,
    nanoseconds(identified.span.endtimeunixnano) as ended_ns,
    status_name(identified.span.status.code) as status,
    coalesce(identified.span.status.message, '') as status_message,
    coalesce(attribute_map(identified.span.attributes), map()) as attributes,
    case when len(identified.span.events) > 0 then event_rows(identified.span.events) else [] end as events,
    case when len(identified.span.links) > 0 then link_rows(identified.span.links) else [] end as links,
    identified.resource_attributes,
    count_of(identified.span.droppedattributescount) as dropped_attributes,
    count_of(identified.span.droppedeventscount) as dropped_events,
    $file,
    identified.line_number
from identified
where
    identified.trace_id is not null
    and identified.span_id is not null
