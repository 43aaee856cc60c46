"""The result of each point, compared with another cell's: another objective, another searcher, the proven optimum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cfbench.analysis.groups import bare_name
from cfbench.analysis.loss_alone import record_key, rows_of
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, DataError, StudyError, UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.record.measures import PointValues, metric_of
from cfbench.record.reading import RecordReading
from cfbench.record.schema import MetricId, Row
from cfbench.registry.events import CellInfo
from cfbench.registry.metrics import ComparisonContext, Found, Metric, Reference, compares
from cfbench.registry.registry import Registry
from cfbench.running.measure import checked_values, identity, plugin_call
from cfbench.space.dataset import Dataset
from cfbench.space.space import FloatArray
from cfbench.study.sources import data_source, load_dataset
from cfbench.study.variants import Variant, build_settings, resolve_variant

if TYPE_CHECKING:
    import pandas as pd


class PointResults:
    """The results of the points of a record's cells, each cell read once.

    Parameters
    ----------
    record : RecordReading or None
        What is written to it later is not seen. Without one, results have the numbers of the cells' summaries alone.
    registry : Registry
    repetitions : mapping of str to range, optional
        Which repetitions count, by cell key, where others are to be left out.
    dataset : callable, optional
        Returns a data set by its name; by default the registered one, if it is at hand. Nothing is downloaded.
    values : PointValues, optional
        Of the same record, if they have been read.
    """

    def __init__(
        self,
        record: RecordReading | None,
        registry: Registry,
        repetitions: Mapping[str, range] | None = None,
        *,
        dataset: Callable[[str], Dataset] | None = None,
        values: PointValues | None = None,
    ) -> None:
        self._open_record = record
        self._registry = registry
        self._repetitions = repetitions or {}
        self._dataset = dataset or self._at_hand
        self._point_values = values
        self._datasets: dict[str, Dataset | CfbenchError] = {}
        self._found: dict[str, Found] = {}
        self._values: dict[MetricId, Mapping[str, FloatArray]] = {}
        self._identities: dict[str, MetricId] = {}

    def found(self, cell: CellSummary) -> Found:
        """Return the result of each point of a cell, in the order of its points, as a comparison gets them.

        Numbers come from the cell's summary; the record's rows are read when the rest is first used.
        """
        key = cell.info.key
        if key not in self._found:
            self._found[key] = self._of_summary(self._counted(cell))
        return self._found[key]

    def seconds(self, cell: CellSummary) -> FloatArray:
        """Return the wall-clock seconds of every search of a cell, successful or not, shape (n,)."""
        return np.array([row["wall_seconds"] for row in self._rows(cell)], dtype=np.float64)

    def measured(self, cell: CellSummary, metric: Variant | str) -> FloatArray | None:
        """Return a metric's value of each result of a cell, in the order of `found`.

        Returns
        -------
        ndarray of float64, shape (points,), or None
            NaN outside the metric's denominator; None where the metric's present version was not measured.
        """
        wanted, key = self._identity(metric), record_key(cell)
        if key in self._repetitions:
            return self._measured_of_some(cell, wanted)
        if wanted not in self._values:
            self._point_values = self._point_values or self._record.point_values()
            self._values[wanted] = self._point_values.of(wanted)
        return self._values[wanted].get(key)

    def context(self, cell: CellSummary) -> ComparisonContext:
        """Return what a comparison of a cell receives in addition to the results."""
        return ComparisonContext(
            load=lambda: self._dataset_of(cell),
            constraints=cell.info.constraints,
            seed=cell.content.get("seed", 0),
            respect_steps=cell.content.get("respect_steps", False),
        )

    @property
    def _record(self) -> RecordReading:
        if self._open_record is None:
            raise CfbenchError("this board was made without its record, so that rows and measured values are not here")
        return self._open_record

    def _identity(self, metric: Variant | str) -> MetricId:
        """Return what the record calls a metric; names are resolved once, as thousands of cells have it."""
        if not isinstance(metric, str):
            return identity(metric, self._registry)
        if metric not in self._identities:
            self._identities[metric] = identity(resolve_variant(self._registry, "metric", metric), self._registry)
        return self._identities[metric]

    def _rows(self, cell: CellSummary) -> list[Row]:
        counted = self._repetitions.get(record_key(cell))
        return [row for row in rows_of(self._record, cell) if counted is None or row["repetition"] in counted]

    def _counted(self, cell: CellSummary) -> CellSummary:
        """Return the cell with the repetitions that count alone."""
        return cell.of_rows(self._rows(cell)) if record_key(cell) in self._repetitions else cell

    def _of_summary(self, cell: CellSummary) -> Found:
        known: dict[str, Sequence[Any]] = {
            "point": cell.points,
            "row_id": cell.row_ids,
            "loss": cell.loss,
            "objective_value": cell.objective_value,
            "wall_seconds": cell.seconds,
            "queries": cell.queries,
        }
        read: list[list[Row]] = []

        def column(name: str) -> Sequence[Any]:
            if name in known:
                return known[name]
            if not read:
                read.append(_result_rows(cell, self._rows(cell)))
            return [row[name] for row in read[0]]

        def measured(name: str) -> FloatArray:
            values = self.measured(cell, name)
            return np.full(len(cell.row_ids), np.nan) if values is None else values

        return _Results(len(cell.row_ids), column, measured=measured)

    def _measured_of_some(self, cell: CellSummary, wanted: MetricId) -> FloatArray | None:
        """Return a metric's values of the results among the repetitions that count."""
        of_cell = {metric_of(row): row["values"] for row in self._record.measure_rows(cell)}
        if wanted not in of_cell:
            return None
        values, counted = dict(zip(cell.done, of_cell[wanted], strict=True)), self._counted(cell)
        results: Any = zip(counted.points, counted.results, strict=True)
        return np.array([values.get(search, np.nan) for search in results], dtype=np.float64)

    def known(self, axis: str) -> set[str]:
        """Return the registered names of searchers or objectives; `axis` is "searcher" or "objective"."""
        return {*self._registry.kinds[f"{axis}s"]}

    def _dataset_of(self, cell: CellSummary) -> Dataset:
        name = cell.info.dataset
        if name not in self._datasets:
            try:
                self._datasets[name] = self._dataset(name)
            except CfbenchError as error:
                self._datasets[name] = DataError(f"data set {name} is not at hand: {error}")
        found = self._datasets[name]
        if isinstance(found, CfbenchError):
            raise found
        recorded = cell.content["dataset"].get("digest", found.digest)
        if recorded != found.digest:
            raise DataError(f"data set {name} has changed since the searches: nothing is compared on it")
        return found

    def _at_hand(self, name: str) -> Dataset:
        return load_dataset(self._registry.dataset(name).entry, data_source((), download=False))


