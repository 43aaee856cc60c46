"""What comes back from a search: the searcher's set, and the harness's verdict on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from cfbench.space.space import FloatArray


class Status(StrEnum):
    """How a search ended, as the harness judged it."""

    FOUND = "found"
    """A feasible point of the target class, confirmed by the judge."""
    NOT_FOUND = "not_found"
    """The searcher gave up."""
    BUDGET_EXHAUSTED = "budget_exhausted"
    """A query exceeded the budget; the result is the best feasible target row queried until then, if any."""
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

    The harness judges every row; the valid row with the smallest objective value is the result.

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


@dataclass(frozen=True, eq=False)
class Outcome:
    """The harness's verdict on one search. Only the harness creates it.

    The reason is one sentence, the searcher's own if it gave one and found nothing. `z`, shape (d,), is the result; for
    ``invalid`` it is what the searcher answered, if that can be stored. `candidates`, shape (k, d), are all rows that
    the searcher returned. Loss, its parts and the objective value are those of the judge, NaN or None without a valid
    result. `anytime` has a pair (queries, best base loss until then) per improvement.
    """

    status: Status
    reason: str = ""
    z: FloatArray | None = None
    candidates: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    loss: float = float("nan")
    gower: float = float("nan")
    l0: int | None = None
    cost: float = float("nan")
    objective_value: float = float("nan")
    search_queries: int = 0
    robustness_queries: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    anytime: tuple[tuple[int, float], ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
