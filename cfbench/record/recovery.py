"""What a writer puts right when it opens a record: an index that lacks lines, compactions that a kill cut short."""

from __future__ import annotations

from cfbench.record.cell_line import is_understood
from cfbench.record.cells import Cells
from cfbench.record.index import Index
from cfbench.record.journal import Journals
from cfbench.record.lines import pack


def complete_index(index: Index, cells: Cells) -> None:
    """Write the lines that the index lacks, from the cells' tables, and replace it where it is damaged.

    A line of an earlier version, without something that summaries hold today, counts as lacking, and so does one of a
    table of another size. Of cells without a
    table, skipped or failed, nothing can be written; the next run notes them again.
    """
    known = {key for key, line in index.contents() if is_understood(line) and cells.fits(key, line["mark"])}
    if index.damaged:
        index.rewrite()
    for key in cells.keys():  # noqa: SIM118 - no mapping: the keys are read from the disk
        found = cells.read(key) if key not in known else None
        if found is not None:
            index.put(key, cells.line_from(*found, index.get(key)).content())


def end_compactions(index: Index, cells: Cells, journals: Journals) -> None:
    """Remove the journals whose rows are all in their cells' tables, and have the index know those tables.

    Between replacing the table and removing the journal a kill leaves both. A journal with further rows is work in
    progress and stays.
    """
    for key in journals.keys():  # noqa: SIM118
        found = cells.read(key)
        if found is None:
            continue
        from cfbench.record import tables

        stored, mark = found
        in_table = {pack(row) for row in tables.rows_of(stored.table)}
        if all(pack(row) in in_table for row in journals.read(key).values()):
            if (index.get(key) or {}).get("mark") != mark:
                index.put(key, cells.line_from(stored, mark, index.get(key)).content())
            journals.remove(key)
