"""An index of ascending thresholds, by which the number of those below a value is found in a step or two."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

BINS_A_THRESHOLD = 2
MOST_BINS = 2**14


class ThresholdBins(NamedTuple):
    """The span of the thresholds cut into equal bins.

    A value's bin is ``clip(floor((value - first threshold) * scale), 0, bins - 1)`` in float64. This rises with the
    value, rounding included: thresholds in earlier bins lie below the value, those in later ones above it.

    Parameters
    ----------
    scale : float
    before : ndarray of uint32, shape (bins + 1,)
        How many thresholds lie in earlier bins.
    """

    scale: float
    before: NDArray[np.uint32]

    @classmethod
    def of(cls, thresholds: NDArray[np.float32]) -> Self:
        """Cut the span of ascending thresholds, at least one."""
        exact = thresholds.astype(np.float64)
        bins = min(BINS_A_THRESHOLD * len(exact), MOST_BINS)
        span = exact[-1] - exact[0]
        scale = float(bins / span) if span > 0 else 0.0
        own = np.clip((exact - exact[0]) * scale, 0, bins - 1).astype(np.int64)
        return cls(scale, np.cumsum([0, *np.bincount(own, minlength=bins)]).astype(np.uint32))
