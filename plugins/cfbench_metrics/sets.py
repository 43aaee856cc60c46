"""What is true of sets of counterfactuals: size, diversity, how many ways they show, and their trade-offs.

A search that returns one counterfactual is measured as a set of one row. Only the valid rows of a set count.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import CellContext, FeatureSpace, Found, Metric
from cfbench.space import FloatArray
from cfbench_metrics.k_robustness import k_scores


class SetSize(Metric):
    """How many different counterfactuals a search returned; equal rows count once."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return a number of rows per search, NaN where it found nothing."""
        return found.spread(np.array([len(np.unique(found.sets[row], axis=0)) for row in found.rows], dtype=np.float64))


class Diversity(Metric):
    """The mean Gower distance between two counterfactuals of a set, in [0, 1]; 0 for a single one.

    Equal rows are pairs of distance 0.

    References
    ----------
    Mothilal, Sharma and Tan, "Explaining machine learning classifiers through diverse counterfactual explanations",
    2020: the diversity of a set, there with another distance.
    """

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a distance per search, NaN where it found nothing."""
        return found.spread(np.array([mean_distance(found.sets[row], context.space) for row in found.rows]))


def mean_distance(Z: FloatArray, space: FeatureSpace) -> float:
    """Return the mean Gower distance over all pairs of rows, shape (k, d); 0 for fewer than two rows."""
    distances = [space.gower(Z[i + 1 :], z) for i, z in enumerate(Z[:-1])]
    return float(np.concatenate(distances).mean()) if distances else 0.0


class SetCoverage(Metric):
    """How many different sets of features the counterfactuals of a set change, divided by their number.

    1 if every counterfactual changes another set of features than all others.
    """

    def measure(self, found: Found, context: CellContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return a share in (0, 1] per search, NaN where it found nothing."""
        changed = [found.sets[row] != found.x[row] for row in found.rows]
        return found.spread(np.array([len(np.unique(of_set, axis=0)) / len(of_set) for of_set in changed]))


class Hypervolume(Metric):
    """The area of trade-offs between loss and fragility that a set beats, in [0, 1].

    Each counterfactual is a point (loss, 1 - K-robustness score). The area is that of all points of the unit square
    that some counterfactual beats or equals in both; the reference point is (1, 1). The loss is the base loss.

    Parameters
    ----------
    m : int
        Neighbours per counterfactual that its K-robustness score is sampled from. They are those of `k-robustness`.

    References
    ----------
    Zitzler and Thiele, "Multiobjective evolutionary algorithms: a comparative case study and the strength Pareto
    approach", 1999: the hypervolume indicator.
    """

    m: int = Field(default=1000, ge=1, le=1_000_000)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return an area per search, NaN where it found nothing."""
        values = np.empty(len(found.rows))
        for i, row in enumerate(found.rows):
            Z = found.sets[row]
            scores = k_scores(found, int(row), Z, self.m, context)
            values[i] = dominated_area(context.space.cost(Z, found.x[row]), 1.0 - scores)
        return found.spread(values)


def dominated_area(first: FloatArray, second: FloatArray) -> float:
    """Return the area of the unit square in which some point (first, second) is smaller or equal in both."""
    area, lowest = 0.0, 1.0
    for place in np.lexsort((second, first)):
        if first[place] < 1.0 and second[place] < lowest:
            area += (1.0 - first[place]) * (lowest - second[place])
            lowest = second[place]
    return float(area)
