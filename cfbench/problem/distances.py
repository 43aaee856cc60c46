"""A problem's CandidateMeasure in compiled form, where numba is loaded already."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import Kernels
from cfbench.problem.problem import CandidateMeasure
from cfbench.space.feature import FeatureSpec
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray, Kind

MOST_FEATURES = 128
"""Of more numbers than that, numpy adds up parts on their own."""

KERNELS = Kernels(modules=("cfbench.problem.distance_kernels",), warmup=__name__)


class FastCandidateMeasure(CandidateMeasure):
    """Measures by compiled code, with the bits of numpy's."""

    def __init__(self, space: FeatureSpace, x: FloatArray, *, constraints: bool, respect_steps: bool) -> None:
        super().__init__(space, x, constraints=constraints, respect_steps=respect_steps)
        loaded = KERNELS.load_if_compiled() if space.d <= MOST_FEATURES else None
        self._ask: Any = None if loaded is None else loaded[0]
        steps = space.steps if respect_steps else np.full(space.d, np.nan)
        # Copies: compiled code is made for arrays that may be written.
        self._kinds = space.is_categorical.copy()
        self._way = x.copy(), space.ranges.copy()
        self._box = self._bounds[0].copy(), self._bounds[1].copy()
        self._steps = steps.copy()

    def cost(self, Z: FloatArray) -> FloatArray:
        """Return the cost of each row of `Z`, shape (n,)."""
        if self._serves(Z):
            costs: FloatArray = self._ask.costs(Z, *self._way, self._kinds)
            return costs
        return super().cost(Z)

    def is_feasible(self, Z: FloatArray) -> BoolArray:
        """Return which rows of `Z` are feasible, whatever their class, shape (n,)."""
        if self._serves(Z):
            feasible: BoolArray = self._ask.are_within(Z, *self._box, self._kinds, self._steps)
            return self._keeping(Z, feasible)
        return super().is_feasible(Z)

    def measure(self, Z: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return `cost` and `is_feasible` of each row."""
        if self._serves(Z):
            cost, within = self._ask.measures(Z, *self._way, *self._box, self._kinds, self._steps)
            return cost, self._keeping(Z, within)
        return super().measure(Z)

    def _serves(self, Z: FloatArray) -> bool:
        """Whether `Z` has the one form that the kernels are compiled for."""
        return (
            self._ask is not None
            and isinstance(Z, np.ndarray)
            and Z.dtype == np.float64
            and Z.ndim == 2
            and Z.shape[1] == len(self._steps)
            and Z.flags.carray
        )


def warm_up() -> None:
    """Call every kernel."""
    import numba  # noqa: F401 - what is loaded together with others needs another

    space = FeatureSpace((FeatureSpec("size", Kind.NUMERICAL, 0, 1),))
    measure = FastCandidateMeasure(space, np.zeros(1), constraints=False, respect_steps=True)
    Z = np.zeros((1, 1))
    for ask in (measure.cost, measure.is_feasible, measure.measure):
        ask(Z)
