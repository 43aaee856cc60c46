"""The network's gradients, checked against finite differences of its probabilities and against the model itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind, Need, Problem
from cfbench.errors import BudgetExhausted, ModelError, NotDeclaredError, UnavailableError
from cfbench.problem.oracle import Meter
from cfbench.space import FloatArray, IntArray
from cfbench_models.network.family import NetworkModel, NeuralNetwork

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0, 100_000),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("none", "clerk", "nurse")),
        FeatureSpec("share", Kind.NUMERICAL, 0, 1),
        FeatureSpec("home", Kind.CATEGORICAL, 0, 1, ("rents", "owns")),
    )
)


def rows(n: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    columns = [rng.uniform(0, 100_000, n), rng.integers(0, 3, n), rng.uniform(0, 1, n), rng.integers(0, 2, n)]
    return np.column_stack(columns).astype(np.float64)


def network(n_classes: int) -> NetworkModel:
    X = rows(400, 1)
    score = X[:, 0] / 50_000 + (X[:, 1] == 1) - X[:, 2] + 0.5 * X[:, 3]
    score += np.random.default_rng(2).normal(0, 1, 400)  # so that no probability is next to 0 or 1
    y: IntArray = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)).astype(np.int64)
    settings = {"learning_rate_init": 1e-2, "max_iter": 30, "solver": "adam"}
    return NeuralNetwork().fit(X, y, SPACE, settings)


@pytest.fixture(scope="module", params=[2, 3])
def model(request: pytest.FixtureRequest) -> NetworkModel:
    return network(request.param)


def problem_of(model: Any, target: int, *, max_queries: int | None = None, **options: Any) -> Problem:
    options = {"needs": [Need.GRADIENTS], **options, "model": model}
    return Problem(rows(1, 3)[0], target, SPACE, Meter(model, SPACE.d, max_queries), **options)


def log_odds(model: NetworkModel, Z: FloatArray, target: int) -> FloatArray:
    p = model.predict_proba(Z)
    odds: FloatArray = np.log(p[:, target] / np.delete(p, target, axis=1).sum(axis=1))
    return odds


@pytest.mark.parametrize("target", [0, 1])
def test_derivatives_are_those_of_finite_differences(model: NetworkModel, target: int) -> None:
    Z = rows(200, 2)
    found = problem_of(model, target).gradients(Z)
    np.testing.assert_allclose(found.log_odds, log_odds(model, Z, target), rtol=1e-8, atol=1e-8)
    for i, width in ((0, 1e-2), (2, 1e-7)):  # 1e-7 of the range: few rows have a kink of a unit within it
        up, down = Z.copy(), Z.copy()
        up[:, i] += width
        down[:, i] -= width
        slopes = (log_odds(model, up, target) - log_odds(model, down, target)) / (2 * width)
        off = np.abs(found.numerical[:, i] - slopes) > 1e-5 * np.abs(slopes).max()
        assert off.mean() < 0.02
    assert (found.numerical[:, [1, 3]] == 0).all()


def test_each_category_has_its_own_difference(model: NetworkModel) -> None:
    Z = rows(50, 4)
    found = problem_of(model, 1).gradients(Z)
    assert [part.shape for part in found.categories] == [(50, 0), (50, 3), (50, 0), (50, 2)]
    now = log_odds(model, Z, 1)
    for i in (1, 3):
        for code in range(int(SPACE.n_categories[i])):
            other = Z.copy()
            other[:, i] = code
            wanted = log_odds(model, other, 1) - now
            np.testing.assert_allclose(found.categories[i][:, code], wanted, rtol=1e-7, atol=1e-7)
        own = found.categories[i][np.arange(50), Z[:, i].astype(int)]
        np.testing.assert_allclose(own, 0.0, atol=1e-12)


def test_gradients_are_counted_and_bounded() -> None:
    problem = problem_of(network(2), 1, max_queries=20)
    problem.gradients(rows(3, 5))  # 3 rows, each with 5 categories tried
    assert problem.queries_left == 2
    with pytest.raises(BudgetExhausted):
        problem.gradients(rows(1, 5))
    assert problem.queries_left == 2


def test_a_class_that_training_lacked_is_infinitely_unlikely() -> None:
    model, Z = network(2), rows(4, 6)
    assert model.log_odds(Z, 2).tolist() == [-np.inf] * 4
    assert (model.log_odds_gradient(Z, 2) == 0).all()


def test_what_is_missing_or_malformed_is_said() -> None:
    with pytest.raises(NotDeclaredError, match=r"add Need\.GRADIENTS to its entry"):
        problem_of(network(2), 1, needs=()).gradients(rows(1, 7))
    with pytest.raises(UnavailableError, match="a int, shows no gradients"):
        problem_of(3, 1).gradients(rows(1, 7))

    class Flat:
        def log_odds(self, Z: FloatArray, target: int) -> FloatArray:
            return np.zeros(len(Z))

        def log_odds_gradient(self, Z: FloatArray, target: int) -> FloatArray:
            return np.zeros(len(Z))

    with pytest.raises(ModelError, match=r"a gradient of shape \(1,\), not \(1,\) and \(1, 4\)"):
        problem_of(Flat(), 1).gradients(rows(1, 7))
