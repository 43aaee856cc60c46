"""What the exact searcher says where a limit, a model or a space leaves it nothing to prove, or no forest to read."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from cfbench import CfbenchError, Constraint, FeatureSpace, FeatureSpec, Kind, Need, NumericalPerturbation, Problem
from cfbench.errors import ModelError, UnavailableError
from cfbench.forests import ForestStructure, Settled, k_certificate, k_probability
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench.space import FloatArray, IntArray
from cfbench_models.forest.family import RandomForest
from cfbench_searchers.exact_trees.searcher import ExactTrees

NONE = np.empty(0, dtype=np.int64)
NO_ENDS = np.empty(0)


class Stump:
    """A third party's forest of one split, ``size <= cut``; class 1 above it."""

    def __init__(self, cut: float, *, says: int = 1) -> None:
        self.cut = cut
        self.says = says

    def predict(self, Z: FloatArray) -> IntArray:
        return np.where(Z[:, 0] > self.cut, self.says, 0).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        raise NotImplementedError

    def forest_structure(self) -> ForestStructure:
        nodes = np.array([[0, 0, 1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]])
        shares = np.array([[1.0, 0.0], [0.0, 1.0]])
        return ForestStructure(
            np.array([0, 1]), nodes, np.array([0]), shares, (np.array([self.cut]), NO_ENDS), (NONE, NONE)
        )


SPACE = FeatureSpace((FeatureSpec("size", Kind.NUMERICAL, 0, 10, step=1), FeatureSpec("hue", Kind.NUMERICAL, 0, 1)))
X = np.array([2.0, 0.5])


def problem_of(model: Any, *, space: FeatureSpace = SPACE, x: FloatArray = X, **options: Any) -> Problem:
    options = {"target": 1, "needs": [Need.FOREST], **options}
    return Problem(x, space=space, meter=Meter(model, space.d), model=model, **options)


def search(problem: Problem, **settings: Any) -> tuple[FloatArray | None, dict[str, float]]:
    answer = ExactTrees(**settings).search(problem, np.random.default_rng(0))
    assert answer is None or isinstance(answer, np.ndarray)
    return answer, trace_of(problem).figures


def test_a_third_partys_forest_by_hand() -> None:
    problem = problem_of(Stump(7.25))
    z, figures = search(problem)
    assert z is not None
    assert z.tolist() == [np.nextafter(7.25, 8), 0.5]  # the first number on the other side, never rounded
    assert figures["proven"] == 1
    assert figures["lower_bound"] == pytest.approx(0.25 + 0.25 * 5.25 / 10)
    assert problem.queries_left is None


def test_steps_are_respected() -> None:
    z, figures = search(problem_of(Stump(7.25), respect_steps=True))
    assert z is not None
    assert z.tolist() == [8.0, 0.5]
    assert figures["lower_bound"] == pytest.approx(0.25 + 0.25 * 6 / 10)


def test_nothing_to_find_is_proven() -> None:
    for problem, why in (
        (problem_of(Stump(10.0)), ""),
        (problem_of(Stump(5.0), target=2), ": the forest never says the class"),
    ):
        z, figures = search(problem)
        assert z is None
        assert figures["proven"] == 1
        assert "lower_bound" not in figures
        assert trace_of(problem).reason == f"proven: there is no counterfactual{why}"


def test_a_factual_value_off_the_grid_that_no_multiple_can_replace() -> None:
    size = FeatureSpec("size", Kind.NUMERICAL, 0, 1.5, constraint=Constraint.ONLY_UP, step=1)
    space, x = FeatureSpace((size, SPACE.features[1])), np.array([1.1, 0.5])
    problem = problem_of(Stump(1.25), space=space, x=x, respect_steps=True, constraints=True)
    z, figures = search(problem)
    assert z is None
    assert figures["proven"] == 1
    assert trace_of(problem).reason == "proven: there is no counterfactual: a feature has no feasible value"


def test_a_model_that_is_no_forest_is_a_clear_error() -> None:
    class Blind:
        predict = Stump(5.0).predict
        predict_proba = Stump(5.0).predict_proba

    with pytest.raises(UnavailableError, match="a Blind, shows no forest; a model does that by a method `forest_struc"):
        search(problem_of(Blind()))


def test_a_structure_that_is_not_the_models_proves_nothing() -> None:
    with pytest.raises(ModelError, match=r"the model says class 0: the structure is not the model's, and nothing is"):
        search(problem_of(Stump(5.0, says=0)))


def test_a_term_that_is_no_sum_over_the_features_is_refused() -> None:
    problem = problem_of(Stump(5.0), term=lambda Z, classes: Z[:, 0] * Z[:, 1])
    with pytest.raises(CfbenchError, match="terms that are sums over the features; this objective's term is not a sum"):
        search(problem)


