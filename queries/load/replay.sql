-- What do the verdicts need to know of each span?
-- grain:     span, the spans of a trace together
-- events:    exceptions only
-- process:   equal for spans of one process
-- $trace_id: of one trace only; null for all
-- $names:    a pattern for the attributes that are looked at
select
    spans.trace_id,
    spans.span_id,
    spans.parent_id,
    spans.name,
    spans.scope,
    spans.service,
    spans.kind,
    spans.has_remote_parent,
    spans.started_ns,
    spans.ended_ns,
    spans.status,
    spans.status_message,
    spans.dropped_attributes,
    map_from_entries(
        list_filter(map_entries(spans.attributes), lambda entry: regexp_matches(entry.key, $names))
    ) as attributes,
    list_filter(spans.events, lambda event: event.name = 'exception') as events,
    hash(spans.resource) as process,
    coalesce(spans.resource['aml.synthetic'] = 'true', false) as is_synthetic
from spans
where coalesce(spans.trace_id = cast($trace_id as varchar), true)
order by
    spans.trace_id,
    spans.span_id
