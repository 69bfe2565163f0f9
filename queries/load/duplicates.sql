-- Which of several copies of a span stays? The latest end, then an error, then the most attributes, then byte order.
-- order:     of all columns, so that copies that share a place are equal, and the order of lines does not matter
-- grain:     the further copies, which are deleted
delete from spans
where
    rowid in (
        with

        repeated as (
            select
                trace_id,
                span_id
            from spans
            group by
                trace_id,
                span_id
            having count(*) > 1
        ),

        ranked as (
            select
                spans.rowid as copy_id,
                row_number() over (
                    partition by
                        spans.trace_id,
                        spans.span_id
                    order by
                        spans.ended_ns desc nulls last,
                        spans.status = 'error' desc,
                        cardinality(spans.attributes) desc,
                        map_entries(spans.attributes) asc,
                        spans.events asc,
                        spans.name asc,
                        spans.scope asc,
                        spans.scope_version asc,
                        spans.service asc,
                        spans.kind asc,
                        spans.parent_id asc nulls last,
                        spans.has_remote_parent desc,
                        spans.started_ns asc nulls last,
                        spans.status asc,
                        spans.status_message asc,
                        spans.links asc,
                        map_entries(spans.resource) asc,
                        spans.dropped_attributes desc,
                        spans.dropped_events desc,
                        spans.file asc,
                        spans.line asc
                ) as place
            from spans
            inner join repeated on
                spans.trace_id = repeated.trace_id
                and spans.span_id = repeated.span_id
        )

        select copy_id
        from ranked
        where place > 1
    )
