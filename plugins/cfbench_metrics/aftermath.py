"""What happens to a result after random perturbations: does it stay valid, can it be walked back to, and at what price.

The paper's questions 2 and 3. Decision: they are asked of cells with constraints on only. Elsewhere every way back is
open, so that fixability would be 1 by definition and the costs that rest on it would say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cfbench import CellContext, Constraint, FeatureSpace, Found, Metric
from cfbench.robustness import Distribution, PerturbedPart, RandomPerturbations
from cfbench.space import FloatArray

BoolMatrix = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Aftermath:
    """The draws of all results of a cell.

    Parameters
    ----------
    Z : ndarray of float64, shape (n, d)
        The results.
    changed : ndarray of bool, shape (n, d)
        Their C: which features they change.
    perturbed : ndarray of float64, shape (n, draws, d)
        The paper's z'.
    valid : ndarray of bool, shape (n, draws)
        Whether the perturbed point is still of the target class.
    fixable : ndarray of bool, shape (n, draws)
        Whether it is, or can be walked back to the result within the constraints.
    """

    Z: FloatArray
    changed: BoolMatrix
    perturbed: FloatArray
    valid: BoolMatrix
    fixable: BoolMatrix


class AfterPerturbation(Metric):
    """A number about what random perturbations do to each result.

    All metrics of this kind see the same draws: their stream is named by the study's seed, the data set and the
    factual point's row, so that all searchers, objectives and repetitions meet the same luck.

    Parameters
    ----------
    part : {"c", "k", "ck"}
        Which features are perturbed: those that the result changes (setbacks), those that it keeps, both.
    distribution : {"uniform", "normal"}
        Of numerical perturbations; categories are drawn uniformly.
    draws : int
        Perturbations a result.
    """

    part: Literal["c", "k", "ck"] = "k"
    distribution: Literal["uniform", "normal"] = "uniform"
    draws: int = Field(default=100, ge=1, le=1_000_000)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a value per search; NaN where it found nothing, and everywhere with constraints off."""
        if not context.constraints or len(found.rows) == 0:
            return np.full(len(found), np.nan)
        return found.spread(self.summarise(self._aftermath(found, context), context.space))

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:
        """Turn the draws of each result into its value, shape (n,)."""
        raise NotImplementedError

    def _aftermath(self, found: Found, context: CellContext) -> Aftermath:
        space, X, Z = context.space, found.x[found.rows], found.z[found.rows]
        part, distribution = PerturbedPart(self.part), Distribution(self.distribution)
        perturbed = np.empty((len(Z), self.draws, space.d))
        for i, (row_id, x, z) in enumerate(zip(found.row_ids[found.rows], X, Z, strict=True)):
            stream = context.stream("after-perturbation", int(row_id))
            perturbed[i] = RandomPerturbations(space, x, stream, distribution).draw(z, part, self.draws)
        classes = context.oracle.predict(perturbed.reshape(-1, space.d)).reshape(len(Z), self.draws)
        valid = classes == context.dataset.target
        way_back = can_walk_back(Z[:, np.newaxis], perturbed, space)
        return Aftermath(Z, Z != X, perturbed, valid, valid | way_back)


def can_walk_back(Z: FloatArray, perturbed: FloatArray, space: FeatureSpace) -> BoolMatrix:
    """Return for each perturbed point whether the constraints allow all steps from it back to its result.

    Parameters
    ----------
    Z : ndarray of float64, shape (..., d)
    perturbed : ndarray of float64, shape (..., d)
    space : FeatureSpace
        ``=`` allows no step, ``>=`` only upwards, ``<=`` only downwards; a forbidden transition is no step either.
    """
    step = Z - perturbed
    constraints = [feature.constraint for feature in space.features]
    no_lower = np.array([constraint in (Constraint.FIXED, Constraint.ONLY_UP) for constraint in constraints])
    no_higher = np.array([constraint in (Constraint.FIXED, Constraint.ONLY_DOWN) for constraint in constraints])
    forbidden = (no_lower & (step < 0)) | (no_higher & (step > 0))
    allowed: BoolMatrix = np.all(~forbidden, axis=-1) & ~space.forbids_step(perturbed, Z)
    return allowed


