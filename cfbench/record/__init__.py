"""The record: a results directory whose ``record.db``, an SQLite database, holds every search and what was measured.

It may import the packages below it (space, problem, registry, study), and nothing of a run or of a board. `schema` says
what the tables hold, and `cells` what a cell holds; read them first, then `reading` (what a record answers) and `store`
(how it is written). `archive` packs a record, `merge` joins several.
"""
