"""The events of a run, one frozen object each, as reporters receive them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


NOT_RUN_HERE = "not run here"
"""The version of a searcher whose results were made elsewhere, and judged here from a file (`cfbench judge`)."""


@dataclass(frozen=True, slots=True)
class CellInfo:
    """The coordinates of a cell, as readers see them.

    Parameters
    ----------
    key : str
        Digest of all that can change a result.
    dataset, model, searcher, objective : str
        Names with their variant labels, such as ``k[m=4]``.
    constraints : bool
    fold : int
    versions : mapping of str to str
        Versions of cfbench's protocol and of the cell's entries.
    white_box : bool
        Whether the searcher uses the model's structure.
    """

    key: str
    dataset: str
    model: str
    searcher: str
    objective: str
    constraints: bool
    fold: int
    versions: dict[str, str] = field(default_factory=dict, hash=False)
    white_box: bool = False

    @property
    def not_run_here(self) -> bool:
        """Whether the results were made elsewhere: they were judged and measured here, and cannot be run again."""
        return self.versions.get("searcher") == NOT_RUN_HERE


@dataclass(frozen=True)
class RunStarted:
    """A run begins.

    Parameters
    ----------
    study : str
        The study's name.
    results : Path
        The record's directory.
    tracking : str
        Tracking address; empty where there is no tracking.
    cells : tuple of CellInfo
        All cells of the plan.
    cells_done : int
        Cells that the record already holds.
    searches : int
        Searches of the plan, as far as it is known before models are fitted (an upper bound).
    searches_done : int
        Searches that the record already holds.
    workers : int
    notes : tuple of str
        What the reader should know before anything runs: skipped data sets, plugins that failed to load.
    """

    study: str
    results: Path
    tracking: str
    cells: tuple[CellInfo, ...]
    cells_done: int
    searches: int
    searches_done: int
    workers: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellStarted:
    """A cell's model is ready and its eligible points are known.

    Parameters
    ----------
    cell : CellInfo
    searches : int
        Searches of the cell, those that the record holds included.
    searches_done : int
    """

    cell: CellInfo
    searches: int
    searches_done: int


@dataclass(frozen=True)
class SearchFinished:
    """One search has been judged and is in the record.

    Parameters
    ----------
    cell : CellInfo
    point, repetition : int
    status : str
    reason : str
    loss : float
        NaN without a valid result.
    wall_seconds : float
    """

    cell: CellInfo
    point: int
    repetition: int
    status: str
    reason: str
    loss: float
    wall_seconds: float


@dataclass(frozen=True, eq=False)
class CellFinished:
    """All searches of a cell are in the record, or the cell has failed.

    Parameters
    ----------
    cell : CellInfo
    read_tables : callable
        Returns `searches` and `measures`, which are read when they are first used; both None where the cell failed.
    statuses : mapping of str to int
        How many searches ended in which status; empty where the cell failed.
    failure : str
        Why the cell failed; empty where it did not.
    content : mapping
        All that the cell's key is a digest of, settings with their defaults filled in.
    eligible : int
        Points of the test fold with another class than the target; 0 where the cell failed.
    preparation : (float, int) or None
        Wall-clock seconds and queries of one preparation of the searches, which do not contain them; None where the
        searcher prepares nothing.
    warnings : tuple of str
        The Python warnings of the cell's jobs in this run: a sentence for each, with how often it was raised.
    """

    cell: CellInfo
    read_tables: Callable[[], tuple[pd.DataFrame | None, pd.DataFrame | None]] = lambda: (None, None)
    statuses: Mapping[str, int] = field(default_factory=dict)
    failure: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    eligible: int = 0
    preparation: tuple[float, int] | None = None
    warnings: tuple[str, ...] = ()

    @cached_property
    def _tables(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        return self.read_tables()

    @property
    def searches(self) -> pd.DataFrame | None:
        """The cell's rows; None where the cell failed."""
        return self._tables[0]

    @property
    def measures(self) -> pd.DataFrame | None:
        """What was measured, in the columns of ``MEASURE_SCHEMA`` (`metric`, `version`, `settings`, `point`,
        `repetition`, `value`, ...), perhaps without rows; None where the cell failed.
        """
        return self._tables[1]


@dataclass(frozen=True)
class RunFinished:
    """A run ends.

    Parameters
    ----------
    cells_done, cells_failed : int
    searches_run : int
        Searches that this run added to the record.
    interrupted : bool
    resume : str
        The command that goes on with an interrupted run; empty where nothing is left.
    """

    cells_done: int
    cells_failed: int
    searches_run: int
    interrupted: bool
    resume: str = ""
