"""Reading a record, without locks and without repairs, also while another process writes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from cfbench.record.cell_line import contradicted, is_outdated, is_understood, results_of
from cfbench.record.cells import Cells
from cfbench.record.held import Held
from cfbench.record.index import Index
from cfbench.record.journal import Journals
from cfbench.record.layout import checked_key
from cfbench.record.measure_tables import Measures
from cfbench.record.outlines import Outline, outlines
from cfbench.record.point_values import MetricId, PointValues
from cfbench.record.rows import Row, SearchId
from cfbench.record.stored_summaries import stored_summaries
from cfbench.record.summary import CellSummary
from cfbench.registry.events import CellInfo

if TYPE_CHECKING:
    import pandas as pd


class RecordReading:
    """What a record holds.

    Parameters
    ----------
    path : Path
    writing : bool
        Whether this process writes it, too, and so knows of every change.
    origin : Path, optional
        What the user has named, where it is a packed record, and `path` its copy in the cache.
    """

    def __init__(self, path: Path, *, writing: bool, origin: Path | None = None) -> None:
        self.path = path
        self.origin = origin or path
        self.problems: list[str] = []
        """What could not be read, a sentence each; it grows while files are read, and what they held runs again."""
        self._writing = writing
        self._journals = Journals(path / "journal", self._report)
        self._cells = Cells(path / "cells", self._report, writing=writing)
        self._index = Index(path / "index.log", self._report)
        measured = Index(path / "measured.log", self._report)
        self._measures = Measures(path / "measures", measured, self._report, writing=writing)
        self._measured: dict[str, frozenset[MetricId]] | None = None  # kept by the writer alone

    @property
    def is_packed(self) -> bool:
        """Whether this is the copy of a packed record, which is to stay as it is."""
        return self.origin != self.path

    def keys(self) -> set[str]:
        """Return the keys of all cells with a table or a line in the index, whether or not they can be read."""
        return {*self._cells.keys(), *(key for key, _ in self._index.contents())}

    def summaries(self) -> dict[str, CellSummary]:
        """Return the summaries of all cells that were finished, skipped or failed, by key, from the index.

        A cell whose table the index does not know is read from its table; one whose table is gone is left out.
        """
        return stored_summaries(self._index, self._cells, self._report)

    def outlines(self) -> Iterator[tuple[CellInfo, float, Outline]]:
        """Yield coordinates, wall-clock seconds and outline of the cells that `summaries` knows, one at a time."""
        return outlines(self._index, self._cells, self._report)

    def pending(self) -> set[str]:
        """Return the keys of the cells whose journal waits for `finish`."""
        return set(self._journals.keys())

    def done(self, key: str) -> dict[SearchId, str]:
        """Return (point, repetition) and status of every search of a cell that the record holds."""
        # The journal first: a writer may move its rows to the table between the two steps, never the other way.
        journal = self._journals.read(checked_key(key))
        done = self._cells.done(key, self._index.get(key))
        return done | {search: row["status"] for search, row in journal.items()}

    def done_of(self, key: str, outline: Outline | None, *, has_journal: bool) -> dict[SearchId, str]:
        """Return what `done` does, where the cell's outline is known, and whether it has a journal."""
        if has_journal:
            return self.done(key)
        if outline is None or not outline.mark:
            return {}
        return self._cells.done(checked_key(key), outline.line())

    def searches(self, key: str, columns: Collection[str] = ()) -> pd.DataFrame:
        """Return the searches of a cell, those of its journal included, sorted by point and repetition.

        Parameters
        ----------
        key : str
        columns : collection of str
            The columns that are needed, `x` among them; all where it is empty.

        Returns
        -------
        DataFrame
            As :func:`~cfbench.record.frames.search_frame` describes it.
        """
        from cfbench.record import tables
        from cfbench.record.frames import search_frame

        journal = self._journals.read(checked_key(key))
        found = self._cells.read(key)
        plain = found is not None and not journal
        table = found[0].table if found and plain else tables.search_table(self._merged(key, journal).values())
        if columns:
            table = table.select([name for name in table.column_names if name in columns])
        return search_frame(table)

    def rows(self, key: str) -> list[Row]:
        """Return the searches of a cell, those of its journal included, in the record's own form; in any order."""
        return list(self._merged(key, self._journals.read(checked_key(key))).values())

    def held(self, key: str) -> Held:
        """Return what the record holds of a cell, its table and its journal apart."""
        waiting = self._journals.read(checked_key(key))
        found = self._cells.read(key)
        return Held(None if found is None else found[0], waiting, "" if found is None else found[1])

    def mark(self, key: str) -> str:
        """Return the mark of a cell's table, which tells it from any other; empty where there is none."""
        return self._cells.mark(checked_key(key))

    def contradictions(self, key: str, held: Held) -> list[str]:
        """Return what a board, which reads the indexes alone, takes for true of a cell and the cell's tables deny.

        Parameters
        ----------
        key : str
        held : Held
            What `held` returns of the cell.

        Returns
        -------
        list of str
            A sentence for each index that contradicts its table.
        """
        if held.stored is None:
            return []
        made, line = self._cells.line_from(held.stored, held.mark), self._index.get(key)
        found = [] if line is None or is_outdated(line) else contradicted(made.content(), line)
        told = [f"index.log has another {', '.join(found)} than its table"] if found else []
        found = self._measures.contradicted(key, held.mark, results_of(made.content()))
        return told + ([f"measured.log has another {', '.join(found)} than its measures"] if found else [])

    def all_searches(self) -> pd.DataFrame:
        """Return the searches of all cells that have a table; `load_record` describes the frame."""
        from cfbench.record.all_searches import all_searches

        return all_searches(self._cells, self._journals)

    def measures(self, key: str) -> pd.DataFrame:
        """Return what metrics say about a cell, in the columns of ``MEASURE_SCHEMA``; it may have no rows."""
        return self._measures.read(checked_key(key))

    def measured(self) -> Mapping[str, AbstractSet[MetricId]]:
        """Return the (metric, version, settings) that were measured on the present searches of each cell.

        A cell that has grown since, or whose searches ran again, has to be measured again.
        """
        if not self._writing or self._measured is None:
            marks = {key: line.get("mark", "") for key, line in self._index.contents()}
            self._measured = self._measures.measured(marks)
        return MappingProxyType(self._measured)

    def point_values(self) -> PointValues:
        """Return what was measured of the points' results, in the order of the points in each cell's summary."""
        marks = {key: line.get("mark", "") for key, line in self._index.contents()}
        return self._measures.point_values(marks, self._results)

    def _results(self, key: str) -> list[SearchId | None]:
        """Return which search found each point's result."""
        line = self._index.get(key)
        if line is None or is_outdated(line) or not is_understood(line):
            found = self._cells.read(key)
            return [] if found is None else results_of(self._cells.line_from(*found).content())
        return results_of(line)

    def _merged(self, key: str, journal: Mapping[SearchId, Row]) -> dict[SearchId, Row]:
        """Return the rows of a cell's table with those of its journal, which is the later of the two."""
        found = self._cells.read(key)
        if found is None:
            return dict(journal)
        from cfbench.record import tables

        rows = {(row["point"], row["repetition"]): row for row in tables.rows_of(found[0].table)}
        return rows | dict(journal)

    def _report(self, problem: str) -> None:
        if self.is_packed:  # the packed files were held against their digests when they were opened
            problem = f"{self.origin}: its copy in your cache is damaged; remove {self.path}, and it is made anew"
        if problem not in self.problems:
            self.problems.append(problem)
