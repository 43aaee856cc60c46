"""The record: a results directory, the one source of truth about what was searched and found.

A finished search is in its cell's journal before it is reported; a finished cell is one table, replaced atomically; an
index makes summaries cheap. One process writes; any number read meanwhile, without locks and without repairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.errors import RecordError
from cfbench.files import explained, make_directory
from cfbench.record.cell_line import CellLine, done_of, is_understood, summary_of
from cfbench.record.layout import check_directory, checked_key, create_record, opened_path
from cfbench.record.lock import WriterLock
from cfbench.record.reading import RecordReading
from cfbench.record.recovery import complete_index, end_compactions
from cfbench.record.rows import Row, SearchId, checked_row, checked_rows
from cfbench.record.summary import CellSummary
from cfbench.registry.events import CellInfo

if TYPE_CHECKING:
    import pandas as pd


class Record(RecordReading):
    """A record, open for reading or for writing. Use :meth:`open`, and :meth:`close` or ``with``.

    Parameters
    ----------
    path : Path
    lock : WriterLock or None
        None: open for reading.
    origin : Path, optional
        The packed record of which `path` is the copy in the cache.
    """

    def __init__(self, path: Path, lock: WriterLock | None, origin: Path | None = None) -> None:
        super().__init__(path, writing=lock is not None, origin=origin)
        self._lock = lock

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
        origin = Path(path)
        path = opened_path(origin, write=write)
        exists = check_directory(path, write=write)
        if not write:
            return cls(path, None, origin)
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

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one search to its cell's journal; it is on the disk when this returns.

        Raises
        ------
        RecordError
            If the row does not fit the schema, or the disk refuses; what was written before stays sound.
        """
        self.append_all([row])

    def append_all(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write searches as `append` does, those of one cell in one go: the disk is waited for once a cell."""
        self._check_writable()
        by_key: dict[str, list[Row]] = {}
        for row in rows:
            checked = checked_row(row)
            by_key.setdefault(checked_key(checked["cell_key"]), []).append(checked)
        for key, of_cell in by_key.items():
            self._journals.append(key, of_cell)

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

    def adopt(
        self,
        info: CellInfo,
        content: Mapping[str, Any],
        eligible: int,
        rows: Iterable[Row],
        *,
        keep_waiting: bool = False,
    ) -> CellSummary:
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
        keep_waiting : bool
            Whether searches of the journal that are not among `rows` stay there.
        """
        self._check_writable()
        key = checked_key(info.key)
        line = self._cells.write(info, content, eligible, checked_rows(rows))
        self._note(key, line)
        journal = self._journals.read(key) if keep_waiting else {}
        kept = [row for search, row in journal.items() if search not in line.done]
        if kept:
            self._journals.rewrite(key, kept)
        else:
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
            from cfbench.record import tables

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
        mark = self.mark(key)
        if not mark:
            raise RecordError(f"cell {key} is not finished: measures are written to finished cells only")
        counted = self._measures.write(key, table, mark, self._results(key))
        if self._measured is not None:
            self._measured[key] = counted

    def _note_without_searches(
        self, info: CellInfo, content: Mapping[str, Any], *, skipped: str = "", failure: str = ""
    ) -> CellSummary:
        self._check_writable()
        known = self._index.get(checked_key(info.key)) or {}
        summary, mark, done = CellSummary(info, dict(content)), "", dict[SearchId, str]()
        if known.get("mark") and is_understood(known):
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
