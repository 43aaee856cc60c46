"""LORE: a decision tree on a genetic neighbourhood of `x`, and one of its rules applied to `x`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from cfbench import FeatureSpace, PrepareContext, Problem, Searcher
from cfbench.registry import SearchFunction
from cfbench.space import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Rule:
    """A path to a leaf of the target class, as what it makes of `x`.

    Parameters
    ----------
    features : ndarray of int64, shape (k,)
        The features whose conditions `x` violates.
    values : ndarray of float64, shape (k,)
        The threshold of a violated numerical condition, or a category that the rule allows.
    directions : ndarray of float64, shape (k,)
        1 where the condition asks for more than the threshold, -1 where for at most it, 0 for a category.
    n_conditions : int
        Conditions of the whole rule: an interval's ends count one each, a categorical feature counts once.
    """

    features: IntArray
    values: FloatArray
    directions: FloatArray
    n_conditions: int

    def applied(self, x: FloatArray, pushes: FloatArray) -> FloatArray:
        """Return `x` with the rule applied, its numerical thresholds passed by each of `pushes`; shape (n, d)."""
        Z = np.tile(x, (len(pushes), 1))
        Z[:, self.features] = self.values + np.outer(pushes, self.directions)
        return Z


@dataclass(frozen=True, eq=False)
class FactualRule:
    """The path that `x` takes, as far as it is about numerical features: conditions that `x` fulfils.

    Parameters
    ----------
    features : ndarray of int64, shape (k,)
        The numerical features of the path.
    lower, upper : ndarray of float64, shape (k,)
        A feature's value is above `lower` and at most `upper`; an end that the path does not set is infinite.
    """

    features: IntArray
    lower: FloatArray
    upper: FloatArray

    def applied(self, x: FloatArray, pushes: FloatArray) -> FloatArray:
        """Return `x` moved to the ends of the conditions, and from there inwards by each of `pushes`; shape (n, d).

        Of two ends, the one is taken that is nearer to `x` once it has been pushed, and the upper one of two that are
        equally near.
        """
        Z = np.tile(x, (len(pushes), 1))
        low = self.lower + pushes[:, np.newaxis]
        high = self.upper - pushes[:, np.newaxis]
        now = x[self.features]
        Z[:, self.features] = np.where(np.abs(now - low) < np.abs(now - high), low, high)
        return Z


def factual_rule(
    space: FeatureSpace, x: FloatArray, Z: FloatArray, classes: IntArray, *, seed: int
) -> FactualRule | None:
    """Fit a decision tree to a neighbourhood of `x` and return the rule that `x` fulfils.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
    Z : ndarray of float64, shape (n, d)
    classes : ndarray of int64, shape (n,)
        What the model says of `Z`.
    seed : int
        For ties between splits.

    Returns
    -------
    FactualRule or None
        None where the path has no numerical condition. A categorical one that `x` fulfils would change nothing.
    """
    columns = _Columns(space)
    tree = _fitted_tree(columns.encode(Z), classes, seed)
    taken = tree.apply(columns.encode(x[np.newaxis]))[0]
    lower, upper = next((lower, upper) for leaf, lower, upper in _paths(tree.tree_, columns.count) if leaf == taken)
    return columns.factual(lower, upper)


def counterfactual_rules(
    space: FeatureSpace, x: FloatArray, Z: FloatArray, classes: IntArray, *, target: int, seed: int
) -> list[Rule]:
    """Fit a decision tree to a neighbourhood of `x` and return its rules for the class `target`.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
    Z : ndarray of float64, shape (n, d)
    classes : ndarray of int64, shape (n,)
        What the model says of `Z`.
    target : int
    seed : int
        For ties between splits.

    Returns
    -------
    list of Rule
        Without those that `x` keeps: they would leave it as it is.
    """
    columns = _Columns(space)
    encoded = columns.encode(Z)
    tree = _fitted_tree(encoded, classes, seed)
    leaf_of = tree.apply(encoded)
    majority = tree.classes_[np.argmax(tree.tree_.value[:, 0, :], axis=1)]
    rules = [
        columns.rule(x, lower, upper, Z[leaf_of == leaf])
        for leaf, lower, upper in _paths(tree.tree_, columns.count)
        if majority[leaf] == target
    ]
    return [rule for rule in rules if len(rule.features)]


def _fitted_tree(encoded: FloatArray, classes: IntArray, seed: int) -> Any:
    """Fit scikit-learn's tree."""
    from sklearn.tree import DecisionTreeClassifier  # slow to import

    # C4.5, which the authors use, requires two cases in a leaf as well.
    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=seed).fit(encoded, classes)


