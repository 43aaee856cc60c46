"""Logistic regression: a linear model of two or more classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field

from cfbench import FeatureSpace, ModelFamily
from cfbench.linear import NUMBER, LinearStructure
from cfbench.models import Encoding, ScikitModel, fit_encoding, n_classes_of, without_names
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray
from cfbench_models.linear.oracle import LinearOracle, LinearScores

MAX_ITER = 1000
"""Iterations of the solver at most; scikit-learn's default of 100 is not enough for C = 10 on some folds."""


class LogisticRegression(ModelFamily):
    """Logistic regression with an L2 penalty; a strength that is left out is chosen from the grid.

    Numerical columns are standardised on the training rows, categorical features with more than two categories are
    one-hot encoded. The rest is scikit-learn's default, except 1,000 iterations at most. The fit draws nothing at
    random.

    Parameters
    ----------
    C : float, optional
        Inverse strength of the penalty, > 0. Grid: 0.01, 0.1, 1, 10.
    multi_class : {"multinomial", "one-vs-rest"}
        With three or more classes: one softmax model, or one model for each class against the others.
    fit_intercept : bool
        Whether scores have an intercept.

    References
    ----------
    Cox, "The regression analysis of binary sequences", Journal of the Royal Statistical Society B 20(2), 1958.
    """

    C: float | None = Field(default=None, gt=0)
    multi_class: Literal["multinomial", "one-vs-rest"] = "multinomial"
    fit_intercept: bool = True

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in scikit-learn's terms."""
        return {"C": [0.01, 0.1, 1.0, 10.0] if self.C is None else [self.C]}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose by five-fold cross-validation on accuracy; each split standardises on its own training part."""
        from cfbench.models import best_of_grid

        classifier = self._classifier(n_classes_of(y))
        name = "estimator__C" if hasattr(classifier, "estimator") else "C"
        chosen = best_of_grid(classifier, {name: self.grid()["C"]}, X, y, space, standardise=True)
        return {"C": chosen[name]}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> LinearModel:
        """Fit the model; one that has not converged after its iterations is kept."""
        from cfbench.models import quiet_training

        n_classes = n_classes_of(y)
        encoding = fit_encoding(X, space, standardise=True)
        with quiet_training():
            classifier = self._classifier(len(np.unique(y)), hyperparameters["C"]).fit(encoding.transform(X), y)
        return LinearModel(encoding, classifier, n_classes)

    @classmethod
    def around(cls, encoding: Encoding, classifier: Any, codes: IntArray, n_classes: int) -> LinearModel | None:
        """Return the model around a logistic regression of scikit-learn that was fitted elsewhere."""
        name, module = type(classifier).__name__, type(classifier).__module__
        if name not in ("LogisticRegression", "LogisticRegressionCV") or not module.startswith("sklearn."):
            return None
        return LinearModel(encoding, without_names(classifier), n_classes, codes)

    def _classifier(self, n_classes: int, strength: float = 1.0) -> Any:
        from sklearn import linear_model
        from sklearn.multiclass import OneVsRestClassifier

        regression = linear_model.LogisticRegression(C=strength, fit_intercept=self.fit_intercept, max_iter=MAX_ITER)
        # With two classes both readings are the same model.
        return OneVsRestClassifier(regression) if self.multi_class == "one-vs-rest" and n_classes > 2 else regression


class LinearModel(ScikitModel):
    """A fitted logistic regression.

    scikit-learn's scores of a row change in the last bits with the other rows of the query. Decision: the class of
    a row is the one that scikit-learn returns for that row alone.
    """

    def __init__(self, encoding: Encoding, classifier: Any, n_classes: int, codes: IntArray | None = None) -> None:
        super().__init__(encoding, classifier, n_classes, codes)
        self._structure = _structure_of(encoding, classifier, self.class_codes())

    def linear_structure(self) -> LinearStructure:
        """Return the weights."""
        return self._structure

    def predict(self, Z: FloatArray) -> IntArray:
        """Return scikit-learn's own classes; class codes, int64, shape (n,).

        One query for all rows settles those that are far enough from a tie. The others are queried one by one.
        """
        classes = super().predict(Z)
        if len(Z) > 1:
            doubtful = ~self._scores.answer(Z)[1]
            classes[doubtful] = self.predict_alone(Z[doubtful])
        return classes

    def predict_alone(self, Z: FloatArray) -> IntArray:
        """Return scikit-learn's classes of rows, queried one by one."""
        return np.array([super(LinearModel, self).predict(z[np.newaxis])[0] for z in Z], dtype=np.int64)

    def log_odds(self, Z: FloatArray, target: int) -> FloatArray:
        """Return the log-odds of a class, shape (n,); -inf if training lacked the class."""
        return self._log_odds_of(Z, target)[0]

    def log_odds_gradient(self, Z: FloatArray, target: int) -> FloatArray:
        """Return the derivatives of `log_odds` by the features in raw units, shape (n, d); 0 for one-hot features."""
        gradient: FloatArray = self._log_odds_of(Z, target)[1] @ self._structure.slopes
        return gradient

    def _log_odds_of(self, Z: FloatArray, target: int) -> tuple[FloatArray, FloatArray]:
        """Return a class's log-odds, shape (n,), and their derivatives by the scores, shape (n, K)."""
        scores, place = self._structure.scores(Z), self._structure.place_of(target)
        if place is None:
            return np.full(len(Z), -np.inf), np.zeros_like(scores)
        if self.is_one_vs_rest:  # a class's share is its own model's probability, divided by their sum
            logs = -np.logaddexp(0.0, -scores)
            slopes = np.exp(-np.logaddexp(0.0, scores))  # the derivative of the logarithm of a logistic function
        else:
            logs, slopes = scores, np.ones_like(scores)
        others = np.delete(logs, place, axis=1)
        highest = others.max(axis=1, keepdims=True)
        shares = np.exp(others - highest)
        log_odds = logs[:, place] - highest[:, 0] - np.log(shares.sum(axis=1))
        return log_odds, slopes * np.insert(-shares / shares.sum(axis=1, keepdims=True), place, 1.0, axis=1)

    def oracle(self) -> Oracle:
        """Return the fast way to query the model."""
        return LinearOracle(self)

    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield the weights, then the intercepts."""
        yield self._structure.weights
        yield self._structure.intercepts

    @property
    def is_one_vs_rest(self) -> bool:
        """Whether each of three or more classes has a model of its own."""
        return hasattr(self.classifier, "estimators_")

    @cached_property
    def _scores(self) -> LinearScores:
        return LinearScores(self._structure)


def _structure_of(encoding: Encoding, classifier: Any, codes: IntArray) -> LinearStructure:
    """Lay a classifier's weights open; `codes` are its classes."""
    each = getattr(classifier, "estimators_", None)
    if each is None:
        weights, intercepts = classifier.coef_, np.broadcast_to(classifier.intercept_, len(classifier.coef_))
    else:
        weights = np.vstack([one.coef_ for one in each])
        intercepts = np.array([np.ravel(one.intercept_)[0] for one in each])
    if len(weights) == 1:  # the score of the second class
        weights, intercepts = np.vstack([np.zeros_like(weights), weights]), np.array([0.0, intercepts[0]])
    n = encoding.n_columns
    feature, code, mean, scale = np.zeros(n, np.int64), np.full(n, NUMBER), np.zeros(n), np.ones(n)
    feature[encoding.columns] = encoding.copied
    if encoding.mean is not None and encoding.scale is not None:
        mean[encoding.columns], scale[encoding.columns] = encoding.mean, encoding.scale
    for part in encoding.one_hot:
        columns = slice(part.start, part.start + part.table.shape[1])
        feature[columns], code[columns] = part.feature, np.argmax(part.table, axis=0)
    d = len(encoding.copied) + len(encoding.one_hot)
    return LinearStructure(d, codes, weights, intercepts, feature, code, mean, scale)
