"""Which of many candidates are worth judging: the cheapest, and of each set some that lie deeper."""

from __future__ import annotations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import Inquiry

SETS = 80
"""Sets of changed features, those with the cheapest candidates first."""

CHEAPEST, SPREAD = 3, 6
"""Of each set: so many of the cheapest, and so many spread evenly over the rest."""

OVER_ALL = 50
"""The cheapest of all sets together."""

MOST = 200
"""Candidates in all."""


def chosen(inquiry: Inquiry, Z: FloatArray) -> FloatArray:
    """Return a choice of rows, shape (n, d), from cheap to dear, all below the ceiling.

    The cheapest rows of a set lie on the boundary of the target class, where a perturbation may lose it; dearer ones
    lie deeper inside.
    """
    Z = np.unique(Z, axis=0)
    cost = inquiry.cost(Z)
    order = np.argsort(cost, kind="stable")
    order = order[cost[order] < inquiry.ceiling]
    members: dict[bytes, list[int]] = {}
    for place, row in enumerate(Z[order] != inquiry.terrain.home):
        members.setdefault(row.tobytes(), []).append(place)
    places = set(range(min(len(order), OVER_ALL)))
    for own in list(members.values())[:SETS]:  # in the order of their cheapest
        even = np.linspace(0, len(own) - 1, min(len(own), SPREAD)).astype(np.int64)
        places.update(own[:CHEAPEST], (own[k] for k in even))
    return Z[order[sorted(places)[:MOST]]]