def test_a_limit_leaves_a_bound_and_no_proof() -> None:
    rng = np.random.default_rng(1)
    space = FeatureSpace(tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, 0, 1) for i in range(6)))
    rows = rng.random((200, 6))
    model = RandomForest().fit(rows, (rows.sum(axis=1) > 3.6).astype(np.int64), space, {"n_estimators": 20})
    problem = problem_of(model, space=space, x=np.full(6, 0.2))
    best, proof = search(problem)
    assert best is not None
    assert proof["proven"] == 1
    problem = problem_of(model, space=space, x=np.full(6, 0.2))
    z, figures = search(problem, seconds=1e-9)
    assert z is None
    assert trace_of(problem).reason == "the limit of 1e-09 s was reached before a counterfactual or a proof"
    assert figures["proven"] == 0
    assert 0 <= figures["lower_bound"] <= proof["lower_bound"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shares": np.array([[1.0, np.nan], [0.0, 1.0]])}, "shares of shape"),
        ({"nodes": np.array([[0, 1, 1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]])}, "a cut names no boundary"),
        ({"nodes": np.array([[5, 0, 1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]])}, "a split looks at feature 5"),
        ({"nodes": np.array([[0, 0, 0, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]])}, "a node has two parents"),
        ({"nodes": np.array([[0, 0, 1, 9], [-1, 0, 0, 0], [-1, 0, 1, 0]])}, "a child is no node"),
        ({"nodes": np.array([[0, 0, 1, 2], [-1, 0, 7, 0], [-1, 0, 1, 0]])}, "a leaf has no row of shares"),
        ({"boundaries": (np.array([2.0, 1.0]), NO_ENDS)}, "boundaries do not ascend"),
        ({"roots": np.empty(0)}, "there is no tree"),
    ],
)
def test_a_structure_that_contradicts_itself_is_refused(change: dict[str, Any], said: str) -> None:
    sound = Stump(5.0).forest_structure()
    fields = {name: getattr(sound, name) for name in sound.__dataclass_fields__}
    with pytest.raises(ModelError, match=f"the forest's structure contradicts itself: .*{said}"):
        ForestStructure(**{**fields, **change})


SCRIPT = """
import numpy as np
from cfbench import FeatureSpace, FeatureSpec, Kind, Need, NumericalPerturbation, Problem
from cfbench.forests import forest_of, k_probability
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import trace_of
from cfbench_models.forest.family import RandomForest
from cfbench_searchers.exact_trees.searcher import ExactTrees

far = NumericalPerturbation(0.4, 0.4)
space = FeatureSpace(tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, 0, 1, perturbation=far) for i in range(4)))
rows = np.random.default_rng(2).random((40, 4))
labels = (rows.sum(axis=1) > 2.4).astype(np.int64)
model = RandomForest().fit(rows, labels, space, {"n_estimators": 4, "min_samples_split": 8})
x = np.full(4, 0.3)
problem = Problem(x, 1, space, Meter(model, 4), needs=[Need.FOREST], model=model)
z = ExactTrees().search(problem, np.random.default_rng(0))
found = k_probability(forest_of(model), space, x, z, 1, width=0.1)
figures = [value for _, value in sorted(trace_of(problem).figures.items())]
print([float(value).hex() for value in (*z, *found, *figures)])
"""


@pytest.mark.slow
def test_the_same_bits() -> None:
    shown = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert shown[0] == shown[1]
    assert shown[0].count("0x") == 9


LINE = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 2, perturbation=NumericalPerturbation(0.25, 0.25)),))


class Coarse:
    """Class 0 up to 1; above it, two votes that rounding alone tells apart, for class 1."""

    def __init__(self, seed: int) -> None:
        own = np.random.default_rng(seed).uniform(0, 1e12, 3)
        rival = own[[2, 0, 1]]  # the same numbers, added in another order
        nodes = [[0, 0, 1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0], [-1, 0, 2, 0], [-1, 0, 3, 0]]
        shares = [[2e12, 0.0], *np.stack([rival, own], axis=1).tolist()]
        self._structure = ForestStructure(
            classes=np.array([0, 1]),
            nodes=np.array(nodes),
            roots=np.array([0, 3, 4]),
            shares=np.array(shares),
            boundaries=(np.array([1.0]),),
            cell_of_code=(np.empty(0, dtype=np.int64),),
        )

    def forest_structure(self) -> ForestStructure:
        return self._structure

    def predict(self, Z: FloatArray) -> IntArray:
        return self._structure.predict_cells(self._structure.cells(Z))

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        raise NotImplementedError


def test_votes_that_rounding_tells_apart_are_counted_as_the_forest_counts_them() -> None:
    leads = 0
    for seed in range(60):
        model, x, above = Coarse(seed), np.array([0.5]), np.array([1.5])
        problem = Problem(x, 1, LINE, Meter(model, 1), needs=[Need.FOREST], model=model)
        z = ExactTrees().search(problem, np.random.default_rng(0))
        certificate = k_certificate(model.forest_structure(), LINE, above, above, 1)
        interval = k_probability(model.forest_structure(), LINE, above, above, 1)
        assert trace_of(problem).figures["proven"] == 1, seed
        if model.predict(above[np.newaxis])[0] == 1:
            assert z is not None, seed
            assert z[0] == np.nextafter(1.0, 2.0), seed
            assert certificate.verdict is Settled.CERTIFIED, seed
            assert interval == (1.0, 1.0), seed
            leads += 1
        else:
            assert z is None, seed
            assert certificate.verdict is Settled.REFUTED, seed
            assert interval == (0.0, 0.0), seed
    assert 0 < leads < 60
