"""Compiled kernels: there where numba is installed (the extra `fast`), compiled once a user and kept in the cache."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfbench import FloatArray, IntArray, cache_folder, descended_key, perturbed_value

KERNELS = ("forest_kernels", "cell_kernels", "forest_questions", "candidate_kernels", "neighbour_kernels")


class CompiledQuestions(NamedTuple):
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
def compiled_questions() -> CompiledQuestions | None:
    """Return the compiled questions; None where numba is missing or switched off.

    Raises
    ------
    UnavailableError
        If there is no cache folder for compiled code.
    """
    try:
        config: Any = importlib.import_module("numba").config
    except ImportError:
        return None
    if config.DISABLE_JIT:
        return None
    with _cache_of(config):
        rows = importlib.import_module("cfbench_models.forest_questions")
        neighbours = importlib.import_module("cfbench_models.neighbour_kernels")
    return CompiledQuestions(rows.classes_of_rows, rows.shares_of_rows, neighbours.classes_of_neighbours)


@contextmanager
def _cache_of(config: Any) -> Iterator[None]:
    """Have functions that are decorated inside the block kept in this user's cache.

    numba compares a kernel's own file alone before it takes compiled code from the cache, but a kernel holds the code
    of all kernels that it calls. So the folder is named by what all of them are.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder("kernels") / _digest_of_sources())
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _digest_of_sources() -> str:
    folder = Path(__file__).parent
    files = [*(folder / f"{name}.py" for name in KERNELS), folder / "forest_tables.py"]
    files += [Path(inspect.getfile(function)) for function in (descended_key, perturbed_value)]
    state = hashlib.blake2b(digest_size=16)
    for file in files:
        state.update(file.read_bytes())
    return state.hexdigest()
