"""A user's own fitted model, or predict function, behind the contract that searches ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cfbench.digests import digest_of
from cfbench.errors import ModelError, UnknownNameError
from cfbench.oracle import Oracle
from cfbench.space import FeatureSpace, FloatArray, IntArray


class UserModel:
    """A fitted model f with whatever classes it has.

    Classes get codes: the positions in ``classes_`` where the model has it; otherwise the target is 0, and every other
    class gets the next code when it first comes up.

    Parameters
    ----------
    model : object or callable
        With ``predict`` (rows in, classes out) and perhaps ``predict_proba``, or a predict function. It gets float64
        rows of shape (n, d) in the space's feature order; a data frame where it was fitted on one.
    space : FeatureSpace
    target : object
        The class wanted, as the model names it.

    Raises
    ------
    ModelError
        If it cannot be asked, or was fitted on other features.
    UnknownNameError
        If it has no such class.
    """

    def __init__(self, model: object, space: FeatureSpace, target: object) -> None:
        predict = getattr(model, "predict", model)
        if isinstance(model, type) or not callable(predict):
            raise ModelError(
                f"{model!r:.200} cannot be asked: give a fitted model that has `predict`, or a function from rows to "
                "their classes"
            )
        self._ask: Callable[[Any], Any] = predict
        self._ask_proba: Callable[[Any], Any] | None = getattr(model, "predict_proba", None)
        self._space = space
        self._columns = _columns_of(model, space)
        classes = getattr(model, "classes_", None)
        self.labels: list[object] = [_plain(target)] if classes is None else [_plain(label) for label in classes]
        """The classes by code."""
        if _plain(target) not in self.labels:
            raise UnknownNameError("class of the model", str(target), map(str, self.labels))
        self.target = self.labels.index(_plain(target))
        self.answered: set[int] = set()
        """Codes of the classes that the model has answered with."""

    @property
    def has_probabilities(self) -> bool:
        """Whether it can be asked for class probabilities."""
        return self._ask_proba is not None

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`."""
        answers = np.asarray(self._ask(self._rows(Z)))
        if answers.shape != (len(Z),):
            raise ModelError(f"asked for {len(Z)} rows, the model answered with shape {answers.shape}, not ({len(Z)},)")
        if answers.dtype.kind == "f" and not np.array_equal(answers, np.floor(answers)):
            raise ModelError(
                f"the model answered {answers[answers != np.floor(answers)][0]!r}, which is no class; give a function "
                "that returns classes, such as `lambda rows: model.predict(rows) > 0.5`"
            )
        codes = self.codes(answers)
        self.answered.update(codes.tolist())
        return codes

    def codes(self, labels: Any) -> IntArray:
        """Return the codes of classes as the model names them; a new class gets the next code."""
        known, position = np.unique(np.asarray(labels), return_inverse=True)
        for label in known:
            if _plain(label) not in self.labels:
                self.labels.append(_plain(label))
        codes: IntArray = np.array([self.labels.index(_plain(label)) for label in known], dtype=np.int64)[position]
        return codes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities of the rows of `Z`."""
        assert self._ask_proba is not None, "searchers that need probabilities are refused before"
        return np.asarray(self._ask_proba(self._rows(Z)), dtype=np.float64)

    def fingerprint(self) -> str:
        """Return one fingerprint for all: nothing that comes of it is recorded."""
        return digest_of("a user's model")

    def oracle(self) -> Oracle:
        """Return itself."""
        return self

    def _rows(self, Z: FloatArray) -> Any:
        if self._columns is None:
            return Z
        import pandas as pd

        return pd.DataFrame(Z, columns=list(self._space.names))[self._columns]


def _columns_of(model: object, space: FeatureSpace) -> list[str] | None:
    """Return the columns of the data frame that a model was fitted on; None where it takes plain arrays."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    columns = [str(name) for name in names]
    different = sorted(set(columns) ^ set(space.names))
    if different:
        raise ModelError(
            f"the model was fitted on other features than the space has: {', '.join(map(repr, different))} "
            f"{'is' if len(different) == 1 else 'are'} in one of them only"
        )
    return columns


def _plain(label: object) -> object:
    """Return a numpy scalar as Python's own."""
    return label.item() if isinstance(label, np.generic) else label
