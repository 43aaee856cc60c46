"""LORE's rules: paths of a decision tree, those that end in the target class and the one that `x` takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfbench import FeatureSpace, FloatArray, IntArray


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
        # As shares, since the tree computes in single precision and a range may be small beside its values.
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
