-- In how many runs could each check be decided?
-- grain:     check, in the order of the tree
-- fired, clear, unchecked: runs; the three sum to all runs
select
    classes.class,
    count(*) filter (where checks.answer = 'fired') as fired_count,
    count(*) filter (where checks.answer = 'clear') as clear_count,
    count(*) filter (where checks.answer = 'unchecked') as unchecked_count
from classes
left join checks on classes.class = checks.class
where classes.is_failure
group by
    classes.class,
    classes.place
order by classes.place asc
