"""The checks of models: what a fitted model has to keep."""

from __future__ import annotations

import pickle

import numpy as np

from cfbench.contracts import FittedModel
from cfbench.harness.seeds import guarded_randomness
from cfbench.space import FloatArray
from cfbench.testing.check import Failed
from cfbench.testing.models.bench import ModelBench, guarded_call, rows_of
from cfbench.testing.objectives.bench import SPACES


def fits_in_every_space(bench: ModelBench) -> None:
    """It can be fitted and asked where features are numerical, categorical or both, for two classes and for three.

    To mend: the message names the space. Categories come as codes, in one matrix of float64 with the numbers; encode
    them inside the model.
    """
    for name, rule in SPACES.items():
        try:
            model = bench.fitted(name)
            _look_at(model, rows_of(rule, seed=1)[0], rule.n_classes)
        except Failed as failure:
            raise Failed(f"space {name!r}: {failure}") from failure


def answers_have_the_form(bench: ModelBench) -> None:
    """Classes are int64 codes of shape (n,), probabilities float64 of shape (n, classes) that add up to 1; n may be 0.

    To mend: answer with `np.asarray(..., dtype=np.int64)`, and with a column for every class code, those that the
    training rows lack included. Libraries that refuse a question without rows need a case of their own.
    """
    X, _ = rows_of(SPACES["mixed"], seed=1)
    for rows in (X, X[:1], X[:0]):
        _look_at(bench.fitted(), rows, 2)


def same_rows_same_model(bench: ModelBench) -> None:
    """The same training rows give a model of the same answers and the same fingerprint, whatever was random before.

    To mend: give the library's own seed a fixed value, and train on one thread: sums in another order are other sums.
    """
    X, _ = rows_of(SPACES["mixed"], seed=1)
    models = []
    for luck in (1, 2):
        with guarded_randomness(np.random.SeedSequence(luck)):
            models.append(bench.fit("mixed"))
    first, second = models
    if not np.array_equal(_probabilities(first, X), _probabilities(second, X)):
        raise Failed("fitted twice on the same rows, it answers differently")
    if first.fingerprint() != second.fingerprint():
        raise Failed(
            f"fitted twice on the same rows, its fingerprints are {first.fingerprint()}, {second.fingerprint()}"
        )


def fingerprint_tells_models_apart(bench: ModelBench) -> None:
    """Models that answer differently have different fingerprints.

    To mend: digest all that was learned (trees, weights, the encoding, the class codes) with cfbench.digest_of_arrays.
    """
    X, _ = rows_of(SPACES["mixed"], seed=1)
    one, other = bench.fitted(), bench.fit("mixed", seed=7)
    differ = not np.array_equal(_probabilities(one, X), _probabilities(other, X))
    if differ and one.fingerprint() == other.fingerprint():
        raise Failed(f"fitted on other rows it answers differently, and has the same fingerprint {one.fingerprint()}")


def pickles(bench: ModelBench) -> None:
    """A fitted model can be pickled and unpickled, and answers as before: fitted models are kept between runs.

    To mend: define its classes at the top level of an importable module; leave out of the pickle, by `__getstate__`,
    what can be made again.
    """
    model = bench.fitted()
    again = guarded_call(lambda: pickle.loads(pickle.dumps(model)), "pickling")  # noqa: S301 - its own pickle
    X, _ = rows_of(SPACES["mixed"], seed=1)
    if not isinstance(again, FittedModel) or not np.array_equal(_probabilities(model, X), _probabilities(again, X)):
        raise Failed("after pickling it answers differently")
    if again.fingerprint() != model.fingerprint():
        raise Failed("after pickling its fingerprint is another")


def _look_at(model: FittedModel, rows: FloatArray, n_classes: int) -> None:
    """Check the form of answers."""
    if not isinstance(model, FittedModel):
        raise Failed(f"fit returned a {type(model).__name__}, which lacks a method of cfbench.FittedModel")
    classes: object = guarded_call(lambda: model.predict(rows.copy()), f"predict for {len(rows)} rows")
    shares: object = guarded_call(lambda: model.predict_proba(rows.copy()), f"predict_proba for {len(rows)} rows")
    _require(classes, "int64", (len(rows),), "predict")
    _require(shares, "float64", (len(rows), n_classes), "predict_proba")
    assert isinstance(classes, np.ndarray)
    assert isinstance(shares, np.ndarray)
    if len(rows) and not (classes.min() >= 0 and classes.max() < n_classes):
        raise Failed(f"it answers class {classes.max()}; codes run from 0 to {n_classes - 1}")
    if not (np.allclose(shares.sum(axis=1), 1) and (shares >= 0).all()):
        raise Failed("its probabilities are negative or do not add up to 1")


def _require(answer: object, dtype: str, shape: tuple[int, ...], what: str) -> None:
    if not isinstance(answer, np.ndarray) or answer.dtype != dtype or answer.shape != shape:
        received = (
            f"{answer.dtype} of shape {answer.shape}" if isinstance(answer, np.ndarray) else type(answer).__name__
        )
        raise Failed(f"{what} answers {shape[0]} rows with a {received}, not {dtype} of shape {shape}")


def _probabilities(model: FittedModel, X: FloatArray) -> FloatArray:
    return guarded_call(lambda: model.predict_proba(X.copy()), "predict_proba")
