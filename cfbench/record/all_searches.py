"""All searches of a record in one data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from cfbench.record.cells import Cells
from cfbench.record.frames import search_frame
from cfbench.record.journal import Journals
from cfbench.record.schema import SEARCH_SCHEMA
from cfbench.record.tables import rows_of, search_table
from cfbench.registry.events import CellInfo

if TYPE_CHECKING:
    import pandas as pd

_COORDINATES = {
    "dataset": pa.string(),
    "model": pa.string(),
    "searcher": pa.string(),
    "objective": pa.string(),
    "constraints": pa.bool_(),
    "fold": pa.int64(),
}


def all_searches(cells: Cells, journals: Journals) -> pd.DataFrame:
    """Return the searches of all cells that have a table, rows that wait in journals included.

    Returns
    -------
    DataFrame
        The cells in the order of their coordinates.
    """
    parts = []
    for key in cells.keys():  # noqa: SIM118 - no mapping: the keys are read from the disk
        waiting = journals.read(key)
        found = cells.read(key)
        if found is None:
            continue
        info, table = found[0].info, found[0].table
        if waiting:
            rows = {(row["point"], row["repetition"]): row for row in rows_of(table)}
            table = search_table((rows | waiting).values())
        parts.append((_place(info), _with_coordinates(table, info)))
    parts.sort(key=lambda part: part[0])
    empty = SEARCH_SCHEMA.empty_table()
    none = CellInfo("", "", "", "", "", constraints=False, fold=0)
    return search_frame(pa.concat_tables([_with_coordinates(empty, none), *(table for _, table in parts)]))


def _place(info: CellInfo) -> tuple[str, str, str, str, bool, int, str]:
    return info.dataset, info.model, info.searcher, info.objective, info.constraints, info.fold, info.key


def _with_coordinates(table: pa.Table, info: CellInfo) -> pa.Table:
    for position, (name, kind) in enumerate(_COORDINATES.items(), start=1):
        table = table.add_column(position, name, pa.array([getattr(info, name)] * len(table), type=kind))
    return table