def _paths(tree: object, k: int) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Walk scikit-learn's `tree`: each leaf with the bounds that its path sets on the k columns, in (lower, upper]."""
    left, right, column, threshold = (
        getattr(tree, name) for name in ("children_left", "children_right", "feature", "threshold")
    )
    waiting = [(0, np.full(k, -np.inf), np.full(k, np.inf))]
    while waiting:
        node, lower, upper = waiting.pop()
        if left[node] == right[node]:
            yield node, lower, upper
            continue
        i, cut = column[node], threshold[node]
        above, below = lower.copy(), upper.copy()
        above[i] = max(lower[i], cut)
        below[i] = min(upper[i], cut)
        waiting += [(right[node], above, upper), (left[node], lower, below)]


class _Columns:
    """What the tree sees: numerical features as shares of their ranges, each category as a column of its own."""

    def __init__(self, space: FeatureSpace) -> None:
        pairs = [
            (i, code)
            for i, feature in enumerate(space.features)
            for code in (range(feature.n_categories) if feature.n_categories else [-1])
        ]
        self._feature, self._code = np.array(pairs, dtype=np.int64).T
        self.count = len(pairs)
        self._start = space.lower[self._feature]
        self._range = space.ranges[self._feature]

    def encode(self, Z: FloatArray) -> FloatArray:
        """Return the columns of the rows of `Z`, shape (n, k)."""
        values = Z[:, self._feature]
        # As shares, since the tree computes in single precision and a range may be small compared with its values.
        columns: FloatArray = np.where(self._code < 0, (values - self._start) / self._range, values == self._code)
        return columns

    def factual(self, lower: FloatArray, upper: FloatArray) -> FactualRule | None:
        """Return the rule whose conditions are ``(lower, upper]`` on the columns; None without a numerical one."""
        chosen = np.flatnonzero((self._code < 0) & (np.isfinite(lower) | np.isfinite(upper)))
        if not len(chosen):
            return None
        start, width = self._start[chosen], self._range[chosen]
        return FactualRule(self._feature[chosen], start + lower[chosen] * width, start + upper[chosen] * width)

    def rule(self, x: FloatArray, lower: FloatArray, upper: FloatArray, rows: FloatArray) -> Rule:
        """Return the rule whose conditions are ``(lower, upper]`` on the columns and whose leaf holds `rows`."""
        now = self.encode(x[np.newaxis])[0]
        too_low, too_high = now <= lower, now > upper
        changes: dict[int, tuple[float, float]] = {}
        for column in np.flatnonzero(too_low | too_high):
            feature = int(self._feature[column])
            if self._code[column] >= 0:
                # Whatever category most neighbours in the leaf have: it keeps every condition of the path.
                changes[feature] = float(np.bincount(rows[:, feature].astype(int)).argmax()), 0.0
                continue
            share, direction = (lower[column], 1.0) if too_low[column] else (upper[column], -1.0)
            changes[feature] = float(self._start[column] + share * self._range[column]), direction
        numerical = self._code < 0
        sides = np.isfinite(lower[numerical]).sum() + np.isfinite(upper[numerical]).sum()
        conditioned = self._feature[~numerical & (np.isfinite(lower) | np.isfinite(upper))]
        values, directions = zip(*changes.values(), strict=True) if changes else ((), ())
        return Rule(
            features=np.array(list(changes), dtype=np.int64),
            values=np.array(values, dtype=np.float64),
            directions=np.array(directions, dtype=np.float64),
            n_conditions=int(sides + len(np.unique(conditioned))),
        )


