"""Compiled code: by numba where it is installed (the extra `fast`), otherwise plain Python with the same results.

Compiling takes a hundred megabytes, which would stay with a worker for hours. So a process of its own compiles every
kernel once per user, and all others load the result from the cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import importlib.util
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from cfbench.caches import cache_folder
from cfbench.errors import UnavailableError

F = TypeVar("F", bound=Callable[..., Any])

WARMING_UP = "CFBENCH_WARMING_UP"
"""Environment variable of a process that compiles for others."""

_COMPLETE = "complete"
_log = logging.getLogger(__name__)


def compiled(function: F) -> F:
    """Have numba compile a function when it is first called, or take it from the cache; for modules of kernels."""
    from numba import njit

    return cast("F", njit(cache=True, error_model="numpy")(function))


@dataclass(frozen=True)
class Kernels:
    """Modules of functions that numba compiles, and what they are made of."""

    modules: tuple[str, ...]  # their functions are decorated with `compiled`; they need numba
    warmup: str  # a module whose `warm_up()` calls every kernel as it is going to be called
    sources: tuple[str, ...] = ()  # further modules whose code is part of the kernels

    def load(self) -> tuple[ModuleType, ...] | None:
        """Import the modules; None where numba is missing or switched off.

        Raises UnavailableError if there is no cache folder for compiled code.
        """
        config = _numba_config()
        return None if config is None else _imported(self)

    def load_if_compiled(self) -> tuple[ModuleType, ...] | None:
        """Import the modules if they are there at once: numba is loaded, and they were compiled before.

        For code that is a little faster when compiled: numba takes longer to load than one search would win, and a
        search with a time limit must not wait for a compiler. Another process compiles what is not compiled yet.
        """
        numba: Any = sys.modules.get("numba")
        if numba is None or numba.config.DISABLE_JIT:
            return None
        if self not in _at_hand:
            try:
                if not _sign_of_completion(self).exists() and WARMING_UP not in os.environ:
                    return None
                _at_hand[self] = _imported(self)
            except UnavailableError:
                return None
        return _at_hand[self]

    def folder(self) -> Path:
        """Return where the compiled code is kept.

        numba compares a kernel's own file alone before it takes compiled code from the cache, but a kernel holds the
        code of all kernels that it calls. So the folder is named by what all of them are.
        """
        return cache_folder("kernels") / self._digest()

    def compile_once(self) -> None:
        """Compile everything, unless another process did; for a process that ends with it."""
        folder = self.folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until this process ends, however it does
            if not (folder / _COMPLETE).exists():
                self.load()  # whatever imports the modules, they are kept in this folder
                importlib.import_module(self.warmup).warm_up()
                (folder / _COMPLETE).touch()

    def _digest(self) -> str:
        state = hashlib.blake2b(_compiler().encode(), digest_size=16)
        for name in (*self.modules, *self.sources):
            specification = importlib.util.find_spec(name)
            assert specification is not None
            state.update(Path(str(specification.origin)).read_bytes())
        return state.hexdigest()


def _numba_config() -> Any:
    """Return numba's settings; None where it is missing or switched off."""
    try:
        config: Any = importlib.import_module("numba").config
    except ImportError:
        return None
    return None if config.DISABLE_JIT else config


def _compiler() -> str:
    """Return what determines compiled code in addition to its source; numba compiles again if it changes."""
    target = importlib.import_module("llvmlite.binding")
    numba = importlib.import_module("numba")
    return f"{sys.version} {numba.__version__} {target.get_host_cpu_name()} {target.get_host_cpu_features().flatten()}"


@cache
def _imported(kernels: Kernels) -> tuple[ModuleType, ...]:
    folder = kernels.folder()
    if not (folder / _COMPLETE).exists() and WARMING_UP not in os.environ:
        _compile_apart(kernels)
    config = _numba_config()
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return tuple(map(importlib.import_module, kernels.modules))
    finally:
        config.CACHE_DIR = before


@cache
def _sign_of_completion(kernels: Kernels) -> Path:
    """Return the file that says that everything is compiled; where it is missing, a process starts to see to it."""
    sign = kernels.folder() / _COMPLETE
    if not sign.exists():
        _compiling.append(_compiler_process(kernels))
    return sign


_at_hand: dict[Kernels, tuple[ModuleType, ...]] = {}
"""Optional compiled code that was found: callers need it several times per generation."""

_compiling: list[subprocess.Popen[str] | None] = []
"""Processes that compile in parallel; this process does not wait for them."""


def _compile_apart(kernels: Kernels) -> None:
    """Compile in a process of its own, and wait. Where that does not work out, this one compiles what it calls."""
    process = _compiler_process(kernels)
    if process is not None:
        _, errors = process.communicate()
        if process.returncode:
            _log.info("the process that compiles kernels ended with code %d: %s", process.returncode, errors[-2000:])


def _compiler_process(kernels: Kernels) -> subprocess.Popen[str] | None:
    """Start a process that compiles; None where none can be started."""
    code = f"from cfbench.compilation import Kernels; {kernels!r}.compile_once()"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        return subprocess.Popen(  # noqa: S603 - this interpreter, our own code
            [sys.executable, "-c", code],
            env={**os.environ, WARMING_UP: "1", "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        _log.info("kernels are not compiled in a process of their own: %s", error)
        return None


G = TypeVar("G", bound=Callable[..., Any])

_SHARED = ("walks.py", "sweeps.py", "structure.py")
"""Kernels that others call, and the classes of their arguments, which compiled code in the cache names."""


def compiled_or_plain(function: G) -> G:
    """Compile a function when it is first called, or take it from the user's cache.

    numba tells by a function's own file alone whether compiled code in the cache is out of date. So kernels that call
    each other stand in one file; they may also call those that cfbench exports.
    """
    return _decorated(function, cache=True)


def inlined_or_plain(function: G) -> G:
    """Compile a function into those that call it; for small ones with many arrays, whose passing costs more."""
    return _decorated(function, inline="always")


def _decorated(function: G, **options: Any) -> G:
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        return function
    if numba.config.DISABLE_JIT:
        return function
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder("kernels") / _state_of_called())
    try:
        return cast("G", numba.njit(**options)(function))
    finally:
        numba.config.CACHE_DIR = before


@cache
def _state_of_called() -> str:
    called = b"".join((Path(__file__).parent / "forests" / name).read_bytes() for name in _SHARED)
    return hashlib.blake2b(called, digest_size=16).hexdigest()
