"""Wilcoxon's signed rank test, exact with and without ties, without loading SciPy.

Boards are read often and have a handful to a few hundred tasks: the exact distribution is a short sum over them.
"""

from __future__ import annotations

import numpy as np

from cfbench.space import FloatArray

DECIMALS = 12
"""Differences of means that are equal but for rounding count as equal."""


def signed_rank_p(differences: FloatArray) -> float:
    """Return the two-sided p-value of paired differences; zeros say nothing and are dropped, as Wilcoxon did.

    Parameters
    ----------
    differences : ndarray of float64, shape (n,)

    Returns
    -------
    float
        The chance, if every difference's sign were a coin's, of rank sums at least as far apart as these; 1 where all
        differences are zero.
    """
    rounded = np.round(differences, DECIMALS)
    moved = rounded[rounded != 0]
    sizes = np.abs(moved)
    # Twice the midranks, so that ties stay whole numbers.
    ranks = [2 * int((sizes < size).sum()) + int((sizes == size).sum()) + 1 for size in sizes]
    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances[rank:] = (chances[rank:] + chances[:-rank]) / 2
        chances[:rank] /= 2
    above = sum(rank for rank, difference in zip(ranks, moved, strict=True) if difference > 0)
    return float(min(1.0, 2 * min(chances[: above + 1].sum(), chances[above:].sum())))
