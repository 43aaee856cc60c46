"""A small study on the toy plugin of searchers that minimise the loss alone, and ways to run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cfbench.analysis.loss_alone import board_cells
from cfbench.board.board import Leaderboard, leaderboard_of
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.running.progress import RunReport
from cfbench.running.second_stage import SecondStage, measure_record
from cfbench.running.verify import Verification, verify_record
from cfbench.study.plan import Plan
from cfbench.study.variants import resolve_variant
from tests.toys.runs import Toys

TOY = Path(__file__).parent / "loss_alone_plugin.py"


class Drifting:
    """Studies on the toy plugin of searchers that minimise the loss alone, in one record."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.results = folder / "results"
        self._register(TOY)

    def _register(self, plugin: Path) -> None:
        keys: dict[str, Any] = {
            "name": "drifting",
            "datasets": ("drifting",),
            "models": ("rule",),
            "folds": (0,),
            "repetitions": 1,
        }
        self._toys = Toys(self.cache, plugin, **keys)
        self.registry = self._toys.registry

    def plan(self, *searchers: str, objectives: tuple[str, ...] = ("none", "k"), **changes: Any) -> Plan:
        return self._toys.plan(self.results, searchers=searchers, objectives=objectives, **changes)

    def run(self, *searchers: str, objectives: tuple[str, ...] = ("none", "k"), **changes: Any) -> RunReport:
        report = self._toys.run(self.results, searchers=searchers, objectives=objectives, **changes)
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
        self._register(file)

    def measure(self, *objectives: str) -> SecondStage:
        under = [resolve_variant(self.registry, "objective", name) for name in objectives]
        with Record.open(self.results, write=True) as record:
            return measure_record(record, self._toys.worker(), self.registry, (), under)

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
            return verify_record(record, self._toys.worker(), self.registry, sample=0, seed=0, progress=lambda *_: None)
