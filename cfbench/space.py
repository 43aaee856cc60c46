"""The feature space: intervals, categories, constraints, perturbations, and the distances measured in it.

One coordinate system for everything in cfbench: a point is a float64 vector in feature order, numerical values in raw
units, categories as codes ``0 .. k-1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cfbench.digests import digest_of
from cfbench.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Kind(StrEnum):
    """Whether a feature's values are numbers or categories."""

    NUMERICAL = "numerical"
    CATEGORICAL = "categorical"


class Constraint(StrEnum):
    """What an intervention may do to a feature, relative to the factual value (the paper's P, Eq. 1)."""

    FREE = "none"
    FIXED = "="
    ONLY_UP = ">="
    ONLY_DOWN = "<="


@dataclass(frozen=True)
class NumericalPerturbation:
    """The largest perturbations of a numerical feature (the paper's p, Sec. "Perturbations & robustness").

    Parameters
    ----------
    decrease, increase : float
        Magnitudes >= 0, in the feature's unit; with `relative`, as a share of the magnitude of the value to achieve.
    relative : bool
        Whether the magnitudes scale with ``|z_i|``.
    """

    decrease: float
    increase: float
    relative: bool = False


@dataclass(frozen=True)
class CategoricalPerturbation:
    """The categories that a perturbation may lead to, as codes, whatever the present one."""

    codes: tuple[int, ...]


@dataclass(frozen=True)
class FeatureSpec:
    """The annotation of one feature.

    Parameters
    ----------
    name : str
    kind : Kind
    lower, upper : float
        The closed interval of a numerical feature, in its unit; ``0`` and ``k - 1`` for a categorical one.
    categories : tuple of str
        The labels of the codes ``0 .. k-1``; empty for a numerical feature.
    constraint : Constraint
        Categorical features know only ``FIXED`` and ``FREE``.
    perturbation : NumericalPerturbation, CategoricalPerturbation or None
        None: the feature is never perturbed.
    step : float or None
        1 for an integer-valued feature. The paper searches those as reals; a study with ``respect_steps = true`` calls
        a value off the multiples of the step invalid.
    unit : str
        For readers; empty where the feature has none.
    description : str
        What the feature is, in a sentence for readers; it changes no result and no digest.

    Raises
    ------
    DataError
        If the annotation contradicts itself.
    """

    name: str
    kind: Kind
    lower: float
    upper: float
    categories: tuple[str, ...] = ()
    constraint: Constraint = Constraint.FREE
    perturbation: NumericalPerturbation | CategoricalPerturbation | None = None
    step: float | None = None
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        refuse = self._error
        if not (np.isfinite(self.lower) and np.isfinite(self.upper)):
            raise refuse(f"its interval [{self.lower}, {self.upper}] is not finite; give two finite numbers")
        if self.kind is Kind.CATEGORICAL:
            self._check_categories()
            return
        if self.lower >= self.upper:
            raise refuse(f"its interval [{self.lower}, {self.upper}] needs a minimum below its maximum")
        if self.categories:
            raise refuse("a numerical feature has no categories; give an interval alone")
        if self.step is not None and not (np.isfinite(self.step) and self.step > 0):
            raise refuse(f"its step is {self.step}; it must be a positive number")
        if isinstance(self.perturbation, CategoricalPerturbation):
            raise refuse("a numerical feature is perturbed by a decrease and an increase, not by categories")
        if self.perturbation is not None:
            for side in (self.perturbation.decrease, self.perturbation.increase):
                if not (np.isfinite(side) and side >= 0):
                    raise refuse(f"its perturbation has a magnitude of {side}; magnitudes are finite and >= 0")

    def _error(self, what: str) -> DataError:
        return DataError(f"feature {self.name!r}: {what}")

    def _check_categories(self) -> None:
        refuse = self._error
        count = len(self.categories)
        if count < 1:
            raise refuse("a categorical feature needs at least one category")
        repeated = sorted({label for label in self.categories if self.categories.count(label) > 1})
        if repeated:
            raise refuse(f"category {repeated[0]!r} is listed more than once")
        if (self.lower, self.upper) != (0, count - 1):
            raise refuse(f"codes run from 0 to {count - 1}, not from {self.lower} to {self.upper}")
        if self.constraint not in (Constraint.FREE, Constraint.FIXED):
            raise refuse(f"constraint {self.constraint.value!r} needs an order; categories know only '=' and 'none'")
        if self.step is not None:
            raise refuse("a categorical feature has no step")
        if isinstance(self.perturbation, NumericalPerturbation):
            raise refuse("a categorical feature is perturbed to categories, not by a decrease and an increase")
        if self.perturbation is not None:
            unknown = [code for code in self.perturbation.codes if not 0 <= code < count]
            if unknown:
                raise refuse(f"its perturbation names code {unknown[0]}; codes run from 0 to {count - 1}")

    @property
    def n_categories(self) -> int:
        """Number of categories; 0 for a numerical feature."""
        return len(self.categories)


