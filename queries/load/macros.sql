-- How does one value of OTLP JSON become one of ours?
-- hex_id(id, bytes):        hex in lower case, from hex or base64; null where it is no id
-- span_kind(code), status_name(code): from a number, a number as text, or the name of the enum
-- nanoseconds(time):        bigint, null below 1
-- value_text(value):        an AnyValue as text; compound values as plain JSON, without OTLP's wrapping
-- attribute_map(entries):   key -> text; the first of several equal keys wins, null keys are left out
create or replace macro hex_id(id, bytes) as (
    case
        when regexp_full_match(id, '0+') then null
        when length(id) = 2 * bytes and regexp_full_match(id, '[0-9A-Fa-f]+') then lower(id)
        when
            length(id) = 4 * ((bytes + 2) // 3) and regexp_full_match(id, '[0-9A-Za-z+/]+={1,2}')
            then nullif(try(lower(hex(from_base64(id)))), repeat('00', bytes))
    end
);

create or replace macro span_kind(code) as (
    case coalesce(code, '')
        when '2' then 'server'
        when 'SPAN_KIND_SERVER' then 'server'
        when '3' then 'client'
        when 'SPAN_KIND_CLIENT' then 'client'
        when '4' then 'producer'
        when 'SPAN_KIND_PRODUCER' then 'producer'
        when '5' then 'consumer'
        when 'SPAN_KIND_CONSUMER' then 'consumer'
        else 'internal'
    end
);

create or replace macro status_name(code) as (
    case coalesce(code, '')
        when '1' then 'ok'
        when 'STATUS_CODE_OK' then 'ok'
        when '2' then 'error'
        when 'STATUS_CODE_ERROR' then 'error'
        else 'unset'
    end
);

create or replace macro nanoseconds(time) as (
    case when try_cast(time as bigint) > 0 then try_cast(time as bigint) end
);

-- Of the flags 256 says that it is known whether the parent is remote, and 512 that it is: it lies in another process.
create or replace macro has_remote_parent(flags) as (
    coalesce(try_cast(flags as bigint) & 768 = 768, false)
);

create or replace macro count_of(number) as (
    coalesce(greatest(try_cast(number as bigint), 0), 0)
);

create or replace macro is_crowded(span_json, most) as (
    case
        when strlen(span_json) > 2 * most
            then coalesce(greatest(
                json_array_length(span_json, '$.attributes'),
                json_array_length(span_json, '$.events'),
                json_array_length(span_json, '$.links'),
                list_sum(json_array_length(span_json, '$.events[*].attributes')),
                list_sum(json_array_length(span_json, '$.links[*].attributes'))
            ) > most, false)
        else false
    end
);

-- The names of AnyValue stand in JSON only where they wrap: inside of a text their quotes are escaped.
create or replace macro is_flat(wrapped) as (
    regexp_matches(wrapped, '^\{"arrayValue":\{"values":')
    and not regexp_matches(wrapped[15:], '\{(?:\}|"(?:array|kvlist)Value":|"doubleValue":(?:NaN|-?Inf))')
);

create or replace macro unwrap_flat(wrapped) as (
    regexp_replace(
        regexp_replace(
            wrapped[25:-3],
            '\{"intValue":"?(-?[0-9]+)"?\}',
            '\1',
            'g'
        ),
        '\{"(?:string|bool|double|bytes)Value":("(?:[^"\\]|\\.)*"|[^"{}\[\],]+)\}',
        '\1',
        'g'
    )
);

-- A token is a scalar with its wrapping, an empty or an opened list, a key, an empty value, a closing or a comma.
create or replace macro after_name(token) as (
    substr(token, strpos(token, ':') + 1, length(token) - strpos(token, ':') - 1)
);

create or replace macro unwrap_token(token) as (
    case
        when token = ',' then token
        when token = '}' then ''
        when token = '{}' then 'null'
        when token = '}]}}' then '}'
        when token = ']}}' then ']'
        when starts_with(token, '{"key":') then token[8:-10] || ':'
        when starts_with(token, '{"arrayValue":') then if(ends_with(token, '}'), '[]', '[')
        when starts_with(token, '{"kvlistValue":') then if(ends_with(token, '}'), '{}', '{')
        when starts_with(token, '{"intValue":') then trim(after_name(token), '"')
        when after_name(token) in ('NaN', 'Infinity', '-Infinity') then '"' || after_name(token) || '"'
        else after_name(token)
    end
);

create or replace macro unwrap_nested(wrapped) as (
    array_to_string(
        list_transform(
            regexp_extract_all(
                regexp_replace(wrapped, '(\{"key":"(?:[^"\\]|\\.)*")\}', '\1,"value":{}}', 'g'),
                '\{"(?:string|int|double|bool|bytes)Value":(?:"(?:[^"\\]|\\.)*"|[^"{}\[\],]+)\}'
                || '|\{"(?:array|kvlist)Value":\{(?:"values":(?:\[\]|null))?\}\}'
                || '|\{"(?:array|kvlist)Value":\{"values":\['
                || '|\{"key":"(?:[^"\\]|\\.)*","value":'
                || '|\{\}|\}\]\}\}|\]\}\}|\}|,'
            ),
            lambda token: unwrap_token(token)
        ),
        ''
    )
);

create or replace macro unwrap(wrapped) as (
    case
        when is_flat(wrapped) then unwrap_flat(wrapped)
        else unwrap_nested(wrapped)
    end
);

create or replace macro value_text(value) as (
    coalesce(
        value.stringvalue,
        value.intvalue,
        value.boolvalue,
        value.doublevalue,
        unwrap(coalesce('{"arrayValue":' || value.arrayvalue || '}', '{"kvlistValue":' || value.kvlistvalue || '}')),
        value.bytesvalue
    )
);

create or replace macro placed_entries(entries) as (
    list_sort(
        list_transform(
            list_zip(entries, range(len(entries))),
            lambda placed: { 'key': placed[1].key, 'place': placed[2], 'value': placed[1].value }
        )
    )
);

-- Sorted by key and place, an entry whose predecessor has its key is a repetition. (A lambda that looks back
-- into the list itself would copy the list for each entry.)
create or replace macro first_entries(sorted_entries) as (
    list_transform(
        list_filter(
            list_zip(sorted_entries, list_prepend(null, sorted_entries), true),
            lambda pair: pair[1].key is not null and pair[1].key is distinct from pair[2].key
        ),
        lambda pair: { 'key': pair[1].key, 'value': pair[1].value }
    )
);

create or replace macro text_entries(entries) as (
    list_transform(entries, lambda entry: { 'key': entry.key, 'value': value_text(entry.value) })
);

-- Keys stand twice, or are missing, so seldom that it is tried without looking first.
create or replace macro map_of(entries) as (
    coalesce(try(map_from_entries(entries)), map_from_entries(first_entries(placed_entries(entries))))
);

-- (The list of one makes a name for the entries: as an argument, their whole expression would be written out again.)
create or replace macro attribute_map(entries) as (
    list_transform([text_entries(entries)], lambda texts: map_of(texts))[1]
);

-- Shapes for from_json: what is not named here is not read, what does not fit is null.
create or replace macro entries_shape() as (
    '[{"key":"VARCHAR","value":{"stringValue":"VARCHAR","intValue":"VARCHAR","boolValue":"VARCHAR",'
    || '"doubleValue":"VARCHAR","bytesValue":"VARCHAR","arrayValue":"JSON","kvlistValue":"JSON"}}]'
);

create or replace macro events_shape() as (
    '[{"name":"VARCHAR","timeUnixNano":"VARCHAR","attributes":' || entries_shape() || '}]'
);

create or replace macro links_shape() as (
    '[{"traceId":"VARCHAR","spanId":"VARCHAR","attributes":' || entries_shape() || '}]'
);

create or replace macro status_shape() as (
    '{"code":"VARCHAR","message":"VARCHAR"}'
);

-- What events and links have in common, to see whether they are odd.
create or replace macro members_shape() as (
    '[{"name":"VARCHAR","traceId":"VARCHAR","attributes":[{"value":{"intValue":"VARCHAR"}}]}]'
);

create or replace macro span_shape() as (
    '{"traceId":"VARCHAR","spanId":"VARCHAR","parentSpanId":"VARCHAR","name":"VARCHAR","kind":"VARCHAR",'
    || '"flags":"VARCHAR","startTimeUnixNano":"VARCHAR","endTimeUnixNano":"VARCHAR","droppedAttributesCount":"VARCHAR",'
    || '"droppedEventsCount":"VARCHAR","status":"JSON","events":"JSON","links":"JSON",'
    || '"attributes":' || entries_shape() || '}'
);

create or replace macro typed_shape() as (
    '{"resourceSpans":[{"resource":{"attributes":"JSON"},'
    || '"scopeSpans":[{"scope":{"name":"VARCHAR","version":"VARCHAR"},"spans":[' || span_shape() || ']}],'
    || '"instrumentationLibrarySpans":"JSON"}]}'
);

create or replace macro request_shape() as (
    '{"resourceSpans":[{"resource":{"attributes":"JSON"},'
    || '"scopeSpans":[{"scope":{"name":"VARCHAR","version":"VARCHAR"},"spans":["JSON"]}],'
    || '"instrumentationLibrarySpans":'
    || '[{"instrumentationLibrary":{"name":"VARCHAR","version":"VARCHAR"},"spans":["JSON"]}]}]}'
);

create or replace macro event_rows(written) as (
    coalesce(
        list_transform(from_json(written, events_shape()), lambda event: {
            'name': coalesce(event.name, ''),
            'time_ns': nanoseconds(event.timeunixnano),
            'attributes': coalesce(attribute_map(event.attributes), map())
        }),
        []
    )
);

create or replace macro link_rows(written) as (
    coalesce(
        list_transform(from_json(written, links_shape()), lambda link: {
            'trace_id': hex_id(link.traceid, 16),
            'span_id': hex_id(link.spanid, 8),
            'attributes': coalesce(attribute_map(link.attributes), map())
        }),
        []
    )
);

-- And back: what was saved, as it is exported.
create or replace macro written_entries(attributes) as (
    list_transform(
        map_entries(attributes), lambda entry: { 'key': entry.key, 'value': { 'stringValue': entry.value } }
    )
);

create or replace macro written_events(events) as (
    case
        when len(events) > 0
            then to_json(list_transform(events, lambda event: {
                'name': event.name,
                'timeUnixNano': event.time_ns,
                'attributes': written_entries(event.attributes)
            }))
    end
);

create or replace macro written_links(links) as (
    case
        when len(links) > 0
            then to_json(list_transform(links, lambda link: {
                'traceId': link.trace_id,
                'spanId': link.span_id,
                'attributes': written_entries(link.attributes)
            }))
    end
);

create or replace macro short_entries(entries, most) as (
    list_transform(
        entries,
        lambda entry: { 'key': entry.key, 'value': case when strlen(entry.value) <= most then entry.value end }
    )
);

create or replace macro short_values(attributes, most) as (
    map_from_entries(short_entries(map_entries(attributes), most))
);

create or replace macro scope_span_count(scopes) as (
    coalesce(list_sum(list_transform(scopes, lambda spans_of: len(spans_of.spans))), 0)
);

create or replace macro resource_span_count(resource_spans) as (
    scope_span_count(resource_spans.scopespans) + scope_span_count(resource_spans.instrumentationlibraryspans)
);

create or replace macro has_odd_scopes(scopes) as (
    len(list_filter(scopes, lambda spans_of: spans_of.spans is null)) > 0
);

create or replace macro is_odd_resource(resource_spans) as (
    (resource_spans.scopespans is null and resource_spans.instrumentationlibraryspans is null)
    or coalesce(has_odd_scopes(resource_spans.scopespans), false)
    or coalesce(has_odd_scopes(resource_spans.instrumentationlibraryspans), false)
);

-- The same of a request that was read with typed_shape().
create or replace macro is_odd_member(resource_spans) as (
    resource_spans.scopespans is null
    or resource_spans.instrumentationlibraryspans is not null
    or has_odd_scopes(resource_spans.scopespans)
);

create or replace macro lacks_value(entries) as (
    len(list_filter(entries, lambda entry: entry.value is null)) > 0
);

create or replace macro lacks_attributes(members) as (
    len(list_filter(members, lambda member: member.attributes is null)) > 0
);

-- (Of what is no object, all members are null.)
create or replace macro is_odd(member) as (
    (member.name is null and member.traceid is null) or lacks_value(member.attributes)
);

create or replace macro has_odd_members(written, members) as (
    written is not null
    and (
        members is null
        or len(list_filter(members, lambda member: is_odd(member))) > 0
    )
);
