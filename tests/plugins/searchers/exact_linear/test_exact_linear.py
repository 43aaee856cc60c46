"""The exact searcher on linear models: against all points of a grid, linear programs, a MILP, and by hand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from cfbench import (
    CategoricalPerturbation,
    Constraint,
    FeatureSpace,
    FeatureSpec,
    Kind,
    Need,
    NumericalPerturbation,
    ObjectiveContext,
    Problem,
)
from cfbench.errors import CfbenchError, ModelError
from cfbench.linear import NUMBER, LinearStructure
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import build_registry
from cfbench.space import FloatArray, IntArray
from cfbench.space.dataset import split
from cfbench_models.linear.family import LogisticRegression
from cfbench_objectives.c_setback import SetbackAware
from cfbench_searchers.exact_linear.relaxation import least_cost
from cfbench_searchers.exact_linear.searcher import ExactLinear
from cfbench_searchers.exact_linear.solving import warm_up


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile before the first search, as `prepare` does: it may take longer than a search's limit."""
    warm_up()


@dataclass(frozen=True)
class Toy:
    """A model that is its structure."""

    structure: LinearStructure

    def predict(self, Z: FloatArray) -> IntArray:
        return self.structure.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        raise NotImplementedError

    def linear_structure(self) -> LinearStructure:
        return self.structure


def structure_of(
    space: FeatureSpace, slopes: FloatArray, tables: list[FloatArray], intercepts: FloatArray
) -> LinearStructure:
    """Return a structure from raw slopes, shape (K, d), and one table (codes, K) for each categorical feature."""
    feature, code, columns = [], [], []
    for f in range(space.d):
        if space.is_categorical[f]:
            for c in range(len(tables[f])):
                feature.append(f)
                code.append(c)
                columns.append(tables[f][c])
        else:
            feature.append(f)
            code.append(NUMBER)
            columns.append(slopes[:, f])
    m = len(feature)
    zeros = np.zeros(m)
    weights = np.array(columns).T
    classes = np.arange(len(intercepts))
    return LinearStructure(space.d, classes, weights, intercepts, np.array(feature), np.array(code), zeros, zeros + 1)


CONSTRAINTS = [None, Constraint.FIXED, Constraint.ONLY_UP, Constraint.ONLY_DOWN]


