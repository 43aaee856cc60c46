"""Gradient descent on the model's probability and the distance from `x`: a white box."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from pydantic import Field

from cfbench import Best, Problem, Searcher
from cfbench.errors import NoFeasibleRowError
from cfbench.space import BoolArray, FloatArray

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

    If relations between features apply, each step ends with `problem.repair`, and categories that it takes back at `x`
    are not tried. Descents from `x` can be held up where a relation and the model pull in opposite directions. So a
    further round starts from feasible rows drawn at random, and descends towards `x`.

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

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return the cheapest row of the target class; None if no weight leads there."""
        weights = np.geomspace(self.lowest_weight, self.highest_weight, self.n_weights)
        best = Best(problem)
        first = self._descend(problem, weights, np.tile(problem.x, (self.n_weights, 1)))
        rounds = [first]
        succeeded = np.flatnonzero(np.isfinite(first[:, 0]))
        if len(succeeded):
            i = succeeded[0]
            lower = weights[i - 1] if i > 0 else weights[0] / 10
            between = np.geomspace(lower, weights[i], self.n_weights + 1)[1:-1]
            rounds.append(self._descend(problem, between, np.tile(problem.x, (len(between), 1))))
        if problem.has_relations:
            with suppress(NoFeasibleRowError):  # too few rows to draw any, but the descents from `x` may have found one
                rounds.append(self._descend(problem, weights, problem.sample(self.n_weights, rng)))
        rows = np.concatenate(rounds)
        rows = rows[np.isfinite(rows[:, 0])]
        if len(rows):
            best.evaluate(rows)
        return best.choose()

    def _descend(self, problem: Problem, weights: FloatArray, starts: FloatArray) -> FloatArray:
        """Return the cheapest row of the target class that each descent passes; NaN without one; shape (n, d)."""
        space, x = problem.space, problem.x
        n, d = len(weights), space.d
        lower, upper = problem.bounds()
        U = starts.copy()
        open_codes = _open_codes(problem)
        mean, square = np.zeros((n, d)), np.zeros((n, d))
        found, costs = np.full((n, d), np.nan), np.full(n, np.inf)
        per_change = 1.0 / d
        for step in range(1, self.n_steps + 1):
            Z = problem.repair(U)
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
            towards_x = rate * per_change
            if problem.has_relations:  # a jump back to `x` at once would miss what lies between, where they allow less
                towards_x = np.minimum(towards_x, self.step_size)
            shrunk = np.sign(moved) * np.maximum(np.abs(moved) - towards_x, 0.0)
            numbers = np.clip(x + shrunk * space.ranges, lower, upper)
            U = np.where(space.is_categorical, Z, numbers)
            _change_a_category(problem.x, U, weights, log_odds, categories, open_codes)
        return found


def _open_codes(problem: Problem) -> list[BoolArray]:
    """Return for each feature which of its categories stay as they are if `x` is given them and then repaired."""
    open_codes = []
    for i, count in enumerate(problem.space.n_categories):
        codes = np.arange(count)
        rows = np.tile(problem.x, (count, 1))
        rows[:, i] = codes
        open_codes.append(problem.repair(rows)[:, i] == codes if count else np.empty(0, dtype=np.bool_))
    return open_codes


def _change_a_category(
    x: FloatArray,
    U: FloatArray,
    weights: FloatArray,
    log_odds: FloatArray,
    categories: tuple[FloatArray, ...],
    open_codes: list[BoolArray],
) -> None:
    """Give each row of `U` the one other category that lowers its value most, if any does."""
    per_change = 1.0 / len(x)
    each = np.arange(len(U))
    now = weights * np.logaddexp(0.0, -log_odds)
    least, feature, code = np.zeros(len(U)), np.zeros(len(U), dtype=np.int64), np.zeros(len(U))
    for i, differences in enumerate(categories):
        k = differences.shape[1]
        if k < 2:
            continue
        codes = np.arange(k)
        values = weights[:, np.newaxis] * np.logaddexp(0.0, -(log_odds[:, np.newaxis] + differences))
        values += per_change * (codes != x[i])
        values -= (now + per_change * (U[:, i] != x[i]))[:, np.newaxis]
        values[:, ~open_codes[i]] = np.inf
        best = np.argmin(values, axis=1)
        better = values[each, best] < least
        least[better], feature[better], code[better] = values[each, best][better], i, best[better]
    changed = least < 0
    U[each[changed], feature[changed]] = code[changed]


def _other_classes(log_odds: FloatArray) -> FloatArray:
    """Return the probability of all other classes, shape (n,), without overflow."""
    probability: FloatArray = np.exp(-np.logaddexp(0.0, log_odds))
    return probability
