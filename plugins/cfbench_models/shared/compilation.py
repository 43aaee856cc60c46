"""What of the models is compiled, where numba is installed (the extra `fast`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfbench.compilation import Kernels
from cfbench.robustness import descended_key, perturbed_value
from cfbench.space import FloatArray, IntArray

FOREST = Kernels(
    modules=tuple(
        f"cfbench_models.forest.{name}"
        for name in ("kernels", "cell_kernels", "query_kernels", "candidate_kernels", "neighbour_kernels")
    ),
    warmup="cfbench_models.forest.warmup",
    sources=("cfbench_models.forest.tables", descended_key.__module__, perturbed_value.__module__),
)
NETWORK = Kernels(modules=("cfbench_models.network.kernels",), warmup="cfbench_models.network.warmup")


class CompiledQueries(NamedTuple):
    """What can be asked of forests by compiled code."""

    classes_of_rows: Callable[..., Any]
    shares_of_rows: Callable[..., Any]
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


def compiled_network() -> ModuleType | None:
    """Return the compiled question about networks, a module; None where numba is missing or switched off."""
    modules = NETWORK.load()
    return None if modules is None else modules[0]