def random_task(seed: int, *, step: float | None) -> tuple[FeatureSpace, Toy, FloatArray, int]:
    """Return a space of two to three numbers and one or two categorical features, a model, a case and a target."""
    rng = np.random.default_rng(seed)
    n_numbers, n_categorical, n_classes = int(rng.integers(2, 4)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    specs = []
    for i in range(n_numbers):
        constraint = CONSTRAINTS[int(rng.integers(0, 4))] if rng.random() < 0.5 else None
        decrease, increase = rng.uniform(0, 1.5, 2).tolist()
        reach = NumericalPerturbation(decrease, increase, relative=bool(rng.random() < 0.5))
        options: dict[str, Any] = {"perturbation": reach, "step": step}
        if constraint is not None:
            options["constraint"] = constraint
        specs.append(FeatureSpec(f"n{i}", Kind.NUMERICAL, -2, 3, **options))
    for i in range(n_categorical):
        turned = CategoricalPerturbation((0, 1)) if rng.random() < 0.5 else None
        names = tuple("abc")
        specs.append(FeatureSpec(f"c{i}", Kind.CATEGORICAL, 0, 2, names, perturbation=turned))
    space = FeatureSpace(tuple(specs))
    slopes = rng.normal(0, 1, (n_classes, space.d)) * (rng.random((n_classes, space.d)) < 0.8)
    tables = [rng.normal(0, 1, (3, n_classes)) for _ in range(space.d)]
    model = Toy(structure_of(space, slopes, tables, rng.normal(0, 2, n_classes)))
    numbers = rng.integers(-2, 4, n_numbers) if step else rng.uniform(-2, 3, n_numbers)
    x = np.concatenate([numbers, rng.integers(0, 3, n_categorical)]).astype(np.float64)
    others = np.delete(np.arange(n_classes), model.predict(x[np.newaxis])[0])
    return space, model, x, int(rng.choice(others))


def problem_of(space: FeatureSpace, model: Any, x: FloatArray, target: int, **options: Any) -> Problem:
    return Problem(x, target, space, Meter(model, space.d), needs=[Need.LINEAR], model=model, **options)


def solved(problem: Problem, **settings: Any) -> tuple[FloatArray | None, dict[str, float]]:
    z = ExactLinear(**settings).search(problem, np.random.default_rng(0))
    return z, dict(trace_of(problem).figures)


def values(problem: Problem, Z: FloatArray) -> FloatArray:
    term = problem.separable_term
    return problem.distance(Z) + (0.0 if term is None else term.parts(Z).sum(axis=1))


def value(problem: Problem, z: FloatArray) -> float:
    return float(values(problem, z[np.newaxis])[0])


@pytest.mark.parametrize("with_term", [False, True])
@pytest.mark.parametrize("seed", range(100))
def test_it_equals_the_best_of_all_points_of_a_grid(seed: int, with_term: bool) -> None:
    space, model, x, target = random_task(seed, step=1.0)
    term = None
    if with_term:
        term = SetbackAware().bind(ObjectiveContext(x=x, target=target, space=space, predict=model.predict, stream=0))
    problem = problem_of(space, model, x, target, constraints=seed % 2 == 0, respect_steps=True, term=term)
    axes = [np.arange(feature.lower, feature.upper + 1) for feature in space.features]
    rows = np.array([*product(*axes)])
    rows = rows[problem.is_feasible(rows) & (model.predict(rows) == target)]
    z, figures = solved(problem)
    assert figures["proven"] == 1
    if len(rows) == 0:
        assert z is None
        assert "lower_bound" not in figures
        return
    assert z is not None
    least = float(values(problem, rows).min())
    assert value(problem, z) == pytest.approx(least, abs=1e-12)
    assert least - 2e-9 <= figures["lower_bound"] <= least + 1e-12


def least_by_linear_programs(problem: Problem, structure: LinearStructure) -> float:
    """Try all categories and all sets of changed numbers in each direction; the amounts are a linear program each."""
    space, x = problem.space, problem.x
    lower, upper = problem.bounds()
    place = structure.place_of(problem.target)
    assert place is not None
    numbers = [*np.flatnonzero(~space.is_categorical)]
    codes = [np.arange(lower[f], upper[f] + 1) for f in np.flatnonzero(space.is_categorical)]
    least = np.inf
    for choice in product(*codes):
        z = x.copy()
        z[space.is_categorical] = choice
        scores = structure.scores(z[np.newaxis])[0]
        n_codes = int((z != x).sum())
        for ways in product([0, 1, -1], repeat=len(numbers)):
            moved = [f for f, way in zip(numbers, ways, strict=True) if way]
            signs = [way for way in ways if way]
            room = [upper[f] - x[f] if way > 0 else x[f] - lower[f] for f, way in zip(moved, signs, strict=True)]
            if any(width < 0 for width in room):
                continue
            fixed = (n_codes + 0.5 * len(moved)) / space.d
            need = np.delete(scores - scores[place], place)
            if not moved:
                least = min(least, fixed) if (need < 0).all() else least
                continue
            gain = structure.slopes[place, moved] - np.delete(structure.slopes, place, axis=0)[:, moved]
            price = [0.5 / space.d / space.ranges[f] for f in moved]
            found = linprog(price, -gain * np.array(signs), -need, bounds=[(0, width) for width in room])
            if found.status == 0:
                assert found.fun is not None
                least = min(least, fixed + float(found.fun))
    return float(least)


@pytest.mark.parametrize("seed", range(100, 200))
def test_it_equals_linear_programs_over_all_sets_of_changes(seed: int) -> None:
    space, model, x, target = random_task(seed, step=None)
    problem = problem_of(space, model, x, target, constraints=seed % 2 == 0)
    z, figures = solved(problem)
    least = least_by_linear_programs(problem, model.structure)
    assert figures["proven"] == 1
    if z is None:
        assert least == np.inf
        return
    assert model.predict(z[np.newaxis])[0] == target
    assert problem.is_feasible(z[np.newaxis])[0]
    assert value(problem, z) == pytest.approx(least, abs=2e-9)
    assert figures["lower_bound"] <= least + 1e-10


def least_by_milp(problem: Problem, structure: LinearStructure) -> float:
    """Return HiGHS's optimum for a model of two classes: one binary variable for each change and each category."""
    space, x = problem.space, problem.x
    lower, upper = problem.bounds()
    place = structure.place_of(problem.target)
    assert place is not None

    def lead(scores: FloatArray) -> FloatArray:
        difference: FloatArray = scores[..., place] - scores[..., 1 - place]
        return difference

    cost: list[float] = []
    gain: list[float] = []
    top: list[float] = []
    integral: list[int] = []
    rows: list[tuple[dict[int, float], float]] = []
    for f in range(space.d):
        first = len(cost)
        if space.is_categorical[f]:
            codes = np.array([c for c in np.arange(lower[f], upper[f] + 1) if c != x[f]])
            parts = lead(structure.parts(f, np.append(codes, x[f])))
            cost += [1.0 / space.d] * len(codes)
            gain += [*(parts[:-1] - parts[-1])]
            top += [1.0] * len(codes)
            integral += [1] * len(codes)
            rows.append(({first + k: 1.0 for k in range(len(codes))}, 1.0))
            continue
        slope = float(lead(structure.slopes[:, f]))
        for sign, width in ((1.0, upper[f] - x[f]), (-1.0, x[f] - lower[f])):
            at = len(cost)
            cost += [0.5 / space.d, 0.5 * width / space.ranges[f] / space.d]
            gain += [0.0, sign * slope * width]
            top += [1.0, 1.0]
            integral += [1, 0]
            rows.append(({at + 1: 1.0, at: -1.0}, 0.0))  # no amount without a change
    matrix = np.zeros((len(rows) + 1, len(cost)))
    limits = np.array([*(limit for _, limit in rows), float(lead(structure.scores(x[np.newaxis])[0]))])
    for i, (entries, _) in enumerate(rows):
        for column, entry in entries.items():
            matrix[i, column] = entry
    matrix[-1] = -np.array(gain)
    found = milp(
        cost,
        constraints=LinearConstraint(matrix, ub=limits),
        bounds=Bounds(0, top),
        integrality=np.array(integral),
        options={"mip_rel_gap": 1e-9},
    )
    return float(found.fun) if found.success else np.inf


@pytest.mark.parametrize("name", ["credit", "income"])
def test_it_equals_a_milp_on_points_of_real_data(name: str, tmp_path: Path) -> None:
    dataset = build_registry().dataset(name).entry.load(DataSource((), tmp_path, download=False))
    fold = split(dataset, 0)
    model = LogisticRegression().fit(dataset.X[fold.train], dataset.y[fold.train], dataset.space, {"C": 1.0})
    X = dataset.X[fold.test]
    for i, x in enumerate(X[model.predict(X) != dataset.target][:10]):
        problem = problem_of(dataset.space, model, x, dataset.target, constraints=i % 2 == 0)
        z, figures = solved(problem)
        assert z is not None
        assert figures["proven"] == 1
        assert model.predict(z[np.newaxis])[0] == dataset.target
        # HiGHS is allowed 1e-6 of each inequality
        assert value(problem, z) == pytest.approx(least_by_milp(problem, model.linear_structure()), abs=1e-6)


LINE = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 10), FeatureSpec("b", Kind.CATEGORICAL, 0, 2, tuple("xyz"))))


