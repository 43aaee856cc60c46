"""Whether a search that did not account for robustness found the robust result by accident."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import ComparisonContext, Found, Metric, Reference
from cfbench.space import FloatArray


class AccidentalRobustness(Metric):
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

    reference = Reference(objective="none")

    tolerance: float = Field(default=0.05, ge=0, le=1)
    same_changes: bool = True

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        """Return 1 or 0 per point, NaN where either side found nothing."""
        space = context.space
        values = np.full(len(found), np.nan)
        rows = np.flatnonzero(found.is_found & reference.is_found)
        if len(rows):
            X, Z, other = found.x[rows], found.z[rows], reference.z[rows]
            apart = np.where(space.is_categorical, Z != other, np.abs(Z - other) / space.ranges)
            match = (apart <= np.where(space.is_categorical, 0.0, self.tolerance)).all(axis=1)
            if self.same_changes:
                match &= ((Z != X) == (other != X)).all(axis=1)
            values[rows] = match
        return values
