-- How many runs were made up?
-- grain:     one row
select count(*) as run_count
from runs
where synthetic
