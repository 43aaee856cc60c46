"""Results beside those of one certain searcher that a metric names, point by point: the gap to a proven optimum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cfbench.analysis.groups import bare_name
from cfbench.analysis.objectives import COORDINATES, Comparisons
from cfbench.analysis.point_results import PointResults
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.harness.metric_values import checked_values, plugin_call
from cfbench.harness.store.reading import RecordReading
from cfbench.harness.store.summary import CellSummary
from cfbench.harness.variants import Variant, build_settings
from cfbench.metric_contracts import ReferenceComparison
from cfbench.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

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
    import pandas as pd

    results = results or PointResults(record, registry)
    # A cell that failed in a later run still has what it had found.
    every = list(record.summaries().values() if cells is None else cells)
    ran = [cell for cell in every if cell.searches]
    complaints: Counter[str] = Counter()
    remarks: Counter[str] = Counter()
    frames: list[pd.DataFrame] = []
    for variant in metrics:
        metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
        if not isinstance(metric, ReferenceComparison):
            raise StudyError(f"metric {variant.label!r} names no reference; `cfbench plugins` lists metrics")
        own = [cell for cell in every if bare_name(cell.info.searcher) == metric.reference]
        own.sort(key=lambda cell: cell.info.searcher == metric.reference)  # of several, that with default settings
        references = {_likeness(cell): cell for cell in own if cell.searches}
        skipped = {_likeness(cell): cell.skipped for cell in own if cell.skipped}
        asked: set[str] = set()
        for cell in ran:
            other = references.get(_likeness(cell))
            if other is None:
                why = skipped.get(_likeness(cell)) or f"{metric.reference} has no results for the task; run it there"
                complaints[f"{variant.label}: {why}"] += 1
                continue
            try:
                values, row_ids = _compared(metric, variant, cell, other, results)
                if other.info.key not in asked:
                    remarks.update(_remarks(metric, variant, other, results))
                    asked.add(other.info.key)
            except CfbenchError as error:
                complaints[str(error)] += 1
                continue
            table = pd.DataFrame({"row_id": row_ids, "metric": variant.label, "value": values})
            frames.append(
                table.assign(cell_key=cell.info.key, **{name: getattr(cell.info, name) for name in COORDINATES})
            )
    columns = ["cell_key", *COORDINATES, "row_id", "metric", "value"]
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
    return Comparisons(table[columns], complaints, remarks)


def beside(cell: CellSummary, other: CellSummary, results: PointResults) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the results of two cells for the points that both have, aligned.

    Raises
    ------
    CfbenchError
        If they asked different fitted models: an optimum of one is none of the other.
    """
    mine, theirs = results.best(cell.info.key), results.best(other.info.key)
    shared = mine.index.intersection(theirs.index, sort=False)
    points, reference = (frame.loc[shared].reset_index(drop=True) for frame in (mine, theirs))
    if (points["model_fingerprint"] != reference["model_fingerprint"]).any():
        raise CfbenchError(
            f"{cell.info.searcher} and {other.info.searcher} asked different fitted models of {cell.info.dataset}, "
            f"fold {cell.info.fold}: run both with the same models (`cfbench fit` makes them)"
        )
    return points, reference


def _compared(
    metric: ReferenceComparison, variant: Variant, cell: CellSummary, other: CellSummary, results: PointResults
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], list[int]]:
    points, reference = beside(cell, other, results)
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


def _likeness(cell: CellSummary) -> str:
    return digest_of({key: cell.content.get(key) for key in LIKE})
