"""A data set: a table, its annotation, and the class that users want."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cfbench.digests import digest_of, digest_of_arrays
from cfbench.errors import DataError
from cfbench.space import FeatureSpace, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of factual cases with their classes.

    Parameters
    ----------
    name : str
    X : ndarray of float64, shape (n, d)
        Numerical values in raw units, categories as codes; becomes read-only.
    y : ndarray of int64, shape (n,)
        Class codes ``0 .. n_classes-1``; becomes read-only.
    space : FeatureSpace
    target : int
        The class that users want (the paper's t).
    class_labels : tuple of str
        What the class codes mean.
    user : str
        Who seeks recourse (the paper's table of data sets).

    Raises
    ------
    DataError
        If the table does not fit the annotation.
    """

    name: str
    X: FloatArray
    y: IntArray
    space: FeatureSpace
    target: int
    class_labels: tuple[str, ...]
    user: str = "Individual"

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape != (len(self.y), self.space.d):
            raise DataError(
                f"data set {self.name!r}: the table has shape {self.X.shape}; its {len(self.y)} labels and "
                f"{self.space.d} annotated features ask for {(len(self.y), self.space.d)}"
            )
        if not 0 <= self.target < self.n_classes:
            raise DataError(
                f"data set {self.name!r}: target class {self.target} is not among the classes 0 to {self.n_classes - 1}"
            )
        for array in (self.X, self.y):
            array.setflags(write=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_labels)

    @cached_property
    def class_counts(self) -> tuple[int, ...]:
        """Rows a class, in the order of the class codes."""
        return tuple(int(count) for count in np.bincount(self.y, minlength=self.n_classes))

    @cached_property
    def digest(self) -> str:
        """Digest of all content that can change a result: values, labels, annotation, target."""
        return digest_of([digest_of_arrays(self.X, self.y), self.space.digest, self.target, self.n_classes])