@dataclass(frozen=True)
class FeatureSpace:
    """The features of a data set in order, and the geometry that they span.

    Parameters
    ----------
    features : tuple of FeatureSpec
        At least one, with names of their own.

    Raises
    ------
    DataError
        If there is no feature or a name occurs twice.
    """

    features: tuple[FeatureSpec, ...]

    def __post_init__(self) -> None:
        if not self.features:
            raise DataError("a feature space needs at least one feature")
        names = [feature.name for feature in self.features]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise DataError(f"feature {repeated[0]!r} is annotated more than once; every feature needs its own name")

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
        return _frozen([feature.lower for feature in self.features])

    @cached_property
    def upper(self) -> FloatArray:
        """Upper ends of the intervals, shape (d,)."""
        return _frozen([feature.upper for feature in self.features])

    @cached_property
    def ranges(self) -> FloatArray:
        """``max_i - min_i`` of the annotated intervals, shape (d,); 1 for categorical features, which do not use it."""
        ranges = np.where(self.is_categorical, 1.0, self.upper - self.lower)
        ranges.setflags(write=False)
        return ranges

    @cached_property
    def is_categorical(self) -> BoolArray:
        """Which features are categorical, shape (d,)."""
        mask = np.array([feature.kind is Kind.CATEGORICAL for feature in self.features])
        mask.setflags(write=False)
        return mask

    @cached_property
    def n_categories(self) -> IntArray:
        """Number of categories a feature, shape (d,); 0 for numerical ones."""
        counts = np.array([feature.n_categories for feature in self.features], dtype=np.int64)
        counts.setflags(write=False)
        return counts

    @cached_property
    def digest(self) -> str:
        """Digest of everything in the annotation that can change a result."""
        return digest_of([_content(feature) for feature in self.features])

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
        apart = np.abs(Z - x) / self.ranges
        apart = np.where(self.is_categorical, Z != x, apart)
        total: FloatArray = apart.sum(axis=1) / self.d
        return total

    def l0(self, Z: FloatArray, x: FloatArray) -> IntArray:
        """How many features of each row differ from `x`, shape (n,)."""
        count: IntArray = self.changed(Z, x).sum(axis=1)
        return count

    def cost(self, Z: FloatArray, x: FloatArray) -> FloatArray:
        """Half of Gower's distance plus half of the share of changed features (Eq. 9 without its last term)."""
        value: FloatArray = 0.5 * self.gower(Z, x) + 0.5 * self.l0(Z, x) / self.d
        return value

    def plausible_bounds(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The part of the intervals that the constraints leave to an intervention that starts at `x`.

        Returns
        -------
        lower, upper : ndarray of float64, shape (d,)
            Equal to ``x_i`` where the feature may not change.
        """
        constraints = [feature.constraint for feature in self.features]
        no_lower = np.array([c in (Constraint.FIXED, Constraint.ONLY_UP) for c in constraints])
        no_higher = np.array([c in (Constraint.FIXED, Constraint.ONLY_DOWN) for c in constraints])
        return np.where(no_lower, x, self.lower), np.where(no_higher, x, self.upper)

    def is_plausible(
        self, Z: FloatArray, x: FloatArray, *, constraints: bool, respect_steps: bool = False
    ) -> BoolArray:
        """Which rows are allowed answers for `x`, their class aside.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        x : ndarray of float64, shape (d,)
        constraints : bool
            Whether the plausibility constraints hold beside intervals and categories.
        respect_steps : bool
            Whether a value off the multiples of its feature's step is implausible.

        Returns
        -------
        ndarray of bool, shape (n,)
            False for rows with a NaN or an infinity, too.
        """
        lower, upper = self.plausible_bounds(x) if constraints else (self.lower, self.upper)
        allowed = (lower <= Z) & (upper >= Z)
        if self.is_categorical.any():
            codes = Z[:, self.is_categorical]
            allowed[:, self.is_categorical] &= codes == np.floor(codes)
        if respect_steps:
            allowed &= self._on_grid(Z)
        inside: BoolArray = np.all(allowed, axis=1)
        return inside

    def objection(self, z: FloatArray, x: FloatArray, *, constraints: bool, respect_steps: bool = False) -> str | None:
        """Say in one sentence why `z`, shape (d,), is no allowed answer for `x`; None where it is one."""
        if self.is_plausible(z[np.newaxis], x, constraints=constraints, respect_steps=respect_steps)[0]:
            return None
        lower, upper = self.plausible_bounds(x)
        for i, feature in enumerate(self.features):
            value = float(z[i])
            if not np.isfinite(value):
                return f"{feature.name} = {value} is not finite"
            if not feature.lower <= value <= feature.upper:
                return f"{feature.name} = {value!r} is outside [{feature.lower:g}, {feature.upper:g}]"
            if feature.kind is Kind.CATEGORICAL and value != np.floor(value):
                return f"{feature.name} = {value!r} is no category code"
            if constraints and not lower[i] <= value <= upper[i]:
                return f"{feature.name} = {value!r} breaks the constraint '{feature.constraint}' on {float(x[i])!r}"
        return "a value is off the multiples of its feature's step"

    def _on_grid(self, Z: FloatArray) -> BoolArray:
        steps = np.array([feature.step if feature.step else np.nan for feature in self.features])
        count = Z / steps
        free = np.isnan(steps)
        rounding = 4 * np.finfo(np.float64).eps * np.abs(count)  # of the division: 0.3 / 0.1 is not 3
        with np.errstate(invalid="ignore"):  # an infinity is on no grid
            on_grid: BoolArray = free | (np.abs(count - np.round(count)) <= rounding)
        return on_grid


def _frozen(values: list[float]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def _content(feature: FeatureSpec) -> dict[str, object]:
    perturbation: object = None
    if isinstance(feature.perturbation, CategoricalPerturbation):
        perturbation = list(feature.perturbation.codes)
    elif feature.perturbation is not None:
        kind = "relative" if feature.perturbation.relative else "absolute"
        perturbation = [kind, feature.perturbation.decrease, feature.perturbation.increase]
    return {
        "name": feature.name,
        "kind": feature.kind.value,
        "interval": [feature.lower, feature.upper],
        "categories": list(feature.categories),
        "constraint": feature.constraint.value,
        "perturbation": perturbation,
        "step": feature.step,
    }
