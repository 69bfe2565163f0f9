-- Where do the spans go?
-- loaded:    span as it was read; one that was delivered twice has two rows until duplicates.sql has chosen. Of its
--            attributes a key may stand twice; events and links are JSON as exported, null where there are none
-- spans:     span, for whoever asks
create table if not exists loaded (
    chunk bigint,
    fault integer not null,
    trace_id varchar,
    span_id varchar,
    parent_id varchar,
    name varchar not null,
    scope varchar not null,
    scope_version varchar not null,
    service varchar not null,
    kind varchar not null,
    has_remote_parent boolean not null,
    started_ns bigint,
    ended_ns bigint,
    status varchar not null,
    status_message varchar not null,
    attributes struct(key varchar, value varchar)[],
    events varchar,
    links varchar,
    resource map (varchar, varchar),
    dropped_attributes bigint not null,
    dropped_events bigint not null,
    file varchar not null,
    line bigint not null
);

create view if not exists spans as
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
    status_message,
    map_of(attributes) as attributes,
    event_rows(events) as events,
    link_rows(links) as links,
    resource,
    dropped_attributes,
    dropped_events,
    file,
    line
from loaded;
