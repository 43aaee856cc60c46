"""What a problem measures about candidates without asking the model: their costs, and which of them are plausible."""

from __future__ import annotations

from cfbench.space import BoolArray, FeatureSpace, FloatArray


class Yardstick:
    """Measures candidates on their way from one factual point.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
        The factual point.
    constraints : bool
        Whether the plausibility constraints hold.
    respect_steps : bool
        Whether values off a feature's steps are implausible.
    """

    def __init__(self, space: FeatureSpace, x: FloatArray, *, constraints: bool, respect_steps: bool) -> None:
        self._space = space
        self._x = x
        self._bounds = space.plausible_bounds(x) if constraints else (space.lower, space.upper)
        self._respect_steps = respect_steps

    def cost(self, Z: FloatArray) -> FloatArray:
        """Return the cost of each row of `Z`, shape (n,)."""
        return self._space.cost(Z, self._x)

    def is_plausible(self, Z: FloatArray) -> BoolArray:
        """Return which rows of `Z` are allowed answers, their class aside, shape (n,)."""
        return self._space.is_within(Z, *self._bounds, respect_steps=self._respect_steps)

    def measure(self, Z: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return `cost` and `is_plausible` of each row."""
        return self.cost(Z), self.is_plausible(Z)
