"""How CoGS makes candidates of candidates: crossover, mutation, and the tournaments that choose among them.

Crossover and mutation have compiled forms with the same bits, which serve where numba is loaded already. The random
numbers are the same, drawn in the same order.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from cfbench import FloatArray, IntArray, Kernels
from cfbench_searchers.plausible_box import BoxArrays, PlausibleBox

KERNELS = Kernels(modules=("cfbench_searchers.cogs_kernels",), rehearsal=__name__)


def _compiled() -> ModuleType | None:
    modules = KERNELS.load_beside_others()
    return None if modules is None else modules[0]


def cross(population: FloatArray, parents: IntArray, rng: np.random.Generator) -> FloatArray:
    """Give two complementary children for each pair of parents, every feature swapped with probability 1/2.

    Parameters
    ----------
    population : ndarray of float64, shape (n, d)
    parents : ndarray of int64, shape (n,)
        Rows of it, an even number: place ``i`` of the first half is paired with place ``i`` of the second.
    rng : Generator

    Returns
    -------
    ndarray of float64, shape (n, d)
        The children of pair ``i``, in the same places.
    """
    half = len(parents) // 2
    luck = rng.random((half, population.shape[1]))
    kernels = _compiled()
    if kernels is not None and population.flags.carray:
        children: FloatArray = kernels.cross(population, parents, luck)
        return children
    # Where values are swapped, both get the bits in which they differ; a copy under a mask takes five times as long.
    bits = population.take(parents, axis=0).view(np.uint64)
    first, second = bits[:half], bits[half:]
    differing = (first ^ second) * (luck < 0.5)
    first ^= differing
    second ^= differing
    return bits.view(np.float64)


def mutate(children: FloatArray, box: PlausibleBox, largest_step: FloatArray, rng: np.random.Generator) -> None:
    """Alter each feature of each child with probability ``1/d``, in place.

    A categorical feature takes another of its plausible categories, a numerical one moves by up to its `largest_step`
    and stops at the sides of `box`.

    Parameters
    ----------
    children : ndarray of float64, shape (n, d)
    box : PlausibleBox
    largest_step : ndarray of float64, shape (d,)
        ``s_mut / 2`` times the range of each feature.
    rng : Generator
    """
    # About one feature a child is altered: working on those alone costs a d-th of working on the matrix.
    places = np.flatnonzero(rng.random(children.shape) < 1 / children.shape[1])
    shares = rng.random(len(places))
    kernels = _compiled()
    if kernels is not None and children.flags.carray:
        kernels.mutate(children, places, shares, largest_step, box.arrays)
        return
    rows, features = np.divmod(places, children.shape[1])
    values = children[rows, features]
    moved = box.nearest(values + (2 * shares - 1) * largest_step[features], features)
    turned = box.another(values, features, shares)
    children[rows, features] = np.where(box.is_categorical[features], turned, moved)


def winners(values: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Hold tournaments of `size` contenders until there are as many winners as contenders.

    Each round cuts a random permutation into tournaments. Where `size` divides `n`, every candidate takes part exactly
    `size` times, and the best one wins each time; otherwise a round leaves a few out.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Smaller is better.
    size : int
    rng : Generator

    Returns
    -------
    ndarray of int64, shape (n,)
        Positions in `values`.
    """
    n = len(values)
    a_round = n // size
    rounds = -(-n // a_round)
    contenders = np.concatenate([rng.permutation(n)[: a_round * size] for _ in range(rounds)]).reshape(-1, size)
    kernels = _compiled()
    chosen: IntArray
    if kernels is not None and values.flags.carray:
        chosen = kernels.winners(values, contenders)
    else:
        chosen = contenders[np.arange(len(contenders)), np.argmin(values[contenders], axis=1)]
    return chosen[:n]


def rehearse() -> None:
    """Call every kernel."""
    modules = KERNELS.load()
    assert modules is not None
    population, places, numbers = np.zeros((2, 1)), np.zeros(1, dtype=np.int64), np.zeros(1)
    children = modules[0].cross(population, np.arange(2), np.zeros((1, 1)))
    modules[0].winners(np.zeros(2), np.zeros((2, 1), dtype=np.int64))
    box = BoxArrays(numbers, numbers, numbers, numbers, numbers, numbers > 0)
    modules[0].mutate(children, places, numbers, numbers, box)
