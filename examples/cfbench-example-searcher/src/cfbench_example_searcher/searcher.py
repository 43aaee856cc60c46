"""The searcher example-searcher.

It draws random rows and walks from the best of them back towards the factual point, feature by
feature: a small search that works. Keep the frame, and put an algorithm of your own into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from cfbench import (
    Best,
    BudgetExhausted,
    FloatArray,
    Handles,
    Kind,
    Problem,
    Searcher,
    SearcherEntry,
    hookimpl,
)
from pydantic import Field


class ExampleSearcher(Searcher):
    """Draw random rows, take the best one of the target class, and walk it back towards `x`.

    The fields are the settings. cfbench checks their values before anything runs; a study sets them
    in brackets behind the name: `example-searcher[n_rows=5000]`.

    Parameters
    ----------
    n_rows : int
        Random rows to begin with.
    n_stops : int
        Places that are tried on a feature's way back to its factual value.
    n_rounds : int
        How often every feature is walked back.
    """

    n_rows: int = Field(default=2000, ge=1)
    n_stops: int = Field(default=20, ge=1)
    n_rounds: int = Field(default=3, ge=0)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return a row of the target class, shape (d,); None if none was found.

        `Best` keeps the best rows that are evaluated, and `choose` returns one of them. Where the
        objective's values are noisy, it re-evaluates them first. A query past the budget raises
        BudgetExhausted; the rows for the re-evaluation are reserved.
        """
        best = Best(problem)
        with suppress(BudgetExhausted):
            self.walk(problem, rng, best)
        return best.choose()

    def walk(self, problem: Problem, rng: np.random.Generator, best: Best) -> None:
        """Evaluate random rows, then places on the best one's way back to `x`."""
        lower, upper = problem.bounds()
        rows = rng.uniform(lower, upper, size=(self.n_rows, problem.space.d))
        kept = rng.random(rows.shape) < 0.5  # good counterfactuals change few features
        best.evaluate(allowed(np.where(kept, problem.x, rows), problem))
        for feature in np.tile(rng.permutation(problem.space.d), self.n_rounds):
            z = best.z
            if z is None:
                return
            way = np.repeat(z[np.newaxis], self.n_stops, axis=0)
            start, end = problem.x[feature], z[feature]
            way[:, feature] = np.linspace(start, end, self.n_stops, endpoint=False)
            best.evaluate(allowed(way, problem))


def allowed(rows: FloatArray, problem: Problem) -> FloatArray:
    """Move rows to the nearest feasible values: inside the bounds, categories as whole codes.

    Where the study asks for it, numbers are multiples of their feature's step. Do this before rows
    are evaluated: what is returned has to be exactly what the model was asked.
    """
    lower, upper = problem.bounds()
    rows = np.clip(rows, lower, upper)
    for i, feature in enumerate(problem.space.features):
        step = 1.0 if feature.kind is Kind.CATEGORICAL else feature.step
        if step and (problem.respect_steps or feature.kind is Kind.CATEGORICAL):
            counts = np.round(rows[:, i] / step)
            rows[:, i] = np.clip(counts, np.ceil(lower[i] / step), np.floor(upper[i] / step)) * step
    return rows


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    """Register the searcher; cfbench calls this."""
    yield SearcherEntry(
        name="example-searcher",
        version="1",  # raise it whenever results may change: it is in every result's key
        searcher=ExampleSearcher,
        summary="random rows, walked back towards the factual point",
        # What it works with. Leave out what yours does not: such cells are skipped, and say so.
        handles=[Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES],
    )
