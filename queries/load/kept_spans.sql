-- Which spans are kept, once the verdicts are drawn?
-- grain:     span, the spans of a trace together; of a text longer than so many bytes only the key stays
create or replace macro kept_spans(most) as table (
    select
        * replace ( -- noqa: AM04
            short_values(attributes, most) as attributes,
            list_transform(events, lambda event: {
                'name': event.name, 'time_ns': event.time_ns, 'attributes': short_values(event.attributes, most)
            }) as events,
            list_transform(links, lambda link: {
                'trace_id': link.trace_id,
                'span_id': link.span_id,
                'attributes': short_values(link.attributes, most)
            }) as links,
            short_values(resource, most) as resource, -- noqa: RF04
            case when strlen(status_message) <= most then status_message else '' end as status_message
        )
    from spans
    order by
        trace_id,
        span_id
);
