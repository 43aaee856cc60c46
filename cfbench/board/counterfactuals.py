"""The counterfactuals behind a board as a data frame, in the values and labels of the data set's annotation."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench.analysis.loss_alone import record_key, rows_of
from cfbench.board.columns import expanded
from cfbench.errors import CfbenchError
from cfbench.record.cells import CellSummary
from cfbench.record.measures import metric_of
from cfbench.record.reading import RecordReading
from cfbench.record.schema import MetricId, SearchId
from cfbench.registry.registry import Registry
from cfbench.running.measure import identity
from cfbench.space.dataset import Dataset
from cfbench.space.space import FeatureSpace, FloatArray
from cfbench.study.sources import data_source, load_dataset
from cfbench.study.variants import resolve_variant
from cfbench.text import plural

if TYPE_CHECKING:
    import pandas as pd

COORDINATES = ("dataset", "model", "searcher", "objective", "constraints", "fold")
FEATURE_COLUMNS = ("feature", "factual", "counterfactual", "changed", "unit")
COLUMNS = (
    *COORDINATES,
    *("point", "row_id", "repetition", "target"),
    *FEATURE_COLUMNS,
    *("loss", "objective_value"),
)


def feature_rows(space: FeatureSpace, x: FloatArray, z: FloatArray) -> list[dict[str, Any]]:
    """Return what becomes of every feature, in the space's order: numbers in their unit, categories by their labels."""
    values = zip(space.features, x, z, strict=True)
    return [
        dict(
            zip(
                FEATURE_COLUMNS,
                (one.name, one.shown(before), one.shown(after), bool(before != after), one.unit),
                strict=True,
            )
        )
        for one, before, after in values
    ]


def counterfactual_frame(
    cells: Iterable[CellSummary],
    record: RecordReading,
    registry: Registry,
    metrics: Sequence[str],
    data_dirs: Sequence[Path] = (),
) -> pd.DataFrame:
    """Return the results of the points of cells: a row per feature, in the columns `COLUMNS` and a column per metric.

    `metrics` are names of metrics, or of groups of them; those that were not measured have no column. Results that
    cannot be shown are counted in a warning, with the reason.
    """
    import pandas as pd

    wanted = {
        identity(variant, registry): variant.label
        for variant in (resolve_variant(registry, "metric", name) for name in expanded(metrics, registry))
    }
    found: list[dict[str, Any]] = []
    left_out: Counter[str] = Counter()
    measured: set[str] = set()
    datasets: dict[str, Dataset | str] = {}
    for cell in sorted(cells, key=lambda one: [str(getattr(one.info, name)) for name in COORDINATES]):
        name = cell.info.dataset
        if name not in datasets:
            datasets[name] = _at_hand(name, registry, data_dirs)
        dataset = datasets[name]
        results = {
            (point, repetition)
            for point, repetition in zip(cell.points, cell.results, strict=True)
            if repetition is not None
        }
        if isinstance(dataset, Dataset) and dataset.digest != cell.content["dataset"]["digest"]:
            dataset = f"data set {name} has another table or annotation here than in the record"
        if isinstance(dataset, str):
            left_out[dataset] += len(results)
            continue
        values = _measures(cell, record, wanted)
        measured |= {label for of_search in values.values() for label in of_search}
        for row in rows_of(record, cell):
            search = row["point"], row["repetition"]
            if search not in results:
                continue
            if row["z"] is None or not len(row["x"]):
                left_out[f"rows of {name} may not be passed on, and the record is without them"] += 1
                continue
            about = {name: getattr(cell.info, name) for name in COORDINATES}
            about |= {name: row[name] for name in ("point", "row_id", "repetition", "loss", "objective_value")}
            about |= {"target": dataset.class_labels[dataset.target], **values.get(search, {})}
            found += [about | of for of in feature_rows(dataset.space, np.array(row["x"]), np.array(row["z"]))]
    for reason, count in left_out.items():
        warnings.warn(f"{plural(count, 'counterfactual')} left out: {reason}", stacklevel=3)
    return pd.DataFrame(found, columns=[*COLUMNS, *(label for label in wanted.values() if label in measured)])


def _measures(
    cell: CellSummary, record: RecordReading, wanted: Mapping[MetricId, str]
) -> dict[SearchId, dict[str, float]]:
    """Return the values of metrics by search and label of a cell's searches."""
    source = record.summaries()[record_key(cell)]
    found: dict[SearchId, dict[str, float]] = {}
    for row in record.measure_rows(source):
        label = wanted.get(metric_of(row))
        if label is not None:
            for search, value in zip(source.done, row["values"], strict=True):
                found.setdefault(search, {})[label] = value
    return found


def _at_hand(name: str, registry: Registry, data_dirs: Sequence[Path]) -> Dataset | str:
    """Return a data set, or why it is not at hand; nothing is downloaded."""
    try:
        return load_dataset(registry.dataset(name).entry, data_source(data_dirs, download=False))
    except CfbenchError as error:
        return f"data set {name} is not at hand: {error}"
