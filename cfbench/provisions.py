"""What a search is provided with beside its point: a budget, and the rows that the model was trained on."""

from __future__ import annotations

from dataclasses import dataclass

from cfbench.space import FloatArray, IntArray


@dataclass(frozen=True)
class SearchBudget:
    """What a search may spend.

    Parameters
    ----------
    max_queries : int or None
        Rows that may be asked of the model, the objective's included.
    time_limit : float or None
        Wall-clock seconds; a search past it is killed and has no result.
    """

    max_queries: int | None = None
    time_limit: float | None = None


UNBOUNDED = SearchBudget()


@dataclass(frozen=True, eq=False)
class TrainingFold:
    """The rows that the model was trained on, for searchers that declare the need.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
    y : ndarray of int64, shape (n,)
        The labels in the data, not the model's answers.
    """

    X: FloatArray
    y: IntArray
