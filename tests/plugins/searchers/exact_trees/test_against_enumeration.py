"""The optimum against full enumeration on several hundred small forests, classes asked of scikit-learn alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cfbench import Need, ObjectiveContext, Problem
from cfbench.forests import forest_of
from cfbench.problem import SeparableTerm
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench.space import FloatArray
from cfbench_objectives.c_setback import SetbackAware
from cfbench_searchers.exact_trees import bound, pairs
from cfbench_searchers.exact_trees.branching import BranchAndBound
from cfbench_searchers.exact_trees.searcher import ExactTrees
from cfbench_searchers.exact_trees.task import ForestTask, cell_costs
from tests.plugins.drawn_forests import Drawn, draw_forest

A_STEP = 1e-5
"""Enumerated values lie a float32 step beside thresholds, so they cost that much more than the optimum may."""


def everything(drawn: Drawn, *, on_grid: bool) -> FloatArray:
    """Return a point of every cell, more than one where a cost may have its minimum within."""
    values = []
    for i, feature in enumerate(drawn.space.features):
        if feature.n_categories:
            values.append(np.arange(feature.n_categories, dtype=np.float64))
        elif on_grid and feature.step:
            values.append(np.arange(feature.lower, feature.upper + feature.step, feature.step))
        else:
            cuts = drawn.thresholds(i).astype(np.float32)
            beside = [np.nextafter(cuts, np.float32(side)).astype(np.float64) for side in (-np.inf, np.inf)]
            own = [feature.lower, feature.upper, drawn.x[i], 0.0]
            values.append(np.unique(np.concatenate([own, cuts.astype(np.float64), *beside])))
    return np.array(list(product(*values)))


def cheapest(drawn: Drawn, term: SeparableTerm | None, *, constraints: bool, respect_steps: bool) -> float:
    """Return the smallest value of a feasible point of the target class; infinite where there is none."""
    Z = everything(drawn, on_grid=respect_steps)
    Z = Z[drawn.space.is_feasible(Z, drawn.x, constraints=constraints, respect_steps=respect_steps)]
    Z = Z[drawn.model.predict(Z) == drawn.target] if len(Z) else Z
    values = drawn.space.cost(Z, drawn.x)
    if term is not None:
        values = values + term(Z, np.full(len(Z), drawn.target))
    return float(values.min(initial=np.inf))


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["none", "c"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_optimum_is_that_of_full_enumeration(
    monkeypatch: pytest.MonkeyPatch, n_classes: int, objective: str
) -> None:
    outcomes = {"found": 0, "none": 0, "boxes": 0, "ties": 0, "unseen": 0}
    for seed in range(80):
        monkeypatch.undo()
        drawn = draw_forest(seed, n_classes=n_classes)
        constraints, respect_steps = seed % 2 == 1, seed % 4 >= 2
        term = None
        if objective == "c":
            setback = SetbackAware().bind(
                ObjectiveContext(drawn.x, drawn.target, drawn.space, drawn.model.predict, stream=0)
            )
            assert isinstance(setback, SeparableTerm)
            term = setback
        problem = Problem(
            drawn.x,
            drawn.target,
            drawn.space,
            Meter(drawn.model, drawn.space.d),
            constraints=constraints,
            respect_steps=respect_steps,
            term=term,
            needs=[Need.FOREST],
            model=drawn.model,
        )
        place = int(np.flatnonzero(drawn.model.classifier.classes_ == drawn.target)[0])
        if seed % 3 == 0:
            monkeypatch.setattr(bound, "WORTH_PRUNING", 1.0)  # these forests are so small that no copy pays
        z = ExactTrees().search(problem, np.random.default_rng(0))
        figures = trace_of(problem).figures
        enumerated = cheapest(drawn, term, constraints=constraints, respect_steps=respect_steps)
        assert figures["proven"] == 1, seed
        if z is None:
            assert np.isinf(enumerated), seed
            assert "lower_bound" not in figures
            outcomes["none"] += 1
            continue
        # Branch and bound needs none of the steps before it, and it need not look through small boxes.
        monkeypatch.setattr(pairs, "MOST_STEPS", 1000 * (seed % 3))
        task = ForestTask(forest_of(drawn.model), cell_costs(forest_of(drawn.model), problem), place, np.inf)
        steps = BranchAndBound(task, 0.0)
        steps.run()
        value = float(problem.loss(z[np.newaxis])[0])
        assert task.best is not None
        assert task.best.cost == pytest.approx(value, abs=1e-12), seed
        assert problem.is_feasible(z[np.newaxis])[0], seed
        assert drawn.model.predict(z[np.newaxis])[0] == drawn.target, seed
        assert enumerated - A_STEP <= value <= enumerated + 1e-12, seed
        assert figures["lower_bound"] == pytest.approx(value, abs=1e-12), seed
        shares = np.sort(drawn.model.predict_proba(z[np.newaxis])[0])
        outcomes["found"] += 1
        outcomes["boxes"] += steps.boxes > 1
        outcomes["ties"] += shares[-1] == shares[-2]
        outcomes["unseen"] += z[2] == 3
    assert all(outcomes.values()), outcomes  # every kind was met
