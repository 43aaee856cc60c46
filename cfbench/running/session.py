"""A session: a study together with what is registered here, ready to run. The command line and Python share it."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from uuid import uuid4

from cfbench.caches import cache_dir
from cfbench.errors import StudyError, UnknownNameError
from cfbench.problem.outcome import Status
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry
from cfbench.running.executors.local import Executor, ProcessExecutor, SerialExecutor
from cfbench.running.progress import RunReport
from cfbench.running.runner import Run
from cfbench.running.worker import Worker, WorkerSetup, entries_of, take_inventory
from cfbench.study.plan import Plan, make_plan
from cfbench.study.shard import Shard, shard_of
from cfbench.study.study import Study
from cfbench.text import plural
from cfbench.tracking.addresses import remember_tracking, tracking_address

PACKAGES = ("counterfactual-bench", "numpy", "scipy", "scikit-learn", "numba")


def this_machine() -> dict[str, str]:
    """Return versions, system, processor and number of cores; seconds depend on them, results may in the last bits."""
    found = {
        "python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": str(os.cpu_count() or "unknown"),
    }
    return {key: " ".join(value.split()) for key, value in found.items()}


def processor() -> str:
    """Name the processor as well as the system knows it."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


WORKERS_A_CORE = 4
MOST_WORKERS = 16
"""So many are started on any machine."""


@dataclass(frozen=True)
class Session:
    """A study that can be run.

    `tracking` is empty for none. `cluster` is a Dask scheduler's address, a client, or a cluster object.
    """

    plan: Plan
    registry: Registry
    source: DataSource
    tracking: str
    cluster: object = None

    @classmethod
    def prepare(
        cls,
        study: Study,
        registry: Registry,
        source: DataSource,
        *,
        shard: Shard | None = None,
        cluster: object = None,
    ) -> Session:
        """Plan a study; nothing is written or run.

        With `shard`, only this part of the cells. Raises CfbenchError as `make_plan` and `tracking_address`, or if the
        study asks for processes and a plugin lives in this one alone.
        """
        plan = make_plan(study, registry, source)
        if shard is not None:
            plan = shard_of(plan, shard)
        _refuse_plugins_of_this_process(plan, registry, cluster)
        return cls(plan, registry, source, tracking_address(study.tracking, study.results), cluster)

    def check_workers(self) -> None:
        """Refuse more workers than this machine can use: they would take its memory, and no search would ever end."""
        workers, cores = self.plan.study.workers, os.cpu_count() or 1
        most = max(MOST_WORKERS, WORKERS_A_CORE * cores)
        if self.cluster is None and workers > most:
            raise StudyError(
                f"{workers:,} workers are too many for this machine, which has {plural(cores, 'core')}: each is a "
                f"process with libraries and a model of its own. At most {most:,} are started; {cores:,} keep all "
                "cores busy"
            )

    def run(
        self, record: Record, *, retry: Collection[str] = (), resume: str = "", ends_process: bool = False
    ) -> RunReport:
        """Run what is missing in `record`, which is open for writing.

        Searches with a status in `retry` run again. `resume` says how to go on after an interruption; with
        `ends_process`, a second interruption ends the process.
        """
        remember_tracking(self.plan.study.results, self.plan.study.name, self.tracking)
        record.note("study", self.plan.study.name)
        record.note("reference", self.plan.study.reference)
        setup = WorkerSetup(self.registry.options, self.source, cache_dir())
        report = Run(
            self.plan,
            record,
            self.registry,
            executor_for(self.plan, setup, self.registry, self.cluster),
            metrics=self.plan.metrics,
            tracking=self.tracking,
            retry=retry,
            resume=resume,
            ends_process=ends_process,
        ).go()
        if report.searches_run:
            record.add_machines([this_machine()])
        return report


def executor_for(plan: Plan, setup: WorkerSetup, registry: Registry, cluster: object = None) -> Executor:
    """Return the executor that a study asks for: this process for one worker without time limits, else processes."""
    if cluster is not None:
        from cfbench.running.executors.dask import DaskExecutor, RunSetup

        entries = entries_of(plan)
        inventory = take_inventory(registry, entries)
        return DaskExecutor(setup, RunSetup(uuid4().hex, setup.options, entries, inventory), cluster)
    if needs_processes(plan):
        return ProcessExecutor(setup, plan.study.workers)
    return SerialExecutor(Worker(setup, registry))


def needs_processes(plan: Plan) -> bool:
    """Whether this process alone will not do: a search past its limit is killed, and needs a process to die in."""
    return plan.study.workers > 1 or any(cell.time_limit is not None for cell in plan.cells)


def check_statuses(statuses: Iterable[str]) -> None:
    """Refuse what is no status of a search."""
    for status in statuses:
        if status not in set(Status):
            raise UnknownNameError("status", status, [known.value for known in Status])


def _refuse_plugins_of_this_process(plan: Plan, registry: Registry, cluster: object) -> None:
    if not registry.in_process or not (cluster is not None or needs_processes(plan)):
        return
    limit = next((cell.time_limit for cell in plan.cells if cell.time_limit is not None), None)
    asked = ["a Dask cluster"] if cluster is not None else []
    asked += [f"{plan.study.workers} workers"] if plan.study.workers > 1 else []
    asked += [f"a time limit of {limit:g} s"] if limit is not None else []
    raise StudyError(
        f"study {plan.study.name!r} asks for {' and '.join(asked)}, so its searches run in processes of their own, and "
        f"those cannot build what only this one holds: {', '.join(registry.in_process)}. Put the plugin into a file or "
        "a module and give its path or name, or run in this process: one worker, no time limit, no cluster"
    )
