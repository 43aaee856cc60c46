"""Studies on plugin files for tests, and ways to run them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.running.executors.local import Executor, ProcessExecutor, SerialExecutor
from cfbench.running.progress import RunReport
from cfbench.running.runner import Run
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.study.plan import Plan, make_plan
from cfbench.study.study import Study
from tests.toys.studies import TOY


class Toys:
    """A registry of plugin files, by default of the toy plugin, and ways to run small studies on it."""

    def __init__(self, cache: Path, *plugins: Path, objects: tuple[object, ...] = (), **keys: Any) -> None:
        cache.mkdir(mode=0o700, exist_ok=True)
        self.options = RegistryOptions(plugins=tuple(map(str, plugins or (TOY,))))
        self.registry: Registry = build_registry(self.options, objects=objects)
        self.source = DataSource(data_dirs=(), cache_dir=cache, download=False)
        self.setup = WorkerSetup(self.options, self.source, cache)
        self.keys: dict[str, Any] = {
            "name": "toys",
            "datasets": ("toy",),
            "models": ("threshold",),
            "searchers": ("toy-dice",),
            "objectives": ("none",),
            "metrics": (),
            "folds": (0, 1),
            "points": 3,
            "repetitions": 2,
            "workers": 1,
            "tracking": "none",
            **keys,
        }

    def plan(self, results: Path, **changes: Any) -> Plan:
        return make_plan(Study(**{**self.keys, "results": results, **changes}), self.registry, self.source)

    def worker(self) -> Worker:
        return Worker(self.setup, self.registry)

    def serial(self) -> Executor:
        return SerialExecutor(self.worker())

    def processes(self, slots: int = 2) -> Executor:
        return ProcessExecutor(self.setup, slots)

    def run(
        self, results: Path, executor: Executor | None = None, *, retry: tuple[str, ...] = (), **changes: Any
    ) -> RunReport:
        plan = self.plan(results, **changes)
        with Record.open(results, write=True) as record:
            run = Run(plan, record, self.registry, executor or self.serial(), metrics=plan.metrics, retry=retry)
            return run.go()
