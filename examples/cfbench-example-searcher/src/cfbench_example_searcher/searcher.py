"""The searcher example-searcher.

It draws random rows and moves the best of them back towards the factual point, feature by feature.
This small search works. Keep the frame, and replace the algorithm with your own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from cfbench import Best, BudgetExhausted, Handles, Problem, Searcher, SearcherEntry, hookimpl
from cfbench.space import FloatArray
from pydantic import Field


class ExampleSearcher(Searcher):
    """Draw random rows, take the best one of the target class, and walk it back towards `x`.

    The fields are the settings. cfbench checks their values before anything runs. A study sets them
    in brackets after the name: `example-searcher[n_rows=5000]`.

    Parameters
    ----------
    n_rows : int
        Number of random rows at the start.
    n_stops : int
        Number of values that are tried between a feature's value and its factual value.
    n_rounds : int
        How often every feature is moved back.
    """

    n_rows: int = Field(default=2000, ge=1)
    n_stops: int = Field(default=20, ge=1)
    n_rounds: int = Field(default=3, ge=0)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return a row of the target class, shape (d,); None if none was found.

        `Best` keeps the best rows that are evaluated, and `choose` returns one of them. If the
        objective's values are noisy, it re-evaluates them first. A query over budget raises
        BudgetExhausted; the queries for the re-evaluation are reserved.
        """
        best = Best(problem)
        with suppress(BudgetExhausted):
            self.walk(problem, rng, best)
        return best.choose()

    def walk(self, problem: Problem, rng: np.random.Generator, best: Best) -> None:
        """Evaluate random rows, then values between the best row and `x`."""
        rows = problem.sample(self.n_rows, rng)
        kept = rng.random(rows.shape) < 0.5  # good counterfactuals change few features
        best.evaluate(problem.repair(np.where(kept, problem.x, rows)))  # feasible rows nearby
        for feature in np.tile(rng.permutation(problem.space.d), self.n_rounds):
            z = best.z
            if z is None:
                return
            way = np.repeat(z[np.newaxis], self.n_stops, axis=0)
            start, end = problem.x[feature], z[feature]
            way[:, feature] = np.linspace(start, end, self.n_stops, endpoint=False)
            best.evaluate(problem.repair(way))


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    """Register the searcher; cfbench calls this."""
    yield SearcherEntry(
        name="example-searcher",
        version="1",  # raise it whenever results may change: it is in every result's key
        searcher=ExampleSearcher,
        summary="random rows, walked back towards the factual point",
        # What it supports. Leave out what yours does not: such cells are skipped, with a reason.
        handles=[
            Handles.CATEGORICAL,
            Handles.CONSTRAINTS,
            Handles.RELATIONS,
            Handles.OBJECTIVES,
        ],
    )
