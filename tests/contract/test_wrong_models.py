"""Models and oracles with one fault each fail the one check that guards against it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from cfbench.errors import UnavailableError, UnknownNameError
from cfbench.problem.oracle import Oracle
from cfbench.registry.contracts import ModelFamily
from cfbench.registry.entries import ModelEntry
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.testing.check import Result
from cfbench.testing.models import MODEL_CHECKS, check_model


class Nearest:
    """A sound model: the class of the nearest of the classes' means."""

    def __init__(self, means: FloatArray, scale: FloatArray, oracle: type[Ask]) -> None:
        self.means = means
        self.scale = scale
        self.brought = oracle

    def distances(self, Z: FloatArray) -> FloatArray:
        apart = np.abs(Z[:, np.newaxis] - self.means) / self.scale
        # One addition after the other, so that a row's sum does not hang on the rows beside it.
        total: FloatArray = sum((apart[:, :, i] for i in range(1, apart.shape[2])), start=apart[:, :, 0])
        return total

    def predict(self, Z: FloatArray) -> IntArray:
        nearest: IntArray = self.distances(Z).argmin(axis=1).astype(np.int64)
        return nearest

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        closeness = 1 / (1 + self.distances(Z))
        shares: FloatArray = closeness / closeness.sum(axis=1, keepdims=True)
        return shares

    def fingerprint(self) -> str:
        return str(self.means.tolist())

    def oracle(self) -> Oracle:
        return self.brought(self)


class Ask:
    """A sound oracle: asks the model."""

    def __init__(self, model: Nearest) -> None:
        self.model = model

    def predict(self, Z: FloatArray) -> IntArray:
        return self.model.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return self.model.predict_proba(Z)


class Family(ModelFamily):
    """Fits the sound model."""

    MODEL: ClassVar[type[Nearest]] = Nearest
    ORACLE: ClassVar[type[Ask]] = Ask

    neighbours: int | None = None

    def grid(self) -> dict[str, list[Any]]:
        return {"neighbours": [1, 2] if self.neighbours is None else [self.neighbours]}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        return {"neighbours": 1}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Nearest:
        means = np.stack([X[y == code].mean(axis=0) for code in range(int(y.max()) + 1)])
        return self.MODEL(means, space.upper - space.lower, self.ORACLE)


def entry_of(fault: type[Family | Nearest | Ask]) -> ModelEntry:
    """Return an entry that is sound but for a family, a model or an oracle."""

    class Wrong(fault if issubclass(fault, Family) else Family):  # type: ignore[misc] # decided when it runs
        MODEL = fault if issubclass(fault, Nearest) else Nearest
        ORACLE = fault if issubclass(fault, Ask) else Ask

    return ModelEntry(name="wrong", family=Wrong)


class Empty(Family):
    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Nearest:
        return None  # type: ignore[return-value] # its fault


class Unfinished(Family):
    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Nearest:
        raise NotImplementedError("one day")


class Untuned(Unfinished):
    tune = ModelFamily.tune


class Listless(Family):
    def grid(self) -> dict[str, list[Any]]:
        return {"neighbours": 3}  # type: ignore[dict-item] # its fault


class Choiceless(Family):
    def grid(self) -> dict[str, list[Any]]:
        return {"neighbours": []}


class WithoutGrid(Family):
    def grid(self) -> dict[str, list[Any]]:
        raise NotImplementedError


class WithoutOracle(Nearest):
    def oracle(self) -> Oracle:
        return None  # type: ignore[return-value] # its fault


class Numbered(Nearest):
    def fingerprint(self) -> str:
        return 5  # type: ignore[return-value] # its fault


class Random(Nearest):
    def predict(self, Z: FloatArray) -> IntArray:
        return np.random.randint(0, 2, len(Z))  # noqa: NPY002 - its fault


class Unseen(Nearest):
    def predict(self, Z: FloatArray) -> IntArray:
        return super().predict(Z) + 7


class Backwards(Nearest):
    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return super().predict_proba(Z)[:, ::-1].copy()


class WritesItsInput(Nearest):
    def predict(self, Z: FloatArray) -> IntArray:
        classes = super().predict(Z)
        if Z.flags.writeable:
            Z[:] = 0
        return classes


class NumbersOnly(Family):
    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Nearest:
        if space.is_categorical.all():
            raise ValueError("no numbers")
        return super().fit(X, y, space, hyperparameters)


class Lopsided(Nearest):
    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return super().predict_proba(Z) * 0.9


class NeedsRows(Nearest):
    def predict(self, Z: FloatArray) -> IntArray:
        if len(Z) == 0:
            raise ValueError("at least one row")
        return super().predict(Z)


class Lucky(Family):
    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Nearest:
        some = np.random.random(len(X)) < 0.9  # noqa: NPY002 - its fault
        return super().fit(X[some], y[some], space, hyperparameters)


class Nameless(Nearest):
    def fingerprint(self) -> str:
        return "model"


class Locked(Nearest):
    def __init__(self, means: FloatArray, scale: FloatArray, oracle: type[Ask]) -> None:
        super().__init__(means, scale, oracle)
        self.lock = threading.Lock()


class WrongCorner(Ask):
    def predict(self, Z: FloatArray) -> IntArray:
        return np.where(Z[:, 0] < 1, 1, super().predict(Z))


class SinglePrecision(Ask):
    def predict(self, Z: FloatArray) -> IntArray:
        return super().predict(Z.astype(np.float32).astype(np.float64))


