"""The feature space: intervals, categories, constraints, perturbations, and the distances measured in it.

One coordinate system for everything in cfbench: a point is a float64 vector in feature order, numerical values in raw
units, categories as codes ``0 .. k-1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cfbench.digests import digest_of
from cfbench.errors import DataError
from cfbench.space.feature import CategoricalPerturbation, Constraint, FeatureSpec, Kind, NumericalPerturbation
from cfbench.space.relations import ForbiddenTransition, Inequality, read_relations
from cfbench.text import exact

__all__ = [
    "BoolArray",
    "CategoricalPerturbation",
    "Constraint",
    "FeatureSpace",
    "FeatureSpec",
    "FloatArray",
    "IntArray",
    "Kind",
    "NumericalPerturbation",
]

FloatArray = NDArray[np.float64]
"""Rows, or numbers about rows."""
IntArray = NDArray[np.int64]
"""Classes, counts, or positions."""
BoolArray = NDArray[np.bool_]
"""Whether something is true, per row or per feature."""
A = TypeVar("A", bound=NDArray[Any])


@dataclass(frozen=True)
class FeatureSpace:
    """The features of a data set in order, and the geometry that they span.

    Parameters
    ----------
    features : tuple of FeatureSpec
        At least one, with names of their own.
    relations : iterable, becomes a tuple of Relation
        Relations between features, in the form of annotations.toml: ``"debt <= 5 * income"``, ``{"if": {"job":
        "none"}, "then": {"income": "<= 1"}}``, ``{"feature": "marital", "from": "married", "to": ["single"]}``.

    Raises
    ------
    DataError
        If there is no feature, a name occurs twice, or a relation is not written as it must be.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import FeatureSpace, FeatureSpec, Kind
    >>> income = FeatureSpec("income", Kind.NUMERICAL, 0, 100)
    >>> colour = FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=("red", "green", "blue"))
    >>> space = FeatureSpace((income, colour))
    >>> x, Z = np.array([20.0, 0.0]), np.array([[70.0, 0.0], [70.0, 2.0]])
    >>> space.gower(Z, x).tolist(), space.l0(Z, x).tolist()
    ([0.25, 0.75], [1, 2])
    """

    features: tuple[FeatureSpec, ...]
    relations: Any = ()  # given as tables, kept as a tuple of Relation

    def __post_init__(self) -> None:
        if not self.features:
            raise DataError("a feature space needs at least one feature")
        names = [feature.name for feature in self.features]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise DataError(f"feature {repeated[0]!r} is annotated more than once; every feature needs its own name")
        if isinstance(self.relations, (str, Mapping)) or not isinstance(self.relations, Iterable):
            raise DataError(f"relations is {self.relations!r}; it must be a list of relations")
        object.__setattr__(self, "relations", read_relations(self.relations, self.features))

    def __len__(self) -> int:
        return len(self.features)

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def lower(self) -> FloatArray:
        """Lower ends of the intervals, shape (d,)."""
        return _frozen(np.array([feature.lower for feature in self.features], dtype=np.float64))

    @cached_property
    def upper(self) -> FloatArray:
        """Upper ends of the intervals, shape (d,)."""
        return _frozen(np.array([feature.upper for feature in self.features], dtype=np.float64))

    @cached_property
    def ranges(self) -> FloatArray:
        """``max_i - min_i`` of the annotated intervals, shape (d,); 1 for categorical features, which do not use it."""
        return _frozen(np.where(self.is_categorical, 1.0, self.upper - self.lower))

    @cached_property
    def is_categorical(self) -> BoolArray:
        """Which features are categorical, shape (d,)."""
        return _frozen(np.array([feature.kind is Kind.CATEGORICAL for feature in self.features]))

    @cached_property
    def n_categories(self) -> IntArray:
        """Number of categories a feature, shape (d,); 0 for numerical ones."""
        return _frozen(np.array([feature.n_categories for feature in self.features], dtype=np.int64))

    @cached_property
    def steps(self) -> FloatArray:
        """The features' steps, shape (d,); NaN where a feature has none."""
        return _frozen(np.array([feature.step or np.nan for feature in self.features], dtype=np.float64))

    @cached_property
    def digest(self) -> str:
        """Digest of everything in the annotation that can change a result."""
        content: list[object] = [feature.content() for feature in self.features]
        if self.relations:
            content.append({"relations": [relation.content() for relation in self.relations]})
        return digest_of(content)

    def changed(self, Z: FloatArray, x: FloatArray) -> BoolArray:
        """Which features of each row differ from `x` exactly (the paper's C), shape (n, d)."""
        differs: BoolArray = Z != x
        return differs

    def gower(self, Z: FloatArray, x: FloatArray) -> FloatArray:
        """Gower's distance of each row of `Z` from `x` (the paper's gamma, Eq. 10).

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        x : ndarray of float64, shape (d,)

        Returns
        -------
        ndarray of float64, shape (n,)
            In [0, 1] for rows inside the intervals; the range of a numerical feature is that of its annotated interval.
        """
        return self._gower(Z, x, self.changed(Z, x))

    def l0(self, Z: FloatArray, x: FloatArray) -> IntArray:
        """How many features of each row differ from `x`, shape (n,)."""
        count: IntArray = self.changed(Z, x).sum(axis=1)
        return count

    def cost(self, Z: FloatArray, x: FloatArray) -> FloatArray:
        """Half of Gower's distance plus half of the share of changed features (Eq. 9 without its last term)."""
        changed = self.changed(Z, x)
        value: FloatArray = 0.5 * self._gower(Z, x, changed) + 0.5 * changed.sum(axis=1) / self.d
        return value

    def _gower(self, Z: FloatArray, x: FloatArray, changed: BoolArray) -> FloatArray:
        apart = Z - x
        np.abs(apart, out=apart)
        apart /= self.ranges
        np.copyto(apart, changed, where=self.is_categorical)
        total: FloatArray = apart.sum(axis=1) / self.d
        return total

    def feasible_bounds(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The part of the intervals that the constraints leave to an intervention that starts at `x`.

        Returns
        -------
        lower, upper : ndarray of float64, shape (d,)
            Equal to ``x_i`` where the feature may not change. An inequality on one feature narrows its interval; the
            lower end is above the upper one if that leaves no value.
        """
        lower, upper = self._constraint_bounds(x)
        for relation in self.relations:
            if isinstance(relation, Inequality) and len(relation.features) == 1:
                i, coefficient = relation.features[0], relation.coefficients[0]
                bound = relation.limit / coefficient
                if coefficient > 0:
                    upper[i] = min(upper[i], bound)
                else:
                    lower[i] = max(lower[i], bound)
        return lower, upper

    def _constraint_bounds(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        constraints = [feature.constraint for feature in self.features]
        no_lower = np.array([c in (Constraint.FIXED, Constraint.ONLY_UP) for c in constraints])
        no_higher = np.array([c in (Constraint.FIXED, Constraint.ONLY_DOWN) for c in constraints])
        return np.where(no_lower, x, self.lower), np.where(no_higher, x, self.upper)

    def keeps_relations(self, Z: FloatArray, x: FloatArray) -> BoolArray:
        """Return which rows of `Z`, shape (n, d), keep all relations as changes of `x`, shape (n,)."""
        kept = np.ones(len(Z), dtype=bool)
        for relation in self.relations:
            kept &= relation.holds(Z, x)
        return kept

    def forbids_step(self, before: FloatArray, after: FloatArray) -> BoolArray:
        """Return which steps from `before` to `after`, both (..., d), contain a forbidden transition, shape (...)."""
        forbidden = np.zeros(np.broadcast_shapes(before.shape, after.shape)[:-1], dtype=bool)
        for relation in self.relations:
            if isinstance(relation, ForbiddenTransition):
                forbidden |= relation.is_step(before, after)
        return forbidden

    def is_feasible(self, Z: FloatArray, x: FloatArray, *, constraints: bool, respect_steps: bool = False) -> BoolArray:
        """Return which rows are feasible for `x`, whatever their class.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        x : ndarray of float64, shape (d,)
        constraints : bool
            Whether the constraints apply, relations among them, in addition to intervals and categories.
        respect_steps : bool
            Whether a value off the multiples of its feature's step is infeasible.

        Returns
        -------
        ndarray of bool, shape (n,)
            False for rows with a NaN or an infinity, too.
        """
        lower, upper = self.feasible_bounds(x) if constraints else (self.lower, self.upper)
        feasible = self.is_within(Z, lower, upper, respect_steps=respect_steps)
        return feasible & self.keeps_relations(Z, x) if constraints and self.relations else feasible

    def is_within(self, Z: FloatArray, lower: FloatArray, upper: FloatArray, *, respect_steps: bool) -> BoolArray:
        """Which rows lie in a box, on category codes and, with `respect_steps`, on multiples of the steps, shape (n,).

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        lower, upper : ndarray of float64, shape (d,)
            What the intervals, and maybe the constraints, leave.
        respect_steps : bool
        """
        allowed = lower <= Z
        allowed &= upper >= Z
        if self.is_categorical.any():
            codes = Z[:, self.is_categorical]
            allowed[:, self.is_categorical] &= codes == np.floor(codes)
        if respect_steps:
            allowed &= self.on_steps(Z)
        inside: BoolArray = np.all(allowed, axis=1)
        return inside

    def on_steps(self, Z: FloatArray) -> BoolArray:
        """Return which values are multiples of their features' steps, shape (n, d); True if a feature has no step."""
        allowed: BoolArray = np.isnan(self.steps) | are_multiples(Z, self.steps)
        return allowed

    def objection(self, z: FloatArray, x: FloatArray, *, constraints: bool, respect_steps: bool = False) -> str | None:
        """Say in one sentence why `z`, shape (d,), is no allowed answer for `x`; None where it is one."""
        if self.is_feasible(z[np.newaxis], x, constraints=constraints, respect_steps=respect_steps)[0]:
            return None
        objection = self._objection_to_values(z, x, constraints=constraints)
        if not objection and constraints:
            broken = [relation.name for relation in self.relations if not relation.holds(z[np.newaxis], x)[0]]
            objection = f"it breaks the {broken[0]}" if broken else ""
        return objection or "a value is off the multiples of its feature's step"

    def _objection_to_values(self, z: FloatArray, x: FloatArray, *, constraints: bool) -> str:
        """Say what is wrong with a single value of `z`; empty if each is allowed but for its step."""
        lower, upper = self._constraint_bounds(x)
        for i, feature in enumerate(self.features):
            value = float(z[i])
            if not np.isfinite(value):
                return f"{feature.name} = {value} is not finite"
            if not feature.lower <= value <= feature.upper:
                return f"{feature.name} = {value!r} is outside [{exact(feature.lower)}, {exact(feature.upper)}]"
            if feature.kind is Kind.CATEGORICAL and value != np.floor(value):
                return f"{feature.name} = {value!r} is no category code"
            if constraints and not lower[i] <= value <= upper[i]:
                return f"{feature.name} = {value!r} breaks the constraint '{feature.constraint}' on {float(x[i])!r}"
        return ""


def are_multiples(values: FloatArray, steps: FloatArray | float) -> BoolArray:
    """Return which values are multiples of their steps, up to the rounding of a division: 0.3 / 0.1 is not 3."""
    count = values / steps
    rounding = 4 * np.finfo(np.float64).eps * np.abs(count)
    with np.errstate(invalid="ignore"):  # an infinity is no multiple
        multiples: BoolArray = np.abs(count - np.round(count)) <= rounding
    return multiples


def _frozen(array: A) -> A:
    array.setflags(write=False)
    return array
