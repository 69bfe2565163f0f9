-- Which names of what failed does no span give to a tool, a model, a retriever or an agent?
-- grain:     name: of a span, or out of a message; either may hold a question, a customer, a path
-- $names:    a pattern for the attributes that give such names
-- A verdict repeats the name of what failed, and gives it to nothing.
with

failing as (
    select distinct dependency
    from failures
    where dependency is not null
),

chosen as (
    select
        name,
        list_filter(attributes, lambda entry: regexp_matches(entry.key, $names)) as attributes,
        list_contains(list_transform(attributes, lambda entry: entry.key), 'failure.verdict') as is_verdict,
        len(list_filter(
            attributes, lambda entry: entry.key = 'mcp.method.name' and entry.value = 'tools/call'
        )) > 0 as is_mcp_call
    from loaded
),

entries as (
    select
        is_verdict,
        unnest(attributes) as entry
    from chosen
),

given as (
    select entry.value as dependency
    from entries
    where not (is_verdict and entry.key = 'failure.dependency')
    union all
    select trim(regexp_replace(name, '^tools/call', '')) as dependency
    from chosen
    where is_mcp_call
)

select failing.dependency
from failing
anti join given on failing.dependency = given.dependency
order by failing.dependency asc