def by_hand(bonus: float) -> Toy:
    """Class 1 where ``a + bonus * [b = 2] > 6``."""
    tables = [np.zeros((0, 2)), np.array([[0.0, 0], [0, 0], [0, bonus]])]
    return Toy(structure_of(LINE, np.array([[0.0, 0], [1.0, 0]]), tables, np.array([0.0, -6.0])))


def test_costs_worked_out_by_hand() -> None:
    x = np.array([2.0, 0.0])
    # the number alone: (0.5 * 4 / 10 + 0.5) / 2 = 0.35; the category alone would cost 0.5 and is not enough
    z, figures = solved(problem_of(LINE, by_hand(1.0), x, 1))
    assert z is not None
    assert (z[1], figures["proven"]) == (0, 1)
    assert 6 < z[0] < 6 + 1e-9
    assert figures["lower_bound"] == pytest.approx(0.35, abs=1e-9)
    # the number is fixed to at most 5 from here on: only with the category, (0.5 * 1 / 10 + 0.5 + 1) / 2 = 0.775
    short = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 5), *LINE.features[1:]))
    z, figures = solved(problem_of(short, by_hand(3.0), x, 1))
    assert z is not None
    assert z[1] == 2
    assert figures["lower_bound"] == pytest.approx((0.5 * 1 / 5 + 0.5 + 1) / 2, abs=1e-9)
    z, figures = solved(problem_of(short, by_hand(0.5), x, 1))
    assert (z, figures["proven"]) == (None, 1)


