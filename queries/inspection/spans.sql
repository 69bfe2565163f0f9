-- What is odd about the spans, before anything is concluded from them?
-- grain:     one row
-- missing_root_count: traces without a span that has no parent, and whose root lies in no other process
-- orphan_count: spans whose parent is not in their trace. remote_parent_count: of these, those of another process
-- open_count: spans without an end. backwards_count: spans that end before they start
-- content_count: spans with messages, arguments, results, documents or an answer
-- dropped_count: spans that lost attributes or events to a limit of the SDK
-- cut_length: the length of the longest texts, if at least three have exactly that one, as cut texts do
-- verdict_count: spans with a verdict that was drawn live
with

described as (
    select
        trace_id,
        span_id,
        parent_id,
        has_remote_parent,
        started_ns,
        ended_ns,
        dropped_attributes + dropped_events > 0 as is_dropped,
        attributes['failure.verdict'] = 'true' as has_verdict,
        list_bool_or(list_transform(
            map_keys(attributes),
            lambda name: regexp_matches(
                name,
                '^(gen_ai\.(input|output)\.messages|gen_ai\.system_instructions|gen_ai\.tool\.call\.(arguments|result)'
                || '|gen_ai\.(prompt|completion)|(input|output)\.value|llm\.(input|output)_messages'
                || '|retrieval\.documents|gen_ai\.retrieval\.documents|traceloop\.entity\.(input|output)'
                || '|pydantic_ai\.all_messages|all_messages_events|tool_arguments|tool_response|final_result)(\.|$)'
            )
        )) as has_content
    from spans
),

placed as (
    select
        described.*,
        parents.span_id is not null as has_parent
    from described
    left join spans as parents
        on
            described.trace_id = parents.trace_id
            and described.parent_id = parents.span_id
),

traces as (
    select
        trace_id,
        bool_or(parent_id is null or has_remote_parent) as has_root
    from placed
    group by trace_id
),

lengths as (
    select
        length(text) as text_length,
        count(*) as text_count
    from (
        select unnest(map_values(attributes)) as text
        from spans
    ) as texts
    where length(text) >= 64
    group by text_length
),

longest as (
    select if(arg_max(text_count, text_length) >= 3, max(text_length), null) as cut_length
    from lengths
),

rooted as (
    select
        count(*) as trace_count,
        count(*) filter (where not has_root) as missing_root_count
    from traces
),

counted as (
    select
        count(*) as span_count,
        count(*) filter (where parent_id is not null and not has_parent) as orphan_count,
        count(*) filter (where parent_id is not null and not has_parent and has_remote_parent) as remote_parent_count,
        count(*) filter (where ended_ns is null) as open_count,
        count(*) filter (where ended_ns < started_ns) as backwards_count,
        count(*) filter (where has_content) as content_count,
        count(*) filter (where is_dropped) as dropped_count,
        count(*) filter (where has_verdict) as verdict_count
    from placed
)

select
    counted.*,
    rooted.trace_count,
    rooted.missing_root_count,
    longest.cut_length
from counted
cross join rooted
cross join longest
