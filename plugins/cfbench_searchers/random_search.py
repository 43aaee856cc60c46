"""Random search: the baseline for all searchers."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cfbench import Best, BudgetExhausted, Problem, Searcher
from cfbench.space import FloatArray


class RandomSearch(Searcher):
    """Draw candidates at random and return the best.

    Each candidate is `x` with new values for some features, drawn from the feasible box. Their number is drawn first,
    uniformly from 1 to d: counterfactuals are sparse, and a candidate with all features redrawn costs more than any.
    Candidates that break a relation between features are repaired.

    Parameters
    ----------
    n_rows : int
        Candidates to evaluate; by default as many as CoGS evaluates. Under an objective with draws, the re-evaluation
        of the best ones (`cfbench.Best`) is added: 160 evaluations with 64 draws each.
    batch_size : int
        Rows a question.
    """

    n_rows: int = Field(default=101_000, ge=1)
    batch_size: int = Field(default=1000, ge=1)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return the best row of the target class, as `cfbench.Best` chooses it; None if there was none."""
        best = Best(problem)
        box, home = problem.box, problem.home
        with suppress(BudgetExhausted):
            for start in range(0, self.n_rows, self.batch_size):
                n = min(self.batch_size, self.n_rows - start)
                Z = np.where(some_features(n, len(home), rng), box.sample(n, rng), home)
                best.evaluate(problem.repair(Z) if problem.has_relations else Z)
        return best.choose()


def some_features(n: int, d: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose, for each of `n` rows, 1 to `d` features, every number and every choice equally likely; shape (n, d)."""
    how_many = rng.integers(1, d, size=(n, 1), endpoint=True)
    order = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)
    chosen: NDArray[np.bool_] = order < how_many
    return chosen
