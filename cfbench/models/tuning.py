"""Grid search, the same for every model family here. Imports scikit-learn: import this module inside functions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from cfbench.models.encoding import Encoding, fit_encoding
from cfbench.space.space import FeatureSpace, FloatArray, IntArray

N_SPLITS = 5
"""Folds of the cross-validation inside a training fold (the paper's appendix on hyper-parameters)."""


class EncodingStep(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn brings no types
    """The encoding as a step of a pipeline: each split of the cross-validation fits its own.

    Parameters
    ----------
    space : FeatureSpace
    standardise : bool
    """

    def __init__(self, space: FeatureSpace, standardise: bool) -> None:
        self.space = space
        self.standardise = standardise

    def fit(self, X: FloatArray, y: IntArray | None = None) -> EncodingStep:  # noqa: ARG002 - scikit-learn's signature
        """Fit the encoding on the rows of a split."""
        self.encoding_: Encoding = fit_encoding(X, self.space, standardise=self.standardise)
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Encode rows."""
        return self.encoding_.transform(X)


def best_of_grid(
    classifier: Any,
    grid: Mapping[str, list[Any]],
    X: FloatArray,
    y: IntArray,
    space: FeatureSpace,
    *,
    standardise: bool = False,
) -> dict[str, Any]:
    """Choose the hyper-parameters with the highest accuracy in five-fold cross-validation.

    The paper refits the winner on the whole training fold; that is the model family's `fit`. Of equals the first in
    scikit-learn's order of the grid wins: names by the alphabet, values as listed, the last name varying fastest.

    Parameters
    ----------
    classifier : scikit-learn classifier
        Unfitted, with everything set that the grid does not.
    grid : mapping of str to list
    X : ndarray of float64, shape (n, d)
    y : ndarray of int64, shape (n,)
    space : FeatureSpace
    standardise : bool

    Returns
    -------
    dict
        A value of the grid a name.
    """
    pipeline = Pipeline([("encoding", EncodingStep(space, standardise)), ("classifier", classifier)])
    prefixed = {f"classifier__{name}": values for name, values in grid.items()}
    search = GridSearchCV(pipeline, prefixed, scoring="accuracy", cv=N_SPLITS, refit=False, error_score="raise")
    with quiet_training():
        search.fit(X, y)
    return {name.removeprefix("classifier__"): value for name, value in search.best_params_.items()}


@contextmanager
def quiet_training() -> Iterator[None]:
    """Train on one thread, without the warnings that the paper's settings bring about on purpose.

    One thread of the linear-algebra library: sums are then taken in one order, whatever process trains.
    """
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # The grid holds 200 iterations, and the paper keeps a network that has not converged by then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # A class with five rows has four in a training fold: some splits lack it, and accuracy copes with that.
        warnings.filterwarnings("ignore", message="The least populated class in y", category=UserWarning)
        yield
