"""The tables of metrics: one parquet file a cell, and an index of what was measured from which state of the cell.

The index also holds the values of points' results, so that a board opens no table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.errors import RecordError
from cfbench.files import explained, is_of_size, read_stored, set_aside, write_atomically
from cfbench.record.cell_line import mark_of
from cfbench.record.index import Index
from cfbench.record.layout import keys_of_tables, table_path
from cfbench.record.measure_line import contradicted, line_of, measured_in
from cfbench.record.point_values import ID_COLUMNS, MetricId, PointValues, Results, is_understood, values_of_results
from cfbench.record.rows import SearchId
from cfbench.record.seal import NOT_WHOLE, is_whole

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from cfbench.space.space import FloatArray

_ORDER = [*ID_COLUMNS, "point", "repetition"]
_TABLE = re.compile(rb'"table":"(\d{1,15}-[0-9a-f]{8})"')


class Measures:
    """What metrics say about the cells.

    Parameters
    ----------
    folder : Path
    index : Index
    report : callable
        Receives a sentence about every file that cannot be read.
    writing : bool
        Whether the record is open for writing: then a file that the system refuses to read is an error, and damage is
        looked for before anything counts as measured.
    """

    def __init__(self, folder: Path, index: Index, report: Callable[[str], None], *, writing: bool = False) -> None:
        self._folder = folder
        self._index = index
        self._report = report
        self._writing = writing
        self._known: dict[frozenset[MetricId], frozenset[MetricId]] = {}

    def read(self, key: str) -> pd.DataFrame:
        """Return the measures of a cell; no rows where there are none."""
        from cfbench.record.schema import MEASURE_SCHEMA

        found = self._read(key)
        frame: pd.DataFrame = (MEASURE_SCHEMA.empty_table() if found is None else found[0]).to_pandas()
        return frame

    def write(self, key: str, table: pd.DataFrame, of: str, results: Results) -> frozenset[MetricId]:
        """Add metrics to a cell, in place of what the same (metric, version, settings) said before.

        Parameters
        ----------
        key : str
        table : DataFrame
            Columns of ``MEASURE_SCHEMA``.
        of : str
            Mark of the cell's table that they were computed from. What was computed from an earlier table stays, and
            no longer counts as measured.
        results : sequence of (int, int) or None
            The search that found each point's result, in the order of the cell's summary.

        Returns
        -------
        frozenset of (str, str, str)
            All that was measured from the table with that mark.
        """
        import pandas as pd

        added = _checked(key, table)
        replaced = _ids(added)
        counted = set(replaced)
        found = self._read(key)
        if found is not None:
            old = found[0].to_pandas()
            counted |= measured_in(found[1], of)
            kept = [metric not in replaced for metric in old[ID_COLUMNS].itertuples(index=False, name=None)]
            added = pd.concat([old[kept], added]) if any(kept) else added
        self._replace(key, added, of, counted, results)
        return self._one(frozenset(counted))

    def drop(self, key: str, searches: Collection[SearchId]) -> None:
        """Take out what was measured on searches that are to run again."""
        found = self._read(key)
        if found is not None:
            frame = found[0].to_pandas()
            kept = [search not in searches for search in zip(frame["point"], frame["repetition"], strict=True)]
            self._replace(key, frame[kept], "", set(), ())

    def measured(self, marks: Mapping[str, str]) -> dict[str, frozenset[MetricId]]:
        """Return what was measured from the present table of each cell, by the cells' marks."""
        return {key: self._one(measured_in(line, marks[key])) for key, line in self._present(marks)}

    def point_values(self, marks: Mapping[str, str], results: Callable[[str], Results]) -> PointValues:
        """Return the values of points' results, of all that was measured from the present table of each cell.

        Parameters
        ----------
        marks : mapping of str to str
        results : callable
            Key in, the cell's results out; asked for cells whose values the index lacks.
        """

        def read(key: str) -> dict[MetricId, FloatArray]:
            return values_of_results(self.read(key), results(key))

        return PointValues(dict(self._present(marks)), read)

    def _present(self, marks: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the lines of the cells that were measured as they are now, one at a time."""
        stored = set(keys_of_tables(self._folder))
        unread = {key for key in stored if not self._writing or self._is_whole(key)}
        for key, line in self._index.contents():
            if key not in stored and measured_in(line, marks.get(key, "")):
                self._report_loss(key)
            if key in unread and is_understood(line) and self._fits(key, line.get("table")):
                unread.discard(key)
                if measured_in(line, marks.get(key, "")):
                    yield key, line
        for key in sorted(unread):
            found = self._read(key)
            if found is not None and measured_in(found[1], marks.get(key, "")):
                yield key, found[1]

    def _fits(self, key: str, mark: object) -> bool:
        """Whether a cell's table has the size that the index says; a line of an earlier version says none."""
        return mark is None or is_of_size(table_path(self._folder, key), str(mark))

    def measured_from(self, key: str, mark: str) -> frozenset[MetricId]:
        """Return what was measured from the table with that mark, of one cell."""
        return self._one(measured_in(self._index.get(key) or {}, mark))

    def _one(self, metrics: frozenset[MetricId]) -> frozenset[MetricId]:
        """Return one object for all sets that are equal: a run keeps one for every cell."""
        return self._known.setdefault(metrics, metrics)

    def complete_index(self, results: Callable[[str], Results]) -> None:
        """Write the lines that the index lacks, and replace it where it is damaged.

        A line of an earlier version, without values, counts as lacking, and so does one of a table of another size.

        Parameters
        ----------
        results : callable
            Key in, the cell's results out.
        """
        known = {
            key
            for key, payload in self._index.payloads()
            if b'"values":' in payload and self._fits(key, _table_in(payload))
        }
        if self._index.damaged:
            self._index.rewrite()
        for key in keys_of_tables(self._folder):
            found = self._read(key) if key not in known else None
            if found is not None:
                values = values_of_results(found[0].to_pandas(), results(key))
                self._index.put(key, line_of(found[1], values, found[2]))

    def _replace(self, key: str, frame: pd.DataFrame, of: str, counted: set[MetricId], results: Results) -> None:
        import pyarrow as pa

        from cfbench.record import tables
        from cfbench.record.schema import MEASURE_SCHEMA

        frame = frame.drop_duplicates(_ORDER, keep="last").sort_values(_ORDER)
        try:
            table = pa.Table.from_pandas(frame[MEASURE_SCHEMA.names], schema=MEASURE_SCHEMA, preserve_index=False)
            table = table.replace_schema_metadata(MEASURE_SCHEMA.metadata)  # pandas adds its own
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise RecordError(f"measures of cell {key} do not fit their schema: {error}") from error
        about = {"of": of, "measured": sorted(counted)}
        path = table_path(self._folder, key)
        data = tables.encode_measures(table, about)
        with explained(path, "written"):
            if path.exists() and not self._is_whole(key):
                set_aside(path)
            write_atomically(path, data)
        self._index.put(key, line_of(about, values_of_results(frame, results), mark_of(data)))

    def contradicted(self, key: str, mark: str, results: Results) -> list[str]:
        """Return what the index says of a cell otherwise than its table of measures; nothing where no board reads it.

        Parameters
        ----------
        key : str
        mark : str
            Of the cell's table.
        results : sequence of (int, int) or None
        """
        line = self._index.get(key)
        found = self._read(key) if line is not None and measured_in(line, mark) else None
        if line is None or found is None:
            if line is not None and measured_in(line, mark) and not table_path(self._folder, key).exists():
                self._report_loss(key)
            return []
        return contradicted(line_of(found[1], values_of_results(found[0].to_pandas(), results), found[2]), line)

    def _read(self, key: str) -> tuple[pa.Table, dict[str, Any], str] | None:
        """Return a cell's table, what it says of itself, and its mark."""
        from cfbench.record import tables

        path = table_path(self._folder, key)
        data = read_stored(path, self._report, writing=self._writing)
        try:
            return None if data is None else (*tables.decode_measures(data, key), mark_of(data))
        except tables.UnreadableTableError as error:
            self._report_damage(path, str(error))
            return None

    def _report_damage(self, path: Path, why: str) -> None:
        self._report(f"{path} cannot be read ({why}); `cfbench measure` writes it anew")

    def _report_loss(self, key: str) -> None:
        self._report(f"{table_path(self._folder, key)} is gone; `cfbench measure` writes it anew")

    def _is_whole(self, key: str) -> bool:
        """Whether the table of a cell is there and undamaged, so that what the index says of it can be had."""
        path = table_path(self._folder, key)
        data = read_stored(path, self._report, writing=self._writing)
        if data is None or is_whole(data):
            return data is not None
        self._report_damage(path, NOT_WHOLE)
        return False


def _ids(frame: pd.DataFrame) -> set[MetricId]:
    return set(frame[ID_COLUMNS].itertuples(index=False, name=None))


def _table_in(payload: bytes) -> str | None:
    """Return the mark of the table in a line of the index, unparsed; None from one of an earlier version."""
    found = _TABLE.search(payload)
    return None if found is None else found[1].decode("ascii")


def _checked(key: str, table: pd.DataFrame) -> pd.DataFrame:
    from cfbench.record.schema import MEASURE_SCHEMA

    missing = [name for name in MEASURE_SCHEMA.names if name not in table.columns]
    if missing:
        raise RecordError(f"a table of measures lacks the columns {', '.join(missing)}")
    others = set(table["cell_key"].unique()) - {key}
    if others:
        raise RecordError(f"measures of cell {sorted(map(str, others))[0]} cannot be written to cell {key}")
    columns: list[str] = MEASURE_SCHEMA.names
    return table[columns]
