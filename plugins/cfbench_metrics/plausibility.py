"""Whether a result is close to the data: distance to neighbours, and the local outlier factor."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import CellContext, FeatureSpace, Found, Metric
from cfbench.space import FloatArray


def target_rows(context: CellContext) -> FloatArray:
    """Return the training rows that the data label with the target class, shape (n, d)."""
    dataset = context.dataset
    rows: FloatArray = dataset.X[context.train[dataset.y[context.train] == dataset.target]]
    return rows


class KnnDistance(Metric):
    """Mean Gower distance of the result to the nearest training rows that the data label with the target class.

    Parameters
    ----------
    neighbours : int
        How many; all of them where there are fewer.
    """

    neighbours: int = Field(default=5, ge=1)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a distance in [0, 1] per search; NaN without a result or without training rows of the target class."""
        space = context.dataset.space
        rows = target_rows(context)
        values = np.full(len(found.rows), np.nan)
        if len(rows):
            for i, z in enumerate(found.z[found.rows]):
                values[i] = np.sort(space.gower(rows, z))[: self.neighbours].mean()
        return found.spread(values)


class LofInlier(Metric):
    """1 where the local outlier factor calls the result an inlier among the target class's training rows, 0 where not.

    Its mean is the share of inliers. Distances are Gower's. Equal training rows count once: more of them than
    `neighbours` would make a density infinite.

    Parameters
    ----------
    neighbours : int
        Neighbours that a density is estimated from.

    References
    ----------
    Breunig, Kriegel, Ng and Sander, "LOF: identifying density-based local outliers", 2000.
    """

    neighbours: int = Field(default=20, ge=1)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return 1 or 0 per search; NaN where it found nothing or the target class has too few training rows."""
        from sklearn.neighbors import LocalOutlierFactor

        space = context.dataset.space
        rows = np.unique(target_rows(context), axis=0)
        values = np.full(len(found.rows), np.nan)
        if len(found.rows) and len(rows) > self.neighbours:
            factor = LocalOutlierFactor(n_neighbors=self.neighbours, metric="manhattan", novelty=True)
            factor.fit(_flat(rows, space))
            values = (factor.predict(_flat(found.z[found.rows], space)) == 1).astype(np.float64)
        return found.spread(values)


def _flat(Z: FloatArray, space: FeatureSpace) -> FloatArray:
    """Return the rows in coordinates whose Manhattan distance is ``d`` times Gower's."""
    columns = []
    for i, feature in enumerate(space.features):
        if space.is_categorical[i]:
            one_hot = Z[:, i : i + 1] == np.arange(feature.n_categories)
            columns.append(0.5 * one_hot)  # two entries differ between two categories
        else:
            columns.append(Z[:, i : i + 1] / space.ranges[i])
    return np.hstack(columns)
