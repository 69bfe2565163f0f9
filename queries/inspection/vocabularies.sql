-- Which vocabularies do the spans speak?
-- grain:     vocabulary; a span may speak several
with

keys as (
    select
        trace_id,
        span_id,
        unnest(map_keys(attributes)) as key
    from spans
),

spoken as (
    select distinct
        trace_id,
        span_id,
        case
            when starts_with(key, 'gen_ai.') then 'OpenTelemetry GenAI'
            when
                key = 'openinference.span.kind'
                or regexp_matches(key, '^(llm|retrieval|input|output|embedding|reranker)\.')
                then 'OpenInference'
            when starts_with(key, 'traceloop.') then 'OpenLLMetry'
            when regexp_matches(key, '^(pydantic_ai\.|logfire\.|all_messages_events$|final_result$)') then 'pydantic-ai'
            when starts_with(key, 'mcp.') then 'MCP'
            when regexp_matches(key, '^(aml|failure|recovery)\.') then 'otel_aml'
        end as vocabulary
    from keys
)

select
    vocabulary,
    count(*) as span_count
from spoken
where vocabulary is not null
group by vocabulary
order by
    span_count desc,
    vocabulary asc
