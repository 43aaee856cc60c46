"""A fitted scikit-learn classifier behind cfbench's contract of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from cfbench.digests import digest_of_arrays
from cfbench.errors import ModelError
from cfbench.models.encoding import Encoding
from cfbench.problem.oracle import Oracle
from cfbench.space.space import FloatArray, IntArray

RANDOM_STATE = 42
"""Seed of every classifier, so that a fold has one model."""


class ScikitModel(ABC):
    """An encoding and the classifier that was fitted on its columns.

    Parameters
    ----------
    encoding : Encoding
    classifier : scikit-learn classifier
        Fitted.
    n_classes : int
        Number of class codes, classes that training lacked included.
    codes : ndarray of int64, shape (K,), optional
        The class codes of its labels, in the order of its ``classes_``. None: the labels are class codes, as numbers
        or as text.
    """

    given_codes: IntArray | None = None

    def __init__(self, encoding: Encoding, classifier: Any, n_classes: int, codes: IntArray | None = None) -> None:
        self.encoding = encoding
        self.classifier = classifier
        self.n_classes = n_classes
        self.given_codes = codes

    def predict(self, Z: FloatArray) -> IntArray:
        """Return scikit-learn's own answer: class codes, int64, shape (n,)."""
        if len(Z) == 0:
            return np.empty(0, dtype=np.int64)
        labels = np.asarray(self.classifier.predict(self.encoding.transform(Z)))
        if self.given_codes is None:
            return labels.astype(np.int64)
        return self.given_codes[np.searchsorted(self.classifier.classes_, labels.reshape(-1))]

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return scikit-learn's own probabilities, shape (n, n_classes); a class that training lacked has 0."""
        probabilities = np.zeros((len(Z), self.n_classes))
        if len(Z) > 0:
            probabilities[:, self.class_codes()] = self.classifier.predict_proba(self.encoding.transform(Z))
        return probabilities

    def fingerprint(self) -> str:
        """Return the digest of all that was learned: encoding, classes, trees or weights."""
        return self._fingerprint

    def oracle(self) -> Oracle:
        """Return the oracle: the model itself."""
        return self

    @abstractmethod
    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield the arrays that decide the classifier's answers, in a fixed order."""

    @cached_property
    def _fingerprint(self) -> str:
        return digest_of_arrays(*self.encoding.arrays(), self.class_codes(), *self.learned())

    def class_codes(self) -> IntArray:
        """Return the class codes in the order of the classifier's columns.

        Raises
        ------
        ModelError
            If they are neither numbers nor numbers as text.
        """
        if self.given_codes is not None:
            return self.given_codes
        classes = np.asarray(self.classifier.classes_)
        try:
            return classes.astype(np.int64)
        except ValueError:
            raise ModelError(
                f"the fitted {type(self.classifier).__name__} has the classes_ {classes.tolist()}; they must be class "
                "codes, as numbers or as text: fit it on codes"
            ) from None


def without_names(classifier: Any) -> Any:
    """Return a classifier that was fitted on a data frame as one that takes arrays, without a word about names."""
    if "feature_names_in_" not in getattr(classifier, "__dict__", {}):
        return classifier
    plain = copy(classifier)
    del plain.feature_names_in_
    return plain


def n_classes_of(y: IntArray) -> int:
    """Return the number of class codes up to the highest in `y`.

    Every class of a data set is in each of its training folds, since the folds are stratified and a class with fewer
    rows than folds is refused; so this is the data set's number of classes.

    Raises
    ------
    ModelError
        If there is one class only: nothing could be learned, and scikit-learn's classifiers differ in what they do.
    """
    if len(np.unique(y)) < 2:
        raise ModelError(f"all {len(y)} training rows have class {y[0]}; a model needs rows of two classes at least")
    return int(y.max()) + 1
