"""Certificates and probabilities on linear models: by hand, against draws, and against corners of the box."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cfbench import CategoricalPerturbation, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.errors import UnavailableError
from cfbench.forests import Settled
from cfbench.linear import NUMBER, LinearStructure, k_certificate, k_probability, structure_of
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray


def number(name: str, reach: float, lower: float = 0.0, upper: float = 10.0) -> FeatureSpec:
    return FeatureSpec(name, Kind.NUMERICAL, lower, upper, perturbation=NumericalPerturbation(reach, reach))


SPACE = FeatureSpace(
    (
        number("a", 1.0),
        number("b", 1.0),
        FeatureSpec("c", Kind.CATEGORICAL, 0, 2, tuple("xyz"), perturbation=CategoricalPerturbation((0, 1))),
        number("d", 2.0),
    )
)


def structure(weights: FloatArray, intercepts: FloatArray) -> LinearStructure:
    """Return a structure with inputs a, b, c = 0, c = 1, c = 2, d; `weights` has a row for each class."""
    zeros = np.zeros(6)
    feature, code = np.array([0, 1, 2, 2, 2, 3]), np.array([NUMBER, NUMBER, 0, 1, 2, NUMBER])
    return LinearStructure(4, np.arange(len(weights)), weights, intercepts, feature, code, zeros, zeros + 1)


def two(weights: list[float], intercept: float) -> LinearStructure:
    return structure(np.array([[0.0] * 6, weights]), np.array([0.0, intercept]))


X = np.array([5.0, 5.0, 0.0, 5.0])


def changed(**values: float) -> FloatArray:
    z = X.copy()
    for name, value in values.items():
        z["abcd".index(name)] = value
    return z


def interval(model: LinearStructure, z: FloatArray, target: int = 1, width: float = 1e-3) -> tuple[float, float]:
    found = k_probability(model, SPACE, X, z, target, width=width)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.width <= width
    return found


@pytest.mark.parametrize(
    ("weights", "intercept", "z", "probability"),
    [
        # a uniform in 4 to 6, d changed: above 5.5 in a quarter of the cases
        ([1.0, 0, 0, 0, 0, 0], -5.5, changed(d=9), 0.25),
        # a + b above 10.5: the triangle on 8 to 12 has (1.5 / 2)^2 / 2 above it
        ([1.0, 1, 0, 0, 0, 0], -10.5, changed(d=9), 0.75**2 / 2),
        # with c = 1, half of the draws, a + b above 9.5, otherwise above 10.5
        ([1.0, 1, 0, 1, 0, 0], -10.5, changed(d=9), 0.5 * (0.75**2 / 2) + 0.5 * (1 - 0.75**2 / 2)),
        # c is changed and stays: above 9.5
        ([1.0, 1, 0, 1, 0, 0], -10.5, changed(d=9, c=1), 1 - 0.75**2 / 2),
        # 2 a - d: uniform on 2 times 4 to 6 less uniform on 3 to 7: the triangle on 1 to 9 around 5, above 5
        ([2.0, 0, 0, 0, 0, -1], -5.0, changed(b=9), 0.5),
        ([0.0, 0, 1, 1, 5, 0], -0.5, changed(d=9), 1.0),
        ([1.0, 0, 0, 0, 0, 0], -6.0, changed(d=9), 0.0),
    ],
)
def test_probabilities_worked_out_by_hand(
    weights: list[float], intercept: float, z: FloatArray, probability: float
) -> None:
    low, high = interval(two(weights, intercept), z)
    assert low - 1e-9 <= probability <= high + 1e-9


def test_what_is_clipped_lies_on_the_end_of_the_interval() -> None:
    """`d` is 9.5 and reaches 11.5, so of its draws 3 in 8 are 10."""
    x = np.array([5.0, 5.0, 0.0, 9.5])
    z = np.array([9.0, 5.0, 0.0, 9.5])
    model = two([0.0, 0, 0, 0, 0, 1], -9.999999)
    low, high = k_probability(model, SPACE, x, z, 1, width=1e-3)
    assert low - 1e-6 <= 3 / 8 <= high + 1e-6


def random_model(seed: int, n_classes: int) -> LinearStructure:
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, 1, (n_classes, 6))
    middle = weights @ np.array([5.0, 5, 0.5, 0.5, 0, 5])
    return structure(weights, rng.normal(0, 1.0, n_classes) - middle)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_probabilities_agree_with_draws(seed: int, n_classes: int) -> None:
    model, z = random_model(seed, n_classes), changed(a=7.0) if seed % 2 else changed(b=2.0)
    target = int(model.predict(z[np.newaxis])[0])
    rows = KNeighbours(SPACE, X, 3, 40_000).draw(z[np.newaxis])[0]
    share = float((model.predict(rows) == target).mean())
    low, high = interval(model, z, target, width=0.01)
    assert low - 0.012 <= share <= high + 0.012  # five standard deviations are 0.0125 at most


def test_many_categories_are_put_on_the_grid() -> None:
    n = 12
    names = tuple("xy")
    specs = [
        FeatureSpec(f"c{i}", Kind.CATEGORICAL, 0, 1, names, perturbation=CategoricalPerturbation((0, 1)))
        for i in range(n)
    ]
    space = FeatureSpace((number("a", 1.0), *specs))
    zeros = np.zeros(n + 1)
    weights = np.array([zeros, [0.0, *([1.0] * n)]])
    model = LinearStructure(
        n + 1, np.arange(2), weights, np.array([0.0, -7.5]), np.arange(n + 1), np.full(n + 1, NUMBER), zeros, zeros + 1
    )
    x = np.array([5.0, *([0.0] * n)])
    z = np.array([7.0, *([0.0] * n)])
    low, high = k_probability(model, space, x, z, 1, width=1e-6)
    binomial = sum(float(np.prod(np.arange(n, n - k, -1) / np.arange(1, k + 1))) for k in range(8, n + 1)) / 2**n
    assert low - 1e-9 <= binomial <= high + 1e-9
    assert high - low < 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(25))
def test_certificates_are_those_of_all_corners(seed: int, n_classes: int) -> None:
    model, z = random_model(seed, n_classes), changed(a=7.0)
    target = int(model.predict(z[np.newaxis])[0])
    corners = np.array([*product([7.0], [4.0, 6.0], [0.0, 1.0], [3.0, 7.0])])
    holds = bool((model.predict(corners) == target).all())
    found = k_certificate(model, SPACE, X, z, target)
    assert found.verdict is (Settled.CERTIFIED if holds else Settled.REFUTED)
    if found.point is not None:
        assert model.predict(found.point[np.newaxis])[0] != target
        assert (corners == found.point).all(axis=1).any()
    low, high = interval(model, z, target, width=0.02)
    assert (low, high) == (1, 1) if holds else low < 1


def test_a_least_lead_within_rounding_is_open_and_an_unknown_class_is_lost() -> None:
    touching = two([1.0, 0, 0, 0, 0, 0], -4.0)  # a is 4 at least: a tie
    found = k_certificate(touching, SPACE, X, changed(d=9), 1)
    assert found.verdict is Settled.OPEN
    assert found.point is not None
    assert found.point[[0, 3]].tolist() == [4, 9]
    assert interval(touching, changed(d=9))[1] == pytest.approx(1)
    assert k_certificate(touching, SPACE, X, changed(d=9), 7).verdict is Settled.REFUTED
    assert k_probability(touching, SPACE, X, changed(d=9), 7) == (0, 0)
    with pytest.raises(UnavailableError, match="a int, shows no structure"):
        structure_of(3)
