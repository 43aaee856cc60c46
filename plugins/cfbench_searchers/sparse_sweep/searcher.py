"""sparse-sweep: a black-box searcher that looks at few features at a time; its steps in their order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from cfbench import BudgetExhausted, Problem, Searcher, TrainingFold
from cfbench.space import FloatArray
from cfbench_searchers.sparse_sweep.candidates import BETTER, CandidateGrid, QueriedCandidates, ScoredRow
from cfbench_searchers.sparse_sweep.robust import RobustRanking
from cfbench_searchers.sparse_sweep.smooth import exchange, explore, smooth
from cfbench_searchers.sparse_sweep.starts import WIDE, random_starts, revert, training_starts
from cfbench_searchers.sparse_sweep.sweeps import anywhere, beyond, grids, rests_on_draws, sweep

PAIRED, TRIPLED = 40, 24
"""Features whose pairs, and whose triples, are looked at: the most promising, where there are more."""

SMOOTHED, EXCHANGED = 6, 3
"""Sets that are smoothed, and exchanged, in a round."""

N_LEVELS, ENDS = 24, 2
"""Values of a feature that comes in: many of a few features, or the two ends of every one."""

ROUNDS = 3
"""Rounds of smoothing, of exchanging."""

WORTHWHILE = 1e-6
"""Gain that another round has to promise."""


@dataclass(frozen=True, eq=False)
class SweepContext:
    """What the steps need in addition to the queried rows.

    Parameters
    ----------
    grid : CandidateGrid
    training : TrainingFold or None
    target : int
        The class wanted.
    n_starts : int
        Training rows from which features are put back.
    most : int
        Candidates that one grid may ask.
    rng : Generator
    """

    grid: CandidateGrid
    training: TrainingFold | None
    target: int
    n_starts: int
    most: int
    rng: np.random.Generator


def steps(queried: QueriedCandidates, plan: SweepContext) -> Iterator[str]:
    """Take the steps after the sweep one by one; yield the name of each when it is done.

    It stops as soon as no candidate with two changed features can be better, and where neither a start nor any coarse
    pair or triple is of the target class.
    """
    grid = queried.grid
    if queried.limit <= grid.cheapest_pair() + BETTER:
        return
    done: set[tuple[tuple[int, ...], float]] = set()
    revert(queried, _starts(queried, plan), plan.rng)
    yield "revert"
    exchange_best(queried, [int(i) for i in grid.free], ENDS)
    yield "exchange of ends"
    smooth_best(queried, done)
    yield "smooth"
    for size, n_levels, share in ((2, 6, 1.0), (3, 4, 0.5), (2, 24, 1.0), (3, 8, 1.0)):
        if queried.limit <= grid.cheapest_pair() + BETTER:
            return
        grids(queried, size, n_levels, ranked(queried, PAIRED if size == 2 else TRIPLED), int(share * plan.most))
        yield f"grid of {size} features and {n_levels} levels"
        smooth_best(queried, done)
        yield "smooth"
        if size == 3 and queried.best is None:
            return
    exchange_best(queried, ranked(queried, WIDE), N_LEVELS)
    yield "exchange"


def _starts(queried: QueriedCandidates, plan: SweepContext) -> list[ScoredRow]:
    wanted = plan.n_starts if len(plan.grid.free) <= WIDE else max(1, plan.n_starts // 4)
    starts: list[ScoredRow] = []
    if plan.training is not None:
        starts = training_starts(queried, plan.training, plan.target, wanted, 10 * plan.n_starts)
    return starts or random_starts(queried, plan.rng, wanted)


def smooth_best(queried: QueriedCandidates, done: set[tuple[tuple[int, ...], float]]) -> None:
    """Smooth the most promising sets, until a round gains nothing.

    Parameters
    ----------
    queried : QueriedCandidates
    done : set of (tuple of int, float)
        The sets, and values, that are smooth already.
    """
    grid = queried.grid
    for _ in range(ROUNDS):
        before = queried.value
        for found in queried.promising()[:SMOOTHED]:
            key = tuple(grid.changed(found.z))
            if len(key) > 1 and (key, found.value) not in done and grid.bound(key) < queried.limit:
                smoothed = smooth(queried, found)
                done |= {(key, found.value), (tuple(grid.changed(smoothed.z)), smoothed.value)}
        if queried.value > before - WORTHWHILE:
            return


def exchange_best(queried: QueriedCandidates, features: list[int], n_levels: int) -> None:
    """Exchange features of the most promising sets, until a round gains nothing."""
    for _ in range(ROUNDS):
        before = queried.value
        for found in queried.promising()[:EXCHANGED]:
            exchange(queried, found, features, n_levels)
        if queried.value > before - WORTHWHILE:
            return


def ranked(queried: QueriedCandidates, n: int) -> list[int]:
    """At most `n` features, those first that occur in the best sets met so far; all of them if they are few."""
    grid = queried.grid
    if len(grid.free) <= n:
        return [int(i) for i in grid.free]
    weight = np.zeros(grid.d)
    best_first = sorted(queried.best_of, key=lambda key: queried.best_of[key].value)
    for place, key in enumerate(best_first):
        weight[list(key)] += 1 / (1 + place)
    return [int(i) for i in grid.free[np.argsort(-weight[grid.free], kind="stable")][:n]]


PROBED_FROM = 2_000
"""Evaluations that a budget has to hold before any are spent on finding out whether values rest on draws."""

BY_CLASS, FOR_MOVES = 20_000, 15_000
"""Where values rest on draws: candidates that the steps ask for their classes alone, and those that moves ask."""


class SparseSweep(Searcher):
    """Structured sweeps over one, two and three features, from `x` outwards.

    A counterfactual costs at least what the smallest change of each of its changed features costs, and a good one
    changes few. So single features are swept first, then what two and three of them do together; every set that costs
    at least as much as the best candidate is left out, and the search ends when none is left, or when nothing gains any
    more. With a query budget it goes on at random until that ends.

    A term of the objective that is a sum over the features is part of a candidate's cost. Any other is seen through its
    values alone: where equal rows have equal ones, values rank; where they rest on draws, the search goes by class, and
    what it meets is judged by rising numbers of draws.

    Parameters
    ----------
    n_rows : int
        Candidates that are asked at most where there is no query budget.
    n_levels : int
        Values of a numerical feature that the sweep tries, without midpoints; fewer if there are very many features.
    n_starts : int
        Training rows of the target class from which features are put back.
    n_evaluations : int
        Evaluations of candidates at most where values rest on draws and there is no query budget. Each asks as many
        rows as the objective's setting says.

    References
    ----------
    Ours. Compare the one-feature and two-feature cells of exact searches in tree ensembles (Parmentier and Vidal,
    "Optimal counterfactual explanations in tree ensembles", ICML 2021); successive halving (Jamieson and Talwalkar,
    "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016); pattern search (Hooke and
    Jeeves, "Direct search solution of numerical and statistical problems", Journal of the ACM 8(2), 1961).
    """

    n_rows: int = Field(default=101_000, ge=1)
    n_levels: int = Field(default=300, ge=2)
    n_starts: int = Field(default=40, ge=1)
    n_evaluations: int = Field(default=4_600, ge=1)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return the best row of the target class; None if none was met."""
        plan = self._plan(problem, rng)
        evaluations = problem.evaluations_left
        allowance = self.n_rows if evaluations is None else None
        queried = QueriedCandidates(problem, plan.grid, allowance, by_value=False)
        with suppress(BudgetExhausted):
            if problem.has_term and problem.separable_term is None:
                if evaluations is None or evaluations >= PROBED_FROM:
                    sweep(queried)
                    if rests_on_draws(problem, np.concatenate([anywhere(queried, rng), beyond(queried)])):
                        return self._most_robust(problem, plan)
                queried = QueriedCandidates(problem, plan.grid, allowance, by_value=True)
            sweep(queried)
            for _ in steps(queried, plan):
                pass
            if evaluations is not None:
                for _ in explore(queried, rng):
                    pass
        return None if queried.best is None else queried.best.z

    def _most_robust(self, problem: Problem, plan: SweepContext) -> FloatArray | None:
        """Search by class, judge what is met after every step, and carry the best on."""
        left = problem.queries_left
        by_class = BY_CLASS if left is None else min(BY_CLASS, left // 5)
        queried = QueriedCandidates(problem, plan.grid, by_class, by_value=False, keeping=True)
        ranking = RobustRanking(problem, queried, self.n_evaluations if left is None else None)
        with suppress(BudgetExhausted):
            sweep(queried)
            ranking.hear()
            for _ in steps(queried, plan):
                ranking.hear()
        queried.allow(FOR_MOVES if left is None else None)
        ranking.conclude()
        if left is not None:
            with suppress(BudgetExhausted):
                for _ in explore(queried, plan.rng):
                    ranking.conclude()
        if ranking.best is not None:
            return ranking.best
        return None if queried.best is None else queried.best.z

    def _plan(self, problem: Problem, rng: np.random.Generator) -> SweepContext:
        training = problem.training
        d = problem.space.d
        few = self.n_rows * 3 // (20 * d)  # with the midpoints, single features take a third of the rows
        n_levels = self.n_levels if d <= WIDE else int(np.clip(few, 2, self.n_levels))
        grid = CandidateGrid(problem, training, n_levels)
        return SweepContext(grid, training, problem.target, self.n_starts, self.n_rows * 3 // 10, rng)
