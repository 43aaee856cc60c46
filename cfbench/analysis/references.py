"""The result of each point, compared with another cell's: another objective, another searcher, the proven optimum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cfbench.analysis.groups import bare_name
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.record.cells import CellSummary
from cfbench.record.reading import RecordReading
from cfbench.record.schema import MetricId, Row, SearchId
from cfbench.registry.contracts import ObjectiveComparison, ReferenceComparison
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.running.measure import checked_values, identity, plugin_call
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.study.variants import Variant, build_settings, resolve_variant

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


CELLS_AT_ONCE = 100
"""How many cells are read at once: enough for speed, and few enough for memory."""


class PointResults:
    """Reads each cell of a record once, even if its results are needed several times.

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
        self.read([key])
        return self._best[key]

    def read(self, keys: Iterable[str]) -> None:
        """Read cells ahead: frames of many cells at once take a tenth of the time of single ones."""
        from cfbench.record.frames import search_frame  # loads pandas

        new = [key for key in dict.fromkeys(keys) if key not in self._best]
        for start in range(0, len(new), CELLS_AT_ONCE):
            chunk = new[start : start + CELLS_AT_ONCE]
            cells = [self._rows(key) for key in chunk]
            searches = search_frame([row for rows in cells for row in rows], columns=(*COLUMNS, *SPENT))
            owners = np.repeat(np.arange(len(chunk)), [len(rows) for rows in cells])
            best, best_owners = best_results(searches, owners)
            spent = searches[["point", "repetition", "wall_seconds", "cpu_seconds"]]
            for at, key in enumerate(chunk):
                self._best[key] = best.iloc[slice(*np.searchsorted(best_owners, (at, at + 1)))]
                self._searches[key] = spent.iloc[slice(*np.searchsorted(owners, (at, at + 1)))]

    def _rows(self, key: str) -> list[Row]:
        rows = self._record.rows(key)
        counted = self._repetitions.get(key)
        return rows if counted is None else [row for row in rows if row["repetition"] in counted]

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


