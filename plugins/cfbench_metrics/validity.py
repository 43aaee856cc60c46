"""The judge's checks, done again from what the record holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from cfbench import CellContext, CounterfactualMetric, FeatureSpace, FloatArray

if TYPE_CHECKING:
    import pandas as pd


class Validity(CounterfactualMetric):
    """1 where the returned vector passes, 0 where it fails; NaN where a search returned none that can be stored.

    Nothing that was recorded about the vector is believed: its class comes from the fitted model's own ``predict``.

    Parameters
    ----------
    check : {"all", "class", "inside", "plausible"}
        ``class``: the model gives it the target class. ``inside``: finite, within the intervals, categories that
        exist. ``plausible``: inside, and within the constraints and steps that hold in the cell. ``all``: class and
        plausible.
    """

    check: Literal["all", "class", "inside", "plausible"] = "all"

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return 1, 0 or NaN a search."""
        import pandas as pd

        space = context.dataset.space
        values = np.full(len(searches), np.nan)
        answered: list[int] = []
        for row, z in enumerate(searches["z"]):
            if z is None or np.ndim(z) == 0:  # pandas may give NaN for an absent list
                continue
            values[row] = 0.0
            if np.shape(z) == (space.d,):
                answered.append(row)
        if answered:
            Z = np.array([searches["z"].iloc[row] for row in answered], dtype=np.float64)
            X = np.array([searches["x"].iloc[row] for row in answered], dtype=np.float64)
            values[answered] = self._passes(Z, X, context)
        return pd.Series(values, index=searches.index)

    def _passes(self, Z: FloatArray, X: FloatArray, context: CellContext) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        passed = np.ones(len(Z), dtype=bool)
        if self.check != "class":
            bound = self.check != "inside"
            for row in range(len(Z)):
                passed[row] = context.dataset.space.is_plausible(
                    Z[row : row + 1],
                    X[row],
                    constraints=bound and context.constraints,
                    respect_steps=bound and context.respect_steps,
                )[0]
        if self.check in ("all", "class"):
            # A model need not have an answer for what no row of data can be.
            asked = np.flatnonzero(passed & _can_be_asked(Z, context.dataset.space))
            classes = np.full(len(Z), -1)
            if len(asked):
                classes[asked] = context.model().predict(Z[asked])
            passed &= classes == context.dataset.target
        return passed


def _can_be_asked(Z: FloatArray, space: FeatureSpace) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows are finite numbers with categories that exist, shape (n,)."""
    finite = np.isfinite(Z).all(axis=1)
    codes = Z[:, space.is_categorical]
    with np.errstate(invalid="ignore"):
        known = (codes == np.floor(codes)) & (codes >= 0) & (codes < space.n_categories[space.is_categorical])
    passed: np.ndarray[tuple[int], np.dtype[np.bool_]] = finite & known.all(axis=1)
    return passed
