-- Which of several copies of a span stays? The latest end, then an error, then the most attributes, then byte order.
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
                        cast(spans.attributes as varchar) asc,
                        cast(spans.events as varchar) asc,
                        concat_ws(chr(0), spans.name, spans.scope, spans.service, spans.kind, spans.parent_id) asc,
                        concat_ws(chr(0), spans.started_ns, spans.status, spans.status_message) asc,
                        cast(spans.links as varchar) asc,
                        cast(spans.resource as varchar) asc,
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
