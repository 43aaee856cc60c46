"""What a searcher may use of the model and of the training fold: exactly what its entry declares.

A problem and the context of a preparation offer the same, by the same class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from cfbench.errors import ModelError, NotDeclaredError, UnavailableError
from cfbench.forests.structure import ForestStructure, forest_of
from cfbench.linear.structure import LinearStructure, linear_of
from cfbench.problem.oracle import Meter
from cfbench.space.space import FeatureSpace, FloatArray, IntArray


class Need(StrEnum):
    """What a searcher needs in addition to the model's classes.

    Examples
    --------
    >>> from cfbench import Need, SearcherEntry
    >>> def first_granted(problem, rng):
    ...     return problem.training.X[problem.training.y == problem.target][0]
    >>> entry = SearcherEntry(name="first-granted", searcher=first_granted, needs=[Need.TRAINING_DATA])
    >>> entry.is_white_box  # true with Need.FOREST, Need.GRADIENTS, Need.LINEAR or Need.MODEL
    False
    """

    PROBABILITIES = "probabilities"
    TRAINING_DATA = "training data"
    FOREST = "the model's forest"
    GRADIENTS = "the model's gradients"
    LINEAR = "the model's linear structure"
    MODEL = "the fitted model"


SHOWN = (Need.FOREST, Need.GRADIENTS, Need.LINEAR)
"""The needs that only some model families can meet; a family's entry lists those under `shows`."""

WHITE_BOX = frozenset({*SHOWN, Need.MODEL})
"""The needs that make a searcher a white box: it looks inside the model."""


@dataclass(frozen=True, eq=False)
class TrainingFold:
    """The rows that the model was trained on, for searchers that declare the need.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
    y : ndarray of int64, shape (n,)
        The labels in the data, not the model's answers.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import TrainingFold
    >>> training = TrainingFold(X=np.array([[20.0], [60.0], [90.0]]), y=np.array([0, 1, 1]))
    >>> training.X[training.y == 1].mean(axis=0).tolist()  # a searcher reads `problem.training`
    [75.0]
    """

    X: FloatArray
    y: IntArray


class Gradients(NamedTuple):
    """How the target's log-odds change around some rows.

    Parameters
    ----------
    log_odds : ndarray of float64, shape (n,)
        ``log(p / (1 - p))``, where p is the model's probability of the target class.
    numerical : ndarray of float64, shape (n, d)
        Their derivatives by the numerical features, in the features' raw units; 0 for categorical features.
    categories : tuple of ndarray of float64
        One array per feature: how much the log-odds would change with each category in place of the row's own, shape
        (n, k); shape (n, 0) for numerical features.
    """

    log_odds: FloatArray
    numerical: FloatArray
    categories: tuple[FloatArray, ...]


@runtime_checkable
class ShowsGradients(Protocol):
    """A fitted model that can be differentiated; its entry says ``shows=[Need.GRADIENTS]``."""

    def log_odds(self, Z: FloatArray, target: int) -> FloatArray:
        """Return ``log(p / (1 - p))`` of the probability p of class `target`, shape (n,), without rounding p first."""
        ...

    def log_odds_gradient(self, Z: FloatArray, target: int) -> FloatArray:
        """Return the exact derivatives of `log_odds` by the features, in raw units, shape (n, d).

        Those by categorical features are ignored: cfbench computes what another category changes from `log_odds`.
        """
        ...


class ModelAccess:
    """The model and the training fold, as far as a searcher's entry declares them.

    Parameters
    ----------
    space : FeatureSpace
    target : int
    meter : Meter
        Counts every query.
    needs : iterable of Need
        What the entry declares.
    training : TrainingFold or None
        None if there is none.
    model : object or None
        The fitted model, for white boxes.
    """

    def __init__(
        self,
        space: FeatureSpace,
        target: int,
        meter: Meter,
        needs: Iterable[Need] = (),
        training: TrainingFold | None = None,
        model: object | None = None,
    ) -> None:
        self._space = space
        self._target = target
        self._meter = meter
        self._needs = frozenset(needs)
        self._training = training
        self._model = model

    def require(self, need: Need) -> None:
        """Raise NotDeclaredError if the searcher's entry does not declare a need."""
        if need not in self._needs:
            raise NotDeclaredError(
                f"this searcher did not declare that it uses {need.value}; add Need.{need.name} to its entry"
            )

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the model's classes, shape (n,); one query per row."""
        return self._meter.predict(np.array(Z, dtype=np.float64))

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return class probabilities, shape (n, n_classes); one query per row."""
        self.require(Need.PROBABILITIES)
        return self._meter.predict_proba(np.array(Z, dtype=np.float64))

    @property
    def training(self) -> TrainingFold | None:
        """The training fold; None if there is none."""
        self.require(Need.TRAINING_DATA)
        return self._training

    @property
    def model(self) -> object:
        """The fitted model."""
        self.require(Need.MODEL)
        return self._model

    @property
    def forest(self) -> ForestStructure:
        """The model's forest; raises UnavailableError if it shows none."""
        self.require(Need.FOREST)
        return forest_of(self._model)

    @property
    def linear(self) -> LinearStructure:
        """The model's linear structure; raises UnavailableError if it shows none."""
        self.require(Need.LINEAR)
        return linear_of(self._model)

    def gradients(self, Z: FloatArray) -> Gradients:
        """Return the gradients of the target's log-odds; one query per row, and one per category that is tried."""
        self.require(Need.GRADIENTS)
        model, space, target = self._model, self._space, self._target
        if not isinstance(model, ShowsGradients):
            raise UnavailableError(
                f"the model, a {type(model).__name__}, shows no gradients; a model does that by the methods "
                "`log_odds(Z, target)` and `log_odds_gradient(Z, target)`"
            )
        Z = np.array(Z, dtype=np.float64)
        self._meter.admit_gradients(Z, rows_each=1 + int(space.n_categories.sum()))
        log_odds, gradient = model.log_odds(Z, target), model.log_odds_gradient(Z, target)
        if log_odds.shape != (len(Z),) or gradient.shape != Z.shape:
            raise ModelError(
                f"for {len(Z)} rows the model returned log-odds of shape {log_odds.shape} and a gradient of shape "
                f"{gradient.shape}, not {(len(Z),)} and {Z.shape}"
            )
        feature = np.repeat(np.arange(space.d), space.n_categories)
        code = np.concatenate([np.arange(k) for k in space.n_categories])
        with_each = np.repeat(Z, len(code), axis=0).reshape(len(Z), len(code), space.d)
        with_each[:, np.arange(len(code)), feature] = code
        changed = np.zeros((len(Z), 0))
        if len(code):
            changed = model.log_odds(with_each.reshape(-1, space.d), target).reshape(len(Z), -1)
        differences = np.split(changed - log_odds[:, np.newaxis], np.cumsum(space.n_categories)[:-1], axis=1)
        return Gradients(log_odds, np.where(space.is_categorical, 0.0, gradient), tuple(differences))
