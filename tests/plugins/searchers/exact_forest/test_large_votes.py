"""Votes far above 1 round coarsely: what rounding decides is counted in the forest's own order at any size."""

from __future__ import annotations

import numpy as np

from cfbench.forests import ForestStructure, Settled, k_certificate, k_probability
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import Problem, trace_of
from cfbench.space import FloatArray, IntArray
from cfbench.space.feature import FeatureSpec, Kind, NumericalPerturbation
from cfbench.space.space import FeatureSpace
from cfbench_searchers.exact_forest.searcher import ExactForest

SPACE = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 2, perturbation=NumericalPerturbation(0.25, 0.25)),))


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
        problem = Problem(x, 1, SPACE, Meter(model, 1), model=model)
        z = ExactForest().search(problem, np.random.default_rng(0))
        certificate = k_certificate(model.forest_structure(), SPACE, above, above, 1)
        interval = k_probability(model.forest_structure(), SPACE, above, above, 1)
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