def mean_over(values: FloatArray, counted: BoolMatrix) -> FloatArray:
    """Return the mean of each row's counted values, shape (n,); NaN where none is counted."""
    n = counted.sum(axis=1)
    total = np.where(counted, values, 0.0).sum(axis=1)
    mean: FloatArray = np.divide(total, n, out=np.full(len(values), np.nan), where=n > 0)
    return mean


Over = Literal["all", "fixable", "invalidated"]
"""The draws that a mean cost counts."""


class AdditionalCost(AfterPerturbation):
    """The mean cost of walking back to the result after a random perturbation.

    A draw that keeps the target class costs 0. An invalid draw costs the way back, whether the constraints allow it or
    not; the metric ``unfixable`` is the share of draws for which they do not. For changed features the way back
    costs ``(1/2) (1/d) sum_C |w_i| / range_i``, a mismatch for categories. For kept features it costs what a new
    intervention costs, with the term for the number of changes (L0). For both it is the sum.

    Decision: the mean is over all draws. A mean over the draws that can be fixed leaves out the worst ones, so that a
    result which can never be repaired looks free of cost.

    Decision: the L0 term is left out for changed features, as the published experiments leave it out: the feature is
    being acted on anyway. The paper's text can be read to include it; ``l0=true`` does.

    Parameters
    ----------
    over : {"all", "fixable", "invalidated"}
        The draws that the mean counts: all of them; those that keep the class or can be walked back; those that lose
        the class, whether they can be walked back or not. Where no draw counts, the value is absent.
    l0 : bool
        Whether each changed feature that is walked back costs another ``1/(2d)``.
    setbacks : {"normalised", "raw"}
        ``raw`` leaves out the division by the range in changed features, as the published experiments did.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    over: Over = "all"
    l0: bool = False
    setbacks: Literal["normalised", "raw"] = "normalised"

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:
        """Return the mean of each result, shape (n,)."""
        counted = {"all": np.ones_like(aftermath.valid), "fixable": aftermath.fixable, "invalidated": ~aftermath.valid}
        return mean_over(np.where(aftermath.valid, 0.0, self._way_back(aftermath, space)), counted[self.over])

    def _way_back(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:
        """Return the cost of walking back from each draw, shape (n, draws)."""
        changed = aftermath.changed[:, np.newaxis]
        moved = aftermath.perturbed != aftermath.Z[:, np.newaxis]
        apart = np.abs(aftermath.perturbed - aftermath.Z[:, np.newaxis])
        units = np.where(changed, 1.0, space.ranges) if self.setbacks == "raw" else space.ranges
        apart = np.where(space.is_categorical, moved, apart / units)
        walked = moved if self.l0 else moved & ~changed
        cost: FloatArray = 0.5 * (apart.sum(axis=2) + walked.sum(axis=2)) / space.d
        return cost


class ActualCost(AdditionalCost):
    """The cost of reaching the result, perturbations included: ``cost(z, x)`` plus the mean additional cost.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return the cost per search; NaN where it found nothing or no draw counts, and with constraints off."""
        cost: FloatArray = super().measure(found, context) + found.cost
        return cost


class Fixability(AfterPerturbation):
    """The share of draws that keep the target class or can be walked back to the result within the constraints.

    Setbacks of changed features always can: they point back along the way that was walked. The exception is a category
    that may not become that of the result (a forbidden transition).

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 2.
    """

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the share of each result, shape (n,)."""
        share: FloatArray = aftermath.fixable.mean(axis=1)
        return share


class Unfixable(AfterPerturbation):
    """The share of draws that lose the target class and cannot be walked back to the result: 1 - fixability.

    Costs count such draws as if the way back were allowed. So this share is shown next to each cost.
    """

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the share of each result, shape (n,)."""
        share: FloatArray = (~aftermath.fixable).mean(axis=1)
        return share


class Invalidity(AfterPerturbation):
    """The share of perturbed points that are no longer of the target class, in [0, 1].

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    appendix on invalidity.
    """

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the share of each result, shape (n,)."""
        share: FloatArray = (~aftermath.valid).mean(axis=1)
        return share
