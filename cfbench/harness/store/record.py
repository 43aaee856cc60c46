"""The record: a results directory, the one source of truth about what was searched and found.

A finished search is in its cell's journal before it is reported; a finished cell is one table, replaced atomically; an
index makes summaries cheap. One process writes; any number read meanwhile, without locks and without repairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cfbench.errors import RecordError
from cfbench.events import CellInfo
from cfbench.harness.store.cell_line import CellLine, done_of, is_outdated, results_of, summary_of
from cfbench.harness.store.cells import Cells
from cfbench.harness.store.disk import explained, make_directory
from cfbench.harness.store.index import Index
from cfbench.harness.store.journal import Journals
from cfbench.harness.store.layout import check_directory, checked_key, create_record, opened_path
from cfbench.harness.store.lock import WriterLock
from cfbench.harness.store.measure_tables import Measures
from cfbench.harness.store.point_values import MetricId, PointValues
from cfbench.harness.store.recovery import complete_index, end_compactions
from cfbench.harness.store.rows import Row, SearchId, checked_row
from cfbench.harness.store.stored_summaries import stored_summaries
from cfbench.harness.store.summary import CellSummary

if TYPE_CHECKING:
    import pandas as pd


class Record:
    """A record, open for reading or for writing. Use :meth:`open`, and :meth:`close` or ``with``.

    Parameters
    ----------
    path : Path
    lock : WriterLock or None
        None: open for reading.
    """

    def __init__(self, path: Path, lock: WriterLock | None) -> None:
        self.path = path
        self.problems: list[str] = []
        """What could not be read, a sentence each; it grows while files are read, and what they held runs again."""
        self._lock = lock
        self._journals = Journals(path / "journal", self._report)
        self._cells = Cells(path / "cells", self._report)
        self._index = Index(path / "index.log", self._report)
        self._measures = Measures(path / "measures", Index(path / "measured.log", self._report), self._report)
        self._measured: dict[str, set[MetricId]] | None = None  # kept by the writer, who alone knows of every change

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> Record:
        """Open a record. A packed one is unpacked into the user's cache first, and can be read only.

        Parameters
        ----------
        path : Path
        write : bool
            True: create the record where there is none, lock it, and repair what a kill has left half done.

        Raises
        ------
        RecordError
            If it is no record or one of another version, may not be read or written, or another process writes it.
        """
        path = opened_path(Path(path), write=write)
        exists = check_directory(path, write=write)
        if not write:
            return cls(path, None)
        with explained(path, "written"):
            make_directory(path)
            record = cls(path, WriterLock.acquire(path / "lock"))
        try:
            if not exists and not check_directory(path, write=True):
                with explained(path, "written"):
                    create_record(path)
            complete_index(record._index, record._cells)
            end_compactions(record._index, record._cells, record._journals)
            record._measures.complete_index(record._results)
        except BaseException:
            record.close()
            raise
        return record

    def close(self) -> None:
        """Release the lock; nothing else is left to do, since every write is on the disk when it returns."""
        if self._lock is not None:
            lock, self._lock = self._lock, None
            lock.release()

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------- what is there

    def summaries(self) -> dict[str, CellSummary]:
        """Return the summaries of all cells that were finished, skipped or failed, by key, from the index.

        A cell whose table the index does not know is read from its table; one whose table is gone is left out.
        """
        return stored_summaries(self._index, self._cells, self._report)

    def pending(self) -> set[str]:
        """Return the keys of the cells whose journal waits for `finish`."""
        return set(self._journals.keys())

    def done(self, key: str) -> dict[SearchId, str]:
        """Return (point, repetition) and status of every search of a cell that the record holds."""
        # The journal first: a writer may move its rows to the table between the two steps, never the other way.
        journal = self._journals.read(checked_key(key))
        done = self._cells.done(key, self._index.get(key))
        return done | {search: row["status"] for search, row in journal.items()}

    def searches(self, key: str) -> pd.DataFrame:
        """Return the searches of a cell, those of its journal included, sorted by point and repetition.

        Returns
        -------
        DataFrame
            As :func:`~cfbench.harness.store.frames.search_frame` describes it.
        """
        from cfbench.harness.store import tables
        from cfbench.harness.store.frames import search_frame

        journal = self._journals.read(checked_key(key))
        found = self._cells.read(key)
        if found is not None and not journal:
            return search_frame(found[0].table)
        return search_frame(tables.search_table(self._merged(key, journal).values()))

    def rows(self, key: str) -> list[Row]:
        """Return the searches of a cell, those of its journal included, in the record's own form; in any order."""
        return list(self._merged(key, self._journals.read(checked_key(key))).values())

    def all_searches(self) -> pd.DataFrame:
        """Return the searches of all cells that have a table; `load_record` describes the frame."""
        from cfbench.harness.store.all_searches import all_searches

        return all_searches(self._cells, self._journals)

    def measures(self, key: str) -> pd.DataFrame:
        """Return what metrics say about a cell, in the columns of ``MEASURE_SCHEMA``; it may have no rows."""
        return self._measures.read(checked_key(key))

    def measured(self) -> Mapping[str, set[MetricId]]:
        """Return the (metric, version, settings) that were measured on the present searches of each cell.

        A cell that has grown since, or whose searches ran again, has to be measured again.
        """
        if self._lock is None or self._measured is None:
            marks = {key: line.get("mark", "") for key, line in self._index.contents()}
            self._measured = self._measures.measured(marks)
        return MappingProxyType(self._measured)

    def point_values(self) -> PointValues:
        """Return what was measured of the points' results, in the order of the points in each cell's summary."""
        marks = {key: line.get("mark", "") for key, line in self._index.contents()}
        return self._measures.point_values(marks, self._results)

    # ---------------------------------------------------------------- writing

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one search to its cell's journal; it is on the disk when this returns.

        Raises
        ------
        RecordError
            If the row does not fit the schema, or the disk refuses; what was written before stays sound.
        """
        self._check_writable()
        checked = checked_row(row)
        self._journals.append(checked_key(checked["cell_key"]), checked)

    def finish(self, info: CellInfo, content: Mapping[str, Any], eligible: int) -> CellSummary:
        """Move a cell's journal into its table and summarise it.

        Parameters
        ----------
        info : CellInfo
        content : mapping
            All that the key is a digest of.
        eligible : int
            Points of the test fold with another class than the target.
        """
        self._check_writable()
        key = checked_key(info.key)
        rows = self._merged(key, self._journals.read(key))
        line = self._cells.write(info, content, eligible, rows.values())
        self._note(key, line)
        self._journals.remove(key)
        return line.summary

    def adopt(self, info: CellInfo, content: Mapping[str, Any], eligible: int, rows: Iterable[Row]) -> CellSummary:
        """Take a finished cell over from another record, whole; it replaces what this one holds of that cell.

        Parameters
        ----------
        info : CellInfo
        content : mapping
            All that the key is a digest of.
        eligible : int
            Points of the test fold with another class than the target.
        rows : iterable of mapping
            The columns of ``SEARCH_SCHEMA``, a row a search; a row that does not fit is refused before any is written.
        """
        self._check_writable()
        key = checked_key(info.key)
        line = self._cells.write(info, content, eligible, [checked_row(row) for row in rows])
        self._note(key, line)
        self._journals.remove(key)
        return line.summary

    def skip(self, info: CellInfo, content: Mapping[str, Any], reason: str) -> CellSummary:
        """Note that a cell cannot be run, and why."""
        return self._note_without_searches(info, content, skipped=reason)

    def fail(self, info: CellInfo, content: Mapping[str, Any], reason: str) -> CellSummary:
        """Note that a cell has failed, and why; its finished searches stay."""
        return self._note_without_searches(info, content, failure=reason)

    def forget(self, key: str, statuses: Collection[str]) -> int:
        """Drop the searches of a cell that ended in one of `statuses`, so that they run again.

        Returns
        -------
        int
            How many were dropped.
        """
        self._check_writable()
        dropped = {search for search, status in self.done(key).items() if status in statuses}
        if not dropped:
            return 0
        self._measures.drop(key, dropped)
        journal = self._journals.read(key)
        if dropped & journal.keys():
            self._journals.rewrite(key, [row for search, row in journal.items() if search not in dropped])
        found = self._cells.read(key)
        if found is not None:
            from cfbench.harness.store import tables

            stored = found[0]
            rows = [row for row in tables.rows_of(stored.table) if (row["point"], row["repetition"]) not in dropped]
            self._note(key, self._cells.write(stored.info, stored.content, stored.eligible, rows))
        return len(dropped)

    def write_measures(self, key: str, table: pd.DataFrame) -> None:
        """Add metrics to a cell, or replace what the same (metric, version, settings) said before.

        Parameters
        ----------
        key : str
        table : DataFrame
            Columns of ``MEASURE_SCHEMA``, for all searches of the finished cell.
        """
        self._check_writable()
        mark = (self._index.get(checked_key(key)) or {}).get("mark", "")
        if not mark:
            raise RecordError(f"cell {key} is not finished: measures are written to finished cells only")
        counted = self._measures.write(key, table, mark, self._results(key))
        if self._measured is not None:
            self._measured[key] = counted

    def _results(self, key: str) -> list[SearchId | None]:
        """Return which search found each point's result."""
        line = self._index.get(key)
        if line is None or is_outdated(line):
            found = self._cells.read(key)
            return [] if found is None else results_of(self._cells.line_from(*found).content())
        return results_of(line)

    def _merged(self, key: str, journal: Mapping[SearchId, Row]) -> dict[SearchId, Row]:
        """Return the rows of a cell's table with those of its journal, which is the later of the two."""
        found = self._cells.read(key)
        if found is None:
            return dict(journal)
        from cfbench.harness.store import tables

        rows = {(row["point"], row["repetition"]): row for row in tables.rows_of(found[0].table)}
        return rows | dict(journal)

    def _note_without_searches(
        self, info: CellInfo, content: Mapping[str, Any], *, skipped: str = "", failure: str = ""
    ) -> CellSummary:
        self._check_writable()
        known = self._index.get(checked_key(info.key))
        summary, mark, done = CellSummary(info, dict(content)), "", {}
        if known is not None and known.get("mark"):
            summary, mark, done = summary_of(known), known["mark"], done_of(known)
        summary = replace(summary, skipped=skipped, failure=failure)
        self._note(info.key, CellLine(summary, mark, done))
        return summary

    def _note(self, key: str, line: CellLine) -> None:
        if not self._index.says(key, line.content()):
            self._index.put(key, line.content())
        if self._measured is not None:
            self._measured[key] = self._measures.measured_from(key, line.mark)

    def _check_writable(self) -> None:
        if self._lock is None:
            raise RecordError(f"the record {self.path} is open for reading; open it with write=True")

    def _report(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
