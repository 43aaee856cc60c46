"""The tables of finished cells: found, read, replaced, and set aside where they are damaged."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.files import explained, is_of_size, read_stored, set_aside, write_atomically
from cfbench.record.cell_line import NOTES, CellLine, done_of, mark_of
from cfbench.record.layout import keys_of_tables, table_path
from cfbench.record.rows import Row, SearchId
from cfbench.record.summarise import summarise
from cfbench.registry.events import CellInfo

if TYPE_CHECKING:
    from cfbench.record.tables import StoredCell

RUNS_AGAIN = "its cell runs again with the next `cfbench run` of its study"
"""How a table that cannot be read is mended."""


class Cells:
    """One parquet file a finished cell.

    Parameters
    ----------
    folder : Path
    report : callable
        Receives a sentence about every file that cannot be read.
    writing : bool
        Whether the record is open for writing: then a file that the system refuses to read is an error.
    """

    def __init__(self, folder: Path, report: Callable[[str], None], *, writing: bool = False) -> None:
        self._folder = folder
        self._report = report
        self._writing = writing

    def keys(self) -> list[str]:
        """Keys of the cells that have a file, sorted."""
        return keys_of_tables(self._folder)

    def path(self, key: str) -> Path:
        """Where the file of a cell stands."""
        return table_path(self._folder, key)

    def mark(self, key: str) -> str:
        """Return the mark of a cell's file as it is now; empty where there is none, or none that may be read."""
        data = self._bytes(key)
        return "" if data is None else mark_of(data)

    def fits(self, key: str, mark: str) -> bool:
        """Whether a cell's file has the size that is in a mark: that much is seen without reading it."""
        return is_of_size(self.path(key), mark)

    def read(self, key: str) -> tuple[StoredCell, str] | None:
        """Return a cell and the mark of its file; None where there is none, or none that can be read."""
        data = self._bytes(key)
        return None if data is None else self._decoded(key, data)

    def done(self, key: str, line: Mapping[str, Any] | None) -> dict[SearchId, str]:
        """Return the searches in a cell's file with their statuses.

        Parameters
        ----------
        key : str
        line : mapping or None
            What the index says of the cell. Where its mark fits the file, the file need not be decoded.
        """
        data = self._bytes(key)
        if data is None:
            if line is not None and line.get("mark") and not os.path.lexists(self.path(key)):
                self._report(f"{self.path(key)} is missing; {RUNS_AGAIN}")
            return {}
        if line is not None and line.get("mark") == mark_of(data):
            with contextlib.suppress(KeyError, TypeError, ValueError):  # it says what no cfbench writes
                return done_of(line)
        stored = self._decoded(key, data)
        return {} if stored is None else done_in(stored[0])

    def write(self, info: CellInfo, content: Mapping[str, Any], eligible: int, rows: Iterable[Row]) -> CellLine:
        """Replace the file of a cell, atomically; return its line for the index. A damaged file is set aside."""
        from cfbench.record import tables

        rows = list(rows)
        path = self.path(info.key)
        data = tables.encode_cell(info, content, eligible, rows)
        old = self._bytes(info.key)
        if old != data:
            with explained(path, "written"):
                if old is not None and self._decoded(info.key, old) is None:
                    set_aside(path)
                write_atomically(path, data)
        done = {(row["point"], row["repetition"]): row["status"] for row in rows}
        return CellLine(summarise(info, dict(content), eligible, rows), mark_of(data), done)

    def line_from(self, stored: StoredCell, mark: str, noted: Mapping[str, Any] | None = None) -> CellLine:
        """Return the line for the index of a cell as its file holds it.

        Parameters
        ----------
        stored : StoredCell
        mark : str
        noted : mapping, optional
            What the index has said of the cell: why it was skipped or failed stands nowhere else.
        """
        from cfbench.record import tables

        summary = summarise(stored.info, stored.content, stored.eligible, tables.rows_of(stored.table))
        notes = {name: noted[name] for name in NOTES if noted is not None and isinstance(noted.get(name), str)}
        summary = replace(summary, **notes)
        return CellLine(summary, mark, done_in(stored))

    def _bytes(self, key: str) -> bytes | None:
        return read_stored(self.path(key), self._report, writing=self._writing)

    def _decoded(self, key: str, data: bytes) -> tuple[StoredCell, str] | None:
        from cfbench.record import tables

        try:
            return tables.decode_cell(data, key), mark_of(data)
        except tables.UnreadableTableError as error:
            self._report(f"{self.path(key)} cannot be read ({error}); {RUNS_AGAIN}")
            return None


def done_in(stored: StoredCell) -> dict[SearchId, str]:
    """Return the searches of a stored cell with their statuses."""
    columns = (stored.table[name].to_pylist() for name in ("point", "repetition", "status"))
    return {(point, repetition): status for point, repetition, status in zip(*columns, strict=True)}
