"""How many features a result changes, and how many of these changes are redundant."""

from __future__ import annotations

import numpy as np

from cfbench import CellContext, Found, Metric
from cfbench.space import FloatArray


class Sparsity(Metric):
    """The share of features that the result keeps as they are: ``1 - l0 / d``."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a share in [0, 1] per search, NaN where it found nothing."""
        kept: FloatArray = 1.0 - found.l0 / context.space.d
        return kept


class Redundancy(Metric):
    """How many changed features can each be put back to the factual value, alone, with the target class kept.

    It queries the model with one row per changed feature. 0 for a result whose every change is needed.
    """

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a number of features per search, NaN where it found nothing."""
        X, Z = found.x[found.rows], found.z[found.rows]
        results, features = np.nonzero(Z != X)
        redundant = np.zeros(len(found.rows))
        if len(results):
            reverted = Z[results]
            reverted[np.arange(len(results)), features] = X[results, features]
            kept = context.oracle.predict(reverted) == context.dataset.target
            np.add.at(redundant, results[kept], 1.0)
        return found.spread(redundant)
