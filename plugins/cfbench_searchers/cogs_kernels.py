"""The compiled forms of CoGS's operators, with the bits of those in :mod:`cfbench_searchers.cogs`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled


@compiled
def cross(population: Any, parents: Any, luck: Any) -> Any:
    """Return the children of rows of `population`, their features swapped where `luck`, (n/2, d), is low."""
    half, d = luck.shape
    children = np.empty((2 * half, d))
    for i in range(half):
        one, other = parents[i], parents[half + i]
        for j in range(d):
            first, second = population[one, j], population[other, j]
            swapped = luck[i, j] < 0.5
            children[i, j] = second if swapped else first
            children[half + i, j] = first if swapped else second
    return children


@compiled
def mutate(children: Any, places: Any, shares: Any, largest_step: Any, box: Any) -> None:
    """Alter single values of `children`, shape (n, d), in place.

    Parameters
    ----------
    children : ndarray of float64, shape (n, d)
    places : ndarray of int64, shape (k,)
        Of the values, counted row by row.
    shares : ndarray of float64, shape (k,)
        Uniform in [0, 1).
    largest_step : ndarray of float64, shape (d,)
    box : BoxArrays
    """
    d = children.shape[1]
    for k in range(len(places)):
        i, f = places[k] // d, places[k] % d
        value = children[i, f]
        if box.is_categorical[f]:
            turn = 1 + np.floor(shares[k] * (box.counts[f] - 1))
            turned = value - box.lower[f] + turn  # at most one round too far
            if turned >= box.counts[f]:
                turned -= box.counts[f]
            children[i, f] = box.lower[f] + turned
            continue
        moved = value + (2 * shares[k] - 1) * largest_step[f]
        if box.spacing[f] > 0:
            moved = np.rint(moved / box.divisor[f]) * box.spacing[f] + 0.0
            if abs(moved - box.home[f]) < box.spacing[f] / 2:
                moved = box.home[f]
        if not moved > box.lower[f]:
            moved = box.lower[f]
        if not moved < box.upper[f]:
            moved = box.upper[f]
        children[i, f] = moved


@compiled
def winners(values: Any, contenders: Any) -> Any:
    """Return each row's contender with the smallest value, the first of equals; NaN counts as smaller than numbers."""
    chosen = np.empty(len(contenders), dtype=np.int64)
    for i in range(len(contenders)):
        best = contenders[i, 0]
        for j in range(1, contenders.shape[1]):
            other = contenders[i, j]
            if not values[other] >= values[best] and not np.isnan(values[best]):
                best = other
        chosen[i] = best
    return chosen
