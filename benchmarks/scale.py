"""The harness beside its searches: ``python benchmarks/scale.py [WHAT ...]``; `WHAT` is a word of a measurement's name.

Ratios of wall-clock time, the best of a few rounds: what else the machine does spoils them, so its load is printed, and
beside them stands what a loaded machine leaves alone: the CPU time of all processes over that of the searches, and the
time in which workers wait between searches. The searches are arithmetic of known length
(`measuring/scale_plugin.py`); everything else is the harness as it runs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits

from cfbench import hookimpl
from cfbench.record.store import Record
from cfbench.registry import CellStarted, SearchFinished
from cfbench.registry.registry import Registry, build_registry
from cfbench.running.executors.local import Executor, Job, ProcessExecutor, SerialExecutor
from cfbench.running.runner import Run
from cfbench.running.search import SearchTask
from cfbench.running.session import executor_for
from cfbench.running.worker import Worker
from cfbench.study.plan import Plan
from measuring.figures import Figure, report
from measuring.scale_memory import main_process_memory, time_to_first_search
from measuring.synthetic import plan_of, registry, setup

ROUNDS = 6
LONG = "step[rounds=22000]"
"""About a quarter of a second."""
SEARCHES = 20


class Clock:
    """Hears when searching begins and when the last search is in the record."""

    def __init__(self, searches: int) -> None:
        self._left = searches
        self._started: tuple[float, float] | None = None
        self.wall = self.cpu = 0.0

    @hookimpl
    def cfbench_cell_started(self, event: CellStarted) -> None:  # noqa: ARG002
        """Note when the first cell's model is ready."""
        self._started = self._started or (time.perf_counter(), cpu_of_all())

    @hookimpl
    def cfbench_search_finished(self, event: SearchFinished) -> None:  # noqa: ARG002
        """Note when the last search ended."""
        self._left -= 1
        if self._left == 0:
            assert self._started is not None
            self.wall, self.cpu = time.perf_counter() - self._started[0], cpu_of_all() - self._started[1]


def cpu_of_all() -> float:
    """Return the CPU seconds of this process, of all that it has started, and of all that those have."""
    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children(recursive=True))]
    return sum(float(one.user + one.system) for one in times)


class Spent(NamedTuple):
    """What a run took, from the model's readiness to the last search's record."""

    wall: float
    """Seconds."""
    cpu: float
    """In percent: CPU time of all processes, over that of the searches themselves."""
    waiting: float
    """In percent: time of the workers outside searches, over that in them."""


def spent(make: Callable[[Plan, Registry], Executor], slots: int, searcher: str, searches: int) -> Spent:
    """Run searches through the whole harness, in so many processes."""
    clock = Clock(searches)
    registered = build_registry(setup().options, objects=[clock])
    with tempfile.TemporaryDirectory() as folder:
        plan = few(registered, Path(folder) / "r", searcher, searches)
        with Record.open(plan.study.results, write=True) as record:
            done = Run(plan, record, registered, make(plan, registered)).go()
            rows = record.searches(plan.cells[0].info.key)
    assert done.searches_run == searches
    own, inside = rows["cpu_seconds"].sum(), rows["wall_seconds"].sum()
    return Spent(clock.wall, 100 * (clock.cpu / own - 1), 100 * (slots * clock.wall / inside - 1))


def least(*measures: Callable[[], Spent]) -> list[Spent]:
    """Return the least of a few rounds of each measure; they take turns, since a machine is not always equally fast."""
    rounds = [[measure() for measure in measures] for _ in range(ROUNDS)]
    return [Spent(*map(min, zip(*of_one, strict=True))) for of_one in zip(*rounds, strict=True)]


