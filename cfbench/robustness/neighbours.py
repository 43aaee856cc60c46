"""K-neighbours: what may become of the features that counterfactuals keep, drawn by position.

Definitions as in Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse
perturbations", section "Robustness for K".
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from cfbench.robustness.draws import UintArray, evaluation_keys, uniform_shares
from cfbench.robustness.reach import Distribution, Reach, normal_shares
from cfbench.space.space import FeatureSpace, FloatArray


def perturbed_value(value: Any, share: Any, lowest: Any, highest: Any, lower: Any, upper: Any) -> Any:
    """Move a value by a uniform perturbation and clip it to its interval.

    Like the functions of the random numbers, this one serves numpy and a compiler alike.

    Parameters
    ----------
    value : float
    share : float
        Uniform in [0, 1).
    lowest, highest : float
        The perturbation's bounds, ``p-`` and ``p+``.
    lower, upper : float
        The feature's interval.
    """
    return np.minimum(np.maximum(value + (lowest + share * (highest - lowest)), lower), upper)


class KNeighbours:
    """The K-neighbours of the candidates of one search.

    A neighbour differs from its candidate in features that the candidate keeps, ``z_i = x_i`` (the paper's K), and that
    the annotation perturbs. Its draws are keyed by (stream, evaluation, neighbour, feature): the i-th row of a question
    is evaluation ``first_evaluation + i``, so a batch gives the same draws as its rows one by one.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
        The factual point.
    stream : int
        Of the search; any 64 bits.
    m : int
        Neighbours a candidate.
    distribution : Distribution
        Of the perturbations of numerical features. Categories are uniform always.
    first_evaluation : int

    Attributes
    ----------
    reach : Reach
        How far the perturbations go.
    """

    def __init__(
        self,
        space: FeatureSpace,
        x: FloatArray,
        stream: int,
        m: int,
        distribution: Distribution = Distribution.UNIFORM,
        first_evaluation: int = 0,
    ) -> None:
        self.space = space
        self.x = x
        self.stream = stream
        self.m = m
        self.distribution = distribution
        self.first_evaluation = first_evaluation
        self.reach = Reach.of(space)
        reach = self.reach
        self._numerical = np.flatnonzero((reach.decrease > 0) | (reach.increase > 0))
        self._categorical = np.flatnonzero([len(codes) > 0 for codes in reach.categories])

    def starting(self, first_evaluation: int) -> Self:
        """Return the same neighbours for a question whose first row is another evaluation of the search."""
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__, first_evaluation=first_evaluation)
        return same

    def keys(self, n: int, first: int = 0) -> UintArray:
        """Return the keys of `n` rows of a question, from row `first` on, shape (n,)."""
        return evaluation_keys(self.stream, self.first_evaluation + first, n)

    def draw(self, Z: FloatArray, first: int = 0) -> FloatArray:
        """Draw the neighbours of some candidates of a question.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        first : int
            Row of the question that ``Z[0]`` is.

        Returns
        -------
        ndarray of float64, shape (n, m, d)
        """
        features = np.concatenate([self._numerical, self._categorical])
        shares = uniform_shares(self.keys(len(Z), first), self.m, features)
        neighbours = np.repeat(Z[:, np.newaxis], self.m, axis=1)
        kept = (Z == self.x)[:, np.newaxis]
        many = len(self._numerical)
        self._move(neighbours, kept, Z, shares[:, :, :many])
        for i, share in zip(self._categorical, np.moveaxis(shares[:, :, many:], 2, 0), strict=True):
            codes = self.reach.categories[i]
            drawn = codes[(share * len(codes)).astype(np.int64)]
            neighbours[:, :, i] = np.where(kept[:, :, i], drawn, neighbours[:, :, i])
        return neighbours

    def _move(self, neighbours: FloatArray, kept: Any, Z: FloatArray, shares: FloatArray) -> None:
        """Perturb the kept numerical features of `neighbours` in place."""
        some = self._numerical
        lowest, highest = (bound[:, np.newaxis, some] for bound in self.reach.bounds(Z))
        lower, upper = self.space.lower[some], self.space.upper[some]
        values = Z[:, np.newaxis, some]
        if self.distribution is Distribution.UNIFORM:
            perturbed = perturbed_value(values, shares, lowest, highest, lower, upper)
        else:
            normal = normal_shares(shares)
            perturbed = np.clip(values + np.where(normal > 0, normal * highest, -normal * lowest), lower, upper)
        neighbours[:, :, some] = np.where(kept[:, :, some], perturbed, values)
