"""How far a result is from the proven optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cfbench import ReferenceComparison

if TYPE_CHECKING:
    import pandas as pd


class OptimalityGap(ReferenceComparison):
    """``(value - bound) / bound`` of the best repetition, a point: how far its objective value is above the optimum.

    The bound is what the exact searcher reports as its lower bound: the optimum where that is proven; where it is not,
    something below it, so that the gap is at most this. A gap of 0.001 or less counts as none.

    References
    ----------
    The relative gap of mathematical programming.
    """

    reference: ClassVar[str] = "exact-forest"

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        """Return the gap a point: 0.01 is one percent above the optimum.

        NaN where nothing was found, and where the reference has no lower bound or one of 0, which leaves nothing to
        divide by.
        """
        import pandas as pd

        bounds = pd.Series([figures.get("lower_bound", np.nan) for figures in reference["figures"]], points.index)
        bound = bounds.astype("float64").where(bounds > 0)
        gap: pd.Series[float] = (points["objective_value"].where(points["found"]) - bound) / bound
        return gap
