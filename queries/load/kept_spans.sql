-- Which spans are kept, once the verdicts are drawn?
-- grain:     span, the spans of a trace together; of a text longer than so many bytes only the key stays
create or replace macro kept_spans(most) as table (
    select -- noqa: ST06
        trace_id,
        span_id,
        parent_id,
        name,
        scope,
        scope_version,
        service,
        kind,
        has_remote_parent,
        started_ns,
        ended_ns,
        status,
        case when strlen(status_message) <= most then status_message else '' end as status_message,
        map_of(short_entries(attributes, most)) as attributes,
        list_transform(event_rows(events), lambda event: {
            'name': event.name, 'time_ns': event.time_ns, 'attributes': short_values(event.attributes, most)
        }) as events,
        list_transform(link_rows(links), lambda link: {
            'trace_id': link.trace_id,
            'span_id': link.span_id,
            'attributes': short_values(link.attributes, most)
        }) as links,
        short_values(resource, most) as resource, -- noqa: RF04
        dropped_attributes,
        dropped_events,
        file,
        line
    from loaded
    order by
        trace_id,
        span_id
);
