"""Robustness to K without draws, on forests and linear models: the certificate, and the exact probability."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from cfbench import CellContext, Found, Metric, Need
from cfbench.errors import ModelError, UnavailableError
from cfbench.linear import Structure, certificate_of, probability_of, structure_of
from cfbench.space import FloatArray


class KCertified(Metric):
    """1 where no point of the closed box of K-perturbations has another class than the target, 0 where one has.

    On forests by branch and bound over the trees, on linear models in closed form. It is a proof, not a sample; a
    refuting point is confirmed with the model's own predict. Missing if the limit was reached first, and for models
    that show neither trees nor weights. The box is closed; `k-probability` says how much of it is lost.

    Parameters
    ----------
    seconds : float
        Wall-clock limit a result.

    References
    ----------
    The box is that of the K-robustness score of Virgolin and Fracaros, "On the robustness of sparse counterfactual
    explanations to adverse perturbations", section "Robustness for K".
    """

    needs_one_of: ClassVar[tuple[Need, ...]] = (Need.FOREST, Need.LINEAR)

    seconds: float = Field(default=1.0, gt=0)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return 1 or 0 per search, NaN where it found nothing or the question stays open.

        Raises
        ------
        ModelError
            If the model's own predict does not confirm a refuting point.
        """
        values = np.full(len(found.rows), np.nan)
        structure = structure_shown(context)
        if structure is not None:
            for i, (x, z) in enumerate(zip(found.x[found.rows], found.z[found.rows], strict=True)):
                values[i] = self._settle(structure, x, z, context)
        return found.spread(values)

    def _settle(self, structure: Structure, x: FloatArray, z: FloatArray, context: CellContext) -> float:
        from cfbench.forests import Settled

        target = context.dataset.target
        certificate = certificate_of(structure, context.dataset.space, x, z, target, seconds=self.seconds)
        if certificate.point is None:
            return np.nan if certificate.verdict is Settled.OPEN else 1.0
        kept = bool(context.model().predict(certificate.point[np.newaxis])[0] == target)
        if certificate.verdict is Settled.REFUTED and kept:
            raise ModelError(
                f"the model's structure refutes the class {target} at {certificate.point.tolist()}, the model's own "
                "predict does not: the structure is not the model's, and nothing is certified"
            )
        return float(kept)  # on a linear model the point with the least lead decides where rounding does


def structure_shown(context: CellContext) -> Structure | None:
    """Return the structure of a cell's model; None if it shows none."""
    try:
        return structure_of(context.model())
    except UnavailableError:
        return None


class KProbability(Metric):
    """The probability that a uniform K-perturbation keeps the class of the result, in [0, 1].

    Where `k-robustness` is the share of some draws, this is what it estimates: the middle of an interval that encloses
    the probability for certain. Absent where the interval is still too wide at the limit, and on models that show
    neither trees nor weights.

    Parameters
    ----------
    width : float
        Of the interval, at most.
    seconds : float
        Wall-clock limit a result.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    K-robustness score and the appendix on its number of samples.
    """

    needs_one_of: ClassVar[tuple[Need, ...]] = (Need.FOREST, Need.LINEAR)

    width: float = Field(default=0.01, ge=0, lt=1)
    seconds: float = Field(default=10.0, gt=0)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return one probability per search, NaN if it found nothing or the limit was reached first."""
        dataset = context.dataset
        values = np.full(len(found.rows), np.nan)
        structure = structure_shown(context)
        if structure is not None:
            for i, (x, z) in enumerate(zip(found.x[found.rows], found.z[found.rows], strict=True)):
                interval = probability_of(
                    structure, dataset.space, x, z, dataset.target, width=self.width, seconds=self.seconds
                )
                if interval.width <= self.width:
                    values[i] = interval.middle
        return found.spread(values)