class WrongAlone(Ask):
    def predict(self, Z: FloatArray) -> IntArray:
        return super().predict(Z) if len(Z) != 1 else np.zeros(1, dtype=np.int64)


class OtherDraws(Ask):
    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        rows = neighbours.starting(neighbours.first_evaluation + 1).draw(Z)
        return self.predict(rows.reshape(-1, Z.shape[1])).reshape(rows.shape[:2])


class Rounds(Ask):
    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return super().predict_proba(Z).astype(np.float32).astype(np.float64)


class Scribbles(Ask):
    def predict(self, Z: FloatArray) -> IntArray:
        classes = super().predict(Z)
        if Z.flags.writeable:
            Z += 0.0 if Z.flags.c_contiguous else 1.0
        return classes


class NeedsWriteable(Ask):
    def predict(self, Z: FloatArray) -> IntArray:
        Z += 0.0
        return super().predict(Z)


@pytest.mark.parametrize(
    ("fault", "check", "why"),
    [
        (NumbersOnly, "fits-in-every-space", "space 'all categorical': fit raised ValueError: no numbers"),
        (Unseen, "answers-have-the-form", "predict returned the class 8; the class codes are 0 to 1"),
        (Backwards, "answers-have-the-form", "predict_proba has its columns in another order than the class codes"),
        (Random, "same-rows-same-answers", "predict answers differ between two calls with the same 200 rows"),
        (WritesItsInput, "queries-not-mutated", "it changed strided rows"),
        (Lopsided, "answers-have-the-form", "probabilities must be at least 0 and add up to 1"),
        (NeedsRows, "answers-have-the-form", "predict for 0 rows raised ValueError: at least one row"),
        (Lucky, "same-rows-same-model", "fitted twice on the same rows, it predicts differently"),
        (Nameless, "fingerprint-tells-models-apart", "but has the same fingerprint model"),
        (Locked, "pickles", "pickling raised TypeError: cannot pickle '_thread.lock' object"),
        (WrongCorner, "oracle-equals-predict", "space 'mixed': for the row ["),
        (SinglePrecision, "oracle-equals-predict-on-boundaries", "space 'mixed': for the row ["),
        (WrongAlone, "oracle-equals-predict-for-single-rows", "(1 of 1 rows differ)"),
        (OtherDraws, "oracle-equals-predict-for-neighbours", "asked for K-neighbours, for the row ["),
        (Rounds, "oracle-equals-predict-proba", "its probabilities are ["),
        (Scribbles, "queries-not-mutated", "it changed strided rows"),
        (NeedsWriteable, "queries-not-mutated", "predict for read-only rows raised ValueError"),
    ],
)
def test_one_fault_fails_one_check(fault: type[Family | Nearest | Ask], check: str, why: str) -> None:
    report = check_model(entry_of(fault))
    failed = {finding.check: finding.why for finding in report.failures}
    assert check in failed, str(report)
    assert why in failed[check]
    # If a model cannot be queried, or an oracle is wrong about a whole region, other checks cannot but fail, too.
    further = {"answers-have-the-form": {"fits-in-every-space"}}
    if fault in (Unseen, Random, WritesItsInput):
        further[check] = set(failed)
    further |= {check: set(failed) for check in ("fits-in-every-space", "oracle-equals-predict")}
    assert set(failed) - {check} <= further.get(check, set()), str(report)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Empty, "fit returned None; a fitted model needs the methods predict, predict_proba, fingerprint, oracle"),
        (Unfinished, "fit raised NotImplementedError: one day"),
        (
            Untuned,
            "the class Wrong lacks the method tune(self, X, y, space): its grid lists more than one value of nei",
        ),
        (Listless, "model 'wrong': grid returned {'neighbours': 3}; it must return a dict of lists"),
        (Choiceless, "the grid gives hyper-parameter 'neighbours' no value; list at least one"),
        (WithoutGrid, "model 'wrong': grid raised NotImplementedError"),
        (WithoutOracle, "oracle returned None; return the model itself (`return self`)"),
        (Numbered, "fingerprint returned 5; it must return a string that is not empty"),
    ],
)
def test_what_is_missing_is_said_once_and_first(fault: type[Family | Nearest], why: str) -> None:
    report = check_model(entry_of(fault))
    (failure,) = report.failures
    assert failure.check == "is-complete"
    assert failure.why.startswith(why)
    assert report.findings[0] == failure
    assert {finding.result for finding in report.findings[1:]} == {Result.NOT_APPLICABLE}
    assert {finding.why for finding in report.findings[1:]} == {"is-complete failed; fix that first"}


def test_a_sound_model_passes() -> None:
    report = check_model(ModelEntry(name="sound", family=Family), settings={"neighbours": 2})
    assert {finding.result for finding in report.findings} == {Result.PASSED}, str(report)
    assert len(report.findings) == len(MODEL_CHECKS)


def test_where_there_is_no_oracle_its_checks_do_not_apply() -> None:
    class Own(Nearest):
        def oracle(self) -> Oracle:
            return self

    class Refuses(Nearest):
        def oracle(self) -> Oracle:
            raise UnavailableError("means of infinite length")

    for model, why in ((Own, "the model is its own oracle"), (Refuses, "means of infinite length")):
        findings = check_model(entry_of(model)).findings
        by_result = [finding for finding in findings if finding.result is Result.NOT_APPLICABLE]
        assert len(by_result) == 5
        assert all(why in finding.why for finding in by_result)


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown setting of sound 'neighbors'\. Did you mean 'neighbours'\?"):
        check_model(ModelEntry(name="sound", family=Family), settings={"neighbors": 2})
