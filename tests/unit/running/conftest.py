"""A small study on the toy plugin, and ways to run it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.running.executors.local import Executor, ProcessExecutor, SerialExecutor
from cfbench.running.progress import RunReport
from cfbench.running.runner import Run
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.study.plan import Plan, make_plan
from cfbench.study.study import Study

TOY = Path(__file__).parents[2] / "toys" / "toy_plugin.py"


class Toys:
    """The toy plugin's registry, and a way to run studies on it."""

    def __init__(self, cache: Path) -> None:
        self.options = RegistryOptions(plugins=(str(TOY),))
        self.registry: Registry = build_registry(self.options)
        self.source = DataSource(data_dirs=(), cache_dir=cache, download=False)
        self.setup = WorkerSetup(self.options, self.source, cache)

    def plan(self, results: Path, **changes: Any) -> Plan:
        asked: dict[str, Any] = {
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
            "results": results,
        }
        return make_plan(Study(**{**asked, **changes}), self.registry, self.source)

    def serial(self) -> Executor:
        return SerialExecutor(Worker(self.setup, self.registry))

    def processes(self, slots: int = 2) -> Executor:
        return ProcessExecutor(self.setup, slots)

    def run(
        self, results: Path, executor: Executor | None = None, *, retry: tuple[str, ...] = (), **changes: Any
    ) -> RunReport:
        plan = self.plan(results, **changes)
        with Record.open(results, write=True) as record:
            run = Run(plan, record, self.registry, executor or self.serial(), metrics=plan.metrics, retry=retry)
            return run.go()


@pytest.fixture
def toys(tmp_path: Path) -> Toys:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    return Toys(cache)


ToyRun = Callable[..., RunReport]
