"""Memory of one worker process that holds a forest of 500 trees and its oracle, after a search with the objective `k`.

The peak is what the worker ever had in memory. The private part is what a second worker adds: the rest is code of
libraries, of which the system keeps one copy for all. A worker that starts cold is the first one of its user: nothing
that it needs was compiled before.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children
from pathlib import Path

from cfbench.caches import CACHE_VARIABLE, cache_dir, cache_folder
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.running.executors.local import Job, ProcessExecutor
from cfbench.running.search import SearchTask
from cfbench.running.worker import WorkerSetup
from cfbench.study.plan import Cell, make_plan
from cfbench.study.study import Study
from measuring.figures import Figure, report
from measuring.fitted_folds import DATASETS, FOLD, data_source

FOREST = 'random-forest[n_estimators=500, min_samples_split=2, max_features="sqrt"]'
MODELS = {"500 trees": FOREST, "network": "neural-network"}


def cell_of(dataset: str, model: str) -> Cell:
    """Return the cell of CoGS with the objective `k`."""
    study = Study(
        name="memory",
        datasets=(dataset,),
        models=(model,),
        searchers=("cogs[n_generations=10]",),
        objectives=("k",),
        metrics=(),
        folds=(FOLD,),
        points=1,
        repetitions=1,
        tracking="none",
        results=Path("unused"),
    )
    return make_plan(study, build_registry(), data_source()).cells[0]


def figures() -> Iterator[Figure]:
    """Start a worker for each model, let it search, and look at its memory from outside."""
    for dataset in DATASETS:
        for name, model in MODELS.items():
            goals = (500.0, 300.0) if model == FOREST else (None, None)
            cell, where = cell_of(dataset, model), f"{dataset}, {name}"
            with searched(cell) as worker:
                status = Path(f"/proc/{worker}/status")
                yield Figure("peak memory of a worker", where, _megabytes(status, "VmHWM:"), "MB", *goals)
                yield Figure("  at the end", where, _megabytes(status, "VmRSS:"), "MB")
                yield Figure("  its private part at the end", where, _private(worker), "MB")
            with cold_cache(), searched(cell) as worker:
                status = Path(f"/proc/{worker}/status")
                yield Figure(
                    "peak memory of a worker that starts cold", where, _megabytes(status, "VmHWM:"), "MB", *goals
                )


@contextmanager
def searched(cell: Cell) -> Iterator[int]:
    """Yield the process of a worker that has searched; it ends with the block."""
    executor = ProcessExecutor(WorkerSetup(RegistryOptions(), data_source(), cache_dir()), slots=1)
    try:
        prepared = executor.submit(0, Job("prepare", (cell,))).result()
        executor.submit(0, Job("search", (SearchTask(cell, 0, prepared.row_ids[0], 0),))).result()
        (worker,) = active_children()
        assert worker.pid is not None
        yield worker.pid
    finally:
        executor.close()


@contextmanager
def cold_cache() -> Iterator[None]:
    """Have a cache with the fitted models of this user's, and without anything compiled."""
    models = cache_folder("models")
    before = os.environ.get(CACHE_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").symlink_to(models)
        os.environ[CACHE_VARIABLE] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[CACHE_VARIABLE]
            else:
                os.environ[CACHE_VARIABLE] = before


def _private(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    return _megabytes(rollup, "Private_Clean:") + _megabytes(rollup, "Private_Dirty:")


def _megabytes(file: Path, key: str) -> float:
    lines = [line.split() for line in file.read_text().splitlines()]
    return next(int(line[1]) for line in lines if line[0] == key) / 1024


if __name__ == "__main__":
    if Path("/proc/self/smaps_rollup").exists():
        report("worker_memory", figures())
    else:
        sys.stdout.write("memory is measured on Linux alone: this system has no /proc\n")