class _Results(Found):
    """The results of a cell's points."""

    @cached_property
    def queries(self) -> FloatArray:
        """All queries of each search, shape (n,); NaN for points without a result."""
        return self._floats("queries")


def _result_rows(cell: CellSummary, rows: Iterable[Row]) -> list[Row]:
    """Return the row of each point's result; of a point without one its first row, without its vector."""
    by_search: dict[tuple[int, int | None], Row] = {}
    for row in rows:
        by_search.setdefault((row["point"], None), {**row, "z": None})
        by_search[row["point"], row["repetition"]] = row
    return [by_search[search] for search in zip(cell.points, cell.results, strict=True)]


COORDINATES = ("dataset", "model", "searcher", "objective", "constraints", "fold")
"""What names a cell in the table of comparisons."""


class _Part(NamedTuple):
    """The values of one cell by the metrics' labels, of the points that the reference has, too."""

    info: CellInfo
    row_ids: Sequence[int]
    by_metric: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Values of metrics that compare cells with others.

    Parameters
    ----------
    parts : sequence
        The values of each cell.
    complaints : Counter of str
        What could not be compared and why, with the number of cells.
    remarks : Counter of str
        What a reader of the values should know, with the number of points.
    """

    parts: Sequence[_Part]
    complaints: Counter[str]
    remarks: Counter[str]

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each cell, point and metric.

        Columns: `cell_key`, the cell's coordinates (labels), `row_id`, `metric` (label), `value`, NaN outside the
        metric's denominator. Cells that are their own reference are there.
        """
        import pandas as pd  # slow to load

        repeats = [len(part.row_ids) * len(part.by_metric) for part in self.parts]
        table: dict[str, Any] = {}
        for name in ("key", *COORDINATES):
            of_parts = np.array([getattr(part.info, name) for part in self.parts], dtype=object)
            table["cell_key" if name == "key" else name] = np.repeat(of_parts, repeats)
        row_ids = [row_id for part in self.parts for _ in part.by_metric for row_id in part.row_ids]
        table["row_id"] = np.array(row_ids, dtype=np.int64)
        table["metric"] = [label for part in self.parts for label in part.by_metric for _ in part.row_ids]
        table["value"] = np.concatenate(
            [np.empty(0), *(values for part in self.parts for values in part.by_metric.values())]
        )
        return pd.DataFrame(table).infer_objects()

    def values(self, label: str, cells: Mapping[str, CellSummary]) -> dict[str, FloatArray]:
        """Return a metric's values by cell key, one per point of the cell's summary; NaN where it is not compared."""
        found = {}
        for part in self.parts:
            if label in part.by_metric:
                of_row = dict(zip(part.row_ids, part.by_metric[label].tolist(), strict=True))
                key = part.info.key
                found[key] = np.array([of_row.get(one, np.nan) for one in cells[key].row_ids], dtype=np.float64)
        return found


