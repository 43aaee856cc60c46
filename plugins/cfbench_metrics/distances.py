"""Distances of a result from its factual point, as tables of the field show them, next to Gower and sparsity.

Numerical features are divided by the length of their annotated interval, so that each counts from 0 to 1. A category
counts 1 if it is changed, 0 if not. `mad-distance` divides numerical features by their spread in the training fold.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cfbench import CellContext, FeatureSpace, Found, Metric
from cfbench.space import FloatArray


class ScaledNorm(Metric):
    """A norm of the change, its numerical features divided by the length of their intervals, categories as 0 or 1.

    References
    ----------
    Pawelczyk et al., "CARLA: a Python library to benchmark algorithmic recourse and counterfactual explanation
    algorithms", 2021: the distances L1, L2 and L-infinity on features scaled to [0, 1].
    """

    order: ClassVar[float]

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a distance per search, NaN where it found nothing."""
        changes = scaled_changes(found, context.space, context.space.ranges)
        return found.spread(np.linalg.norm(changes, ord=self.order, axis=1))


class L1(ScaledNorm):
    """The sum of the changes: d times Gower's distance."""

    order = 1


class L2(ScaledNorm):
    """The Euclidean length of the change."""

    order = 2


class LInfinity(ScaledNorm):
    """The largest change of a feature, in [0, 1]; 1 if a category is changed."""

    order = np.inf


class MadDistance(Metric):
    """The sum of the changes, each numerical one divided by the median absolute deviation of its feature.

    The deviation is that of all rows of the training fold from their median. A category counts 1 if it is changed.

    Decision: where the median absolute deviation is 0, because more than half of the rows have one value, the mean
    absolute deviation from the median takes its place. For a feature that is constant in the fold, the length of its
    interval does.

    References
    ----------
    Wachter, Mittelstadt and Russell, "Counterfactual explanations without opening the black box: automated decisions
    and the GDPR", 2018: the distance of their Equation 4. Mothilal, Sharma and Tan, "Explaining machine learning
    classifiers through diverse counterfactual explanations", 2020: categories count 0 or 1.
    """

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a distance per search, NaN where it found nothing."""
        spreads = deviations(context.dataset.X[context.train], context.space)
        return found.spread(scaled_changes(found, context.space, spreads).sum(axis=1))


def scaled_changes(found: Found, space: FeatureSpace, units: FloatArray) -> FloatArray:
    """Return how far each result moved in each feature, in units of shape (d,); 1 for a category, shape (m, d)."""
    X, Z = found.x[found.rows], found.z[found.rows]
    changes: FloatArray = np.where(space.is_categorical, Z != X, np.abs(Z - X) / units)
    return changes


def deviations(X: FloatArray, space: FeatureSpace) -> FloatArray:
    """Return the unit of each numerical feature as `MadDistance` describes it, shape (d,); 1 for categories."""
    if not len(X):
        return np.where(space.is_categorical, 1.0, space.ranges)
    apart = np.abs(X - np.median(X, axis=0))
    median, mean = np.median(apart, axis=0), apart.mean(axis=0)
    units = np.where(median > 0, median, np.where(mean > 0, mean, space.ranges))
    return np.where(space.is_categorical, 1.0, units)
