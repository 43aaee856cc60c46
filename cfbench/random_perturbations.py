"""Random perturbations of a counterfactual: C-setbacks, K-perturbations, or both at once.

C are the features that the counterfactual changes, K those that it keeps. Definitions as in Virgolin and Fracaros, "On
the robustness of sparse counterfactual explanations to adverse perturbations", sections "Robustness for C", "Robustness
for K" and the first two about robustness among its results.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from cfbench.reach import Reach
from cfbench.setbacks import Setbacks
from cfbench.space import FeatureSpace, FloatArray

STANDARD_DEVIATION = 0.1
"""Of normally distributed perturbations, as a share of the largest one."""


class PerturbedPart(StrEnum):
    """Which features are perturbed."""

    C = "c"
    """Those that the counterfactual changes, by setbacks."""
    K = "k"
    """Those that it keeps."""
    BOTH = "ck"


class Distribution(StrEnum):
    """How large random perturbations of numerical features are; categories are always drawn uniformly."""

    UNIFORM = "uniform"
    NORMAL = "normal"


class RandomPerturbations:
    """Draws what may befall the counterfactuals of one factual point.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
        The factual point.
    distribution : Distribution
    """

    def __init__(self, space: FeatureSpace, x: FloatArray, distribution: Distribution) -> None:
        self._space = space
        self._x = x
        self._reach = Reach.of(space)
        self._setbacks = Setbacks(space, x)
        self._distribution = distribution

    def draw(self, z: FloatArray, part: PerturbedPart, n: int, rng: np.random.Generator) -> FloatArray:
        """Return `n` perturbed copies of `z`, shape (n, d).

        One generator state gives the same luck to every counterfactual: the random numbers are drawn for all features,
        whichever are perturbed, C before K.

        Parameters
        ----------
        z : ndarray of float64, shape (d,)
            A counterfactual inside the intervals.
        part : PerturbedPart
        n : int
        rng : Generator
        """
        size = (2, n, self._space.d)
        normal = self._distribution is Distribution.NORMAL
        choices = rng.random(size)
        shares = STANDARD_DEVIATION * rng.standard_normal(size) if normal else rng.random(size)
        changed = z != self._x
        perturbed = np.tile(z, (n, 1))
        if part is not PerturbedPart.K:
            np.copyto(perturbed, self._set_back(z, shares[0], choices[0]), where=changed)
        if part is not PerturbedPart.C:
            np.copyto(perturbed, self._moved(z, shares[1], choices[1]), where=~changed)
        return perturbed

    def _set_back(self, z: FloatArray, shares: FloatArray, choices: FloatArray) -> FloatArray:
        """Set back every feature; right for changed ones.

        Decision: the capped maximum is scaled, by ``u ~ U(0, 1)`` or ``u = min(|N(0, 0.1)|, 1)``; the paper's text
        draws first and caps then.
        """
        scale = np.minimum(np.abs(shares), 1.0)
        largest = self._setbacks.largest(z[np.newaxis])[0]
        # The bounds catch what rounding would carry past x.
        back = np.clip(z + scale * largest, np.minimum(z, self._x), np.maximum(z, self._x))
        return self._with_categories(back, choices)

    def _moved(self, z: FloatArray, shares: FloatArray, choices: FloatArray) -> FloatArray:
        """Perturb every feature both ways; right for kept ones. Values are clipped to the features' intervals."""
        lowest, highest = (bound[0] for bound in self._reach.bounds(z[np.newaxis]))
        if self._distribution is Distribution.UNIFORM:
            moves = lowest + shares * (highest - lowest)
        else:
            shares = np.clip(shares, -1.0, 1.0)
            moves = np.where(shares > 0, shares * highest, -shares * lowest)
        return self._with_categories(np.clip(z + moves, self._space.lower, self._space.upper), choices)

    def _with_categories(self, perturbed: FloatArray, choices: FloatArray) -> FloatArray:
        """Put in, in place, a category from the perturbation set of each categorical feature; maybe the present one."""
        for i, codes in enumerate(self._reach.categories):
            if len(codes):
                perturbed[:, i] = codes[(choices[:, i] * len(codes)).astype(np.int64)]
        return perturbed
