-- What do the verdicts need to know of each span?
-- grain:     span, the spans of a trace together
-- attribute_names, attribute_values: those that are looked at, in the order in which they were exported
-- events:    exceptions only; null where there are none
-- process:   equal for spans of one process
-- $trace_id: of one trace only; null for all
-- $names:    a pattern for the attributes that are looked at
with

chosen as (
    select
        * exclude (attributes),
        list_filter(attributes, lambda entry: regexp_matches(entry.key, $names)) as attributes
    from loaded
    where coalesce(trace_id = cast($trace_id as varchar), true)
)

select
    trace_id,
    span_id,
    parent_id,
    name,
    scope,
    service,
    kind,
    has_remote_parent,
    started_ns,
    ended_ns,
    status,
    status_message,
    dropped_attributes,
    list_transform(attributes, lambda entry: entry.key) as attribute_names,
    list_transform(attributes, lambda entry: entry.value) as attribute_values,
    case when events is not null then list_filter(event_rows(events), lambda event: event.name = 'exception') end
        as events,
    hash(resource) as process,
    coalesce(resource['aml.synthetic'] = 'true', false) as is_synthetic
from chosen
order by
    trace_id,
    span_id
