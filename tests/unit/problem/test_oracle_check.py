"""No oracle is believed: small faults are found, and the model itself answers then."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest

from cfbench.errors import UnavailableError
from cfbench.problem.oracle import Oracle, beside_boundaries, checked_oracle, objection
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.space import CategoricalPerturbation, FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind
from cfbench.space.space import NumericalPerturbation as Move

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 10, perturbation=Move(1, 1)),
        FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, ("r", "g", "b"), perturbation=CategoricalPerturbation((0, 1))),
    )
)
CUT = 0.1 + 0.2  # no float32
X = np.column_stack([np.linspace(0, 10, 60), np.arange(60) % 3])


class Cut:
    """Class 1 where a size, times the share of its colour, is above the cut."""

    def __init__(self, cut: float = CUT) -> None:
        self.cut = cut

    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] * np.where(Z[:, 1] == 2, 0.1, 1.0) > self.cut).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.eye(2)[self.predict(Z)] * 0.8 + 0.1


class Model(Cut):
    """A model whose oracle is given."""

    def __init__(self, make: Callable[[], Oracle]) -> None:
        super().__init__()
        self.make = make

    def oracle(self) -> Oracle:
        return self.make()


class AtLeast(Cut):
    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] * np.where(Z[:, 1] == 2, 0.1, 1.0) >= self.cut).astype(np.int64)


class SinglePrecision(Cut):
    def predict(self, Z: FloatArray) -> IntArray:
        return super().predict(Z.astype(np.float32).astype(np.float64))


class WrongAlone(Cut):
    def predict(self, Z: FloatArray) -> IntArray:
        return 1 - super().predict(Z) if len(Z) == 1 else super().predict(Z)


class WrongForOneColour(Cut):
    def predict(self, Z: FloatArray) -> IntArray:
        return np.where(Z[:, 1] == 1, 0, super().predict(Z))


class Narrow(Cut):
    def predict(self, Z: FloatArray) -> IntArray:
        return super().predict(Z).astype(np.int32)


class Rounded(Cut):
    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.nextafter(super().predict_proba(Z), 1.0)


class ThinProbabilities(Cut):
    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return super().predict_proba(Z)[:, :1]


class OtherNeighbours(Cut):
    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        drawn = neighbours.starting(neighbours.first_evaluation + 1).draw(Z)
        return self.predict(drawn.reshape(-1, 2)).reshape(drawn.shape[:2])


class Broken(Cut):
    def predict(self, Z: FloatArray) -> IntArray:
        raise OSError("no memory for the kernel")


def test_an_equal_oracle_is_used_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    oracle = Cut()
    assert checked_oracle(Model(lambda: oracle), SPACE, X) is oracle
    assert not caplog.records


def test_a_model_that_is_its_own_oracle_is_not_asked() -> None:
    class Own(Broken):
        def oracle(self) -> Oracle:
            return self

    model = Own()
    assert checked_oracle(model, SPACE, X) is model


@pytest.mark.parametrize(
    ("oracle", "reason"),
    [
        (AtLeast(), "it answers class 1, the model's own predict class 0 ("),
        (Cut(np.nextafter(CUT, 1)), "it answers class 0, the model's own predict class 1 ("),
        (SinglePrecision(), "it answers class"),
        (WrongForOneColour(), "it answers class 0, the model's own predict class 1 ("),
        (WrongAlone(), "(1 of 1 rows differ)"),
        (Narrow(), "it answers with int32 of shape ("),
        (Rounded(), "its probabilities are [0.1000000"),
        (ThinProbabilities(), "its probabilities are float64 of shape ("),
        (OtherNeighbours(), "asked for K-neighbours, for the row ["),
        (Broken(), "it raised OSError: no memory for the kernel"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_fault_is_found_and_the_model_answers(oracle: Oracle, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    model = Model(lambda: oracle)
    assert checked_oracle(model, SPACE, X) is model
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("the fast oracle of this model is not used: ")
    assert reason in record.getMessage()
    assert "results are the same, runs take longer" in record.getMessage()


def test_what_an_oracle_does_not_know_is_named(caplog: pytest.LogCaptureFixture) -> None:
    def unavailable() -> Oracle:
        raise UnavailableError("the forest has 2 outputs")

    model = Model(unavailable)
    assert checked_oracle(model, SPACE, X) is model
    assert "is not used: the forest has 2 outputs." in caplog.text


def test_boundaries_are_met_on_both_sides_in_both_precisions() -> None:
    rows = np.concatenate(list(beside_boundaries(Cut(), X, SPACE, np.random.default_rng(0))))
    plain = set(rows[rows[:, 1] < 2, 0].tolist())
    single = float(np.float32(CUT))
    assert {CUT, float(np.nextafter(CUT, 1)), float(np.nextafter(CUT, 0)), single} <= plain
    assert {float(np.nextafter(np.float32(CUT), np.float32(side))) for side in (0, 1)} <= plain


def test_there_need_be_no_boundary() -> None:
    never = Cut(np.inf)
    assert objection(never, never, SPACE, X) == ""
    categories = FeatureSpace((FeatureSpec("a", Kind.CATEGORICAL, 0, 1, ("x", "y")),))
    by_category = ByCategory()
    assert objection(by_category, by_category, categories, np.array([[0.0], [1.0]])) == ""


class ByCategory:
    def predict(self, Z: FloatArray) -> IntArray:
        return Z[:, 0].astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.eye(2)[self.predict(Z)]


def test_many_features_take_little_memory() -> None:
    d = 1500
    space = FeatureSpace(tuple(FeatureSpec(f"f{i}", Kind.NUMERICAL, 0, 10) for i in range(d)))
    rows = np.random.default_rng(0).uniform(0, 1, (50, d))
    oracle = First()
    assert objection(oracle, oracle, space, rows) == ""
    assert oracle.most * 8 < 100e6  # bytes


class First:
    def __init__(self) -> None:
        self.most = 0

    def predict(self, Z: FloatArray) -> IntArray:
        self.most = max(self.most, Z.size)
        return (Z[:, 0] > 0.5).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.eye(2)[self.predict(Z)]
