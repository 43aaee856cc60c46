"""What comes back from a search: the searcher's set, and the harness's verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cfbench.space.space import FloatArray


class Status(StrEnum):
    """How a search ended, as the harness judged it."""

    FOUND = "found"
    """A feasible point of the target class, confirmed by the judge."""
    NOT_FOUND = "not_found"
    """The searcher gave up."""
    BUDGET_EXHAUSTED = "budget_exhausted"
    """A query exceeded the budget.

    The result is the best feasible target row queried until then, if any, or the best of a set that was reported.
    """
    TIMED_OUT = "timed_out"
    """The search passed its wall-clock limit and was killed."""
    INVALID = "invalid"
    """The answer is no counterfactual: wrong shape, not finite, outside the space, infeasible, or not of the class."""
    CRASHED = "crashed"
    """The searcher raised, or its process died."""
    SKIPPED = "skipped"
    """The searcher does not support what the cell asks for; it was not run."""


@dataclass(frozen=True, eq=False)
class CounterfactualSet:
    """Several candidates for one factual point, where a searcher's entry says that it returns sets.

    The harness judges every row; the valid row with the smallest objective value is the result. The record keeps all
    rows, and metrics of sets see the valid ones.

    Parameters
    ----------
    Z : ndarray of float64, shape (k, d)
        May have no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import CounterfactualSet, FeatureSpace, FeatureSpec, Kind, SearcherEntry, explain
    >>> def three_rows(problem, rng):
    ...     return CounterfactualSet(np.array([[40.0], [60.0], [80.0]]))
    >>> explanation = explain(
    ...     [20],
    ...     model=lambda Z: (Z[:, 0] > 50).astype(int),
    ...     space=FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),)),
    ...     target=1,
    ...     searcher=SearcherEntry(name="three-rows", searcher=three_rows, returns_sets=True),
    ... )
    >>> explanation.z.tolist(), len(explanation.candidates)
    ([60.0], 3)
    """

    Z: FloatArray
