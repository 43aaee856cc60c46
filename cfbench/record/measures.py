"""What metrics say about the searches of a cell: one row of the database per (cell, metric), all values in one blob."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench.errors import RecordError
from cfbench.record.cells import CellSummary
from cfbench.record.schema import MetricId, Row, SearchId, packed_numbers

if TYPE_CHECKING:
    import pandas as pd

    from cfbench.space.space import FloatArray

ID_COLUMNS = ["metric", "version", "settings"]
OBJECTIVE = "objective:"
"""How the name of a measure starts that is not a metric's: the value of a cell's results under another objective."""
_NAN = packed_numbers([np.nan])
SEARCH_COLUMNS = ["point", "repetition"]
MEASURE_COLUMNS = ["cell_key", *ID_COLUMNS, *SEARCH_COLUMNS, "value"]


def metric_of(row: Mapping[str, Any]) -> MetricId:
    """Return which metric a row of measures is of."""
    return row["metric"], row["version"], row["settings"]


def judged_objective(metric: MetricId) -> dict[str, Any] | None:
    """Return the objective whose values a measure holds, as a cell's content writes it; None for a metric's."""
    label, version, settings = metric
    if not label.startswith(OBJECTIVE):
        return None
    name = label.removeprefix(OBJECTIVE).partition("[")[0]
    return {"name": name, "version": version, "settings": json.loads(settings)}


def measure_rows(table: pd.DataFrame, cell: CellSummary) -> list[Row]:
    """Return rows for the database from a table of measures, with the columns of ``MEASURE_SCHEMA``.

    RecordError: a column is missing, the measures are another cell's, or they are not of all finished searches, once
    each.
    """
    key, done = cell.info.key, [*cell.done]
    missing = [name for name in MEASURE_COLUMNS if name not in table.columns]
    if missing:
        raise RecordError(f"a table of measures lacks the columns {', '.join(missing)}")
    others = set(table["cell_key"].unique()) - {key}
    if others:
        raise RecordError(f"measures of cell {sorted(map(str, others))[0]} cannot be written to cell {key}")
    try:
        table = table.astype({"value": "float64"}).sort_values(SEARCH_COLUMNS)
    except (TypeError, ValueError) as error:
        raise RecordError(f"measures of cell {key} do not fit their schema: {error}") from error
    rows = []
    for (name, version, settings), group in table.groupby(ID_COLUMNS):
        metric = (str(name), str(version), str(settings))
        if [*zip(*(group[column] for column in SEARCH_COLUMNS), strict=True)] != done:
            raise _not_of_each(key, metric, len(group), len(done))
        rows.append(measure_row(cell, metric, group["value"].tolist()))
    return rows


def measure_row(cell: CellSummary, metric: MetricId, values: Sequence[float]) -> Row:
    """Return the row of a metric for the database; `values` are in the order of the cell's finished searches.

    RecordError: there is not one value for each.
    """
    if len(values) != len(cell.done):
        raise _not_of_each(cell.info.key, metric, len(values), len(cell.done))
    named = dict(zip(ID_COLUMNS, metric, strict=True))
    return {"cell_key": cell.info.key, **named, "mark": cell.mark, "values": values}


def _not_of_each(key: str, metric: MetricId, found: int, searches: int) -> RecordError:
    return RecordError(
        f"the measures of cell {key} by {metric[0]} are {found:,}, and not one of each of the {searches:,} finished "
        "searches: a metric says something of each, NaN if it is outside of its denominator"
    )


def measure_frame(rows: Iterable[Row], done: Sequence[SearchId]) -> pd.DataFrame:
    """Return measures of a cell as a table in the columns of ``MEASURE_SCHEMA``, in the order of its searches."""
    import pandas as pd  # slow to load

    listed = [
        (row["cell_key"], *metric_of(row), *search, value)
        for row in rows
        for search, value in zip(done, row["values"], strict=True)
    ]
    kinds = {"point": "int64", "repetition": "int64", "value": "float64"}
    columns = zip(MEASURE_COLUMNS, zip(*listed, strict=True) if listed else [()] * len(MEASURE_COLUMNS), strict=True)
    return pd.DataFrame({name: pd.Series(values, dtype=kinds.get(name, "str")) for name, values in columns})


class PointValues:
    """The values of metrics for the points' results, in the order of the points in each cell's summary.

    They are made from the packed values of each finished search, by metric and cell key.
    """

    def __init__(self, values: Mapping[MetricId, Mapping[str, bytes]], cells: Mapping[str, CellSummary]) -> None:
        self._values = values
        self._cells = cells
        self._places: dict[str, Any] = {}

    @property
    def metrics(self) -> set[MetricId]:
        """Everything that was measured in any cell."""
        return set(self._values)

    def of(self, metric: MetricId) -> dict[str, FloatArray]:
        """Return a metric's values by cell key, of the cells in which it was measured; NaN: outside its denominator."""
        found = {}
        for key, packed in self._values.get(metric, {}).items():
            values = np.frombuffer(packed + _NAN, dtype="<f8")  # the last one: of a point without a result
            if key not in self._places:
                cell = self._cells[key]
                places = {search: place for place, search in enumerate(cell.done)}
                results: Any = zip(cell.points, cell.results, strict=True)
                self._places[key] = np.array([places.get(search, -1) for search in results], dtype=np.intp)
            found[key] = values[self._places[key]]
        return found
