-- Which lines hold no spans in some part, and what are they?
-- grain:     line without a list of resourceSpans, or with a member of it that has none
-- refusal:   why it was not parsed; null where it was
-- is_broken: it is no JSON
-- is_odd:    a member of its resourceSpans has no scopes, or a scope no spans: empty, or no list
-- key_names:   the keys of its object; null where it is none
-- holds:     the type of its resourceSpans
select
    requests.line_number,
    requests.refusal,
    requests.key_names,
    requests.holds,
    requests.is_odd,
    requests.refusal is null and requests.request is null as is_broken
from requests
where
    requests.request is null
    or requests.request.resourcespans is null
    or requests.is_odd
order by requests.line_number
