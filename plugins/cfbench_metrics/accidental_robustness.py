"""Whether a search that did not account for robustness found the robust result by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from cfbench import FeatureSpace, ObjectiveComparison

if TYPE_CHECKING:
    import pandas as pd


class AccidentalRobustness(ObjectiveComparison):
    """1 where the results with and without the robustness objective match, 0 where they do not.

    They match where all categories are equal and all numerical values lie within a tolerance.

    Parameters
    ----------
    tolerance : float
        As a share of each feature's range.
    same_changes : bool
        Whether both have to change the same features. Decision: they have to, as in the published experiments; the
        paper's text alone does not say so, and its reading is kept as ``same_changes=false``.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 1.
    """

    tolerance: float = Field(default=0.05, ge=0, le=1)
    same_changes: bool = True

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:
        """Return 1 or 0 a point, NaN where either side found nothing."""
        import pandas as pd

        values = np.full(len(points), np.nan)
        rows = np.flatnonzero(points["found"] & reference["found"])
        if len(rows):
            X, Z, other = (np.vstack(list(column.iloc[rows])) for column in (points["x"], points["z"], reference["z"]))
            apart = np.where(space.is_categorical, Z != other, np.abs(Z - other) / space.ranges)
            match = (apart <= np.where(space.is_categorical, 0.0, self.tolerance)).all(axis=1)
            if self.same_changes:
                match &= ((Z != X) == (other != X)).all(axis=1)
            values[rows] = match
        return pd.Series(values, index=points.index)
