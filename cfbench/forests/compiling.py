"""Compiled loops: by numba where it is installed (the extra `fast`), else plain Python with the same answers."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from cfbench.harness.caches import cache_folder

F = TypeVar("F", bound=Callable[..., Any])

_CALLED_BY_OTHERS = ("walks.py", "sweeps.py")


def compiled_or_plain(function: F) -> F:
    """Compile a function when it is first called, or take it from the user's cache.

    numba tells by a function's own file alone whether compiled code in the cache is out of date. So kernels that call
    each other stand in one file; they may also call those that cfbench exports.
    """
    return _decorated(function, cache=True)


def inlined_or_plain(function: F) -> F:
    """Compile a function into those that call it; for small ones with many arrays, whose passing costs more."""
    return _decorated(function, inline="always")


def _decorated(function: F, **options: Any) -> F:
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        return function
    if numba.config.DISABLE_JIT:
        return function
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder("kernels") / _state_of_called())
    try:
        return cast("F", numba.njit(**options)(function))
    finally:
        numba.config.CACHE_DIR = before


@cache
def _state_of_called() -> str:
    called = b"".join(Path(__file__).with_name(name).read_bytes() for name in _CALLED_BY_OTHERS)
    return hashlib.blake2b(called, digest_size=16).hexdigest()
