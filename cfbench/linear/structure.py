"""A linear model as arrays: weights of its inputs, intercepts, and how the inputs come from a point's features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from cfbench.errors import ModelError, UnavailableError
from cfbench.space.space import BoolArray, FloatArray, IntArray

NUMBER = -1
"""The `code` of an input that is a number, no indicator of a category."""


@dataclass(frozen=True, eq=False)
class LinearStructure:
    """A linear model of K classes over d features, with m inputs.

    Class k has the score ``intercepts[k] + sum_j weights[k, j] * input_j``. A point's class is the one with the largest
    score; of classes with equal scores, the one that comes first in `classes`. A model with one score for two classes
    is shown as two classes, the first with weights and an intercept of 0.

    Input j of a point z with ``f = feature[j]`` is ``(z[f] - mean[j]) / scale[j]`` if it is a number, and 1 where
    ``z[f] == code[j]``, otherwise 0, if it is the indicator of a category.

    Parameters
    ----------
    d : int
        Number of features.
    classes : ndarray of int64, shape (K,)
        Class codes, in the order that ties are decided by.
    weights : ndarray of float64, shape (K, m)
    intercepts : ndarray of float64, shape (K,)
    feature : ndarray of int64, shape (m,)
        The feature that each input comes from.
    code : ndarray of int64, shape (m,)
        The category that an input indicates; -1 if the input is a number.
    mean, scale : ndarray of float64, shape (m,)
        How a number is standardised; ignored for indicators.

    Raises
    ------
    ModelError
        If the arrays contradict each other, or hold numbers that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench.linear import LinearStructure
    >>> one = np.array([0])
    >>> above_50 = LinearStructure(  # class 1 if 2 * (z - 40) / 10 - 2 > 0
    ...     d=1,
    ...     classes=np.array([0, 1]),
    ...     weights=np.array([[0.0], [2.0]]),
    ...     intercepts=np.array([0.0, -2.0]),
    ...     feature=one,
    ...     code=one - 1,
    ...     mean=one + 40.0,
    ...     scale=one + 10.0,
    ... )
    >>> above_50.predict(np.array([[49.0], [50.0], [51.0]])).tolist()  # at 50 the scores are equal
    [0, 0, 1]
    """

    d: int
    classes: IntArray
    weights: FloatArray
    intercepts: FloatArray
    feature: IntArray
    code: IntArray
    mean: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        if not np.issubdtype(np.asarray(self.classes).dtype, np.integer):
            raise ModelError(
                f"the classes of the linear structure are {np.asarray(self.classes).tolist()}; they must be class "
                "codes, whole numbers as `predict` returns them"
            )
        for name in ("classes", "feature", "code"):
            object.__setattr__(self, name, np.require(getattr(self, name), np.int64, ["C"]))
        for name in ("weights", "intercepts", "mean", "scale"):
            object.__setattr__(self, name, np.require(getattr(self, name), np.float64, ["C"]))
        objection = next(self._objections(), "")
        if objection:
            raise ModelError(f"the linear structure is invalid: {objection}")

    @cached_property
    def is_coded(self) -> BoolArray:
        """Which features have indicators, shape (d,)."""
        coded = np.zeros(self.d, dtype=bool)
        coded[self.feature[self.code != NUMBER]] = True
        return coded

    @cached_property
    def slopes(self) -> FloatArray:
        """What one raw unit of each feature adds to the scores, shape (K, d); 0 for features with indicators."""
        number = self.code == NUMBER
        slopes = np.zeros((len(self.classes), self.d))
        slopes[:, self.feature[number]] = self.weights[:, number] / self.scale[number]
        return slopes

    @cached_property
    def constants(self) -> FloatArray:
        """The scores where all numbers are 0 and no category is indicated, shape (K,)."""
        number = self.code == NUMBER
        shift: FloatArray = self.weights[:, number] @ (self.mean[number] / self.scale[number])
        return self.intercepts - shift

    @cached_property
    def tables(self) -> tuple[FloatArray, ...]:
        """What each category code of a feature adds to the scores, shape (codes + 1, K), per feature.

        The last row, zeros, is that of any other value. The tables of features without indicators have that row alone.
        """
        tables = []
        for f in range(self.d):
            own = np.flatnonzero((self.feature == f) & (self.code != NUMBER))
            table = np.zeros((self.code[own].max(initial=-1) + 2, len(self.classes)))
            table[self.code[own]] = self.weights[:, own].T
            tables.append(table)
        return tuple(tables)

    @cached_property
    def _lookup(self) -> tuple[FloatArray, IntArray, IntArray]:
        """All tables one below the other; where each feature's begins; the place of its last row in it."""
        sizes = np.array([len(table) for table in self.tables])
        return np.concatenate(self.tables), np.cumsum(sizes) - sizes, sizes - 1

    def parts(self, f: int | IntArray, values: FloatArray) -> FloatArray:
        """Return what values of features add to the scores, shape (n, K).

        Parameters
        ----------
        f : int or ndarray of int64, shape (n,)
            The feature of all values, or of each value.
        values : ndarray of float64, shape (n,)
        """
        tables, first, unknown = self._lookup
        is_code = (values >= 0) & (values < unknown[f]) & (values == np.floor(values))
        found: FloatArray = tables[first[f] + np.where(is_code, values, unknown[f]).astype(np.intp)]
        return found + values[:, np.newaxis] * self.slopes.T[f]

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return the scores of rows, shape (n, d), in the order of `classes`, shape (n, K)."""
        scores = Z @ np.ascontiguousarray(self.slopes.T) + self.constants
        for f in np.flatnonzero(self.is_coded):
            scores += self.parts(int(f), Z[:, f])
        return scores

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of rows, shape (n,); next to a tie, rounding may decide otherwise than the model."""
        codes: IntArray = self.classes[np.argmax(self.scores(Z), axis=1)]
        return codes

    def rounding(self, largest: FloatArray) -> float:
        """Return how far the difference of two scores may be from that of the library, added up otherwise.

        Parameters
        ----------
        largest : ndarray of float64, shape (d,)
            The largest absolute value of each feature.
        """
        number = self.code == NUMBER
        inputs = np.ones(len(self.code))
        inputs[number] = (largest[self.feature[number]] + np.abs(self.mean[number])) / self.scale[number]
        size = float((np.abs(self.weights) @ inputs + np.abs(self.intercepts)).max(initial=0.0))
        # Each of the two scores is a sum of at most m + 1 products, computed twice: here and by the library.
        return 4.0 * (len(self.code) + 8) * float(np.finfo(np.float64).eps) * size

    def place_of(self, target: int) -> int | None:
        """Return where a class stands in `classes`; None if the model never predicts it."""
        places = np.flatnonzero(self.classes == target)
        return int(places[0]) if len(places) else None

    def _objections(self) -> Iterator[str]:
        """Yield what is wrong with the arrays; each look relies on those before it."""
        k, m = len(self.classes), len(self.feature)
        shapes = {"weights": (k, m), "intercepts": (k,), "code": (m,), "mean": (m,), "scale": (m,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                yield f"{name} has shape {getattr(self, name).shape}, not {shape} ({k} classes, {m} inputs)"
        if k < 2 or len(np.unique(self.classes)) < k:
            yield f"the classes are {self.classes.tolist()}; two different ones at least are needed"
        for name in ("weights", "intercepts", "mean", "scale"):
            values = getattr(self, name)
            if not np.isfinite(values).all():
                yield f"{name} holds {values[~np.isfinite(values)][0]}; all numbers must be finite"
        if not ((self.feature >= 0) & (self.feature < self.d)).all():
            yield f"an input comes from feature {self.feature.max()}, and there are {self.d}"
        if not (self.scale[self.code == NUMBER] > 0).all():
            yield "a number is divided by a scale that is not positive"
        pairs = np.column_stack([self.feature, self.code])
        if len(np.unique(pairs, axis=0)) < m or self.is_coded[self.feature[self.code == NUMBER]].any():
            yield "a feature has two inputs for one category, or is a number and has indicators too"


@runtime_checkable
class ShowsLinear(Protocol):
    """A fitted model that shows its weights; its entry says ``shows=[Need.LINEAR]``."""

    def linear_structure(self) -> LinearStructure:
        """Return the weights behind `predict`, which has to answer alike; it is called often, so keep it."""
        ...


def linear_of(model: object) -> LinearStructure:
    """Return a fitted model's linear structure.

    Raises
    ------
    UnavailableError
        If it shows none.
    """
    if not isinstance(model, ShowsLinear):
        raise UnavailableError(
            f"the model, a {type(model).__name__}, shows no linear structure; a model does that by a method "
            "`linear_structure()` that returns a cfbench.linear.LinearStructure"
        )
    return model.linear_structure()
