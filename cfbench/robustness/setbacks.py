"""C-setbacks: perturbations of the changed features that push a counterfactual back towards the factual point.

Definitions as in Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse
perturbations", section "Robustness for C".
"""

from __future__ import annotations

import numpy as np

from cfbench.robustness.reach import Reach
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray


class Setbacks:
    """The setbacks on the way from one factual point to its counterfactuals.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
        The factual point.
    """

    def __init__(self, space: FeatureSpace, x: FloatArray) -> None:
        self._space = space
        self._x = x
        self._reach = Reach.of(space)

    def largest(self, Z: FloatArray) -> FloatArray:
        """Return the maximal C-setback of each row: the definition of C-setbacks, each capped so as not to pass `x`.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)

        Returns
        -------
        ndarray of float64, shape (n, d)
            ``max(p-_i, -(z_i - x_i))`` where ``z_i > x_i``, ``min(p+_i, -(z_i - x_i))`` where ``z_i < x_i``; 0 in
            unchanged and in categorical features.
        """
        lowest, highest = self._reach.bounds(Z)
        way_back = self._x - Z
        capped: FloatArray = np.where(way_back < 0, np.maximum(lowest, way_back), np.minimum(highest, way_back))
        capped[:, self._space.is_categorical] = 0.0
        return capped + 0.0  # no negative zeros

    def turned(self, Z: FloatArray) -> BoolArray:
        """Return which changed categories a setback may turn into another one, shape (n, d).

        Those whose perturbation set holds another category than ``z_i``.
        """
        turned = np.zeros(Z.shape, dtype=bool)
        for i, codes in enumerate(self._reach.categories):
            if len(codes) == 1:
                turned[:, i] = Z[:, i] != codes[0]
            elif len(codes) > 1:
                turned[:, i] = True
        turned &= Z != self._x
        return turned

    def detour(self, Z: FloatArray) -> FloatArray:
        """Return what the maximal setback adds to Gower's distance, shape (n,): the way that is walked again.

        Gower's distance of ``z - w_max`` from `x` is that of `z` plus this: ``(1/d) sum_C |w_i| / range_i``. Decision:
        a changed category that a perturbation may turn into another costs one more mismatch, ``1/d``.
        """
        total: FloatArray = self.walked_again(Z).sum(axis=1) / self._space.d
        return total

    def walked_again(self, Z: FloatArray) -> FloatArray:
        """Return how much of each feature's range has to be walked again, shape (n, d); 1 for a turned category."""
        again: FloatArray = np.abs(self.largest(Z)) / self._space.ranges + self.turned(Z)
        return again
