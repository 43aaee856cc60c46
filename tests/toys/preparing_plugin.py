"""A plugin for tests: FACE in small, which builds a graph once per fold, and searchers whose preparation is at fault.

The data set and the model are those of the toy plugin, so that both files are registered together.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from cfbench import (
    BudgetExhausted,
    Handles,
    Need,
    PrepareContext,
    Problem,
    Searcher,
    SearcherEntry,
    hookimpl,
)
from cfbench.registry import SearchFunction
from cfbench.space import FloatArray


class Face(Searcher):
    """The row of the target class that is the shortest way from `x`, along a graph of near training rows.

    References
    ----------
    Poyiadzi et al., "FACE: feasible and actionable counterfactual explanations", AIES 2020, algorithm 1 with the graph
    of k nearest neighbours; every row of the target class may be an end.
    """

    neighbours: int = 5

    def prepare(self, context: PrepareContext) -> SearchFunction:
        assert context.training is not None
        X = context.training.X
        apart = np.array([context.space.gower(X, x) for x in X])
        near = np.argsort(apart, axis=1, kind="stable")[:, 1 : self.neighbours + 1]
        rows = np.repeat(np.arange(len(X)), near.shape[1])
        graph = csr_array((apart[rows, near.ravel()] + 1e-12, (rows, near.ravel())), shape=apart.shape)
        ends = np.flatnonzero(context.predict(X) == context.target)
        lengths, _, end = dijkstra(graph, directed=False, indices=ends, min_only=True, return_predecessors=True)
        return partial(self._search, X, lengths, end)

    def _search(
        self, X: FloatArray, lengths: FloatArray, end: Any, problem: Problem, rng: np.random.Generator
    ) -> FloatArray | None:
        first = problem.space.gower(X, problem.x)
        ways = np.where(end >= 0, first + lengths, np.inf)
        for row in np.argsort(ways, kind="stable"):
            if np.isfinite(ways[row]) and problem.is_feasible(X[[end[row]]])[0]:
                found: FloatArray = X[end[row]]
                return found
        return None


class Prepares(Searcher):
    """Whose preparation does what `how` says; its search changes `size` to 20."""

    how: str = "well"

    def prepare(self, context: PrepareContext) -> Any:
        wrong = {"returns-a-list": [self.search], "returns-one-argument": lambda problem: None}
        if self.how in wrong:
            return wrong[self.how]
        if self.how == "writes":
            assert context.training is not None
            context.training.X[0, 0] = 3.0
        elif self.how == "raises":
            raise KeyError("no graph")
        elif self.how == "exits":
            os._exit(3)
        elif self.how == "sleeps":
            threading.Event().wait()
        elif self.how == "peeks":
            return context.model
        elif self.how == "queries":
            context.predict(np.tile([1.0, 20.0, 0.0], (7, 1)))
        elif self.how == "queries-until-the-end":
            try:
                while True:
                    context.predict(np.array([[1.0, 20.0, 0.0]]))
            except BudgetExhausted:
                return self.search
        elif self.how == "queries-later":
            return lambda problem, rng: context.predict(problem.x[np.newaxis])
        elif self.how == "draws":
            number = float(context.rng.uniform(12, 20))
            return lambda problem, rng: np.array([number, *problem.x[1:]])
        return self.search

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        return np.array([20.0, *problem.x[1:]])


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    handles = [Handles.CATEGORICAL, Handles.CONSTRAINTS]
    needs = [Need.TRAINING_DATA]
    yield SearcherEntry(name="face", searcher=Face, handles=handles, needs=needs)
    yield SearcherEntry(name="prepares", searcher=Prepares, handles=handles, needs=needs)
