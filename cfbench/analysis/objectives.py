"""Results under a robustness objective beside those of the same searcher under objective ``none``, point by point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cfbench.analysis.groups import bare_name
from cfbench.analysis.point_results import PointResults
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.events import CellInfo
from cfbench.harness.metric_values import checked_values, plugin_call
from cfbench.harness.store.reading import RecordReading
from cfbench.harness.store.summary import CellSummary
from cfbench.harness.variants import Variant, build_settings
from cfbench.metric_contracts import ObjectiveComparison
from cfbench.registry import Registry
from cfbench.space import FeatureSpace, FloatArray

if TYPE_CHECKING:
    import pandas as pd

COORDINATES = ("dataset", "model", "searcher", "objective", "constraints", "fold")
"""What names a cell in the table of comparisons."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Values of comparisons with objective ``none``.

    Parameters
    ----------
    table : DataFrame
        A row for each cell, point and metric: `cell_key`, the cell's coordinates (labels), `row_id`, `metric` (label),
        `value`, NaN outside the metric's denominator. Cells under ``none`` are beside themselves.
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
    """Compare cells of a record with their like under objective ``none``.

    Two cells are alike where everything that their keys are made of is equal, the objective aside.

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
    desk = _Desk(results or PointResults(record, registry), registry, metrics)
    # A cell that failed in a later run still has what it had found.
    ran = [cell for cell in (record.summaries().values() if cells is None else cells) if cell.searches]
    plain = {_likeness(cell): cell for cell in ran if bare_name(cell.info.objective) == "none"}
    parts: list[_Part] = []
    for cell in ran:
        beside = plain.get(_likeness(cell))
        space = spaces.get(cell.info.dataset)
        if beside is None:
            desk.complaints[
                f"no cell under objective none to hold {_named(cell)} against; run it with that objective"
            ] += 1
        elif space is None:
            desk.complaints[f"data set {cell.info.dataset} is not at hand"] += 1
        else:
            parts.append(desk.compare(cell, beside, space))
    return Comparisons(_table(parts), desk.complaints)


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


class _Desk:
    """Lays two cells beside each other."""

    def __init__(self, results: PointResults, registry: Registry, metrics: Sequence[Variant]) -> None:
        self.complaints: Counter[str] = Counter()
        self._results = results
        self._frames: dict[str, pd.DataFrame] = {}
        self._metrics: list[tuple[Variant, ObjectiveComparison]] = []
        for variant in metrics:
            metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
            if not isinstance(metric, ObjectiveComparison):
                raise StudyError(
                    f"metric {variant.label!r} does not compare objectives; `cfbench plugins` lists metrics"
                )
            self._metrics.append((variant, metric))

    def compare(self, cell: CellSummary, beside: CellSummary, space: FeatureSpace) -> _Part:
        """Return the values of a cell."""
        mine, other = (self._with_measures(one) for one in (cell, beside))
        shared = mine.index
        if not mine.index.equals(other.index):
            shared = mine.index.intersection(other.index, sort=False)
            mine, other = mine.loc[shared], other.loc[shared]
        points = mine.reset_index(drop=True)
        reference = points.copy() if other is mine else other.reset_index(drop=True)
        found: dict[str, FloatArray] = {}
        for variant, metric in self._metrics:
            for text in metric.measures():
                if self._results.measured(cell.info.key, text) is None:
                    self.complaints[f"not measured: {text}; `cfbench measure --metric '{text}'` adds it"] += 1
            try:
                with plugin_call(variant.label, cell.info.key):
                    returned: object = metric.compare(points, reference, space)
                found[variant.label] = checked_values(variant.label, returned, points.index)
            except CfbenchError as error:
                self.complaints[str(error)] += 1
        return _Part(cell.info, shared.tolist(), found)

    def _with_measures(self, cell: CellSummary) -> pd.DataFrame:
        """Return a cell's results with what the metrics ask for in columns; NaN where it was not measured."""
        key = cell.info.key
        if key not in self._frames:
            self._frames[key] = self._measured_frame(key)
        return self._frames[key]

    def _measured_frame(self, key: str) -> pd.DataFrame:
        best = self._results.best(key)
        wanted = dict.fromkeys(text for _, metric in self._metrics for text in metric.measures())
        values = {text: self._results.measured(key, text) for text in wanted}
        if not values:
            return best
        columns = {text: np.full(len(best), np.nan) if found is None else found for text, found in values.items()}
        return best.assign(**columns)


def _likeness(cell: CellSummary) -> str:
    return digest_of({key: value for key, value in cell.content.items() if key != "objective"})


def _named(cell: CellSummary) -> str:
    info = cell.info
    return f"{info.searcher} on {info.dataset} with {info.model} (constraints {'on' if info.constraints else 'off'})"