def few(registered: Registry, results: Path, searcher: str, searches: int) -> Plan:
    """Plan a cell of so many searches."""
    return plan_of(registered, results, [searcher], folds=(0,), points=20, repetitions=searches // 20)


def bare(searcher: str, searches: int) -> Spent:
    """Run the same searches in a loop that records nothing."""
    registered = registry()
    worker = Worker(setup(), registered)
    plan = few(registered, Path("nowhere"), searcher, searches)
    prepared = worker.prepare(plan.cells[0])
    tasks = [
        SearchTask(plan.cells[0], point, prepared.row_ids[point], repetition)
        for point in range(20)
        for repetition in range(searches // 20)
    ]
    with threadpool_limits(1):  # as the harness has it
        worker.search(tasks[0])
        start = time.perf_counter()
        for task in tasks:
            worker.search(task)
        return Spent(time.perf_counter() - start, 0.0, 0.0)


def serial(plan: Plan, registered: Registry) -> Executor:
    """Return this process, which has loaded everything."""
    executor = SerialExecutor(Worker(setup(), registered))
    _warm(executor, plan)
    return executor


def processes(count: int) -> Callable[[Plan, Registry], Executor]:
    """Return worker processes that have started and loaded everything."""

    def make(plan: Plan, _: Registry) -> Executor:
        executor = ProcessExecutor(setup(), count)
        _warm(executor, plan)
        return executor

    return make


def _warm(executor: Executor, plan: Plan) -> None:
    cell = plan.cells[0]
    task = SearchTask(cell, 0, 1, 0)
    for job in (Job("prepare", (cell,)), Job("search_all", ((task,),))):
        for future in [executor.submit(slot, job) for slot in range(executor.slots)]:
            future.result()


def workers() -> Iterator[Figure]:
    """Compare one worker process with two, and both with a bare loop."""
    loop, alone, one, two = least(
        partial(bare, LONG, SEARCHES),
        partial(spent, serial, 1, LONG, SEARCHES),
        partial(spent, processes(1), 1, LONG, SEARCHES),
        partial(spent, processes(2), 2, LONG, SEARCHES),
    )
    each = f"searches of {loop.wall / SEARCHES * 1e3:.0f} ms"
    yield Figure("2 worker processes against 1", each, one.wall / two.wall, "x", 1.85)
    yield Figure("harness over a bare loop, serial", "", 100 * (alone.wall / loop.wall - 1), "%", 3)
    yield from beside("serial", alone)
    yield Figure("harness over a bare loop, 2 processes", "", 100 * (two.wall / (loop.wall / 2) - 1), "%", 5)
    yield from beside("2 processes", two)


def beside(name: str, found: Spent) -> Iterator[Figure]:
    """Say what of the harness's cost does not depend on what else the machine does."""
    yield Figure("  CPU of all processes over the searches' own", name, found.cpu, "%")
    yield Figure("  workers between searches", name, found.waiting, "%")


def trivial() -> Iterator[Figure]:
    """Measure searches that do nothing."""
    searches = 4000
    here, apart = least(partial(spent, serial, 1, "step", searches), partial(spent, processes(1), 1, "step", searches))
    yield Figure("a trivial search, serial", "", 1e3 * here.wall / searches, "ms", 2)
    yield Figure("a trivial search, 1 process", "", 1e3 * apart.wall / searches, "ms")


def dask() -> Iterator[Figure]:
    """Compare a Dask cluster of two workers on this machine with two processes."""
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:

        def make(plan: Plan, registered: Registry) -> Executor:
            executor = executor_for(plan, setup(), registered, cluster)
            _warm(executor, plan)
            return executor

        on_dask, here = least(
            partial(spent, make, 2, LONG, SEARCHES),
            partial(spent, processes(2), 2, LONG, SEARCHES),
        )
    yield Figure("Dask with 2 workers, slower than 2 processes", "", 100 * (on_dask.wall / here.wall - 1), "%", 10)
    # The cluster's scheduler is in this process, and never quite idle: both figures have it in them.
    yield from beside("Dask", on_dask)
    yield from beside("2 processes, cluster idle", here)


class Instant:
    """An executor that has every result at once: what is left is the main process's own work."""

    blocks = False
    slots = 8

    def __init__(self, plan: Plan, registered: Registry) -> None:
        worker = Worker(setup(), registered)
        self._prepared = worker.prepare(plan.cells[0])
        self._row = worker.search(SearchTask(plan.cells[0], 0, self._prepared.row_ids[0], 0))

    def submit(self, slot: int, job: Job) -> Future[Any]:  # noqa: ARG002 - all are the same
        """Return an ended future."""
        future: Future[Any] = Future()
        if job.method == "prepare":
            future.set_result(self._prepared)
        elif job.method == "confirm":
            future.set_result(np.ones(len(job.arguments[1]), dtype=np.int64))
        else:
            tasks = job.arguments[0]
            place = ("point", "row_id", "repetition")
            rows = [{"cell_key": task.cell.info.key, **{name: getattr(task, name) for name in place}} for task in tasks]
            future.set_result([{**self._row, **row} for row in rows])
        return future

    def close(self) -> None:
        """Nothing runs."""


def client() -> Iterator[Figure]:
    """Measure what one main process does for a search, whoever has run it."""
    for points, cells in ((10, 200), (100, 20)):
        registered = registry()
        with tempfile.TemporaryDirectory() as folder:
            searchers = [f"step[number={i}]" for i in range(cells)]
            asked = {"folds": (0,), "points": 10, "repetitions": points // 10}
            plan = plan_of(registered, Path(folder) / "r", searchers, **asked)
            with Record.open(plan.study.results, write=True) as record:
                run = Run(plan, record, registered, Instant(plan, registered))
                start, waited = time.process_time(), time.perf_counter()
                done = run.go()
                spent, waited = time.process_time() - start, time.perf_counter() - waited
        each = f"{points} searches a cell"
        yield Figure("the main process's CPU a search", each, 1e3 * spent / done.searches_run, "ms")
        yield Figure("the same with waiting for the disk", each, 1e3 * waited / done.searches_run, "ms")


def resume() -> Iterator[Figure]:
    """Measure a study of 2,000 finished cells that has grown by one search."""
    found = [time_to_first_search(2_000) for _ in range(2)]
    best, cpu, start, cpu_of_start = (min(values) for values in zip(*found, strict=True))
    yield Figure("resume of 2,000 cells: time to first search", "the whole command", best, "s", 3)
    yield Figure("  an empty record's", "the whole command", start, "s")
    yield Figure("  CPU until the first search", "2,000 cells", cpu, "s")
    yield Figure("  CPU until the first search", "an empty record", cpu_of_start, "s")


def memory() -> Iterator[Figure]:
    """Measure the main process of a run whose record has 100,000 searches."""
    for cells in (1_000, 10_000):
        yield Figure(
            "main process, 100,000 searches recorded", f"{cells:,} cells", main_process_memory(cells), "MB", 600
        )


MEASUREMENTS = {
    "workers": workers,
    "trivial": trivial,
    "dask": dask,
    "client": client,
    "resume": resume,
    "memory": memory,
}


def main(wanted: list[str]) -> None:
    """Run all measurements, or those that are named."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    sys.stdout.write(f"{os.cpu_count()} cores, load {load}\n")

    def figures() -> Iterator[Figure]:
        for name, measure in MEASUREMENTS.items():
            if not wanted or name in wanted:
                yield from measure()

    if not wanted:
        report("scale", figures())
    for figure in figures() if wanted else ():
        sys.stdout.write(figure.line() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
