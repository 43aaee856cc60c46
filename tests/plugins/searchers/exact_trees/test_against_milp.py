"""The optimum on a real table against a mixed-integer program, solved by HiGHS; its points have the library's class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfbench import DataSource, Need, Problem
from cfbench.forests import forest_of
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench.registry.registry import build_registry
from cfbench.space.dataset import split
from cfbench_searchers.exact_trees.searcher import ExactTrees
from tests.plugins.forest_milp import ForestMilp, cell_values

SETTINGS: dict[str, dict[str, Any]] = {
    "gradient-boosting": {"max_iter": 10, "max_leaf_nodes": 5},
    "xgboost": {"n_estimators": 10, "max_depth": 2},
    "lightgbm": {"n_estimators": 10, "num_leaves": 5},
    "catboost": {"iterations": 10, "depth": 2},
    "random-forest": {"n_estimators": 10, "max_depth": 3},
    "extra-trees": {"n_estimators": 10, "max_depth": 3},
    "decision-tree": {"max_depth": 8},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_a_mixed_integer_program_finds_no_cheaper_counterfactual(name: str, tmp_path: Path) -> None:
    registry = build_registry()
    dataset = registry.dataset("credit").entry.load(DataSource((), tmp_path, download=False))
    fold, space = split(dataset, 0), dataset.space
    family = registry.model(name).entry.family()
    model = family.fit(dataset.X[fold.train], dataset.y[fold.train], space, SETTINGS[name])
    structure = forest_of(model)
    program = ForestMilp(structure, dataset.target)
    X = dataset.X[fold.test]
    points = X[model.predict(X) != dataset.target][:3]
    assert len(points) == 3
    for x in points:
        problem = Problem(x, dataset.target, space, Meter(model, space.d), needs=[Need.FOREST], model=model)
        z = ExactTrees().search(problem, np.random.default_rng(0))
        values = cell_values(structure, space, x)
        rows = [np.tile(x, (len(of), 1)) for of in values]
        for i, of in enumerate(values):
            rows[i][:, i] = of
        found = program.solve([space.d * space.cost(of, x) for of in rows], values, 60.0)
        assert found.proven
        assert trace_of(problem).figures["proven"] == 1
        if z is None:
            assert found.z is None
            continue
        assert found.z is not None
        assert model.predict(found.z[np.newaxis])[0] == dataset.target
        assert space.cost(found.z[np.newaxis], x)[0] == pytest.approx(space.cost(z[np.newaxis], x)[0], abs=1e-9)
