"""Gradient descent on the model's probability and the distance from `x`: a white box."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import Best, Problem, Searcher
from cfbench.space import FloatArray

DECAY = 0.9, 0.999
"""Of the means of gradients and of their squares, the values that Adam was published with."""

TINY = 1e-12
"""Keeps the steps of features without a gradient finite."""


class GradientDescent(Searcher):
    """Descend from `x` on ``weight * -log(p) + distance``, where p is the model's probability of the target class.

    The counterfactual is that of the smallest weight which leads to the target class. A first round tries `n_weights`
    weights, evenly spaced by their logarithms; a second one as many between the smallest that succeeded and the next
    smaller one. The descents of a round run side by side.

    A step is one of Adam, and the L1 distance is taken care of by soft-thresholding towards `x`, so that features come
    back to `x` exactly. One categorical feature changes per step, to the category that lowers the value most; its
    difference in log-odds is exact. Candidates are projected onto the feasible rows.

    Decisions: Wachter et al. minimise the squared error of the probability; its gradient vanishes where the model is
    sure of another class, so the cross-entropy is used. Their distance is scaled by the median absolute deviation, here
    by the features' ranges, as in Gower's distance. Of all rows that a descent of the target class passes, the cheapest
    counts. A model of the extremes, with infinite log-odds, gives no direction, and the search returns None.

    Parameters
    ----------
    n_weights : int
        Descents per round.
    lowest_weight, highest_weight : float
    n_steps : int
        Steps of each descent.
    step_size : float
        Of Adam, as a share of a feature's range.

    References
    ----------
    Wachter, Mittelstadt and Russell, "Counterfactual explanations without opening the black box: automated decisions
    and the GDPR", Harvard Journal of Law & Technology 31(2), 2018, Eq. 1 and 2. The step: Kingma and Ba, "Adam: a
    method for stochastic optimization", ICLR 2015, algorithm 1.
    """

    n_weights: int = Field(default=16, ge=2)
    lowest_weight: float = Field(default=1e-3, gt=0)
    highest_weight: float = Field(default=1e2, gt=0)
    n_steps: int = Field(default=200, ge=1)
    step_size: float = Field(default=0.02, gt=0)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG002 - draws nothing
        """Return the cheapest row of the target class; None if no weight leads there."""
        weights = np.geomspace(self.lowest_weight, self.highest_weight, self.n_weights)
        best = Best(problem)
        first = self._descend(problem, weights)
        succeeded = np.flatnonzero(np.isfinite(first[:, 0]))
        if len(succeeded):
            i = succeeded[0]
            lower = weights[i - 1] if i > 0 else weights[0] / 10
            second = self._descend(problem, np.geomspace(lower, weights[i], self.n_weights + 1)[1:-1])
            rows = np.concatenate([first, second])
            best.evaluate(rows[np.isfinite(rows[:, 0])])
        return best.choose()

    def _descend(self, problem: Problem, weights: FloatArray) -> FloatArray:
        """Return the cheapest row of the target class that each descent passes; NaN without one; shape (n, d)."""
        space, x = problem.space, problem.x
        n, d = len(weights), space.d
        lower, upper = problem.bounds()
        U = np.tile(x, (n, 1))
        mean, square = np.zeros((n, d)), np.zeros((n, d))
        found, costs = np.full((n, d), np.nan), np.full(n, np.inf)
        per_change = 1.0 / d
        for step in range(1, self.n_steps + 1):
            Z = problem.project(U)
            log_odds, numerical, categories = problem.gradients(Z)
            cost = problem.distance(Z)
            better = (log_odds > 0) & (cost < costs)
            found[better], costs[better] = Z[better], cost[better]
            # The derivative of -log(p) by the log-odds is p - 1.
            slope = -weights * _other_classes(log_odds)
            gradient = slope[:, np.newaxis] * numerical * space.ranges
            mean += (1 - DECAY[0]) * (gradient - mean)
            square += (1 - DECAY[1]) * (gradient**2 - square)
            rate = self.step_size / (np.sqrt(square / (1 - DECAY[1] ** step)) + TINY)
            moved = (U - x) / space.ranges - rate * mean / (1 - DECAY[0] ** step)
            shrunk = np.sign(moved) * np.maximum(np.abs(moved) - rate * per_change, 0.0)
            numbers = np.clip(x + shrunk * space.ranges, lower, upper)
            U = np.where(space.is_categorical, U, numbers)
            self._change_a_category(problem, U, weights, log_odds, categories, per_change)
        return found

    def _change_a_category(
        self,
        problem: Problem,
        U: FloatArray,
        weights: FloatArray,
        log_odds: FloatArray,
        categories: tuple[FloatArray, ...],
        per_change: float,
    ) -> None:
        """Give each row of `U` the one other category that lowers its value most, if any does."""
        lower, upper = problem.bounds()
        each = np.arange(len(U))
        now = weights * np.logaddexp(0.0, -log_odds)
        least, feature, code = np.zeros(len(U)), np.zeros(len(U), dtype=np.int64), np.zeros(len(U))
        for i, differences in enumerate(categories):
            k = differences.shape[1]
            if k < 2:
                continue
            codes = np.arange(k)
            values = weights[:, np.newaxis] * np.logaddexp(0.0, -(log_odds[:, np.newaxis] + differences))
            values += per_change * (codes != problem.x[i])
            values -= (now + per_change * (U[:, i] != problem.x[i]))[:, np.newaxis]
            values[:, (codes < lower[i]) | (codes > upper[i])] = np.inf
            best = np.argmin(values, axis=1)
            better = values[each, best] < least
            least[better], feature[better], code[better] = values[each, best][better], i, best[better]
        changed = least < 0
        U[each[changed], feature[changed]] = code[changed]


def _other_classes(log_odds: FloatArray) -> FloatArray:
    """Return the probability of all other classes, shape (n,), without overflow."""
    probability: FloatArray = np.exp(-np.logaddexp(0.0, log_odds))
    return probability
