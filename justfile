# `just` lists the recipes.
_default:
    @just --list

# All that CI runs
check:
    bash .ci/run

# What takes longer: SDK matrix, wheel, Collector
full: check
    bash .ci/full

# Only the tests; `just test -m slow` for the long ones
test *args:
    .venv/bin/pytest {{ args }}

# Format, and fix what can be fixed
format:
    .venv/bin/ruff format .
    .venv/bin/ruff check --fix .
    .venv/bin/sqlfluff fix queries

# Write the tables of README.md and docs/ from the code
docs:
    .venv/bin/python docs/tables.py

# Mutation tests of the core
mutants:
    .venv/bin/mutmut run
