"""What a run did."""

from __future__ import annotations

from dataclasses import dataclass, field

from cfbench.harness.plan import Cell


@dataclass
class RunReport:
    """What a run did.

    Parameters
    ----------
    cells_done, cells_failed, cells_skipped : int
    searches_run : int
    crashed : int
        Of the searches run.
    interrupted : bool
    failures : list of str
        A sentence for each failed cell or metric.
    complaints : list of str
        What reporters could not do.
    """

    cells_done: int = 0
    cells_failed: int = 0
    cells_skipped: int = 0
    searches_run: int = 0
    crashed: int = 0
    interrupted: bool = False
    failures: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def described(cell: Cell) -> str:
    """Name a cell in a sentence about its failure."""
    info = cell.info
    constraints = "with constraints" if info.constraints else "without constraints"
    return f"{info.dataset}, {info.model}, {info.searcher}, {info.objective}, {constraints}, fold {info.fold}"
