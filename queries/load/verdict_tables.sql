-- Where do the verdicts go?
-- classes:   the taxonomy, one row a value of failure.class
-- runs:      one row a run
-- checks:    one row a run and check
-- failures:  one row a symptom, those that were made good or replaced too
-- evidence:  one row a run, with all that its verdict rests on, so that later labels can be laid over it
-- readings:  one row: what was read. problems: what could not be read
-- sources:   one row a file, and how far it was read. makings: one row: with what the store was made
create table if not exists classes (
    class varchar not null,
    place integer not null,
    is_failure boolean not null,
    severity varchar,
    weight integer
);

create table if not exists runs (
    trace_id varchar not null,
    span_id varchar not null,
    class varchar not null,
    is_failure boolean not null,
    severity varchar,
    findings varchar[] not null,
    unchecked varchar[] not null,
    recovered integer not null,
    first_span_id varchar,
    dependency varchar,
    error_type varchar,
    paused boolean not null,
    incomplete boolean not null,
    path varchar,
    outcome varchar not null,
    attempts integer not null,
    coverage varchar not null,
    case_id varchar,
    conversation_id varchar,
    service varchar not null,
    agent varchar not null,
    started_at timestamp,
    ended_at timestamp,
    duration_ms double,
    online_class varchar,
    decided_by varchar not null,
    synthetic boolean not null,
    error_span_count integer not null
);

create table if not exists checks (
    trace_id varchar not null,
    span_id varchar not null,
    class varchar not null,
    answer varchar not null,
    decided_by varchar
);

create table if not exists failures (
    trace_id varchar not null,
    span_id varchar not null,
    class varchar not null,
    seen_span_id varchar,
    dependency varchar,
    error_type varchar,
    step_id varchar,
    is_first boolean not null,
    is_recovered boolean not null,
    is_superseded boolean not null,
    seen_at timestamp
);

create table if not exists evidence (
    trace_id varchar not null,
    span_id varchar not null,
    record varchar not null
);

create table if not exists readings (
    counts varchar not null
);

create table if not exists problems (
    file varchar not null,
    line bigint,
    reason varchar not null
);

create table if not exists sources (
    file varchar not null,
    fingerprint varchar not null,
    offset_bytes bigint not null,
    line_number bigint not null,
    is_open boolean not null,
    is_torn boolean not null,
    is_packed boolean not null,
    lines bigint not null,
    bad_lines bigint not null,
    invalid_spans bigint not null,
    other_lines bigint not null
);

create table if not exists makings (
    contract varchar not null,
    keeps_text boolean not null
);
