"""The metrics that look into a linear model."""

from __future__ import annotations

import numpy as np

from cfbench import CellContext, Dataset, FeatureSpace, FeatureSpec, Found, Kind, NumericalPerturbation
from cfbench_metrics.k_certified import KCertified, KProbability
from cfbench_metrics.optimality import OptimalityGap
from cfbench_models.linear.family import LogisticRegression
from tests.plugins.metrics.cells import values


def test_certificates_and_probabilities_on_logistic_regression() -> None:
    reach = NumericalPerturbation(1.0, 1.0)
    specs = [FeatureSpec(name, Kind.NUMERICAL, 0, 10, perturbation=reach) for name in ("a", "b")]
    space = FeatureSpace(tuple(specs))
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (200, 2))
    y = (X.sum(axis=1) > 10).astype(np.int64)
    model = LogisticRegression().fit(X, y, space, {"C": 10.0})
    x = np.array([2.0, 5.0])
    # b is kept and moves by 1: far from the boundary nothing is lost, on it half of the draws are
    structure = model.linear_structure()
    slopes = structure.slopes[1]
    on_it = -(structure.constants[1] + slopes[1] * 5.0) / slopes[0] + 1e-9
    Z = [np.array([9.5, 5.0]), np.array([on_it, 5.0])]
    dataset = Dataset("drawn", X, y, space, 1, ("low", "high"))
    context = CellContext(dataset, np.arange(200), np.arange(0), False, lambda: model, 42)
    found = Found.of_columns({"row_id": [0, 1, 2], "x": [x, x, x], "z": [*Z, None], "loss": [0.5, 0.4, None]})
    certified, kept = values(KCertified(), found, context), values(KProbability(width=1e-6), found, context)
    assert certified[:2] == [1, 0]
    np.testing.assert_allclose(kept, [1.0, 0.5, np.nan], atol=1e-5)


def test_the_gap_is_to_the_exact_searcher_that_has_results() -> None:
    assert OptimalityGap.reference.names == ("exact-trees", "exact-linear")