def best_results(searches: pd.DataFrame, owners: IntArray) -> tuple[pd.DataFrame, IntArray]:
    """Return the best repetition of each point of some cells, in the columns that comparisons are promised.

    A point's result is its successful repetition with the smallest objective value, the first of those that tie; a
    point without one has its first repetition's row, without a result. `owners` holds the number of each search's
    cell, ascending. The frame is indexed by `row_id`; with it comes the number of each row's cell.
    """
    import pandas as pd

    # Frames are slow to sort and to filter: arrays are picked from instead.
    point, repetition = (searches[name].to_numpy() for name in ("point", "repetition"))
    found = searches["loss"].notna().to_numpy()
    value = searches["objective_value"].to_numpy(dtype=np.float64, na_value=np.nan)
    order = np.lexsort((repetition, np.where(found & ~np.isnan(value), value, np.inf), point, owners))
    places = np.stack([owners, point])[:, order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (places[:, 1:] != places[:, :-1]).any(axis=0)
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
    index = pd.Index(columns["row_id"], name="row_id")
    return pd.DataFrame({name: columns[name] for name in COLUMNS}, index=index), owners[best]


COORDINATES = ("dataset", "model", "searcher", "objective", "constraints", "fold")
"""What names a cell in the table of comparisons."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Values of comparisons with objective ``none``.

    Parameters
    ----------
    table : DataFrame
        A row for each cell, point and metric: `cell_key`, the cell's coordinates (labels), `row_id`, `metric` (label),
        `value`, NaN outside the metric's denominator. Cells under ``none`` are compared with themselves.
    complaints : Counter of str
        What could not be compared and why, with the number of cells.
    remarks : Counter of str
        What a reader of the values should know, with the number of points.
    """

    table: pd.DataFrame
    complaints: Counter[str]
    remarks: Counter[str] = field(default_factory=Counter)


def compare_with_none(
    record: RecordReading,
    registry: Registry,
    spaces: Mapping[str, FeatureSpace],
    metrics: Sequence[Variant],
    *,
    cells: Iterable[CellSummary] | None = None,
    results: PointResults | None = None,
) -> Comparisons:
    """Compare cells of a record with the matching cells under objective ``none``.

    Two cells match if everything that their keys are made of is equal, except the objective.

    Parameters
    ----------
    record : RecordReading
    registry : Registry
    spaces : mapping of str to FeatureSpace
        By the name of the data set; cells of others are complained about.
    metrics : sequence of Variant
        Metrics that compare objectives.
    cells : iterable of CellSummary, optional
        Those to compare, the cells under ``none`` among them; all of the record where it is left out.
    results : PointResults, optional
        Of the same record, where its cells are read for more than this.

    Raises
    ------
    StudyError
        If a metric compares something else.
    """
    results = results or PointResults(record, registry)
    compared: list[tuple[Variant, ObjectiveComparison]] = []
    for variant in metrics:
        metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
        if not isinstance(metric, ObjectiveComparison):
            raise StudyError(f"metric {variant.label!r} does not compare objectives; `cfbench plugins` lists metrics")
        compared.append((variant, metric))
    wanted = dict.fromkeys(text for _, metric in compared for text in metric.measures())
    complaints: Counter[str] = Counter()
    # A cell that failed in a later run still has what it had found.
    ran = [cell for cell in (record.summaries().values() if cells is None else cells) if cell.searches]
    plain = {_likeness(cell): cell for cell in ran if bare_name(cell.info.objective) == "none"}
    results.read(cell.info.key for cell in ran)
    frames = {cell.info.key: _measured_frame(results, cell.info.key, wanted) for cell in ran}
    parts: list[_Part] = []
    for cell in ran:
        other = plain.get(_likeness(cell))
        space = spaces.get(cell.info.dataset)
        if other is None:
            complaints[f"no cell under objective none to hold {_named(cell)} against; run it with that objective"] += 1
        elif space is None:
            complaints[f"data set {cell.info.dataset} is not at hand"] += 1
        else:
            points, reference = _aligned(frames[cell.info.key], frames[other.info.key])
            row_ids = points["row_id"].tolist()
            found: dict[str, FloatArray] = {}
            for variant, metric in compared:
                for text in metric.measures():
                    if results.measured(cell.info.key, text) is None:
                        complaints[f"not measured: {text}; `cfbench measure --metric '{text}'` adds it"] += 1
                try:
                    with plugin_call(variant.label, cell.info.key):
                        returned: object = metric.compare(points, reference, space)
                    found[variant.label] = checked_values(variant.label, returned, points.index)
                except CfbenchError as error:
                    complaints[str(error)] += 1
            parts.append(_Part(cell.info, row_ids, found))
    return Comparisons(_table(parts), complaints)


def _measured_frame(results: PointResults, key: str, wanted: Iterable[str]) -> pd.DataFrame:
    """Return a cell's results with what the metrics ask for in columns; NaN where it was not measured."""
    best = results.best(key)
    values = {text: results.measured(key, text) for text in wanted}
    columns = {text: np.full(len(best), np.nan) if found is None else found for text, found in values.items()}
    return best.assign(**columns) if columns else best


def _aligned(mine: pd.DataFrame, other: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the points that both frames have, in the order of the first."""
    if other is not mine and not mine.index.equals(other.index):
        shared = mine.index.intersection(other.index, sort=False)
        mine, other = mine.loc[shared], other.loc[shared]
    return mine.reset_index(drop=True), other.reset_index(drop=True)


class _Part(NamedTuple):
    """The values of one cell, a metric after the other; a frame for each of thousands of cells is slow."""

    info: CellInfo
    row_ids: Sequence[int]
    by_metric: Mapping[str, FloatArray]


def _table(parts: Sequence[_Part]) -> pd.DataFrame:
    import pandas as pd

    repeats = [len(part.row_ids) * len(part.by_metric) for part in parts]
    names = ("key", *COORDINATES)
    table = {name: np.repeat(np.array([getattr(part.info, name) for part in parts], object), repeats) for name in names}
    columns: dict[str, Any] = {
        "row_id": np.array(
            [row_id for part in parts for _ in part.by_metric for row_id in part.row_ids], dtype=np.int64
        ),
        "metric": [label for part in parts for label in part.by_metric for _ in part.row_ids],
    }
    values = [own for part in parts for own in part.by_metric.values()]
    table["cell_key"] = table.pop("key")
    frame = pd.DataFrame({**table, **columns, "value": np.concatenate([*values, np.empty(0)])})
    return frame[["cell_key", *COORDINATES, "row_id", "metric", "value"]].infer_objects()


def _likeness(cell: CellSummary) -> str:
    return digest_of({key: value for key, value in cell.content.items() if key != "objective"})


def _named(cell: CellSummary) -> str:
    info = cell.info
    return f"{info.searcher} on {info.dataset} with {info.model} (constraints {'on' if info.constraints else 'off'})"


LIKE = ("protocol", "dataset", "model", "objective", "constraints", "respect_steps", "fold")
"""What has to be equal in two cells' keys: the seed and the limits of a search change no optimum."""


def compare_with_reference(
    record: RecordReading,
    registry: Registry,
    metrics: Sequence[Variant],
    *,
    cells: Iterable[CellSummary] | None = None,
    results: PointResults | None = None,
) -> Comparisons:
    """Compare cells of a record with those of the searchers that the metrics name.

    Parameters
    ----------
    record : RecordReading
    registry : Registry
    metrics : sequence of Variant
        Metrics that compare with a reference of their own.
    cells : iterable of CellSummary, optional
        Those to compare, the references' cells among them; all of the record where it is left out.
    results : PointResults, optional
        Of the same record, where its cells are read for more than this.

    Raises
    ------
    StudyError
        If a metric compares something else.
    """
    results = results or PointResults(record, registry)
    # A cell that failed in a later run still has what it had found.
    every = [(cell, _likeness_of_rows(cell)) for cell in (record.summaries().values() if cells is None else cells)]
    complaints: Counter[str] = Counter()
    remarks: Counter[str] = Counter()
    parts: list[_Part] = []
    for variant in metrics:
        metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
        if not isinstance(metric, ReferenceComparison):
            raise StudyError(f"metric {variant.label!r} names no reference; `cfbench plugins` lists metrics")
        own = [(cell, task) for cell, task in every if bare_name(cell.info.searcher) == metric.reference]
        own.sort(key=lambda pair: pair[0].info.searcher == metric.reference)  # of several, that with default settings
        references = {task: cell for cell, task in own if cell.searches}
        skipped = {task: cell.skipped for cell, task in own if cell.skipped}
        results.read(cell.info.key for cell, task in every if cell.searches and task in references)
        remarked: set[str] = set()
        for cell, task in every:
            if not cell.searches:
                continue
            other = references.get(task)
            if other is None:
                why = skipped.get(task) or f"{metric.reference} has no results for the task; run it there"
                complaints[f"{variant.label}: {why}"] += 1
                continue
            try:
                values, row_ids = _compared(metric, variant, cell, other, results)
                if other.info.key not in remarked:
                    remarks.update(_remarks(metric, variant, other, results))
                    remarked.add(other.info.key)
            except CfbenchError as error:
                complaints[str(error)] += 1
                continue
            parts.append(_Part(cell.info, row_ids, {variant.label: values}))
    return Comparisons(_table(parts), complaints, remarks)


def _compared(
    metric: ReferenceComparison, variant: Variant, cell: CellSummary, other: CellSummary, results: PointResults
) -> tuple[FloatArray, list[int]]:
    """Compare the points that two cells have. They must have queried the same fitted models, as each has its optimum.

    Raises CfbenchError if they did not.
    """
    points, reference = _aligned(results.best(cell.info.key), results.best(other.info.key))
    if (points["model_fingerprint"] != reference["model_fingerprint"]).any():
        raise CfbenchError(
            f"{cell.info.searcher} and {other.info.searcher} asked different fitted models of {cell.info.dataset}, "
            f"fold {cell.info.fold}: run both with the same models (`cfbench fit` makes them)"
        )
    with plugin_call(variant.label, cell.info.key):
        returned: object = metric.compare(points, reference)
    return checked_values(variant.label, returned, points.index), points["row_id"].tolist()


def _remarks(metric: ReferenceComparison, variant: Variant, cell: CellSummary, results: PointResults) -> dict[str, int]:
    """Return what a metric says of a cell of its reference, with the numbers of points."""
    with plugin_call(variant.label, cell.info.key):
        said: object = metric.remarks(results.best(cell.info.key).reset_index(drop=True))
    if not (isinstance(said, Mapping) and all(isinstance(n, int) for n in said.values())):
        raise CfbenchError(f"metric {variant.label!r}: remarks returned {said!r:.100}, not whole numbers by sentences")
    return {f"{variant.label}: {sentence}": count for sentence, count in said.items()}


def _likeness_of_rows(cell: CellSummary) -> str:
    return digest_of({key: cell.content.get(key) for key in LIKE})
