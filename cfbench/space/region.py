"""The feasible rows of one factual point: the box, and the relations that hold in it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cfbench.errors import NoFeasibleRowError, ProjectionError
from cfbench.space.box import FeasibleBox
from cfbench.space.relations import Condition, ForbiddenTransition, Implication, Inequality, Relation
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray

ROUNDS = 8
"""Times that each relation is restored, at most, before a row is given up: restoring one may break another."""

MOST_DRAWS = 1_000_000
"""Rows drawn from the box, at least, before sampling gives up."""

_AT_ONCE = 20_000


class FeasibleRegion:
    """What intervals, categories, constraints, steps and relations leave around one factual point.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
    constraints : bool
        Whether the constraints apply, relations among them.
    respect_steps : bool

    Attributes
    ----------
    box : FeasibleBox
    """

    def __init__(self, space: FeatureSpace, x: FloatArray, *, constraints: bool, respect_steps: bool) -> None:
        self.box = FeasibleBox(space, x, constraints=constraints, respect_steps=respect_steps)
        self._space = space
        self._x = x
        self._relations = space.relations if constraints else ()
        self._transitions = [each for each in self._relations if isinstance(each, ForbiddenTransition)]
        # Relations on one number are ends of the box.
        self._coupled = [
            each
            for each in self._relations
            if isinstance(each, Implication) or (isinstance(each, Inequality) and len(each.features) > 1)
        ]

    def project(self, Z: FloatArray) -> FloatArray:
        """Return the nearest feasible rows, as :meth:`cfbench.Problem.project` does."""
        Z = self.box.nearest(Z)
        if not self._relations:
            return Z
        if self._obstacle:
            raise ProjectionError(
                f"the nearest feasible rows have no closed form: {self._obstacle}. Problem.repair(Z) returns feasible "
                "rows near Z"
            )
        rows = self._restored(np.atleast_2d(Z), rounds=1)
        if not self._keeps(rows).all():
            raise NoFeasibleRowError(self._nothing())
        return rows.reshape(Z.shape)

    def repair(self, Z: FloatArray) -> FloatArray:
        """Return feasible rows near those of `Z`, as :meth:`cfbench.Problem.repair` does."""
        Z = self.box.nearest(Z)
        if not self._relations:
            return Z
        rows = self._restored(np.atleast_2d(Z), rounds=ROUNDS)
        broken = ~self._keeps(rows)
        if broken.any():
            rows[broken] = self.home
        return rows.reshape(Z.shape)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw feasible rows uniformly, as :meth:`cfbench.Problem.sample` does."""
        if not self._relations:
            return self.box.sample(n, rng)
        if (self.box.lower > self.box.upper).any():
            raise NoFeasibleRowError(self._nothing())
        found, count, drawn = [np.empty((0, self._space.d))], 0, 0
        while count < n:
            if drawn >= max(MOST_DRAWS, 1000 * n):
                raise NoFeasibleRowError(
                    f"{count} of {drawn:,} rows drawn between the bounds keep the relations; a sample needs {n}"
                )
            Z = self.box.sample(min(max(n, drawn), _AT_ONCE), rng)
            drawn += len(Z)
            found.append(Z[self._keeps(Z)])
            count += len(found[-1])
        return np.concatenate(found)[:n]

    @cached_property
    def home(self) -> FloatArray:
        """A feasible row near `x`, shape (d,): the nearest one if `x` breaks no relation."""
        home = self.box.nearest(self._x)
        if not self._relations:
            return home
        moved = self._restored(home[np.newaxis], rounds=ROUNDS)
        if self._keeps(moved)[0]:
            restored: FloatArray = moved[0]
            return restored
        rows = self.sample(100, np.random.default_rng(0))
        nearest: FloatArray = rows[np.argmin(self._space.gower(rows, self._x))]
        return nearest

    def _keeps(self, rows: FloatArray) -> BoolArray:
        kept: BoolArray = np.all((rows >= self.box.lower) & (rows <= self.box.upper), axis=1)
        return kept & self._space.keeps_relations(rows, self._x) if self._relations else kept

    def _restored(self, rows: FloatArray, rounds: int) -> FloatArray:
        """Return rows of the box moved to where they keep each relation, one relation after the other."""
        rows = rows.copy()
        for transition in self._transitions:
            i = transition.feature
            rows[~transition.holds(rows, self._x), i] = self._x[i]
        for _ in range(rounds):
            is_moved = False
            for relation in self._coupled:
                broken = np.flatnonzero(~relation.holds(rows, self._x))
                if len(broken):
                    rows[broken] = self._nearest_keeping(relation, rows[broken])
                    is_moved = True
            if not is_moved:
                break
        return rows

    def _nearest_keeping(self, relation: Relation, rows: FloatArray) -> FloatArray:
        """Return the rows of the box nearest to `rows` that keep one relation; rows that cannot stay as they are."""
        if isinstance(relation, Inequality):
            return self._lowered(relation, rows)
        assert isinstance(relation, Implication)
        options = [self._moved_into(option, rows) for option in relation.options(self._space.features)]
        costs = np.array([cost for _, cost in options])
        best = np.argmin(costs, axis=0)
        nearest: FloatArray = np.array([moved for moved, _ in options])[best, np.arange(len(rows))]
        return np.where(np.isfinite(costs.min(axis=0))[:, np.newaxis], nearest, rows)

    def _lowered(self, relation: Inequality, rows: FloatArray) -> FloatArray:
        """Lower a weighted sum to its limit: first by the features that lower it most for their share of Gower.

        For numbers without steps these are the nearest rows: Gower's distance is a sum of shares of the ranges, so each
        feature buys its part of the excess at a constant price, until its bound is reached.
        """
        rows = rows.copy()
        weights = np.abs(relation.coefficients) * self._space.ranges[list(relation.features)]
        for place in np.argsort(-weights, kind="stable"):
            i, coefficient = relation.features[place], relation.coefficients[place]
            excess, rounding = relation.excess(rows)
            excess = np.where(excess > rounding, excess, 0.0)
            move = -excess / coefficient
            spacing = self.box.spacing[i]
            if spacing > 0:  # away from the limit, to the next multiple
                move = np.sign(move) * np.ceil(np.abs(move) / spacing - 1e-9) * spacing
            features = np.full(len(rows), i)
            rows[:, i] = np.where(excess > 0, self.box.nearest(rows[:, i] + move, features), rows[:, i])
        return rows

    def _moved_into(self, option: tuple[Condition, ...], rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the nearest rows of the box that fulfil all conditions, and their distances; infinite if none do."""
        moved, cost = rows.copy(), np.zeros(len(rows))
        for part in option:
            i = part.feature
            if part.codes:
                outside = ~part.holds(moved)
                codes = [code for code in part.codes if self._is_allowed(i, code)]
                if not codes:
                    cost[outside] = np.inf
                    continue
                moved[outside, i] = self._x[i] if self._x[i] in codes else codes[0]
                cost += outside
                continue
            lower, upper = self._ends(part)
            if lower > upper:
                cost[~part.holds(moved)] = np.inf
                continue
            moved[:, i] = np.clip(moved[:, i], lower, upper)
            cost += np.abs(moved[:, i] - rows[:, i]) / self._space.ranges[i]
        return moved, cost

    def _ends(self, part: Condition) -> tuple[float, float]:
        """Return the outermost values in the box that fulfil a condition on a number."""
        i = part.feature
        lower, upper = max(part.lower, float(self.box.lower[i])), min(part.upper, float(self.box.upper[i]))
        spacing = float(self.box.spacing[i])
        if spacing == 0:
            return lower, upper
        first, last = self.box.nearest(np.array([lower, upper]), np.array([i, i]))
        return float(first if first >= lower else first + spacing), float(last if last <= upper else last - spacing)

    def _is_allowed(self, i: int, code: int) -> bool:
        """Return whether a category is in the box, and `x` may become it."""
        if not self.box.lower[i] <= code <= self.box.upper[i]:
            return False
        row = self._x[np.newaxis].copy()
        row[0, i] = code
        return all(each.feature != i or bool(each.holds(row, self._x)[0]) for each in self._transitions)

    @cached_property
    def _obstacle(self) -> str:
        """Why restoring each relation once does not give the nearest rows; empty if it does."""
        taken: dict[int, Relation] = {}
        for relation in self._coupled:
            free = [i for i in _features_of(relation) if self.box.lower[i] < self.box.upper[i]]
            for i in free:
                other = taken.setdefault(i, relation)
                if other is not relation:
                    return f"{other.name} and {relation.name} share the feature {self._space.names[i]!r}"
            stepped = [i for i in free if self.box.spacing[i] > 0]
            if isinstance(relation, Inequality) and stepped and len(free) > 1:
                return f"steps are respected, and {relation.name} has the step of {self._space.names[stepped[0]]!r}"
        return ""

    def _nothing(self) -> str:
        return "no row between the bounds keeps the relations: " + "; ".join(each.text for each in self._relations)


def _features_of(relation: Relation) -> list[int]:
    """Return the features of a relation, each once."""
    if isinstance(relation, Inequality):
        return list(relation.features)
    assert isinstance(relation, Implication)
    return sorted({part.feature for part in (*relation.conditions, *relation.consequences)})
