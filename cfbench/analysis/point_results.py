"""The result of each factual point of a cell, and what metrics say about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench.harness.measure import identity
from cfbench.harness.store.point_values import MetricId
from cfbench.harness.store.reading import RecordReading
from cfbench.harness.store.rows import SearchId
from cfbench.harness.variants import Variant, resolve_variant
from cfbench.registry import Registry
from cfbench.space import FloatArray

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "row_id",
    "point",
    "repetition",
    "found",
    "loss",
    "objective_value",
    "seconds",
    "queries",
    "x",
    "z",
    "figures",
    "model_fingerprint",
)
SPENT = ("wall_seconds", "cpu_seconds", "search_queries", "robustness_queries")
"""Further columns of the record, which `seconds` and `queries` are made of."""


class PointResults:
    """Reads each cell of a record once, however often it is asked about.

    Parameters
    ----------
    record : RecordReading
        What is written to it later is not seen.
    registry : Registry
    repetitions : mapping of str to range, optional
        Which repetitions count, by cell key, where others are to be left out.
    """

    def __init__(
        self, record: RecordReading, registry: Registry, repetitions: Mapping[str, range] | None = None
    ) -> None:
        self._record = record
        self._registry = registry
        self._repetitions = repetitions or {}
        self._measured = record.measured()
        self._best: dict[str, pd.DataFrame] = {}
        self._searches: dict[str, pd.DataFrame] = {}
        self._measures: dict[str, dict[MetricId, dict[SearchId, float]]] = {}
        self._identities: dict[str, MetricId] = {}

    def best(self, key: str) -> pd.DataFrame:
        """Return the best repetition of each point of a cell, as `best_results` describes it."""
        if key not in self._best:
            searches = self._record.searches(key, (*COLUMNS, *SPENT))
            if key in self._repetitions:
                searches = searches[searches["repetition"].isin(self._repetitions[key])]
            self._best[key] = best_results(searches)
            self._searches[key] = searches[["point", "repetition", "wall_seconds", "cpu_seconds"]]
        return self._best[key]

    def seconds(self, key: str) -> FloatArray:
        """Return the wall-clock seconds of every search of a cell, successful or not, shape (n,)."""
        self.best(key)
        return self._searches[key]["wall_seconds"].to_numpy(dtype=np.float64)

    def cpu_seconds(self, key: str) -> FloatArray:
        """Return the CPU seconds of the search that gave each result, in the order of `best`, shape (points,)."""
        best = self.best(key)
        spent = self._searches[key].set_index(["point", "repetition"])["cpu_seconds"]
        places = list(zip(best["point"], best["repetition"], strict=True))
        return spent.loc[places].to_numpy(dtype=np.float64)

    def measured(self, key: str, metric: Variant | str) -> FloatArray | None:
        """Return a metric's value of each result of a cell, in the order of `best`.

        Returns
        -------
        ndarray of float64, shape (points,), or None
            NaN outside the metric's denominator; None where the metric's present version was not measured.
        """
        wanted = self._identity(metric)
        if wanted not in self._measured.get(key, set()):
            return None
        if key not in self._measures:
            self._measures[key] = _by_metric(self._record.measures(key))
        values, best = self._measures[key].get(wanted, {}), self.best(key)
        places = zip(best["point"].tolist(), best["repetition"].tolist(), strict=True)
        return np.array([values.get(place, np.nan) for place in places], dtype=np.float64)

    def _identity(self, metric: Variant | str) -> MetricId:
        """Return what the record calls a metric; names are resolved once, as thousands of cells ask for them."""
        if not isinstance(metric, str):
            return identity(metric, self._registry)
        if metric not in self._identities:
            self._identities[metric] = identity(resolve_variant(self._registry, "metric", metric), self._registry)
        return self._identities[metric]


def _by_metric(measures: pd.DataFrame) -> dict[tuple[str, str, str], dict[SearchId, float]]:
    """Take a cell's table of measures apart once: a frame is slow to be asked for each of forty metrics."""
    found: dict[tuple[str, str, str], dict[SearchId, float]] = {}
    identities = zip(*(measures[name].tolist() for name in ("metric", "version", "settings")), strict=True)
    places = zip(measures["point"].tolist(), measures["repetition"].tolist(), strict=True)
    values = measures["value"].to_numpy(dtype=np.float64, na_value=np.nan).tolist()
    for one, place, value in zip(identities, places, values, strict=True):
        found.setdefault(one, {})[place] = value
    return found


def best_results(searches: pd.DataFrame) -> pd.DataFrame:
    """Return the best repetition of each point, in the columns that comparisons are promised.

    A point's result is its successful repetition with the smallest objective value, the first of those that tie; a
    point without one has its first repetition's row, without a result.

    Returns
    -------
    DataFrame
        Indexed by `row_id`, with `row_id`, `repetition` and `point` among its columns.
    """
    import pandas as pd

    # Frames are slow to sort and to filter, and a board asks for thousands of cells: arrays are picked from instead.
    point, repetition = (searches[name].to_numpy() for name in ("point", "repetition"))
    found = searches["loss"].notna().to_numpy()
    value = searches["objective_value"].to_numpy(dtype=np.float64, na_value=np.nan)
    order = np.lexsort((repetition, np.where(found & ~np.isnan(value), value, np.inf), point))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = point[order][1:] != point[order][:-1]
    best = order[first]
    found = found[best]

    def picked(name: str) -> Any:
        return searches[name].array[best]

    z = picked("z").to_numpy().copy()
    z[~found] = None
    queries = (picked("search_queries") + picked("robustness_queries")).astype(np.float64)
    columns = {name: picked(name) for name in COLUMNS if name in searches}
    columns |= {
        "found": found,
        "z": z,
        "seconds": np.where(found, picked("wall_seconds"), np.nan),
        "queries": np.where(found, queries, np.nan),
    }
    return pd.DataFrame({name: columns[name] for name in COLUMNS}, index=pd.Index(columns["row_id"], name="row_id"))
