-- What do saved spans look like, as if they had just been read?
-- grain:     span
create or replace view loaded as
select -- noqa: ST06
    0 as chunk,
    0 as fault,
    * replace ( -- noqa: AM04
        map_entries(attributes) as attributes,
        written_events(events) as events,
        written_links(links) as links
    )
from spans