class Lore(Searcher):
    """LOcal Rule-based Explanations that return one counterfactual.

    Two genetic populations around `x`, one of its class and one of another, make a neighbourhood; a decision tree is
    fitted to what the model says of it. Its counterfactual rules are the paths to leaves of the target class whose
    conditions `x` violates in as few features as possible. The shortest is applied to `x`; where the model does not say
    the target class then, the thresholds of the violated numerical conditions are passed by `epsilon`, doubled at each
    further attempt.

    Decisions: scikit-learn's tree with entropy stands in for C4.5. Of equally short rules the one that costs least is
    applied. The model is queried once per generation, and once for all attempts together. All candidates stay in the
    feasible box. A search that exhausts its query budget lets that pass: what it has queried until then is judged.

    The published experiments applied the factual rule, the path that `x` itself takes, instead of a counterfactual one
    (`rule="factual"`). Every numerical feature of that path moves to the threshold of its condition and from there
    *inwards* by `epsilon`; of an interval the nearer end is taken. The target class is ignored, and a single rule needs
    no order by length. So a result of the target class comes about where the tree's threshold is not the model's.

    Decisions for the factual rule: its attempts stay in the feasible box as well, where the published ones also counted
    outside the intervals. The published C4.5 tree has fewer numerical conditions and succeeds less often than ours.

    Parameters
    ----------
    population_size : int
        Of the neighbourhood: a multiple of 4, since it has two halves whose parents are paired.
    n_generations : int
    tournament_size : int
    crossover_probability : float
        Of a pair of parents.
    mutation_probability : float
        Of a child, and of each feature of a child that is mutated.
    n_attempts : int
        At passing the thresholds.
    epsilon : float
        In the features' units.
    rule : {"counterfactual", "factual"}
        Which rule of the tree is applied to `x`.

    References
    ----------
    Guidotti, Monreale, Ruggieri, Pedreschi, Turini and Giannotti, "Local rule-based explanations of black box decision
    systems", 2018, algorithms 1 and 2; Guidotti, Monreale, Giannotti, Pedreschi, Ruggieri and Turini, "Factual and
    counterfactual explanations for black box decision making", IEEE Intelligent Systems 34(6), 2019. The attempts:
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations",
    subsection "LORE".
    """

    population_size: int = Field(default=1000, ge=4)
    n_generations: int = Field(default=10, ge=1)
    tournament_size: int = Field(default=3, ge=1)
    crossover_probability: float = Field(default=0.5, ge=0, le=1)
    mutation_probability: float = Field(default=0.2, gt=0, le=1)
    n_attempts: int = Field(default=15, ge=0)
    epsilon: float = Field(default=1e-3, gt=0)
    rule: Literal["counterfactual", "factual"] = "counterfactual"

    @field_validator("population_size")
    @classmethod
    def _paired_halves(cls, size: int) -> int:
        if size % 4:
            raise ValueError(
                f"the population has two halves whose parents are paired, so {size} must be a multiple of 4; "
                f"try {size - size % 4} or {size - size % 4 + 4}"
            )
        return size

    def prepare(self, context: PrepareContext) -> SearchFunction:
        """Compute what the neighbourhoods of all points take from the training fold."""
        assert context.training is not None  # the entry needs it
        return partial(self._search, FoldValues.of(context.training.X, context.space))

    def _search(self, fold: FoldValues, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return what the rule makes of `x`; None without a rule or a hit of the target class."""
        x = problem.project(problem.x)
        Z, classes = self.neighbourhood(problem, fold.pool(problem, rng), rng)
        seed = int(rng.integers(2**31))
        rule = self._rule(problem, x, Z, classes, seed)
        if rule is None:
            if self.rule == "factual":
                problem.give_reason("the rule of x has no numerical condition")
            return None
        pushes = np.append(0.0, self.epsilon * 2.0 ** np.arange(self.n_attempts))
        attempts = problem.project(rule.applied(x, pushes))
        hits = np.flatnonzero(problem.predict(attempts) == problem.target)
        if not len(hits) and self.rule == "factual":
            problem.give_reason("no attempt at applying the rule of x is of the target class")
        return attempts[hits[0]] if len(hits) else None

    def _rule(
        self, problem: Problem, x: FloatArray, Z: FloatArray, classes: IntArray, seed: int
    ) -> Rule | FactualRule | None:
        """Return the rule to apply: that of `x`, or the shortest one of the target class; None without one.

        Of equally short rules it is the one that costs least.
        """
        if self.rule == "factual":
            return factual_rule(problem.space, x, Z, classes, seed=seed)
        rules = counterfactual_rules(problem.space, x, Z, classes, target=problem.target, seed=seed)
        if not rules:
            return None
        plain = problem.project(np.concatenate([rule.applied(x, np.zeros(1)) for rule in rules]))
        lengths = [(len(rule.features), rule.n_conditions) for rule in rules]
        shortest = min(range(len(rules)), key=list(zip(lengths, problem.distance(plain), strict=True)).__getitem__)
        return rules[shortest]

    def neighbourhood(
        self, problem: Problem, pool: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, IntArray]:
        """Evolve the neighbourhood of `x`; a generation of both populations is one query batch.

        Mutations draw from the feasible values in `pool`, shape (m, d).

        The fitness of a neighbour is ``[it has the class wanted] + 1 - distance``, less 1 where it is `x` itself
        (Guidotti et al. 2018, the fitness functions of algorithm 2).

        Returns
        -------
        Z : ndarray of float64, shape (1 + population_size, d)
            `x` and both populations.
        classes : ndarray of int64, shape (1 + population_size,)
            What the model says of `Z`.
        """
        x = problem.project(problem.x)[np.newaxis]
        class_of_x = problem.predict(x)
        half = self.population_size // 2
        Z = np.repeat(x, 2 * half, axis=0)
        classes = np.repeat(class_of_x, 2 * half)
        for _ in range(self.n_generations):
            wanted = classes == class_of_x
            wanted[half:] ^= True
            fitness = wanted + 1 - mixed_distance(problem.space, Z, x[0]) - np.all(Z == x, axis=1)
            Z = np.concatenate(
                [self._breed(Z[:half], fitness[:half], pool, rng), self._breed(Z[half:], fitness[half:], pool, rng)]
            )
            classes = problem.predict(Z)
        return np.concatenate([x, Z]), np.concatenate([class_of_x, classes])

    def _breed(
        self, parents: FloatArray, fitness: FloatArray, pool: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Select by tournaments, cross pairs between two points, mutate with values from `pool`; shape (n, d)."""
        n, d = parents.shape
        contenders = rng.integers(n, size=(n, self.tournament_size))
        chosen = parents[contenders[np.arange(n), np.argmax(fitness[contenders], axis=1)]]

        cuts = np.sort(rng.integers(d, size=(n // 2, 2), endpoint=True), axis=1)
        swapped = (cuts[:, :1] <= np.arange(d)) & (np.arange(d) < cuts[:, 1:])
        swapped &= rng.random((n // 2, 1)) < self.crossover_probability
        first, second = chosen[: n // 2], chosen[n // 2 :]
        children = np.concatenate([np.where(swapped, second, first), np.where(swapped, first, second)])

        mutated = rng.random((n, 1)) < self.mutation_probability
        mutated = mutated & (rng.random((n, d)) < self.mutation_probability)
        np.copyto(children, pool[rng.integers(len(pool), size=(n, d)), np.arange(d)], where=mutated)
        return children


def mixed_distance(space: FeatureSpace, Z: FloatArray, x: FloatArray) -> FloatArray:
    """Distance of each row of `Z` from `x`, in [0, 1], shape (n,).

    Simple match over the categorical features and the normalised Euclidean distance over the numerical ones, weighted
    by how many there are of each; numbers are taken as shares of their ranges.
    """
    share = space.is_categorical.mean()
    distance = np.zeros(len(Z))
    if share > 0:
        distance += share * np.mean((Z != x)[:, space.is_categorical], axis=1)
    if share < 1:
        moves = ((Z - x) / space.ranges)[:, ~space.is_categorical]
        distance += (1 - share) * np.sqrt(np.mean(moves**2, axis=1))
    return distance


@dataclass(frozen=True, eq=False)
class FoldValues:
    """What the values that mutations draw from are made of: a training fold and what is computed from it once.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
    mean, deviation : ndarray of float64, shape (d,)
    codes : dict of int to ndarray of float64
        By categorical feature: the categories that occur.
    """

    X: FloatArray
    mean: FloatArray
    deviation: FloatArray
    codes: dict[int, FloatArray]

    @classmethod
    def of(cls, X: FloatArray, space: FeatureSpace) -> Self:
        """Take what is needed of training rows."""
        codes = {int(i): np.unique(X[:, i]) for i in np.flatnonzero(space.is_categorical)}
        return cls(X, X.mean(axis=0), X.std(axis=0), codes)

    def pool(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """Return feasible values, those of a feature in its column; shape (2 n, d).

        The settings "discrete use probabilities" and "continuous function estimation" are off, as in the paper:
        categories that occur in the training fold, each as likely; numbers that occur there, and as many again from the
        normal distribution with their mean and deviation.
        """
        pool = np.concatenate([self.X, self.mean + self.deviation * rng.standard_normal(self.X.shape)])
        for i, codes in self.codes.items():
            pool[:, i] = rng.choice(codes, size=len(pool))
        return problem.project(pool)
