"""Kernels are compiled once a user, in a process of their own, and every other process takes them from the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cfbench import compilation as kernels
from cfbench.compilation import Kernels

MODULE = """
from cfbench.compilation import compiled

@compiled
def doubled(number):
    return 2 * number
"""

WARMUP = """
import os
import toy_kernels

def warm_up():
    with open({log!r}, "a") as log:
        log.write(str(os.getpid()) + "\\n")
    toy_kernels.doubled(1)
"""

USE = """
import os
from cfbench.compilation import Kernels
(module,) = Kernels(("toy_kernels",), warmup="toy_warmup").load()
assert module.doubled(4) == 8
assert not module.doubled.stats.cache_misses, "it was compiled here"
print(os.getpid())
"""

TOY = Kernels(("toy_kernels",), warmup="toy_warmup")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Write a module of kernels and its warm-up; return an environment with both, and with a cache of its own."""
    (tmp_path / "toy_kernels.py").write_text(MODULE)
    (tmp_path / "toy_warmup.py").write_text(WARMUP.format(log=str(tmp_path / "log")))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "toy_kernels", raising=False)
    cache = str(tmp_path / "cache")
    monkeypatch.setenv("CFBENCH_CACHE_DIR", cache)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    return {**os.environ, "CFBENCH_CACHE_DIR": cache, "PYTHONPATH": path}


@pytest.mark.slow
def test_processes_that_start_cold_wait_for_one_that_compiles(toy: dict[str, str], tmp_path: Path) -> None:
    users = [
        subprocess.Popen(
            [sys.executable, "-c", USE], env=toy, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ended = [user.communicate() for user in users]
    assert [(user.returncode, errors) for user, (_, errors) in zip(users, ended, strict=True)] == [(0, "")] * 2
    compiling = (tmp_path / "log").read_text().split()
    assert len(compiling) == 1
    assert compiling[0] not in [printed.strip() for printed, _ in ended]


@pytest.mark.slow
def test_where_no_process_can_be_started_the_kernels_compile_here(
    toy: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setattr(kernels, "_imported", kernels._imported.__wrapped__)
    modules = TOY.load()
    assert modules is not None
    assert modules[0].doubled(4) == 8
    assert Path(toy["CFBENCH_CACHE_DIR"]).stat().st_mode & 0o777 == 0o700


def test_compiled_code_is_kept_under_what_it_was_made_of(toy: dict[str, str], tmp_path: Path) -> None:
    import numba

    before = numba.config.CACHE_DIR
    folder = TOY.folder()
    assert folder.parent == Path(toy["CFBENCH_CACHE_DIR"]) / "kernels"
    assert folder == TOY.folder()
    assert Kernels(TOY.modules, TOY.warmup, sources=("cfbench.robustness.neighbours",)).folder() != folder
    (tmp_path / "toy_kernels.py").write_text(MODULE.replace("2 *", "3 *"))
    assert TOY.folder() != folder
    assert numba.config.CACHE_DIR == before


def test_without_a_compiler_there_are_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert TOY.load() is None
    assert TOY.load_if_compiled() is None
    monkeypatch.setitem(sys.modules, "numba", None)
    assert TOY.load() is None
    assert TOY.load_if_compiled() is None


def test_a_cache_that_is_not_this_users_own_costs_the_compiled_form_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import numba  # noqa: F401 - optional kernels are loaded only with numba

    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path))
    assert Kernels(("toy_kernels",), warmup="never").load_if_compiled() is None


@pytest.mark.slow
def test_optional_kernels_are_compiled_by_another_process(toy: dict[str, str], tmp_path: Path) -> None:
    import numba  # noqa: F401 - optional kernels are loaded only with numba

    once = Kernels(("toy_kernels",), warmup="toy_warmup", sources=("toy_warmup",))
    assert once.load_if_compiled() is None
    process = kernels._compiling[-1]
    assert process is not None
    process.communicate()
    assert (process.returncode, (tmp_path / "log").read_text()) == (0, f"{process.pid}\n")
    modules = once.load_if_compiled()
    assert modules is not None
    assert modules[0].doubled(4) == 8
    assert not modules[0].doubled.stats.cache_misses
