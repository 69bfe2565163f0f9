-- Which lines hold no spans, and what are they?
-- grain:     line without a list of resourceSpans
-- refusal:   why it was not parsed; null where it was
-- is_broken: it is no JSON
-- key_names:   the keys of its object; null where it is none
-- holds:     the type of its resourceSpans
select
    requests.line_number,
    requests.refusal,
    requests.key_names,
    requests.holds,
    requests.refusal is null and requests.request is null as is_broken
from requests
where
    requests.request is null
    or requests.request.resourcespans is null
order by requests.line_number
