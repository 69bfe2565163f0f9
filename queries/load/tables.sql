-- Where do the spans go?
-- grain:     span; a span that was delivered twice has two rows until duplicates.sql has chosen
create table if not exists spans (
    trace_id varchar not null,
    span_id varchar not null,
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
    attributes map (varchar, varchar),
    events struct(name varchar, time_ns bigint, attributes map (varchar, varchar))[],
    links struct(trace_id varchar, span_id varchar, attributes map (varchar, varchar))[],
    resource map (varchar, varchar),
    dropped_attributes bigint not null,
    dropped_events bigint not null,
    file varchar not null,
    line bigint not null
);