def test_an_exact_tie_between_categories_is_decided_by_the_model() -> None:
    """At a = 2 the bonus of 4 ends in a tie, which goes to class 0; for the target 0 it is enough."""
    z, _ = solved(problem_of(LINE, by_hand(4.0), np.array([2.0, 0.0]), 1))
    assert z is not None
    assert z.tolist() != [2, 2]
    down = Toy(
        structure_of(
            LINE,
            np.array([[0.0, 0], [1.0, 0]]),
            [np.zeros((0, 2)), np.array([[0, 0], [0, 0], [0, -4.0]])],
            np.array([0.0, -6.0]),
        )
    )
    z, figures = solved(problem_of(LINE, down, np.array([10.0, 0.0]), 0, respect_steps=True))
    assert z is not None
    assert figures["proven"] == 1
    assert value(problem_of(LINE, down, np.array([10.0, 0.0]), 0), z) == pytest.approx(0.35, abs=1e-9)


def test_a_class_that_the_model_never_predicts_and_a_term_that_is_no_sum() -> None:
    problem = problem_of(LINE, by_hand(1.0), np.array([2.0, 0.0]), 7)
    z, figures = solved(problem)
    assert (z, figures["proven"]) == (None, 1)
    assert trace_of(problem).reason == "proven: there is no counterfactual: the model never predicts the class"
    problem = problem_of(LINE, by_hand(1.0), np.array([2.0, 0.0]), 1, term=lambda Z, classes: 0.0 * Z[:, 0])
    with pytest.raises(CfbenchError, match="this objective's term is not a sum"):
        solved(problem)


def test_a_structure_that_is_not_the_models_is_noticed() -> None:
    class Wrong(Toy):
        def predict(self, Z: FloatArray) -> IntArray:
            return np.zeros(len(Z), dtype=np.int64)

    with pytest.raises(ModelError, match="the structure is not the model's, and nothing is proven"):
        solved(problem_of(LINE, Wrong(by_hand(1.0).structure), np.array([2.0, 0.0]), 1))


def test_without_time_there_is_a_lower_bound_and_no_proof() -> None:
    space, model, x, target = random_task(101, step=None)
    z, figures = solved(problem_of(space, model, x, target), seconds=1e-9)
    assert (z, figures["proven"]) == (None, 0)
    assert figures["lower_bound"] == 0


@pytest.mark.parametrize("seed", range(40))
def test_the_relaxations_bound_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    gains, costs, need = rng.normal(0.3, 1, (n, m)), rng.normal(0.5, 0.5, n), rng.uniform(-1, 2, m)
    bound, amounts = least_cost(gains, costs, need)
    found = linprog(costs, -gains.T, -need, bounds=[(0, 1)] * n)
    if found.status == 2:
        assert bound == np.inf
        return
    assert bound == pytest.approx(found.fun, abs=1e-9)
    assert float(costs @ amounts) == pytest.approx(found.fun, abs=1e-9)
    assert (gains.T @ amounts >= need - 1e-8).all()
