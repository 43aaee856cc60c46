"""The journals: one file a cell under way, one line a search, until the cell's table takes them over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cfbench.errors import RecordError
from cfbench.files import explained
from cfbench.record.layout import keys_in
from cfbench.record.linefile import LineFile
from cfbench.record.lines import pack
from cfbench.record.rows import Row, SearchId, parsed_row


class Journals:
    """The searches that no table holds yet.

    Parameters
    ----------
    folder : Path
        The folder of the journals.
    report : callable
        Receives a sentence about every damaged line.
    """

    def __init__(self, folder: Path, report: Callable[[str], None]) -> None:
        self._folder = folder
        self._report = report
        self._files: dict[str, LineFile] = {}  # those that this process has written to

    def keys(self) -> list[str]:
        """Keys of the cells that have a journal, sorted."""
        return keys_in(self._folder, ".log")

    def read(self, key: str) -> dict[SearchId, Row]:
        """Return the rows of a cell; of two rows of one search, the later.

        A damaged line is reported and left out: the search that it held counts as not done.
        """
        file = self._file(key)
        with explained(file.path, "read"):
            found = file.read()
        damaged = [f"line {number}" for number in found.damaged]
        rows: dict[SearchId, Row] = {}
        for line in found.lines:
            try:
                row = parsed_row(line.payload)
            except RecordError as error:
                damaged.append(f"the line at byte {line.start} ({error})")
                continue
            if row["cell_key"] != key:
                damaged.append(f"the line at byte {line.start} (it belongs to cell {row['cell_key']})")
                continue
            rows[row["point"], row["repetition"]] = row
        for place in damaged:
            self._report(f"{file.path}: {place} is damaged; the other lines stay, and what it held runs again")
        return rows

    def append(self, key: str, rows: Iterable[Row]) -> None:
        """Write rows to the disk, which is waited for once."""
        file = self._files.setdefault(key, self._file(key))
        with explained(file.path, "written"):
            file.append_all([pack(row) for row in rows])

    def rewrite(self, key: str, rows: Iterable[Row]) -> None:
        """Replace a cell's journal by `rows`, atomically."""
        file = self._file(key)
        with explained(file.path, "written"):
            file.rewrite(pack(row) for row in rows)

    def remove(self, key: str) -> None:
        """Delete the journal of a cell; its table holds the rows now."""
        file = self._file(key)
        with explained(file.path, "written"):
            file.remove()
        self._files.pop(key, None)

    def _file(self, key: str) -> LineFile:
        return self._files.get(key) or LineFile(self._folder / f"{key}.log")
