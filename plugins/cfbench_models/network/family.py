"""The neural network of the paper: a multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field

from cfbench import FeatureSpace, ModelFamily
from cfbench.models import RANDOM_STATE, Encoding, ScikitModel, fit_encoding, n_classes_of, without_names
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray
from cfbench_models.network.inputs import ForwardPass
from cfbench_models.network.oracle import NetworkOracle


class NeuralNetwork(ModelFamily):
    """One hidden layer of 100 rectified units; a setting that is left out is chosen from the paper's grid.

    Parameters
    ----------
    learning_rate_init : float, optional
        Step size of the training, > 0. Grid: 0.0001, 0.01.
    max_iter : int, optional
        Passes over the training rows at most. Grid: 200, 1000.
    solver : {"adam", "sgd"}, optional
        Grid: both.

    References
    ----------
    Virgolin and Fracaros, appendix "Hyper-parameter optimization of random forest and neural network". The rest is
    scikit-learn's default. Numerical columns are standardised on the training rows, categorical features with more than
    two categories are one-hot encoded.
    """

    learning_rate_init: float | None = Field(default=None, gt=0)
    max_iter: int | None = Field(default=None, ge=1)
    solver: Literal["adam", "sgd"] | None = None

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in scikit-learn's terms."""
        return {
            "learning_rate_init": [1e-4, 1e-2] if self.learning_rate_init is None else [self.learning_rate_init],
            "max_iter": [200, 1000] if self.max_iter is None else [self.max_iter],
            "solver": ["adam", "sgd"] if self.solver is None else [self.solver],
        }

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose by five-fold cross-validation on accuracy; each split standardises on its own training part."""
        from cfbench.models import best_of_grid

        return best_of_grid(_network(), self.grid(), X, y, space, standardise=True)

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> NetworkModel:
        """Train the network; one that has not converged after its passes is kept, as in the paper."""
        from cfbench.models import quiet_training

        n_classes = n_classes_of(y)
        encoding = fit_encoding(X, space, standardise=True)
        with quiet_training():
            network = _network().set_params(**hyperparameters).fit(encoding.transform(X), y)
        return NetworkModel(encoding, network, n_classes)

    @classmethod
    def around(cls, encoding: Encoding, classifier: Any, codes: IntArray, n_classes: int) -> NetworkModel | None:
        """Return the model around a multi-layer perceptron of scikit-learn that was trained elsewhere."""
        if type(classifier).__name__ != "MLPClassifier" or not type(classifier).__module__.startswith("sklearn."):
            return None
        if encoding.mean is None:  # the forward pass reads a mean and a scale
            n = len(encoding.copied)
            encoding = replace(encoding, mean=np.zeros(n), scale=np.ones(n))
        return NetworkModel(encoding, without_names(classifier), n_classes, codes)


class NetworkModel(ScikitModel):
    """A fitted network.

    scikit-learn's outputs for a row change in the last bits with the other rows of the query. Decision: the class of
    a row is the one that scikit-learn returns for that row alone.
    """

    def predict(self, Z: FloatArray) -> IntArray:
        """Return scikit-learn's own answers; class codes, int64, shape (n,).

        One question for all rows settles those whose outputs are far enough from the class boundary that rounding does
        not matter. The others, if any, are asked alone.
        """
        classes = super().predict(Z)
        if len(Z) > 1:
            _, certain = self._forward_pass.answer(Z)
            doubtful = ~certain
            classes[doubtful] = self.predict_alone(Z[doubtful])
        return classes

    def predict_alone(self, Z: FloatArray) -> IntArray:
        """Return scikit-learn's classes of rows, queried one by one."""
        return np.array([super(NetworkModel, self).predict(z[np.newaxis])[0] for z in Z], dtype=np.int64)

    def log_odds(self, Z: FloatArray, target: int) -> FloatArray:
        """Return the log-odds of a class, shape (n,); -inf if training lacked the class."""
        return self._log_odds_of(self._layers(Z)[-1], target)[0]

    def log_odds_gradient(self, Z: FloatArray, target: int) -> FloatArray:
        """Return the derivatives of `log_odds` by the features in raw units, shape (n, d); 0 at a unit's kink."""
        *hidden, outputs = self._layers(Z)
        gradient = self._log_odds_of(outputs, target)[1]
        for units, weights in zip(reversed([None, *hidden]), reversed(self.classifier.coefs_), strict=True):
            gradient = gradient @ weights.T
            if units is not None:
                gradient = gradient * (units > 0)
        return self.encoding.pulled_back(gradient)

    def _layers(self, Z: FloatArray) -> list[FloatArray]:
        """Return what the hidden layers give, and the outputs before the last function."""
        layers = [self.encoding.transform(Z)]
        for weights, biases in zip(self.classifier.coefs_, self.classifier.intercepts_, strict=True):
            given = layers[-1] @ weights + biases
            layers.append(np.maximum(given, 0.0))
        return [*layers[1:-1], given]

    def _log_odds_of(self, outputs: FloatArray, target: int) -> tuple[FloatArray, FloatArray]:
        """Return a class's log-odds, shape (n,), and their derivatives by the outputs, shape (n, outputs)."""
        classes = self.class_codes().tolist()
        if target not in classes:
            return np.full(len(outputs), -np.inf), np.zeros_like(outputs)
        place = classes.index(target)
        if outputs.shape[1] == 1:  # the log-odds of the second class
            sign = 2.0 * place - 1.0
            return sign * outputs[:, 0], np.full_like(outputs, sign)
        others = np.delete(outputs, place, axis=1)
        highest = others.max(axis=1, keepdims=True)
        shares = np.exp(others - highest)
        log_odds = outputs[:, place] - highest[:, 0] - np.log(shares.sum(axis=1))
        return log_odds, np.insert(-shares / shares.sum(axis=1, keepdims=True), place, 1.0, axis=1)

    def oracle(self) -> Oracle:
        """Return the fast way to ask the network."""
        return NetworkOracle(self)

    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield the weights, then the biases, layer by layer."""
        yield from self.classifier.coefs_
        yield from self.classifier.intercepts_

    @cached_property
    def _forward_pass(self) -> ForwardPass:
        return ForwardPass(self.encoding, self.classifier, np.float64)


def _network() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(random_state=RANDOM_STATE)
