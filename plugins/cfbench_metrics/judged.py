"""The judge's numbers as metrics: success, loss and its parts, sparsity, redundancy, time, queries, validity again."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from cfbench import CellContext, FeatureSpace, Found, Metric
from cfbench.problem import Status
from cfbench.space import BoolArray, FloatArray


class JudgedColumn(Metric):
    """A column of the record that the judge filled in; absent where a search found no counterfactual."""

    column: ClassVar[str]

    def measure(self, found: Found, context: CellContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the column."""
        values: FloatArray = getattr(found, self.column)
        return values


class Loss(JudgedColumn):
    """The base loss (Eq. 9) of the result, whatever objective was searched with; its class term is 0."""

    column = "loss"


class Gower(JudgedColumn):
    """Gower's distance (Eq. 10) of the result from the factual point, in [0, 1]."""

    column = "gower"


class L0(JudgedColumn):
    """How many features the result changes; a numerical feature counts if it differs at all."""

    column = "l0"


class Sparsity(Metric):
    """The share of features that the result keeps as they are: ``1 - l0 / d``."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a share in [0, 1] per search, NaN where it found nothing."""
        kept: FloatArray = 1.0 - found.l0 / context.space.d
        return kept


class Redundancy(Metric):
    """How many changed features can each be put back to the factual value, alone, with the target class kept.

    It queries the model with one row per changed feature. 0 for a result whose every change is needed.
    """

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a number of features per search, NaN where it found nothing."""
        X, Z = found.x[found.rows], found.z[found.rows]
        results, features = np.nonzero(Z != X)
        redundant = np.zeros(len(found.rows))
        if len(results):
            reverted = Z[results]
            reverted[np.arange(len(results)), features] = X[results, features]
            kept = context.oracle.predict(reverted) == context.dataset.target
            np.add.at(redundant, results[kept], 1.0)
        return found.spread(redundant)


class Success(Metric):
    """1 where the judge confirmed a counterfactual, 0 where there is none.

    A search whose query budget ran out is a success where its best row so far is a counterfactual, as on the
    leaderboard. A search that was skipped was never run and is outside the denominator.
    """

    def measure(self, found: Found, context: CellContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return 1, 0 or NaN per search."""
        return np.where(found.status == Status.SKIPPED, np.nan, found.is_found)


class Seconds(Metric):
    """Wall-clock seconds from the searcher's call to its answer; judging is not in it."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the seconds per search."""
        return found.seconds


class Queries(Metric):
    """Queries of the model in a search: those of the searcher and those of the objective."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the number of queries per search."""
        return found.queries


class Validity(Metric):
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

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return 1, 0 or NaN per search."""
        values = np.full(len(found), np.nan)
        answered = np.flatnonzero(found.is_answered)
        if len(answered):
            values[answered] = self._passes(found.z[answered], found.x[answered], context)
        return values

    def _passes(self, Z: FloatArray, X: FloatArray, context: CellContext) -> BoolArray:
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


def _can_be_asked(Z: FloatArray, space: FeatureSpace) -> BoolArray:
    """Which rows are finite numbers with categories that exist, shape (n,)."""
    finite = np.isfinite(Z).all(axis=1)
    codes = Z[:, space.is_categorical]
    with np.errstate(invalid="ignore"):
        known = (codes == np.floor(codes)) & (codes >= 0) & (codes < space.n_categories[space.is_categorical])
    passed: BoolArray = finite & known.all(axis=1)
    return passed
