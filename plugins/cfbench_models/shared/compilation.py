"""What of the models is compiled, where numba is installed (the extra `fast`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cfbench.compilation import Kernels
from cfbench.robustness import KNeighbours, descended_key, perturbed_value
from cfbench.space import FloatArray, IntArray

FOREST = Kernels(
    modules=tuple(
        f"cfbench_models.forest.{name}"
        for name in ("kernels", "cell_kernels", "query_kernels", "candidate_kernels", "neighbour_kernels")
    ),
    warmup="cfbench_models.forest.warmup",
    sources=(
        "cfbench_models.forest.tables",
        "cfbench.forests.structure",
        "cfbench.forests.walks",
        descended_key.__module__,
        perturbed_value.__module__,
    ),
)
NETWORK = Kernels(
    modules=("cfbench_models.network.kernels", "cfbench_models.network.neighbour_kernels"),
    warmup="cfbench_models.network.warmup",
    sources=(descended_key.__module__, perturbed_value.__module__),
)


class CompiledQueries(NamedTuple):
    """What can be asked of forests by compiled code."""

    classes_of_rows: Callable[..., Any]
    shares_of_rows: Callable[..., Any]
    classes_of_neighbours: Callable[..., Any]


class CompiledNetworkQueries(NamedTuple):
    """What can be asked of networks by compiled code."""

    classes_of_rows: Callable[..., Any]
    classes_of_neighbours: Callable[..., Any]


class NeighbourReach(NamedTuple):
    """How far K-perturbations go, a feature of the data set each.

    Parameters
    ----------
    decrease, increase : ndarray of float64, shape (d,)
    relative : ndarray of bool, shape (d,)
    lower, upper : ndarray of float64, shape (d,)
        The intervals.
    first_code : ndarray of int64, shape (d + 1,)
    codes : ndarray of int64
        The categories that perturbations lead to, ascending, feature after feature.
    """

    decrease: FloatArray
    increase: FloatArray
    relative: NDArray[np.bool_]
    lower: FloatArray
    upper: FloatArray
    first_code: IntArray
    codes: IntArray

    @classmethod
    def of(cls, neighbours: KNeighbours) -> Self:
        """Lay out the reach of the perturbations of one search."""
        reach, space = neighbours.reach, neighbours.space
        first_code = np.cumsum([0, *map(len, reach.categories)], dtype=np.int64)
        codes = np.concatenate([*reach.categories, np.empty(0, dtype=np.int64)])
        decrease, increase, lower, upper = map(plain, (reach.decrease, reach.increase, space.lower, space.upper))
        return cls(decrease, increase, reach.relative, lower, upper, first_code, codes)


def plain(array: FloatArray) -> FloatArray:
    """Return an array of the one form that the kernels are compiled for; a copy where it is not."""
    flags = array.flags
    if array.dtype == np.float64 and flags.c_contiguous and flags.writeable and flags.aligned:
        return array  # `require` looks at the same, and takes longer than a tree
    return np.require(array, dtype=np.float64, requirements=["C", "W"])


@cache
def compiled_queries() -> CompiledQueries | None:
    """Return the compiled questions about forests; None where numba is missing or switched off.

    Raises
    ------
    UnavailableError
        If there is no cache folder for compiled code.
    """
    modules = FOREST.load()
    if modules is None:
        return None
    rows, neighbours = modules[2], modules[4]
    return CompiledQueries(rows.classes_of_rows, rows.shares_of_rows, neighbours.classes_of_neighbours)


def compiled_network() -> CompiledNetworkQueries | None:
    """Return the compiled queries of networks; None where numba is missing or switched off."""
    modules = NETWORK.load()
    if modules is None:
        return None
    rows, neighbours = modules
    return CompiledNetworkQueries(rows.classes_of_rows, neighbours.classes_of_neighbours)
