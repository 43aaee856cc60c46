"""The best candidate of a search: which one to return, also where every value is an estimate from random draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cfbench.errors import BudgetExhausted
from cfbench.problem.problem import N_FINALISTS, Problem
from cfbench.problem.trace import Shortlist
from cfbench.space.space import FloatArray, IntArray


class Best:
    """Evaluates candidates for a searcher, keeps the best ones of the target class, and chooses the one to return.

    Under an objective without draws the candidate with the smallest value is kept and returned.

    Under an objective with draws (`Problem.has_draws`) the smallest of many values is small by luck. Therefore the
    candidates with the `n_kept` smallest values are kept, and `choose` re-evaluates them with fresh draws: each one
    until at least 1,024 draws are averaged (16 evaluations of 64 draws). The candidate with the smallest mean is
    returned. The values that it was kept for do not enter the mean.

    The re-evaluation is paid for by the query budget. A part of it is reserved when the object is made, and `evaluate`
    spends the rest: ``n_kept * problem.times_to_re_evaluate`` evaluations, at most half of those that the budget
    allows. With 10 candidates and 64 draws these are 160 evaluations, 160 x 65 = 10,400 rows. Without a budget they are
    added to what the search spends. If the reserve is too small for all of it, every kept candidate gets an equal share
    of the evaluations, and if it is smaller than the number of candidates, the worst of these are dropped. A single
    candidate is returned without re-evaluation.

    Parameters
    ----------
    problem : Problem
    n_kept : int
        Candidates to keep under an objective with draws. With 1, the smallest value decides, and nothing is reserved.

    Attributes
    ----------
    reserved : int
        Evaluations that are kept back for `choose`.

    Examples
    --------
    >>> import numpy as np
    >>> import cfbench
    >>> from cfbench import FeatureSpace, FeatureSpec, Handles, Kind, NumericalPerturbation, SearcherEntry
    >>> def search(problem, rng):
    ...     best = cfbench.Best(problem)
    ...     lower, upper = problem.bounds()
    ...     for _ in range(10):
    ...         best.evaluate(rng.uniform(lower, upper, size=(100, problem.space.d)))
    ...     return best.choose()
    >>> income = FeatureSpec("income", Kind.NUMERICAL, 0, 100)
    >>> debt = FeatureSpec("debt", Kind.NUMERICAL, 0, 100, perturbation=NumericalPerturbation(10, 10))
    >>> explanation = cfbench.explain(
    ...     [20, 50],
    ...     model=lambda Z: (Z[:, 0] > Z[:, 1]).astype(int),
    ...     space=FeatureSpace((income, debt)),
    ...     target=1,
    ...     searcher=SearcherEntry(name="mine", searcher=search, handles=[Handles.OBJECTIVES]),
    ...     objective="k",
    ... )
    >>> explanation.found
    True
    """

    def __init__(self, problem: Problem, n_kept: int = N_FINALISTS) -> None:
        self._problem = problem
        self._kept = Shortlist(n_kept if problem.has_draws else 1)
        self._re_evaluates = problem.has_draws and n_kept > 1
        left = problem.evaluations_left
        self.reserved = n_kept * problem.times_to_re_evaluate if self._re_evaluates else 0
        if left is not None:
            self.reserved = min(self.reserved, left // 2)

    @property
    def z(self) -> FloatArray | None:
        """The candidate with the smallest value so far, shape (d,); None if none was of the target class."""
        return self._kept.rows[0].copy() if self._kept.rows else None

    @property
    def value(self) -> float:
        """The value that `z` was kept for, an estimate under an objective with draws; infinite without candidates."""
        return self._kept.values[0] if self._kept.values else np.inf

    @property
    def evaluations_left(self) -> int | None:
        """Candidates that `evaluate` may still evaluate; None if there is no budget."""
        left = self._problem.evaluations_left
        return None if left is None else max(left - self.reserved, 0)

    def evaluate(self, Z: FloatArray, *, replace: bool = False) -> tuple[FloatArray, IntArray]:
        """Evaluate the rows of `Z`, shape (n, d), in one query, and keep the best of the target class.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        replace : bool
            Whether the best of `Z` take the place of the candidates kept so far instead of joining them. Those stay
            if no row of `Z` is of the target class, or if the budget allows for a part of the rows only.

        Returns
        -------
        values : ndarray of float64, shape (n,)
        classes : ndarray of int64, shape (n,)
            As `Problem.evaluate` returns them.

        Raises
        ------
        BudgetExhausted
            If the query budget, without the reserve, does not allow for all rows. The rows that it allows for are
            evaluated first, so that no part of a budget is lost to a large population.
        """
        left = self.evaluations_left
        if left is not None and left < len(Z):
            if left:
                self._evaluate(Z[:left], replace=False)
            raise BudgetExhausted(
                f"{len(Z)} candidates were to be evaluated; the query budget allows for {left}, and for "
                f"{self.reserved} more that are reserved for re-evaluation"
            )
        return self._evaluate(Z, replace=replace)

    def choose(self, finish: Callable[[FloatArray], FloatArray] | None = None) -> FloatArray | None:
        """Return the best candidate, re-evaluated if there are draws and several candidates; None if there is none.

        Parameters
        ----------
        finish : callable, optional
            Turns candidates, shape (k, d), into the rows to return, shape (k, d), for example by rounding. These are
            the rows that are re-evaluated, and only those of the target class are returned. A row that is not
            re-evaluated is queried once more if `finish` changed it; if the budget does not allow for that, it is not
            returned.

        Returns
        -------
        ndarray of float64, shape (d,), or None
        """
        if not self._kept.rows:
            return None
        kept = np.array(self._kept.rows)
        rows = kept if finish is None else finish(kept)
        if self._re_evaluates:
            distinct = Shortlist(len(rows))
            distinct.add(rows, np.arange(len(rows), dtype=np.float64))
            finalists = np.array(distinct.rows)
            left = self._problem.evaluations_left
            n = len(finalists) if left is None else min(len(finalists), left)
            if n > 1:
                return self._least_mean(finalists[:n], left)
        return rows[0].copy() if np.array_equal(rows[0], kept[0]) or self._is_target(rows[0]) else None

    def _evaluate(self, Z: FloatArray, *, replace: bool) -> tuple[FloatArray, IntArray]:
        values, classes = self._problem.evaluate(Z)
        hits = classes == self._problem.target
        if hits.any():
            if replace:
                self._kept = Shortlist(self._kept.n_kept)
            self._kept.add(np.asarray(Z)[hits], values[hits])
        return values, classes

    def _least_mean(self, finalists: FloatArray, left: int | None) -> FloatArray | None:
        """Return the finalist of the target class with the smallest mean of fresh values; the first of equals."""
        times = self._problem.times_to_re_evaluate
        if left is not None:
            times = min(times, left // len(finalists))
        values, classes = self._problem.evaluate(np.repeat(finalists, times, axis=0))
        means = values.reshape(-1, times).mean(axis=1)
        means[classes[::times] != self._problem.target] = np.inf
        best = int(np.argmin(means))
        return finalists[best].copy() if means[best] < np.inf else None

    def _is_target(self, row: FloatArray) -> bool:
        try:
            return bool(self._problem.predict(row[np.newaxis])[0] == self._problem.target)
        except BudgetExhausted:
            return False
