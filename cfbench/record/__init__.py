"""The record: a results directory whose ``record.db``, an SQLite database, holds every search and what was measured.

It may import the core below the harness (space, problem, events, registry's entries), and nothing of the harness.
`schema` says what the tables hold; read it first, then `reading` (what a record answers) and `store` (how it is
written). `archive` packs a record, `merge` joins several, `published` reads one next to the published one.
"""
