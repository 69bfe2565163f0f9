-- What is odd about the lines of one chunk?
-- grain:     line that has a span
-- $chunk:    the chunk
select
    line,
    max(fault) as fault
from loaded
where chunk = $chunk
group by line