LIKE = ("protocol", "dataset", "model", "objective", "constraints", "respect_steps", "fold")
"""What has to be equal in the keys of two searchers' cells: seed and limits of a search change no optimum."""


def compare_cells(
    record: RecordReading,
    registry: Registry,
    metrics: Sequence[Variant],
    *,
    cells: Iterable[CellSummary] | None = None,
    results: PointResults | None = None,
) -> Comparisons:
    """Compare cells of a record with the references that metrics declare: another searcher, or another objective.

    The cell of another objective has all else equal. The cell of another searcher has the same task, fold and fitted
    models; seed and limits may differ.

    Parameters
    ----------
    record : RecordReading
    registry : Registry
    metrics : sequence of Variant
    cells : iterable of CellSummary, optional
        Those to compare, the references' cells among them; all of the record where it is left out.
    results : PointResults, optional
        Of the same record, where its cells are read for more than this.

    Raises
    ------
    StudyError
        If a metric declares no such reference.
    """
    results = results or PointResults(record, registry)
    # A cell that failed in a later run still has what it had found.
    every = list(record.summaries().values() if cells is None else cells)
    by_reference: dict[Reference, list[tuple[Variant, Metric]]] = {}
    for variant in metrics:
        metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
        if not compares(type(metric)) or metric.reference.is_of_board:
            raise StudyError(
                f"metric {variant.label!r} declares no other searcher or objective to compare with; `cfbench plugins` "
                "lists metrics"
            )
        by_reference.setdefault(metric.reference, []).append((variant, metric))
    found = Comparisons([], Counter(), Counter())
    parts: list[_Part] = []
    for reference, group in by_reference.items():
        parts += _compared(reference, group, every, results, found)
    return replace(found, parts=parts)


