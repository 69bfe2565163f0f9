-- Which spans do these lines hold, in our own columns?
-- grain:     copy of a span, as exported
-- fault:     what must be looked at by other means: 3 the line, whose spans are not taken from here, since a part of it
--            is odd, or a span has no ids or too many parts; 2 a value that is empty or was not understood; 1 a part of
--            the span that is missing or has another shape than it should. A line without spans has no row
-- $lines:    bytes of each line. $places: its number in the file
-- $file:     name of the file. $chunk: which lines these are
-- $most:     how many attributes, events or links one span may have
insert into loaded
with

numbered as (
    select
        unnest($places) as line_number,
        unnest($lines) as encoded
),

requests as (
    select
        line_number,
        try(from_json(decode(encoded), typed_shape())) as request
    from numbered
),

resources as (
    select
        line_number,
        len(list_filter(request.resourcespans, lambda spans_of: is_odd_member(spans_of))) > 0 as is_odd,
        unnest(request.resourcespans) as resource_spans
    from requests
),

described as (
    select
        line_number,
        is_odd,
        case
            when strlen(resource_spans.resource.attributes) <= 1000000
                then text_entries(from_json(resource_spans.resource.attributes, entries_shape()))
        end as resource_entries,
        resource_spans.scopespans as scopes
    from resources
),

mapped as (
    select
        line_number,
        is_odd,
        coalesce(map_of(resource_entries), map()) as resource_attributes,
        unnest(scopes) as scope_spans
    from described
),

scoped as (
    select
        line_number,
        is_odd,
        resource_attributes,
        coalesce(resource_attributes['service.name'], '') as service,
        coalesce(scope_spans.scope.name, '') as scope_name,
        coalesce(scope_spans.scope.version, '') as scope_version,
        unnest(scope_spans.spans) as span
    from mapped
),

identified as (
    select
        line_number,
        is_odd,
        resource_attributes,
        service,
        scope_name,
        scope_version,
        span,
        hex_id(span.traceid, 16) as trace_id,
        hex_id(span.spanid, 8) as span_id,
        hex_id(span.parentspanid, 8) as parent_id,
        case when span.status != '{}' then from_json(span.status, status_shape()) end as status,
        text_entries(span.attributes) as attributes,
        case when span.events is not null then from_json(span.events, members_shape()) end as events,
        case when span.links is not null then from_json(span.links, members_shape()) end as links
    from scoped
)

select
    $chunk,
    case
        when
            is_odd
            or trace_id is null
            or span_id is null
            or len(attributes) > $most
            or len(events) > $most
            or len(links) > $most
            then 3
        when
            lacks_value(attributes)
            or has_odd_members(span.events, events)
            or has_odd_members(span.links, links)
            then 2
        when
            not starts_with(span.status, '{')
            or attributes is null
            or lacks_attributes(events)
            or lacks_attributes(links)
            then 1
        else 0
    end as fault,
    trace_id,
    span_id,
    parent_id,
    coalesce(span.name, '') as name,
    scope_name,
    scope_version,
    service,
    span_kind(span.kind) as kind,
    has_remote_parent(span.flags) as has_remote_parent,
    nanoseconds(span.starttimeunixnano) as started_ns,
    nanoseconds(span.endtimeunixnano) as ended_ns,
    status_name(status.code) as status,
    coalesce(status.message, '') as status_message,
    coalesce(attributes, []) as attributes,
    case when len(events) > 0 then span.events end as events,
    case when len(links) > 0 then span.links end as links,
    resource_attributes,
    count_of(span.droppedattributescount) as dropped_attributes,
    count_of(span.droppedeventscount) as dropped_events,
    $file,
    line_number
from identified
