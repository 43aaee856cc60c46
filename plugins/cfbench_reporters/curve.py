"""The anytime curve of a cell: the best loss so far against the rows asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfbench import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 100
"""MLflow draws and stores every step of every run."""


@dataclass(frozen=True, eq=False)
class AnytimeCurve:
    """The median over a cell's searches of the best loss so far.

    Decision: a search that has found nothing yet counts as infinitely far, so that giving up on hard points gains
    nothing. The curve starts where more than half of the searches have found something; it is empty where that never
    happens.

    Parameters
    ----------
    queries : IntArray
        Rows asked by the searcher, ascending, at most ``MOST_STEPS``.
    losses : FloatArray
        The median at each of them; never rises.
    searches : int
        What the median is over.
    """

    queries: IntArray
    losses: FloatArray
    searches: int


def anytime_curve(searches: pd.DataFrame) -> AnytimeCurve:
    """Return the curve of a cell's searches."""
    progress = [np.array(pairs, dtype=np.float64).reshape(-1, 2) for pairs in searches["anytime"]]
    steps = _steps(np.unique(np.concatenate([pairs[:, 0] for pairs in progress] or [np.empty(0)])))
    best = np.full((len(progress), len(steps)), np.inf)
    for row, pairs in zip(best, progress, strict=True):
        known = np.searchsorted(pairs[:, 0], steps, side="right")
        so_far = np.minimum.accumulate(pairs[:, 1])
        row[known > 0] = so_far[known[known > 0] - 1]
    if not progress:
        return AnytimeCurve(steps.astype(np.int64), steps, 0)
    medians = np.median(best, axis=0)
    there = np.isfinite(medians)
    return AnytimeCurve(steps[there].astype(np.int64), medians[there], len(progress))


def _steps(queries: FloatArray) -> FloatArray:
    """Thin out evenly on a logarithmic axis, the first and the last kept: most is gained early."""
    if len(queries) <= MOST_STEPS:
        return queries
    wanted = np.geomspace(max(queries[0], 1.0), queries[-1], MOST_STEPS)
    kept = np.unique(np.searchsorted(queries, wanted).clip(max=len(queries) - 1))
    kept[0], kept[-1] = 0, len(queries) - 1
    thinned: FloatArray = queries[kept]
    return thinned
