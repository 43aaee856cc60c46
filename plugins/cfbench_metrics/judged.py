"""The judge's numbers as metrics: success, loss and its parts, sparsity, time, queries, and validity once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from cfbench import CellContext, CounterfactualMetric, FeatureSpace
from cfbench.problem import Status
from cfbench.space import FloatArray

if TYPE_CHECKING:
    import pandas as pd


class JudgedColumn(CounterfactualMetric):
    """A column of the record that the judge filled in; absent where a search found no counterfactual."""

    column: ClassVar[str]

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the column as float64."""
        return searches[self.column].astype("float64")


class Loss(JudgedColumn):
    """The base loss (Eq. 9) of the result, whatever objective was searched with; its class term is 0."""

    column = "loss"


class Gower(JudgedColumn):
    """Gower's distance (Eq. 10) of the result from the factual point, in [0, 1]."""

    column = "gower"


class L0(JudgedColumn):
    """How many features the result changes; a numerical feature counts if it differs at all."""

    column = "l0"


class Success(CounterfactualMetric):
    """1 where the judge confirmed a counterfactual, 0 where there is none.

    A search whose query budget ran out is a success where its best row so far is a counterfactual, as on the
    leaderboard. A search that was skipped was never run and is outside the denominator.
    """

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return 1, 0 or NaN a search."""
        succeeded = searches["loss"].notna().astype("float64")
        return succeeded.where(searches["status"] != Status.SKIPPED)


class Seconds(CounterfactualMetric):
    """Wall-clock seconds from the searcher's call to its answer; judging is not in it."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the seconds per search."""
        return searches["wall_seconds"].astype("float64")


class Queries(CounterfactualMetric):
    """Queries of the model in a search: those of the searcher and those of the objective."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the number of queries per search."""
        queries: pd.Series[int] = searches["search_queries"] + searches["robustness_queries"]
        return queries.astype("float64")


class Validity(CounterfactualMetric):
    """1 where the returned vector passes, 0 where it fails; NaN where a search returned none that can be stored.

    Nothing that was recorded about the vector is believed: its class comes from the fitted model's own ``predict``.

    Parameters
    ----------
    check : {"all", "class", "inside", "plausible"}
        ``class``: the model gives it the target class. ``inside``: finite, within the intervals, categories that
        exist. ``plausible``: feasible, that is inside, and within the constraints and steps that hold in the cell.
        ``all``: class and feasible.
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
                passed[row] = context.dataset.space.is_feasible(
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
