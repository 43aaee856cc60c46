"""A small honest search that the wrong ones start from, and what is said of each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfbench import Best, Handles, Problem, SearcherEntry, hookimpl
from cfbench.space import FloatArray

EVERYTHING = (Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES)
N_ROWS = 400


def candidates(problem: Problem, rng: np.random.Generator, n: int = N_ROWS) -> FloatArray:
    """Draw feasible rows that keep about half of `x`."""
    lower, upper = problem.bounds()
    Z = rng.uniform(lower, upper, (n, problem.space.d))
    for i, feature in enumerate(problem.space.features):
        if problem.space.is_categorical[i]:
            Z[:, i] = np.clip(np.round(Z[:, i]), lower[i], upper[i])
        elif problem.respect_steps and feature.step is not None:
            Z[:, i] = np.clip(np.round(Z[:, i] / feature.step) * feature.step, lower[i], upper[i])
    return np.where(rng.random(Z.shape) < 0.5, problem.x, Z)


def honest(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Return the best of random rows; nothing is wrong with it."""
    best = Best(problem)
    best.evaluate(candidates(problem, rng))
    return best.choose()


@dataclass(frozen=True)
class Wrong:
    """A wrong searcher.

    Parameters
    ----------
    entry : SearcherEntry
    check : str
        The only check that it fails.
    status : str
        What the harness makes of it in a run without a query budget.
    """

    entry: SearcherEntry
    check: str
    status: str


def wrong(function: Callable[..., Any], check: str, status: str = "found", **declared: Any) -> Wrong:
    name = function.__name__.strip("_").replace("_", "-")
    return Wrong(SearcherEntry(name=name, searcher=function, **{"handles": EVERYTHING, **declared}), check, status)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    yield SearcherEntry(name="honest", searcher=honest, handles=EVERYTHING)
