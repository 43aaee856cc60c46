"""Random perturbations of a counterfactual: C-setbacks, K-perturbations, or both at once.

C are the features that the counterfactual changes, K those that it keeps. Definitions as in Virgolin and Fracaros, "On
the robustness of sparse counterfactual explanations to adverse perturbations", sections "Robustness for C", "Robustness
for K" and the first two about robustness among its results.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from cfbench.robustness.draws import evaluation_keys, uniform_shares
from cfbench.robustness.neighbours import KNeighbours
from cfbench.robustness.reach import Distribution, Reach, normal_shares
from cfbench.robustness.setbacks import Setbacks
from cfbench.space.space import FeatureSpace, FloatArray


class PerturbedPart(StrEnum):
    """Which features are perturbed."""

    C = "c"
    """Those that the counterfactual changes, by setbacks."""
    K = "k"
    """Those that it keeps."""
    BOTH = "ck"


class RandomPerturbations:
    """Draws what may befall the counterfactuals of one factual point.

    A draw is keyed by (stream, draw, feature), so every counterfactual meets the same luck, feature by feature.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
        The factual point.
    stream : int
        Any 64 bits.
    distribution : Distribution
    """

    def __init__(self, space: FeatureSpace, x: FloatArray, stream: int, distribution: Distribution) -> None:
        self._space = space
        self._x = x
        self._stream = stream
        self._distribution = distribution
        self._reach = Reach.of(space)
        self._setbacks = Setbacks(space, x)

    def draw(self, z: FloatArray, part: PerturbedPart, n: int) -> FloatArray:
        """Return `n` perturbed copies of `z`, shape (n, d).

        Parameters
        ----------
        z : ndarray of float64, shape (d,)
            A counterfactual inside the intervals.
        part : PerturbedPart
        n : int
        """
        perturbed = np.tile(z, (n, 1))
        if part is not PerturbedPart.C:
            neighbours = KNeighbours(self._space, self._x, self._stream, n, self._distribution)
            perturbed = neighbours.draw(z[np.newaxis])[0]
        if part is not PerturbedPart.K:
            np.copyto(perturbed, self._set_back(z, n), where=z != self._x)
        return perturbed

    def _set_back(self, z: FloatArray, n: int) -> FloatArray:
        """Set back every feature, shape (n, d); right for changed ones.

        Decision: the capped maximum is scaled, by ``u ~ U(0, 1)`` or ``u = min(|N(0, 0.1)|, 1)``; the paper's text
        draws first and caps then. A category is drawn uniformly from the perturbation set, maybe the present one.
        """
        luck = uniform_shares(evaluation_keys(self._stream, 0, 1), n, np.arange(self._space.d))[0]
        shares = luck if self._distribution is Distribution.UNIFORM else np.abs(normal_shares(luck))
        largest = self._setbacks.largest(z[np.newaxis])[0]
        # The bounds catch what rounding would carry past x.
        back: FloatArray = np.clip(z + shares * largest, np.minimum(z, self._x), np.maximum(z, self._x))
        for i, codes in enumerate(self._reach.categories):
            if len(codes):
                back[:, i] = codes[(luck[:, i] * len(codes)).astype(np.int64)]
        return back
