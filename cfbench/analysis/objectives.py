"""Results under a robustness objective beside those of the same searcher under objective ``none``, point by point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfbench.analysis.groups import bare_name
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.harness.measure import identity
from cfbench.harness.metric_values import checked_values, plugin_call
from cfbench.harness.store.record import Record
from cfbench.harness.store.summary import CellSummary
from cfbench.harness.variants import Variant, build_settings, resolve_variant
from cfbench.metric_contracts import ObjectiveComparison
from cfbench.registry import Registry
from cfbench.space import FeatureSpace

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
    """

    table: pd.DataFrame
    complaints: Counter[str]


def compare_with_none(
    record: Record, registry: Registry, spaces: Mapping[str, FeatureSpace], metrics: Sequence[Variant]
) -> Comparisons:
    """Compare every cell of a record with its like under objective ``none``.

    Two cells are alike where everything that their keys are made of is equal, the objective aside.

    Parameters
    ----------
    record : Record
    registry : Registry
    spaces : mapping of str to FeatureSpace
        By the name of the data set; cells of others are complained about.
    metrics : sequence of Variant
        Metrics that compare objectives.

    Raises
    ------
    StudyError
        If a metric compares something else.
    """
    import pandas as pd

    desk = _Desk(record, registry, metrics)
    ran = [cell for cell in record.summaries().values() if not cell.skipped and not cell.failure]
    plain = {_likeness(cell): cell for cell in ran if bare_name(cell.info.objective) == "none"}
    frames: list[pd.DataFrame] = []
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
            frames += desk.compare(cell, beside, space)
    columns = ["cell_key", *COORDINATES, "row_id", "metric", "value"]
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
    return Comparisons(table[columns], desk.complaints)


class _Desk:
    """Lays two cells beside each other."""

    def __init__(self, record: Record, registry: Registry, metrics: Sequence[Variant]) -> None:
        self.complaints: Counter[str] = Counter()
        self._record = record
        self._registry = registry
        self._metrics: list[tuple[Variant, ObjectiveComparison]] = []
        for variant in metrics:
            metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
            if not isinstance(metric, ObjectiveComparison):
                raise StudyError(
                    f"metric {variant.label!r} does not compare objectives; `cfbench plugins` lists metrics"
                )
            self._metrics.append((variant, metric))

    def compare(self, cell: CellSummary, beside: CellSummary, space: FeatureSpace) -> Iterator[pd.DataFrame]:
        """Yield the table's rows of a cell, a metric at a time."""
        import pandas as pd

        mine, other = (best_results(self._record.searches(one.info.key)) for one in (cell, beside))
        shared = mine.index.intersection(other.index, sort=False)
        coordinates = {name: getattr(cell.info, name) for name in COORDINATES}
        for variant, metric in self._metrics:
            points, reference = mine.loc[shared], other.loc[shared]
            for text in metric.measures():
                points = self._with_measure(points, cell, text, complain=True)
                reference = self._with_measure(reference, beside, text, complain=False)
            points, reference = points.reset_index(drop=True), reference.reset_index(drop=True)
            try:
                with plugin_call(variant.label, cell.info.key):
                    returned: object = metric.compare(points, reference, space)
                values = checked_values(variant.label, returned, points.index)
            except CfbenchError as error:
                self.complaints[str(error)] += 1
                continue
            table = pd.DataFrame({"row_id": shared.to_numpy(), "metric": variant.label, "value": values})
            yield table.assign(cell_key=cell.info.key, **coordinates)

    def _with_measure(self, frame: pd.DataFrame, cell: CellSummary, text: str, *, complain: bool) -> pd.DataFrame:
        """Add a column with a cell's values of the metric `text`; NaN where it was not measured."""
        key = cell.info.key
        wanted = identity(resolve_variant(self._registry, "metric", text), self._registry)
        if wanted not in self._record.measured().get(key, set()):
            if complain:
                self.complaints[f"not measured: {text}; `cfbench measure --metric '{text}'` adds it"] += 1
            return frame.assign(**{text: np.nan})
        table = self._record.measures(key)
        chosen = table[(table[["metric", "version", "settings"]] == list(wanted)).all(axis=1)]
        values = chosen.set_index(["point", "repetition"])["value"].astype("float64")
        places = list(zip(frame["point"], frame["repetition"], strict=True))
        return frame.assign(**{text: values.reindex(places).to_numpy()})


def best_results(searches: pd.DataFrame) -> pd.DataFrame:
    """Return the best repetition of each point, in the columns that a comparison of objectives is promised.

    A point's result is its successful repetition with the smallest objective value, the first of those that tie; a
    point without one has its first repetition's row, without a result.

    Returns
    -------
    DataFrame
        Indexed by `row_id`, with `row_id`, `repetition` and `point` among its columns.
    """
    ordered = searches.sort_values(["point", "repetition"], kind="stable")
    rank = ordered["objective_value"].where(ordered["loss"].notna(), np.inf).fillna(np.inf)
    best = ordered.assign(rank=rank).sort_values(["point", "rank"], kind="stable").drop_duplicates("point")
    found = best["loss"].notna()
    queries = (best["search_queries"] + best["robustness_queries"]).astype("float64")
    return best.assign(
        found=found,
        z=best["z"].where(found, None),
        seconds=best["wall_seconds"].where(found),
        queries=queries.where(found),
    )[["row_id", "point", "repetition", "found", "loss", "objective_value", "seconds", "queries", "x", "z"]].set_index(
        "row_id", drop=False
    )


def _likeness(cell: CellSummary) -> str:
    return digest_of({key: value for key, value in cell.content.items() if key != "objective"})


def _named(cell: CellSummary) -> str:
    info = cell.info
    return f"{info.searcher} on {info.dataset} with {info.model} (constraints {'on' if info.constraints else 'off'})"
