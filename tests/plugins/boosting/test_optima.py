"""Optima and certificates on small boosted ensembles against full enumeration, classes by the library alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from cfbench import Need, Problem
from cfbench.forests import Settled, forest_of, k_certificate, k_probability
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray
from cfbench_models.boosting.family import BoostedModel, Boosting, CatBoost, GradientBoosting, LightGBM, XGBoost
from cfbench_searchers.exact_trees.searcher import ExactTrees
from tests.plugins.drawn_forests import Drawn, draw_forest

FAMILIES: dict[str, tuple[Boosting, dict[str, Any]]] = {
    "gradient-boosting": (GradientBoosting(), {"max_leaf_nodes": 4, "min_samples_leaf": 2, "max_iter": 3}),
    "xgboost": (XGBoost(), {"max_depth": 2, "n_estimators": 3}),
    "lightgbm": (LightGBM(), {"num_leaves": 4, "min_child_samples": 2, "n_estimators": 3}),
    "catboost": (CatBoost(), {"depth": 2, "iterations": 3}),
}


def boosted(seed: int, name: str, n_classes: int) -> tuple[BoostedModel, Drawn, FloatArray, int]:
    """Fit three rounds of trees on random rows of a drawn space; return the model, a point, and another class."""
    drawn, rng = draw_forest(seed, n_classes=n_classes), np.random.default_rng(seed)
    columns = [rng.uniform(0, 10, 40), rng.uniform(-4, 4, 40), rng.integers(0, 3, 40), rng.integers(0, 2, 40)]
    X, y = np.column_stack(columns).astype(np.float64), rng.integers(0, n_classes, 40)
    y[:n_classes] = np.arange(n_classes)
    family, settings = FAMILIES[name]
    model = family.fit(X, y, drawn.space, {"learning_rate": 0.5, **settings}, seed)
    own = int(model.predict(drawn.x[np.newaxis])[0])
    return model, drawn, drawn.x, int(rng.choice([k for k in range(n_classes) if k != own]))


def everything(model: BoostedModel, drawn: Drawn, *, on_grid: bool) -> FloatArray:
    """Return points on all sides of all boundaries, float64 and float32 neighbours among them."""
    values = []
    for i, feature in enumerate(drawn.space.features):
        if feature.n_categories:
            values.append(np.arange(feature.n_categories, dtype=np.float64))
        elif on_grid and feature.step:
            values.append(np.arange(feature.lower, feature.upper + feature.step, feature.step))
        else:
            ends = forest_of(model).boundaries[i]
            single = ends.astype(np.float32)
            around = [np.nextafter(single, np.float32(side)).astype(np.float64) for side in (-np.inf, np.inf)]
            own = [feature.lower, feature.upper, drawn.x[i]]
            values.append(np.unique(np.concatenate([own, ends, np.nextafter(ends, np.inf), *around])))
    return np.array(list(product(*values)))


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_optimum_is_that_of_full_enumeration(name: str, n_classes: int) -> None:
    found = 0
    for seed in range(25):
        model, drawn, x, target = boosted(seed, name, n_classes)
        constraints, respect_steps = seed % 2 == 1, seed % 4 >= 2
        problem = Problem(
            x,
            target,
            drawn.space,
            Meter(model, drawn.space.d),
            constraints=constraints,
            respect_steps=respect_steps,
            needs=[Need.FOREST],
            model=model,
        )
        z = ExactTrees().search(problem, np.random.default_rng(0))
        Z = everything(model, drawn, on_grid=respect_steps)
        Z = Z[drawn.space.is_feasible(Z, x, constraints=constraints, respect_steps=respect_steps)]
        Z = Z[model.predict(Z) == target] if len(Z) else Z
        assert trace_of(problem).figures["proven"] == 1
        if z is None:
            assert len(Z) == 0, seed
            continue
        value = float(problem.loss(z[np.newaxis])[0])
        assert model.predict(z[np.newaxis])[0] == target
        assert value == pytest.approx(drawn.space.cost(Z, x).min(), abs=1e-12), seed
        found += 1
    assert found > 8


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificates_and_probabilities_agree_with_the_librarys_classes(name: str, n_classes: int) -> None:
    verdicts = set()
    for seed in range(30):
        model, drawn, z, _ = boosted(seed, name, n_classes)
        own = int(model.predict(z[np.newaxis])[0])
        asked = (forest_of(model), drawn.space, z, z, own)
        certificate = k_certificate(*asked)
        neighbours = KNeighbours(drawn.space, z, stream=seed, m=2_000)
        kept = (model.predict(neighbours.draw(z[np.newaxis])[0]) == own).mean()
        interval = k_probability(*asked, width=0.01)
        spread = 5 * np.sqrt(0.25 / 2_000)
        assert interval.lower - spread <= kept <= interval.upper + spread
        verdicts.add(certificate.verdict)
        if certificate.verdict is Settled.CERTIFIED:
            assert kept == 1
        else:
            assert certificate.point is not None
            assert model.predict(certificate.point[np.newaxis])[0] != own
    assert Settled.REFUTED in verdicts
    assert Settled.OPEN not in verdicts
