"""The summaries of all cells: from the index, and from the tables that it does not know."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cfbench.record.cell_line import is_outdated, summary_of
from cfbench.record.cells import RUNS_AGAIN, Cells
from cfbench.record.index import Index
from cfbench.record.summary import CellSummary
from cfbench.study.plan import SharedTables


def stored_summaries(index: Index, cells: Cells, report: Callable[[str], None]) -> dict[str, CellSummary]:
    """Read the summaries; a cell whose table is gone, or cannot be read, is reported and left out.

    A table of another size than the index says is read itself: it is newer than the line, damaged or replaced.

    A line of an earlier version, which lacks something that summaries hold today, is passed over for the cell's table;
    whoever opens the record for writing brings it up to date.

    Parameters
    ----------
    index : Index
    cells : Cells
    report : callable
        Receives a sentence about everything that cannot be read.

    Returns
    -------
    dict of str to CellSummary
        By cell key.
    """
    summaries: dict[str, CellSummary] = {}
    shared = SharedTables()
    marks: dict[str, str] = {}
    noted: dict[str, dict[str, Any]] = {}
    for key, line in index.contents():
        if is_outdated(line):
            continue
        try:
            summaries[key] = _shared(summary_of(line), shared)
            marks[key] = line["mark"]
            noted |= {key: line} if summaries[key].skipped or summaries[key].failure else {}
        except (KeyError, TypeError, ValueError) as error:
            report(f"the index's line of cell {key} is not understood ({error!r}); its table is read instead")
    # After the index: a writer replaces the table first, so that whatever the index names is there.
    stored = set(cells.keys())
    for key, mark in marks.items():
        if mark and key not in stored:
            report(f"{cells.path(key)} is missing; {RUNS_AGAIN}")
            del summaries[key]
        elif key in stored and not cells.fits(key, mark):
            del summaries[key]
    for key in sorted(stored - summaries.keys()):
        found = cells.read(key)
        if found is not None:
            summaries[key] = cells.line_from(*found, noted.get(key)).summary
    return summaries


def _shared(summary: CellSummary, tables: SharedTables) -> CellSummary:
    """Return `summary` with the tables and names that other summaries have, too."""
    for name, value in summary.content.items():
        if isinstance(value, dict):
            summary.content[name] = tables.table(value)
    info = summary.info
    names: dict[str, Any] = {
        axis: sys.intern(getattr(info, axis)) for axis in ("dataset", "model", "searcher", "objective")
    }
    return replace(
        summary,
        info=replace(info, versions=tables.table(info.versions), **names),
        statuses=tables.table(summary.statuses),
        fingerprints=tuple(map(sys.intern, summary.fingerprints)),
    )
