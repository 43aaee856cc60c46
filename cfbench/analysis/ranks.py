"""Ranks of searchers: point by point within a task, averaged over its points, then over tasks, with an interval.

Decision: a searcher that found nothing for a point shares the last ranks with the others that did not; no point is
left out. A mean over each searcher's own successes would reward giving up on hard points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cfbench.space import BoolArray, FloatArray, IntArray

BOOTSTRAPS = 2000
LEVEL = 0.95
SEED = 20230
"""Intervals are the same whenever a board is made from the same record."""


def task_ranks(losses: FloatArray) -> FloatArray:
    """Rank searchers within one task.

    Parameters
    ----------
    losses : ndarray of float64, shape (searchers, points)
        The loss of each point's result; infinity where nothing was found.

    Returns
    -------
    ndarray of float64, shape (searchers,)
        Mean over the points of the searcher's rank: 1 is the smallest loss, equal losses share the mean of their ranks.
    """
    better = np.array([(losses < own).sum(axis=0) for own in losses])
    equal = np.array([(losses == own).sum(axis=0) for own in losses])  # oneself included
    means: FloatArray = (better + (equal + 1) / 2).mean(axis=1)
    return means


def rank_intervals(ranks: FloatArray, units: Sequence[int] | IntArray) -> FloatArray:
    """Return an interval of each searcher's mean rank, by resampling units of tasks with replacement.

    Parameters
    ----------
    ranks : ndarray of float64, shape (searchers, tasks)
    units : sequence of int, one a task
        Which unit, from 0, a task belongs to. Tasks that share data set and model are no independent samples: as one
        unit they are drawn together.

    Returns
    -------
    ndarray of float64, shape (searchers, 2)
        Percentiles of the bootstrapped means.
    """
    sizes = np.bincount(units)
    totals = np.array([np.bincount(units, weights=own) for own in ranks])
    drawn = np.random.default_rng(SEED).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), BOOTSTRAPS)
    means = (totals @ drawn.T) / (sizes @ drawn.T)
    tails = 100 * np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    intervals: FloatArray = np.percentile(means, tails, axis=1).T
    return intervals


def unit_means(ranks: FloatArray, units: Sequence[int] | IntArray) -> FloatArray:
    """Average tasks of one unit: (searchers, tasks) in, (searchers, units) out."""
    means: FloatArray = np.array([np.bincount(units, weights=own) for own in ranks]) / np.bincount(units)
    return means


def task_wins(ranks: FloatArray, separating: BoolArray) -> IntArray:
    """Count for each searcher the tasks in which no other has a smaller mean rank; ties count for each of them.

    Parameters
    ----------
    ranks : ndarray of float64, shape (searchers, tasks)
    separating : ndarray of bool, shape (tasks,)
        In which tasks anybody found something; nobody wins the others.
    """
    wins: IntArray = (separating & (ranks <= ranks.min(axis=0) + 1e-9)).sum(axis=1)
    return wins
