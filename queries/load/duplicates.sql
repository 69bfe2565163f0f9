-- Which of several copies of a span stays? The latest end, then an error, then the most attributes, then byte order.
-- order:     of all columns, so that copies that share a place are equal, and the order of lines does not matter
-- grain:     the further copies, which are deleted
delete from loaded
where
    rowid in (
        with

        repeated as (
            select
                trace_id,
                span_id
            from loaded
            group by
                trace_id,
                span_id
            having count(*) > 1
        ),

        ranked as (
            select
                loaded.rowid as copy_id,
                row_number() over (
                    partition by
                        loaded.trace_id,
                        loaded.span_id
                    order by
                        loaded.ended_ns desc nulls last,
                        loaded.status = 'error' desc,
                        cardinality(map_of(loaded.attributes)) desc,
                        map_entries(map_of(loaded.attributes)) asc,
                        event_rows(loaded.events) asc,
                        loaded.name asc,
                        loaded.scope asc,
                        loaded.scope_version asc,
                        loaded.service asc,
                        loaded.kind asc,
                        loaded.parent_id asc nulls last,
                        loaded.has_remote_parent desc,
                        loaded.started_ns asc nulls last,
                        loaded.status asc,
                        loaded.status_message asc,
                        link_rows(loaded.links) asc,
                        map_entries(loaded.resource) asc,
                        loaded.dropped_attributes desc,
                        loaded.dropped_events desc,
                        loaded.file asc,
                        loaded.line asc
                ) as place
            from loaded
            inner join repeated on
                loaded.trace_id = repeated.trace_id
                and loaded.span_id = repeated.span_id
        )

        select copy_id
        from ranked
        where place > 1
    )
