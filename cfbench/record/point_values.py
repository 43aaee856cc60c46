"""Metrics of points' results, a number a point, in a form that an index can hold and a board reads at once.

A point's result is one of its searches, its best repetition; a metric's table holds a value for every search.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cfbench.record.rows import SearchId

if TYPE_CHECKING:
    import pandas as pd

    from cfbench.space.space import FloatArray

MetricId = tuple[str, str, str]
"""(metric with its variant label, version, settings as canonical JSON)."""
Results = Sequence[SearchId | None]
"""The search that found each point's result, in the order of the cell's summary; None where none did."""
ID_COLUMNS = ["metric", "version", "settings"]
OBJECTIVE = "objective:"
"""How the name of a measure starts that is no metric's: the value of a cell's results under another objective."""


class PointValues:
    """What was measured of the present results of a record's cells.

    Parameters
    ----------
    lines : mapping of str to mapping
        By cell key: what the index of measures says; only cells that were measured as they are now.
    read : callable
        Key in, all values of that cell out; for lines of an earlier version, which hold none.
    """

    def __init__(
        self, lines: Mapping[str, Mapping[str, Any]], read: Callable[[str], Mapping[MetricId, FloatArray]]
    ) -> None:
        self._lines = lines
        self._read = read
        self._tables: dict[str, Mapping[MetricId, FloatArray]] = {}

    @cached_property
    def metrics(self) -> set[MetricId]:
        """Everything that was measured in any cell."""
        return {_metric(given) for line in self._lines.values() for given in line["measured"]}

    def of(self, metric: MetricId) -> dict[str, FloatArray]:
        """Return a metric's values by cell key, of the cells in which it was measured; NaN: outside its denominator."""
        found = {}
        for key, line in self._lines.items():
            metrics = [_metric(given) for given in line["measured"]]
            if metric not in metrics:
                continue
            if "values" in line:
                with contextlib.suppress(ValueError):  # no base64, or no numbers: the table says it
                    found[key] = unpacked(line["values"][metrics.index(metric)])
                    continue
            if key not in self._tables:
                self._tables[key] = self._read(key)
            if metric in self._tables[key]:
                found[key] = self._tables[key][metric]
        return found


def judged_objective(metric: MetricId) -> dict[str, Any] | None:
    """Return the objective whose values a measure holds, as a cell's content writes it; None from a metric's."""
    label, version, settings = metric
    if not label.startswith(OBJECTIVE):
        return None
    name = label.removeprefix(OBJECTIVE).partition("[")[0]
    return {"name": name, "version": version, "settings": json.loads(settings)}


def is_understood(line: Mapping[str, Any]) -> bool:
    """Whether a line of the index of measures says what this version, or an earlier one, writes."""
    measured = line.get("measured")
    if not isinstance(line.get("of"), str) or not isinstance(measured, list):
        return False
    if not all(isinstance(given, list) and [*map(type, given)] == [str, str, str] for given in measured):
        return False
    values = line.get("values", [""] * len(measured))
    return isinstance(values, list) and len(values) == len(measured) and {*map(type, values)} <= {str}


def values_of_results(table: pd.DataFrame, results: Results) -> dict[MetricId, FloatArray]:
    """Pick the values of points' results from a cell's table of measures.

    Parameters
    ----------
    table : DataFrame
        Columns of ``MEASURE_SCHEMA``.
    results : sequence of (int, int) or None

    Returns
    -------
    dict of MetricId to ndarray of float64, shape (points,)
    """
    import numpy as np

    columns = (table[name].tolist() for name in (*ID_COLUMNS, "point", "repetition"))
    places = {result: i for i, result in enumerate(results) if result is not None}
    found: dict[MetricId, FloatArray] = {}
    values = table["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    for *metric, point, repetition, value in zip(*columns, values, strict=True):
        of_metric = found.setdefault(_metric(metric), np.full(len(results), np.nan))
        place = places.get((point, repetition))
        if place is not None:
            of_metric[place] = value
    return found


def packed(values: FloatArray) -> str:
    """Return values as text: base64 of their eight bytes each, little-endian. It is a tenth of the time of a list."""
    return base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")


def unpacked(text: str) -> FloatArray:
    """Return the values that `packed` made `text` of.

    Raises
    ------
    ValueError
        If it did not.
    """
    import numpy as np

    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)


def _metric(given: Sequence[str]) -> MetricId:
    metric, version, settings = given
    return metric, version, settings
