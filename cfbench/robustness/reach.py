"""How far perturbations reach: the annotation as arrays, and the distributions of random shares of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

import numpy as np

from cfbench.space.space import (
    BoolArray,
    CategoricalPerturbation,
    FeatureSpace,
    FloatArray,
    IntArray,
    NumericalPerturbation,
)

STANDARD_DEVIATION = 0.1
"""Of normally distributed perturbations, as a share of the largest one."""


class Distribution(StrEnum):
    """How large random perturbations of numerical features are; categories are always drawn uniformly."""

    UNIFORM = "uniform"
    NORMAL = "normal"


def normal_shares(shares: FloatArray) -> FloatArray:
    """Turn uniform numbers in [0, 1) into shares of the largest perturbation, ``clip(N(0, 0.1), -1, 1)``.

    Decision: the distribution function is inverted, so both distributions share their luck.
    """
    from scipy.special import ndtri

    normal: FloatArray = np.clip(STANDARD_DEVIATION * ndtri(shares), -1.0, 1.0)
    return normal


_NO_CATEGORIES: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Reach:
    """The largest perturbations of all features.

    Parameters
    ----------
    decrease, increase : ndarray of float64, shape (d,)
        Magnitudes; 0 for categorical features and for those that are never perturbed.
    relative : ndarray of bool, shape (d,)
        Where the magnitudes are shares of ``|z_i|``.
    categories : tuple of ndarray of int64
        A feature each: the codes that a perturbation may lead to, without repetition; empty for numerical features and
        for those that are never perturbed.
    """

    decrease: FloatArray
    increase: FloatArray
    relative: BoolArray
    categories: tuple[IntArray, ...]

    @classmethod
    def of(cls, space: FeatureSpace) -> Self:
        """Read the annotation of a space."""
        decrease, increase = np.zeros(space.d), np.zeros(space.d)
        relative = np.zeros(space.d, dtype=bool)
        categories = [_NO_CATEGORIES] * space.d
        for i, feature in enumerate(space.features):
            match feature.perturbation:
                case NumericalPerturbation():
                    decrease[i], increase[i] = feature.perturbation.decrease, feature.perturbation.increase
                    relative[i] = feature.perturbation.relative
                case CategoricalPerturbation():
                    categories[i] = np.unique(np.array(feature.perturbation.codes, dtype=np.int64))
        return cls(decrease, increase, relative, tuple(categories))

    @cached_property
    def moves_anything(self) -> bool:
        """Whether any feature is ever perturbed."""
        numerical = (self.decrease > 0) | (self.increase > 0)
        return bool(numerical.any()) or any(len(codes) > 0 for codes in self.categories)

    def bounds(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``p-`` and ``p+`` for each row of `Z`, shape (n, d): what may be added to its numerical values.

        Relative magnitudes are shares of the value to achieve, ``|z_i|``. 0 for categorical features.
        """
        scale = np.where(self.relative, np.abs(Z), 1.0)
        return -self.decrease * scale, self.increase * scale
