-- Which spans stand in the requests at hand, and where?
-- grain:     span as exported, still JSON
create or replace temp view exported as
with

resources as (
    select
        requests.line_number,
        unnest(requests.request.resourcespans) as resource_spans
    from requests
),

described as (
    select
        resources.line_number,
        resources.resource_spans.scopespans as scopes,
        list_transform(
            resources.resource_spans.instrumentationlibraryspans,
            lambda library: { 'scope': library.instrumentationlibrary, 'spans': library.spans }
        ) as libraries,
        case
            when strlen(resources.resource_spans.resource.attributes) <= 1000000
                then resources.resource_spans.resource.attributes
            else '[]'
        end as resource_attributes
    from resources
),

scoped as (
    select
        described.line_number,
        described.resource_attributes,
        unnest(described.scopes) as scope_spans
    from described
    union all
    select
        described.line_number,
        described.resource_attributes,
        unnest(described.libraries) as scope_spans
    from described
    where described.libraries is not null
)

select
    scoped.line_number,
    scoped.resource_attributes,
    json_object('name', scoped.scope_spans.scope.name, 'version', scoped.scope_spans.scope.version) as scope,
    unnest(scoped.scope_spans.spans) as span_json
from scoped;
