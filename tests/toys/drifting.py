"""A small study on the toy plugin of searchers that minimise the loss alone, and ways to run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cfbench.analysis.loss_alone import board_cells
from cfbench.board.board import Leaderboard, leaderboard_of
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.running.executors.local import SerialExecutor
from cfbench.running.fitted import FittedModels
from cfbench.running.progress import RunReport
from cfbench.running.runner import Run
from cfbench.running.second_stage import SecondStage, measure_record
from cfbench.running.verify import Verification, verify_record
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.study.plan import Plan, make_plan
from cfbench.study.study import Study
from cfbench.study.variants import resolve_variant

TOY = Path(__file__).parent / "loss_alone_plugin.py"


class Drifting:
    """The toy plugin's registry, and a way to run studies on it."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.cache.mkdir(mode=0o700)
        self.results = folder / "results"
        self.options = RegistryOptions(plugins=(str(TOY),))
        self.registry: Registry = build_registry(self.options)
        self.source = DataSource(data_dirs=(), cache_dir=self.cache, download=False)

    @property
    def worker(self) -> Worker:
        return Worker(WorkerSetup(self.options, self.source, self.cache), self.registry)

    def plan(self, *searchers: str, objectives: tuple[str, ...] = ("none", "k"), **changes: Any) -> Plan:
        asked: dict[str, Any] = {
            "name": "drifting",
            "datasets": ("drifting",),
            "models": ("rule",),
            "searchers": searchers,
            "objectives": objectives,
            "metrics": (),
            "folds": (0,),
            "points": 3,
            "repetitions": 1,
            "workers": 1,
            "tracking": "none",
            "results": self.results,
        }
        return make_plan(Study(**{**asked, **changes}), self.registry, self.source)

    def run(self, *searchers: str, **changes: Any) -> RunReport:
        plan = self.plan(*searchers, **changes)
        with Record.open(self.results, write=True) as record:
            report = Run(plan, record, self.registry, SerialExecutor(self.worker), metrics=plan.metrics).go()
        assert not report.failures
        return report

    def change_plugin(self, *changes: tuple[str, str]) -> None:
        """Register another release of the plugin."""
        text = TOY.read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = self.results.parent / "changed.py"
        file.write_text(text, "utf-8")
        self.options = RegistryOptions(plugins=(str(file),))
        self.registry = build_registry(self.options)

    def measure(self, *objectives: str) -> SecondStage:
        under = [resolve_variant(self.registry, "objective", name) for name in objectives]
        with Record.open(self.results, write=True) as record:
            return measure_record(record, self.registry, self.source, FittedModels(self.cache), (), under)

    def cells(self) -> dict[tuple[str, str], CellSummary]:
        """Return the cells of a board by searcher and objective."""
        with Record.open(self.results) as record:
            found = board_cells(record, self.registry)
        return {(cell.info.searcher, cell.info.objective): cell for cell in found.values()}

    def board(self, **keys: Any) -> Leaderboard:
        with Record.open(self.results) as record:
            return leaderboard_of(record, self.registry, **keys)

    def verify(self) -> Verification:
        with Record.open(self.results) as record:
            return verify_record(record, self.worker, self.registry, sample=0, seed=0, progress=lambda *_: None)
