"""The preset `paper` in core-hours, extrapolated: two searches of each of its cells of fold 0, and their metrics.

DiCE is left out: its time is its own library's. Models of the other folds are taken to be like those of fold 0.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench.caches import cache_dir
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.running.search import SearchTask
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.study.plan import Cell, Plan, make_plan
from cfbench.study.presets import preset
from measuring.figures import Figure, report
from measuring.fitted_folds import FOLD, data_source

LEFT_OUT = ("dice-a", "dice-b")
SEARCHES = 2
HOUR = 3600.0


def hours_of(plan: Plan, registry: Registry) -> Iterator[tuple[Cell, float, float]]:
    """Yield each cell of fold 0 with the hours that its searches take in all folds, and those of its metrics."""
    worker = Worker(WorkerSetup(RegistryOptions(), data_source(), cache_dir()), registry)
    folds = len({cell.fold for cell in plan.cells})
    for cell in plan.cells:
        if cell.fold != FOLD or cell.skipped or cell.searcher.name in LEFT_OUT:
            continue
        rows = worker.prepare(cell).row_ids
        points = len(rows) if cell.points is None else min(cell.points, len(rows))
        some = np.linspace(0, points - 1, SEARCHES).astype(int)
        searches = [worker.search(SearchTask(cell, int(point), rows[point], 0)) for point in some]
        start = time.process_time()
        worker.measure(cell, searches, plan.metrics)
        measuring = (time.process_time() - start) / len(searches)
        searching = float(np.mean([search["cpu_seconds"] for search in searches]))
        times = folds * points * cell.repetitions / HOUR
        yield cell, searching * times, measuring * times


def figures() -> Iterator[Figure]:
    """Measure a cell after the other, and add up."""
    registry = build_registry()
    plan = make_plan(preset("paper", registry), registry, data_source())
    total: dict[str, float] = defaultdict(float)
    for cell, searching, measuring in hours_of(plan, registry):
        info = cell.info
        where = f"{info.dataset}, {'forest' if cell.model.name == 'random-forest' else 'network'}"
        yield Figure(f"{info.searcher}, {info.objective}{', constraints' * cell.constraints}", where, searching, "h")
        total[f"{cell.model.name}, searches"] += searching
        total[f"{cell.model.name}, metrics"] += measuring
    for what, hours in total.items():
        yield Figure(f"the preset paper, {what}", "all data sets", hours, "h")
    yield Figure("the preset paper, without DiCE", "all data sets", sum(total.values()), "h")


if __name__ == "__main__":
    with threadpool_limits(1):
        report("paper_hours", figures())
