"""The steps in their order, and where the search may stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cfbench import TrainingFold
from cfbench_searchers.sparse_sweep.exchange import exchange
from cfbench_searchers.sparse_sweep.grids import grids
from cfbench_searchers.sparse_sweep.inquiry import BETTER, Found, Inquiry
from cfbench_searchers.sparse_sweep.revert import WIDE, revert
from cfbench_searchers.sparse_sweep.smooth import smooth
from cfbench_searchers.sparse_sweep.starts import random_starts, training_starts
from cfbench_searchers.sparse_sweep.terrain import Terrain

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
class Plan:
    """What the steps need to know beside what was asked.

    Parameters
    ----------
    terrain : Terrain
    training : TrainingFold or None
    target : int
        The class wanted.
    n_starts : int
        Training rows from which features are put back.
    most : int
        Candidates that one grid may ask.
    rng : Generator
    """

    terrain: Terrain
    training: TrainingFold | None
    target: int
    n_starts: int
    most: int
    rng: np.random.Generator


def steps(inquiry: Inquiry, plan: Plan) -> Iterator[str]:
    """Take the steps after the sweep one by one; yield the name of each when it is done.

    It stops as soon as no candidate with two changed features can be better, and where neither a start nor any coarse
    pair or triple is of the target class.
    """
    terrain = inquiry.terrain
    if inquiry.limit <= terrain.cheapest_pair() + BETTER:
        return
    done: set[tuple[tuple[int, ...], float]] = set()
    revert(inquiry, _starts(inquiry, plan), plan.rng)
    yield "revert"
    exchange_best(inquiry, [int(i) for i in terrain.free], ENDS)
    yield "exchange of ends"
    smooth_best(inquiry, done)
    yield "smooth"
    for size, n_levels, share in ((2, 6, 1.0), (3, 4, 0.5), (2, 24, 1.0), (3, 8, 1.0)):
        if inquiry.limit <= terrain.cheapest_pair() + BETTER:
            return
        grids(inquiry, size, n_levels, ranked(inquiry, PAIRED if size == 2 else TRIPLED), int(share * plan.most))
        yield f"grid of {size} features and {n_levels} levels"
        smooth_best(inquiry, done)
        yield "smooth"
        if size == 3 and inquiry.best is None:
            return
    exchange_best(inquiry, ranked(inquiry, WIDE), N_LEVELS)
    yield "exchange"


def _starts(inquiry: Inquiry, plan: Plan) -> list[Found]:
    wanted = plan.n_starts if len(plan.terrain.free) <= WIDE else max(1, plan.n_starts // 4)
    starts: list[Found] = []
    if plan.training is not None:
        starts = training_starts(inquiry, plan.training, plan.target, wanted, 10 * plan.n_starts)
    return starts or random_starts(inquiry, plan.rng, wanted)


def smooth_best(inquiry: Inquiry, done: set[tuple[tuple[int, ...], float]]) -> None:
    """Smooth the most promising sets, until a round gains nothing.

    Parameters
    ----------
    inquiry : Inquiry
    done : set of (tuple of int, float)
        The sets, and values, that are smooth already.
    """
    terrain = inquiry.terrain
    for _ in range(ROUNDS):
        before = inquiry.value
        for found in inquiry.promising()[:SMOOTHED]:
            key = tuple(terrain.changed(found.z))
            if len(key) > 1 and (key, found.value) not in done and terrain.bound(key) < inquiry.limit:
                smoothed = smooth(inquiry, found)
                done |= {(key, found.value), (tuple(terrain.changed(smoothed.z)), smoothed.value)}
        if inquiry.value > before - WORTHWHILE:
            return


def exchange_best(inquiry: Inquiry, features: list[int], n_levels: int) -> None:
    """Exchange features of the most promising sets, until a round gains nothing."""
    for _ in range(ROUNDS):
        before = inquiry.value
        for found in inquiry.promising()[:EXCHANGED]:
            exchange(inquiry, found, features, n_levels)
        if inquiry.value > before - WORTHWHILE:
            return


def ranked(inquiry: Inquiry, n: int) -> list[int]:
    """At most `n` features, those first that occur in the best sets met so far; all of them if they are few."""
    terrain = inquiry.terrain
    if len(terrain.free) <= n:
        return [int(i) for i in terrain.free]
    weight = np.zeros(terrain.d)
    best_first = sorted(inquiry.best_of, key=lambda key: inquiry.best_of[key].value)
    for place, key in enumerate(best_first):
        weight[list(key)] += 1 / (1 + place)
    return [int(i) for i in terrain.free[np.argsort(-weight[terrain.free], kind="stable")][:n]]
