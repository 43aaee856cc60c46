"""How large random perturbations are, as shares of the largest ones."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from cfbench.space import FloatArray

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
