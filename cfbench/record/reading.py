"""What a record answers: without a lock, also while another process writes it. Every row is checked when it is read."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cfbench.record.cells import CELLS, CellSummary, Preparation, loaded_cell
from cfbench.record.database import Database
from cfbench.record.files import explained, is_damage
from cfbench.record.measures import PointValues, measure_frame, metric_of
from cfbench.record.schema import (
    MACHINES,
    MEASURES,
    PREPARATIONS,
    SEARCHES,
    DamagedError,
    MetricId,
    Row,
    SearchId,
    Table,
    checked_key,
)

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
RUNS_AGAIN = "it runs again with the next `cfbench run` of its study"
"""What becomes of a damaged search."""
MEASURED_AGAIN = "`cfbench measure` measures it again"
"""What becomes of damaged measures."""


@dataclass(frozen=True)
class RecordedCell:
    """What a record holds of a cell: None if it was never finished, skipped or failed, and its rows.

    The rows of the finished cell, and those that wait for it to be finished, are given by (point, repetition).
    """

    cell: CellSummary | None
    finished: dict[SearchId, Row]
    waiting: dict[SearchId, Row]


class RecordReading:
    """What a record holds; `path` is the results directory, or that of a packed record, which stays as it is."""

    def __init__(self, path: Path, database: Database, *, is_packed: bool = False) -> None:
        self.path = path
        self.is_packed = is_packed
        self.problems: list[str] = []
        """What is damaged, a sentence each; it grows while the record is read."""
        self._database = database
        self._kept: dict[str, tuple[Any, ...]] = {}

    def keys(self) -> set[str]:
        """Return the keys of all cells that were finished, skipped or failed."""
        return {key for (key,) in self._select("SELECT key FROM cells")}

    def summaries(self) -> dict[str, CellSummary]:
        """Return the summaries of all cells that were finished, skipped or failed, by key."""
        return {cell.info.key: cell for cell in self._keep("cells", self.cells)}

    def cells(self) -> Iterator[CellSummary]:
        """Yield the cells in `summaries`, one at a time; damaged ones are reported and left out."""
        preparations = self.preparations()
        for values in self.scan(CELLS):
            try:
                yield replace(loaded_cell(values), preparation=preparations.get(values[0]))
            except DamagedError as error:
                self._report(f"cell {values[0]!s:.40} is damaged ({error}); {RUNS_AGAIN}")

    def preparations(self) -> dict[str, Preparation]:
        """Return what preparations took, by the cell's key; a record that is older than they are has none."""
        return self._preparations("1")

    def preparation(self, key: str) -> Preparation | None:
        """Return what the preparation of a cell took; None if the record holds none."""
        return self._preparations("cell_key = ?", checked_key(key)).get(key)

    def _preparations(self, where: str, *arguments: str) -> dict[str, Preparation]:
        if not self._select("SELECT 1 FROM sqlite_master WHERE name = ?", PREPARATIONS.name):
            return {}
        found = {}
        for values in self._select(PREPARATIONS.select(where), *arguments):
            try:
                row = PREPARATIONS.loaded(values)
                found[row["cell_key"]] = Preparation(row["seconds"], row["queries"])
            except DamagedError:
                self._report(f"what the preparation of cell {values[0]!s:.40} took is damaged and is left out")
        return found

    def pending(self) -> set[str]:
        """Return the keys of the cells with searches that wait for `finish`."""
        counted = self._select(
            "SELECT s.cell_key FROM (SELECT cell_key, count(*) AS n FROM searches GROUP BY cell_key) s "
            "LEFT JOIN cells c ON c.key = s.cell_key WHERE s.n > coalesce(c.searches, 0)"
        )
        return {key for (key,) in counted}

    def rows_per_cell(self, table: Table) -> Counter[str]:
        """Return how many rows of a table, such as that of searches, each cell has, by the cell's key."""
        return Counter(dict(self._select(f"SELECT cell_key, count(*) FROM {table.name} GROUP BY cell_key")))  # noqa: S608

    def done(self, key: str) -> dict[SearchId, str]:
        """Return (point, repetition) and status of every search of a cell that the record holds, undamaged."""
        point, repetition, status = (SEARCHES.columns.index(name) for name in ("point", "repetition", "status"))
        found = self._of_cell(SEARCHES, key, _sound_search)
        return {(values[point], values[repetition]): values[status] for values in found}

    def rows(self, key: str) -> list[Row]:
        """Return the searches of a cell, the waiting ones included, sorted by point and repetition."""
        return self._of_cell(SEARCHES, key, SEARCHES.loaded)

    def searches(self, key: str) -> pd.DataFrame:
        """Return the searches of a cell, the waiting ones included, as `search_frame` describes them."""
        from cfbench.record.frames import search_frame  # loads pandas

        return search_frame(self.rows(key))

    def cell_of(self, key: str) -> RecordedCell:
        """Return what the record holds of a cell, its finished and its waiting searches apart."""
        cell = self._cell(key)
        rows = {(row["point"], row["repetition"]): row for row in self.rows(key)}
        done = {} if cell is None else cell.done
        return RecordedCell(
            cell,
            {search: row for search, row in rows.items() if search in done},
            {search: row for search, row in rows.items() if search not in done},
        )

    def mark(self, key: str) -> str:
        """Return the mark of a cell's finished searches; empty if there are none."""
        found = self._select("SELECT mark FROM cells WHERE key = ?", key)
        return str(found[0][0]) if found else ""

    def contradictions(self, recorded: RecordedCell) -> list[str]:
        """Return what a board reads of a cell, its summary, that the cell's searches deny; a sentence, or nothing."""
        said = recorded.cell
        if said is None or not (recorded.finished or said.searches):
            return []
        made = said.of_rows(recorded.finished.values())
        names = [one.name for one in fields(CellSummary) if getattr(made, one.name) != getattr(said, one.name)]
        return [f"its summary has another {', '.join(names)} than its searches"] if names else []

    def measures(self, key: str) -> pd.DataFrame:
        """Return what metrics say about a cell, in the columns of ``MEASURE_SCHEMA``; it may have no rows."""
        cell = self._cell(key)
        return measure_frame([], []) if cell is None else measure_frame(self.measure_rows(cell), [*cell.done])

    def tables(self, key: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return `searches` and `measures` of a cell."""
        return self.searches(key), self.measures(key)

    def measure_rows(self, cell: CellSummary) -> list[Row]:
        """Return what metrics say about the finished searches of a cell, one row per metric."""
        rows = self._of_cell(MEASURES, cell.info.key, MEASURES.loaded)
        return [row for row in rows if row["mark"] == cell.mark and len(row["values"]) == cell.searches]

    def measured(self) -> Mapping[str, AbstractSet[MetricId]]:
        """Return the (metric, version, settings) that were measured on the finished searches of each cell.

        A cell that has grown since, or whose searches ran again, has to be measured again.
        """
        found: dict[str, set[MetricId]] = {}
        for key, metric, _ in self._keep("measures", self._current_measures):
            found.setdefault(key, set()).add(metric)
        known: dict[frozenset[MetricId], frozenset[MetricId]] = {}  # a run keeps one object for equal sets
        return {key: known.setdefault(one := frozenset(ids), one) for key, ids in found.items()}

    def measured_of(self, key: str) -> set[MetricId]:
        """Return what `measured` says of one cell."""
        return set(self.values_of(key))

    def values_of(self, key: str) -> dict[MetricId, list[float]]:
        """Return the values of a cell's measures, one per finished search in the order of `rows`."""
        cell = self._cell(key)
        return {} if cell is None else {metric_of(row): row["values"] for row in self.measure_rows(cell)}

    def point_values(self) -> PointValues:
        """Return what was measured of the points' results, in the order of the points in each cell's summary."""
        cells = self.summaries()
        values: dict[MetricId, dict[str, bytes]] = {}
        for key, metric, packed in self._keep("measures", self._current_measures):
            if key in cells:
                values.setdefault(metric, {})[key] = packed
        return PointValues(values, cells)

    def machines(self) -> list[dict[str, str]]:
        """Return the machines that the searches ran on, each once."""
        found = []
        for values in self._select(MACHINES.select(order="rowid")):
            try:
                found.append(MACHINES.loaded(values)["description"])
            except DamagedError:
                self._report("the description of a machine is damaged and is left out")
        return found

    def notes(self) -> dict[str, str]:
        """Return the facts that are noted about the whole record, by name."""
        return dict(self._select("SELECT name, value FROM study"))

    def close(self) -> None:
        """Close the database; a writer's lock is free then."""
        self._database.close()

    # ---------------------------------------------------------------- rows of the database

    def _select(self, statement: str, *arguments: Any) -> list[Any]:
        try:
            return self._database.connection.execute(statement, arguments).fetchall()
        except sqlite3.DatabaseError as error:
            self._raise_or_report(error, "a part of it")
            return []

    def _keep(self, name: str, read: Callable[[], Iterable[T]]) -> Iterable[T]:
        """Return what `read` returns; a reader keeps it until another process writes: boards read it several times."""
        if self._database.lock is not None:
            return read()
        # data_version: a number that changes when another connection has committed something.
        version = self._select("PRAGMA data_version")
        if self._kept.get(name, (None,))[0] != version:
            self._kept[name] = (version, list(read()))
        kept: list[T] = self._kept[name][1]
        return kept

    def _cell(self, key: str) -> CellSummary | None:
        """Return a cell; None if there is none, or it is damaged."""
        found = self._of_cell(CELLS, key, loaded_cell)
        return replace(found[0], preparation=self.preparation(key)) if found else None

    def _current_measures(self) -> Iterator[tuple[str, MetricId, bytes]]:
        """Yield key, metric and packed values of all measures of the cells' present searches."""
        cells = {key: (mark, count) for key, mark, count in self._select("SELECT key, mark, searches FROM cells")}
        for values in self.scan(MEASURES):
            key, metric, version, settings, mark, packed, _ = values
            try:
                MEASURES.check_digest(values)
            except DamagedError as error:
                self._report(f"measures of cell {key:.40} by {metric:.80} are damaged ({error}); {MEASURED_AGAIN}")
                continue
            if mark and cells.get(key) == (mark, len(packed) // 8):
                yield key, (metric, version, settings), packed

    def _of_cell(self, table: Table, key: str, load: Callable[[Any], T]) -> list[T]:
        """Return the rows of a cell in their order, except damaged ones, which are reported."""
        found = []
        for values in self._select(table.select(f"{table.key[0]} = ?", ", ".join(table.key)), checked_key(key)):
            try:
                if values[0] != key:  # a damaged index leads to the rows of others
                    raise DamagedError("another cell's row is in its place")
                found.append(load(values))
            except DamagedError as error:
                named = [f", {name} {values[table.columns.index(name)]!s:.80}" for name in table.key[1:]]
                what_now = MEASURED_AGAIN if table is MEASURES else RUNS_AGAIN
                self._report(f"{table.name} of cell {key}{''.join(named)}: it is damaged ({error}); {what_now}")
        return found

    def scan(self, table: Table) -> Iterator[tuple[Any, ...]]:
        """Yield all rows of a table; where a page is damaged, those before it and those behind it."""
        count, execute = 0, self._database.connection.execute
        try:
            for values in execute(table.select(order="rowid")):
                yield values
                count += 1
        except sqlite3.DatabaseError as error:
            self._raise_or_report(error, f"a part of its {table.name}")
            place = f"SELECT rowid FROM {table.name} ORDER BY rowid LIMIT 1 OFFSET {count - 1}"  # noqa: S608
            last = execute(place).fetchone()[0] if count else -1
            with contextlib.suppress(sqlite3.DatabaseError):  # the damaged page again, from behind
                yield from execute(table.select(f"rowid > {last}", "rowid DESC"))

    def _raise_or_report(self, error: sqlite3.DatabaseError, what: str) -> None:
        """Raise any error except damage, and for a writer every error; a reader goes on with the rest."""
        if not is_damage(error) or self._database.lock is not None:
            with explained(self._database.path, "read"):
                raise error
        self._report(f"the file is damaged ({error}): {what} cannot be read and is left out")

    def _report(self, problem: str) -> None:
        problem = f"{self.path}: {problem}"
        if problem not in self.problems:
            self.problems.append(problem)


def _sound_search(values: tuple[Any, ...]) -> tuple[Any, ...]:
    SEARCHES.check_digest(values)
    return values
