"""One feature of a data set: what values it takes, what may be done to it, and what may befall it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cfbench.errors import DataError


class Kind(StrEnum):
    """Whether a feature's values are numbers or categories.

    Examples
    --------
    >>> from cfbench import FeatureSpec, Kind
    >>> colour = FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=("red", "green", "blue"))
    >>> colour.kind is Kind.CATEGORICAL, colour.n_categories
    (True, 3)
    """

    NUMERICAL = "numerical"
    CATEGORICAL = "categorical"


class Constraint(StrEnum):
    """What an intervention may do to a feature, relative to the factual value (the paper's P, Eq. 1).

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import Constraint, FeatureSpace, FeatureSpec, Kind
    >>> age = FeatureSpec("age", Kind.NUMERICAL, 18, 98, constraint=Constraint.ONLY_UP)
    >>> lower, upper = FeatureSpace((age,)).feasible_bounds(np.array([40.0]))
    >>> lower.tolist(), upper.tolist()
    ([40.0], [98.0])
    """

    FREE = "none"
    FIXED = "="
    ONLY_UP = ">="
    ONLY_DOWN = "<="


MOST_STEPS = 2.0**53
"""Limit for multiples of a step: beyond it, not all whole numbers are floating-point numbers."""


@dataclass(frozen=True)
class NumericalPerturbation:
    """The largest perturbations of a numerical feature (the paper's p, Sec. "Perturbations & robustness").

    Parameters
    ----------
    decrease, increase : float
        Magnitudes >= 0, in the feature's unit; with `relative`, as a share of the magnitude of the value to achieve.
    relative : bool
        Whether the magnitudes scale with ``|z_i|``.

    Examples
    --------
    >>> from cfbench import FeatureSpec, Kind, NumericalPerturbation
    >>> at_most_5_less = NumericalPerturbation(decrease=5, increase=0)
    >>> income = FeatureSpec("income", Kind.NUMERICAL, 0, 100, perturbation=at_most_5_less)
    >>> income.perturbation
    NumericalPerturbation(decrease=5, increase=0, relative=False)
    """

    decrease: float
    increase: float
    relative: bool = False


@dataclass(frozen=True)
class CategoricalPerturbation:
    """The categories that a perturbation may lead to, as codes, whatever the present one.

    Examples
    --------
    >>> from cfbench import CategoricalPerturbation, FeatureSpec, Kind
    >>> to_red_or_blue = CategoricalPerturbation(codes=(0, 2))
    >>> colours = ("red", "green", "blue")
    >>> colour = FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=colours, perturbation=to_red_or_blue)
    >>> [colour.categories[code] for code in colour.perturbation.codes]
    ['red', 'blue']
    """

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

    Examples
    --------
    >>> from cfbench import Constraint, FeatureSpec, Kind
    >>> age = FeatureSpec("age", Kind.NUMERICAL, 18, 98, constraint=Constraint.ONLY_UP, step=1, unit="years")
    >>> job = FeatureSpec("job", Kind.CATEGORICAL, 0, 1, categories=("employed", "self-employed"))
    >>> age.upper, job.n_categories
    (98, 2)
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
        width = float(self.upper) - float(self.lower)
        if not np.isfinite(width):
            raise refuse(
                f"its interval [{self.lower}, {self.upper}] is wider than the largest number, so that distances in it "
                "cannot be measured; give a narrower one"
            )
        if self.categories:
            raise refuse("a numerical feature has no categories; give an interval alone")
        if self.step is not None:
            self._check_step(self.step, width)
        if isinstance(self.perturbation, CategoricalPerturbation):
            raise refuse("a numerical feature is perturbed by a decrease and an increase, not by categories")
        if self.perturbation is not None:
            for side in (self.perturbation.decrease, self.perturbation.increase):
                if not (np.isfinite(side) and side >= 0):
                    raise refuse(f"its perturbation has a magnitude of {side}; magnitudes are finite and >= 0")
            farthest = max(abs(float(self.lower)), abs(float(self.upper))) if self.perturbation.relative else 1.0
            if not np.isfinite(farthest * (float(self.perturbation.decrease) + float(self.perturbation.increase))):
                raise refuse("its perturbation reaches past the largest number; give smaller magnitudes")

    def _error(self, what: str) -> DataError:
        return DataError(f"feature {self.name!r}: {what}")

    def _check_step(self, step: float, width: float) -> None:
        refuse = self._error
        if not (np.isfinite(step) and step > 0):
            raise refuse(f"its step is {step}; it must be a positive number")
        if step > width:
            raise refuse(f"its step is {step}, and its interval [{self.lower}, {self.upper}] is narrower than that")
        if max(abs(float(self.lower)), abs(float(self.upper))) > float(step) * MOST_STEPS:
            raise refuse(
                f"its step is {step}, which is too fine to distinguish numbers as large as those of its interval"
            )

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
            if not self.perturbation.codes:
                raise refuse("its perturbation leads to no category; list some, or leave the perturbation out")
            unknown = [code for code in self.perturbation.codes if not 0 <= code < count]
            if unknown:
                raise refuse(f"its perturbation names code {unknown[0]}; codes run from 0 to {count - 1}")

    @property
    def n_categories(self) -> int:
        """Number of categories; 0 for a numerical feature."""
        return len(self.categories)

    def shown(self, value: float) -> float | str:
        """Return a value as readers see it: a number, or the label of a category.

        A code without a category stays a number.

        Examples
        --------
        >>> from cfbench import FeatureSpec, Kind
        >>> FeatureSpec("job", Kind.CATEGORICAL, 0, 1, categories=("none", "employed")).shown(1.0)
        'employed'
        """
        if self.kind is Kind.CATEGORICAL and value in range(self.n_categories):
            return self.categories[int(value)]
        return float(value)

    def content(self) -> dict[str, object]:
        """Return everything in the annotation that can change a result, for a digest."""
        perturbation: object = None
        if isinstance(self.perturbation, CategoricalPerturbation):
            perturbation = list(self.perturbation.codes)
        elif self.perturbation is not None:
            kind = "relative" if self.perturbation.relative else "absolute"
            perturbation = [kind, self.perturbation.decrease, self.perturbation.increase]
        return {
            "name": self.name,
            "kind": self.kind.value,
            "interval": [self.lower, self.upper],
            "categories": list(self.categories),
            "constraint": self.constraint.value,
            "perturbation": perturbation,
            "step": self.step,
        }
