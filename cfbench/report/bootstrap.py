"""How sure a mean over points is, when the points are those of a few data sets and models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfbench.space import FloatArray

BOOTSTRAPS = 2000
SEED = 20231
"""The same intervals from the same record, always."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval.

    Parameters
    ----------
    mean, low, high : float
    n : int
        Values.
    strata : int
        What they were taken from: (data set, model) pairs.
    """

    mean: float
    low: float
    high: float
    n: int
    strata: int

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


def estimate(samples: Mapping[Any, FloatArray], *, resample_strata: bool) -> Estimate | None:
    """Return the mean over strata of each stratum's mean, with a bootstrap interval.

    Every stratum counts alike, however many points it has.

    Parameters
    ----------
    samples : mapping to ndarray of float64
        Values by stratum; NaN and empty strata are left out.
    resample_strata : bool
        Whether strata are drawn anew as well, then points within them: an interval for data sets and models like
        these. Otherwise one for these alone.

    Returns
    -------
    Estimate or None
        None without any value.
    """
    kept = [values[np.isfinite(values)] for values in samples.values()]
    kept = [values for values in kept if values.size]
    if not kept:
        return None
    rng = np.random.default_rng(SEED)
    k = len(kept)
    drawn = rng.integers(k, size=(BOOTSTRAPS, k)) if resample_strata else np.tile(np.arange(k), (BOOTSTRAPS, 1))
    means = np.empty(drawn.shape)
    for number, values in enumerate(kept):
        places = drawn == number
        picks = rng.integers(values.size, size=(int(places.sum()), values.size))
        means[places] = values[picks].mean(axis=1)
    low, high = np.quantile(means.mean(axis=1), (0.025, 0.975))
    mean = float(np.mean([values.mean() for values in kept]))
    return Estimate(mean, float(low), float(high), sum(values.size for values in kept), k)