def _compared(
    reference: Reference,
    metrics: Sequence[tuple[Variant, Metric]],
    every: Sequence[CellSummary],
    results: PointResults,
    found: Comparisons,
) -> Iterable[_Part]:
    """Yield the values of cells compared with one reference; complaints and remarks are added to `found`."""
    names = reference.names
    name = " or ".join(names)
    axis = "objective" if reference.objective else "searcher"
    own = [cell for cell in every if bare_name(getattr(cell.info, axis)) in names]
    # The last one counts: of several names the first, of several settings the default ones.
    own.sort(key=lambda cell: (-names.index(bare_name(getattr(cell.info, axis))), getattr(cell.info, axis) in names))
    if not own and {*names}.isdisjoint(results.known(axis)):
        unknown = UnknownNameError(axis, names[0], results.known(axis), "Correct the metric's reference.")
        ran = sum(bool(cell.searches) for cell in every)
        found.complaints.update({f"{one.label}: {unknown}": ran for one, _ in metrics})
        return
    others = {_task(cell, axis): cell for cell in own if cell.searches}
    skipped = {_task(cell, axis): cell.skipped for cell in own if cell.skipped}
    remarked: set[tuple[str, str]] = set()
    for cell in every:
        if not cell.searches:
            continue
        other = others.get(_task(cell, axis))
        if other is None:
            why = skipped.get(_task(cell, axis)) or (
                f"there is no cell under objective {name} to compare {_named(cell)} with; run it with that objective"
                if reference.objective
                else f"{name} has no results for the task; run it there"
            )
            found.complaints.update([why] if reference.objective else [f"{one.label}: {why}" for one, _ in metrics])
            continue
        values: dict[str, FloatArray] = {}
        row_ids: Sequence[int] = ()
        try:
            mine, theirs = aligned(results.found(cell), results.found(other))
            row_ids = mine.row_ids.tolist()
            if reference.searcher:
                _expect_one_model(cell, other, mine, theirs)
        except CfbenchError as error:
            found.complaints[str(error)] += len(metrics)
            continue
        for variant, metric in metrics:
            for text in metric.needs():
                if results.measured(cell, text) is None:
                    found.complaints[f"not measured: {text}; `cfbench measure --metric '{text}'` adds it"] += 1
            try:
                with plugin_call(variant.label, cell.info.key):
                    returned: object = metric.compare(mine, theirs, results.context(cell))
                values[variant.label] = checked_values(variant.label, returned, len(mine))
                if (variant.label, other.info.key) not in remarked:
                    found.remarks.update(_remarks(metric, variant, other, results))
                    remarked.add((variant.label, other.info.key))
            except CfbenchError as error:
                found.complaints[str(error)] += 1
        yield _Part(cell.info, row_ids, values)


def aligned(mine: Found, other: Found) -> tuple[Found, Found]:
    """Return the results of the points that both have, in the order of the first."""
    if np.array_equal(mine.row_ids, other.row_ids):
        return mine, other
    places = {row_id: place for place, row_id in enumerate(other.row_ids.tolist())}
    shared = [place for place, row_id in enumerate(mine.row_ids.tolist()) if row_id in places]
    return mine.take(shared), other.take([places[row_id] for row_id in mine.row_ids[shared].tolist()])


def _expect_one_model(cell: CellSummary, other: CellSummary, mine: Found, theirs: Found) -> None:
    """Raise CfbenchError unless two searchers queried the same fitted models: each model has its own optimum."""
    if len(cell.fingerprints) == 1 and cell.fingerprints == other.fingerprints:
        return
    if mine.model_fingerprints != theirs.model_fingerprints:
        raise CfbenchError(
            f"{cell.info.searcher} and {other.info.searcher} queried different fitted models of {cell.info.dataset}, "
            f"fold {cell.info.fold}: run both with the same models (`cfbench fit` makes them)"
        )


def _remarks(metric: Metric, variant: Variant, cell: CellSummary, results: PointResults) -> dict[str, int]:
    """Return what a metric says of a cell of its reference, with the numbers of points."""
    with plugin_call(variant.label, cell.info.key):
        said: object = metric.remarks(results.found(cell))
    if not (isinstance(said, Mapping) and all(isinstance(n, int) for n in said.values())):
        raise CfbenchError(f"metric {variant.label!r}: remarks returned {said!r:.100}, not whole numbers by sentences")
    return {f"{variant.label}: {sentence}": count for sentence, count in said.items()}


def _task(cell: CellSummary, axis: str) -> str:
    """Return what a cell has in common with the cell of its reference, which differs in `axis`."""
    if axis == "objective":
        return digest_of({key: value for key, value in cell.content.items() if key != axis})
    return digest_of({key: cell.content.get(key) for key in LIKE})


def _named(cell: CellSummary) -> str:
    info = cell.info
    return f"{info.searcher} on {info.dataset} with {info.model} (constraints {'on' if info.constraints else 'off'})"
