"""The record: a results directory, the one source of truth about what was searched and found.

One process writes, any number read meanwhile. A finished search is committed before it is reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from cfbench.errors import RecordError
from cfbench.record.archive import read_packed
from cfbench.record.cells import CELLS, CellSummary, Preparation, stored_cell, summarise
from cfbench.record.database import Database, open_for_reading, open_for_writing
from cfbench.record.files import is_packed
from cfbench.record.measures import measure_row, measure_rows
from cfbench.record.reading import RecordReading
from cfbench.record.schema import (
    MACHINES,
    MEASURES,
    PREPARATIONS,
    SEARCHES,
    STUDY,
    MetricId,
    Row,
    SearchId,
    checked_rows,
)
from cfbench.registry.events import CellInfo

if TYPE_CHECKING:
    import pandas as pd

    from cfbench.space.space import FloatArray


class Record(RecordReading):
    """A record, open for reading or for writing. Use :meth:`open`, and :meth:`close` or ``with``.

    Examples
    --------
    >>> import tempfile
    >>> with Record.open(Path(tempfile.mkdtemp()), write=True) as record:
    ...     record.summaries()
    {}
    """

    @classmethod
    def open(cls, path: Path | str, *, write: bool = False) -> Record:
        """Open a record; a packed one can be read only.

        Parameters
        ----------
        path : Path
        write : bool
            True: create the record if there is none, and lock it.

        Raises
        ------
        RecordError
            If it is no record or one of another version, cannot be read or written, or another process writes it.
        """
        path = Path(path)
        if not is_packed(path):
            return cls(path, open_for_writing(path) if write else open_for_reading(path))
        if write:
            raise RecordError(
                f"{path} is a packed record, which is read only; `cfbench merge {path} --results DIR` makes one of it "
                "that can grow"
            )
        return cls(path, Database(read_packed(path), path), is_packed=True)

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except RecordError:
            if kind is None:  # otherwise the first error says what is wrong
                raise

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one search, as `append_all` does."""
        self.append_all([row])

    def append_all(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write searches, in one commit: all of them are on the disk when this returns.

        RecordError: a row does not fit the schema, or the disk refuses; what was written before stays sound.
        """
        checked = {(row["cell_key"], row["point"], row["repetition"]): row for row in map(SEARCHES.checked, rows)}
        if checked:
            with self.transaction() as connection:
                for key in {key for key, *_ in checked}:  # a finished search that runs again is finished no more
                    self._drop(key, {(point, repetition) for of, point, repetition in checked if of == key})
                connection.executemany(SEARCHES.insert, map(SEARCHES.stored, checked.values()))

    def note_preparation(self, key: str, preparation: Preparation) -> None:
        """Write what the preparation of a cell took; what an earlier one took stays."""
        with self.transaction() as connection:
            row = dict(zip(PREPARATIONS.columns, (key, *preparation), strict=True))
            connection.execute(
                PREPARATIONS.insert.replace("OR REPLACE", "OR IGNORE"), PREPARATIONS.stored(PREPARATIONS.checked(row))
            )

    def finish(self, info: CellInfo, content: Mapping[str, Any], eligible: int) -> CellSummary:
        """Summarise a cell, all of whose searches are in.

        Its key is the digest of `content`; `eligible` are the points of the test fold with another class than the
        target.
        """
        with self.transaction():
            return self._put(summarise(info, dict(content), eligible, self.rows(info.key)))

    def adopt(
        self, info: CellInfo, content: Mapping[str, Any], eligible: int, rows: Iterable[Row], *, source: str = ""
    ) -> CellSummary:
        """Take a finished cell over from elsewhere, whole; it replaces what this record holds of that cell.

        A row that does not fit is refused before any is written. `source` says where the cell comes from.
        """
        checked = checked_rows(rows)
        with self.transaction() as connection:
            connection.execute("DELETE FROM searches WHERE cell_key = ?", [info.key])
            connection.executemany(SEARCHES.insert, map(SEARCHES.stored, checked))
            return self._put(replace(summarise(info, dict(content), eligible, checked), source=source))

    def skip(self, info: CellInfo, content: Mapping[str, Any], reason: str) -> CellSummary:
        """Note that a cell cannot be run, and why."""
        return self._note(info, content, reason, "")

    def fail(self, info: CellInfo, content: Mapping[str, Any], reason: str) -> CellSummary:
        """Note that a cell has failed, and why; its finished searches stay."""
        return self._note(info, content, "", reason)

    def forget(self, key: str, statuses: Collection[str]) -> int:
        """Drop the searches of a cell that ended in one of `statuses`, so that they run again; return their number."""
        with self.transaction():
            dropped = {search for search, status in self.done(key).items() if status in statuses}
            self._drop(key, dropped)
        return len(dropped)

    def remove(self, keys: Iterable[str]) -> None:
        """Take cells out of the record, with all that belongs to them."""
        with self.transaction() as connection:
            for key in keys:
                for table in (CELLS, SEARCHES, MEASURES, PREPARATIONS):
                    connection.execute(f"DELETE FROM {table.name} WHERE {table.key[0]} = ?", [key])  # noqa: S608

    def write_measures(self, key: str, table: pd.DataFrame) -> None:
        """Add metrics to a finished cell, or replace what the same (metric, version, settings) said before.

        `table` has the columns of ``MEASURE_SCHEMA``, for all finished searches of the cell.
        """
        self.write_measure_rows(measure_rows(table, self._finished_cell(key)))

    def write_values(self, key: str, values: Mapping[MetricId, FloatArray]) -> None:
        """Add or replace metrics of a finished cell as `write_measures` does.

        `values` has a metric's values by (metric, version, settings), in the order in which `rows` returns the
        searches.
        """
        cell = self._finished_cell(key)
        self.write_measure_rows(measure_row(cell, metric, found.tolist()) for metric, found in values.items())

    def _finished_cell(self, key: str) -> CellSummary:
        cell = self._cell(key)
        if cell is None or not cell.mark:
            raise RecordError(f"cell {key} is not finished: measures are written to finished cells only")
        return cell

    def write_measure_rows(self, rows: Iterable[Row]) -> None:
        """Add rows of measures of a cell's finished searches, one per metric."""
        with self.transaction() as connection:
            connection.executemany(MEASURES.insert, [MEASURES.stored(MEASURES.checked(row)) for row in rows])

    def add_machines(self, machines: Iterable[Mapping[str, str]]) -> None:
        """Note machines that searches ran on, those that the record does not know."""
        with self.transaction() as connection:
            known = self.machines()
            new = [MACHINES.checked({"description": one}) for one in machines if one not in known]
            connection.executemany(MACHINES.insert, map(MACHINES.stored, new))

    def note(self, name: str, value: str) -> None:
        """Note a fact about the whole record, such as the name of its study."""
        with self.transaction() as connection:
            connection.execute(STUDY.insert, STUDY.stored({"name": name, "value": value}))

    def transaction(self) -> AbstractContextManager[Connection]:
        """Return a context in which everything that is written is committed at once, or not at all."""
        if self._database.lock is None:
            raise RecordError(f"the record {self.path} is open for reading; open it with write=True")
        return self._database.transaction()

    # ---------------------------------------------------------------- inside a transaction

    def _put(self, summary: CellSummary) -> CellSummary:
        """Write the summary of a cell; measures of other searches go."""
        connection = self._database.connection
        connection.execute(CELLS.insert, stored_cell(summary))
        connection.execute("DELETE FROM measures WHERE cell_key = ? AND mark <> ?", [summary.info.key, summary.mark])
        return summary

    def _drop(self, key: str, searches: set[SearchId]) -> None:
        """Take searches out of a cell, and out of its summary if they are finished."""
        cell = self._cell(key)
        if cell is not None and searches & cell.done.keys():
            rest = [row for search, row in self.cell_of(key).finished.items() if search not in searches]
            self._put(cell.of_rows(rest))
        self._database.connection.executemany(
            "DELETE FROM searches WHERE cell_key = ? AND point = ? AND repetition = ?",
            [(key, *search) for search in searches],
        )

    def _note(self, info: CellInfo, content: Mapping[str, Any], skipped: str, failure: str) -> CellSummary:
        with self.transaction():
            known = self._cell(info.key)
            cell = known if known is not None and known.mark else CellSummary(info, dict(content))
            return self._put(replace(cell, skipped=skipped, failure=failure))


def load_record(path: Path | str) -> pd.DataFrame:
    """Read all searches of all finished cells of a record into one data frame.

    Searches that are damaged are named in warnings and left out. Cells that were never finished are left out as well: a
    first part of a cell's points is no sample of them.

    Parameters
    ----------
    path : path
        The results directory, or that of a packed record.

    Returns
    -------
    DataFrame
        The cell's key and coordinates (`dataset`, `model`, `searcher`, `objective`, `constraints`, `fold`), then the
        other columns of the record's schema, in the order of the cells' coordinates.

    Examples
    --------
    >>> import tempfile
    >>> import cfbench
    >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
    ...     searches = cfbench.load_record(folder)
    >>> searches[["searcher", "status"]].drop_duplicates().values.tolist()
    [['nearest-unlike', 'found']]
    """
    import pandas as pd  # slow to load

    from cfbench.record.frames import search_frame  # loads pandas

    coordinates = ["dataset", "model", "searcher", "objective", "constraints", "fold"]
    with Record.open(path) as record:
        infos = [cell.info for cell in record.cells() if cell.mark]
        cells = pd.DataFrame({name: [getattr(info, name) for info in infos] for name in ("key", *coordinates)})
        kinds = dict.fromkeys(cells, "str") | {"constraints": "bool", "fold": "int64"}
        cells = cells.astype(kinds).sort_values([*coordinates, "key"])
        frame = search_frame(row for key in cells["key"] for row in record.rows(key))
        frame = cells.rename(columns={"key": "cell_key"}).merge(frame, on="cell_key")
    for problem in record.problems:
        warnings.warn(problem, stacklevel=2)
    return frame
