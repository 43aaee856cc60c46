"""The record: a results directory whose ``record.db``, an SQLite database, holds every search and what was measured.

It may import the packages below it (space, problem, registry, study), and nothing of a run or of a board. Start with
`schema.py` (what the tables hold) and `cells` (what a cell holds), then read `reading` (what a record answers) and
`store` (how it is written). `archive` packs a record, `merge` joins several.

The names below are public: reports of plugins read records with them. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.record.cells import CellSummary as CellSummary
    from cfbench.record.frames import MEASURE_SCHEMA as MEASURE_SCHEMA
    from cfbench.record.frames import SEARCH_SCHEMA as SEARCH_SCHEMA
    from cfbench.record.store import Record as Record

__all__, __getattr__, __dir__ = public_names(__name__)
