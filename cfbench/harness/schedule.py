"""The order of jobs: model by model, so that workers keep what they have loaded, and none idles while a job is left."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from cfbench.harness.executors import Job
from cfbench.harness.plan import Cell
from cfbench.harness.search import SearchTask
from cfbench.harness.worker import GROUNDS_KEPT

ModelKey = tuple[str, str, int]
"""Data set, model label, fold: what a worker loads together."""


class Purpose(Enum):
    """What a job is for, so that its result finds its way."""

    PREPARE = auto()
    WARM = auto()
    SEARCH = auto()
    CONFIRM = auto()
    MEASURE = auto()


@dataclass(frozen=True)
class Assignment:
    """A job with what its result is needed for.

    Parameters
    ----------
    purpose : Purpose
    model : ModelKey
        What the worker has to have loaded.
    cell : Cell
    arguments : tuple
        Of the worker's method.
    task : SearchTask or None
        For a search.
    """

    purpose: Purpose
    model: ModelKey
    cell: Cell
    arguments: tuple[Any, ...]
    task: SearchTask | None = None

    def job(self) -> Job:
        """The call to make; only searches have a time limit."""
        method = "prepare" if self.purpose is Purpose.WARM else self.purpose.name.lower()
        limit = self.cell.time_limit if self.purpose is Purpose.SEARCH else None
        return Job(method, self.arguments, limit)


def model_key(cell: Cell) -> ModelKey:
    """Return what a worker loads for `cell`."""
    return cell.dataset, cell.model.label, cell.fold


@dataclass
class Schedule:
    """The jobs that wait, and what each slot has loaded.

    Parameters
    ----------
    cells : iterable of Cell
        Cells to work on; those of one model should follow each other.
    slots : int
    """

    cells: Iterable[Cell]
    slots: int
    _unprepared: deque[tuple[ModelKey, Cell]] = field(init=False)
    _ready: deque[Assignment] = field(init=False, default_factory=deque)
    _loaded: list[OrderedDict[ModelKey, None]] = field(init=False)

    def __post_init__(self) -> None:
        first_of_model: dict[ModelKey, Cell] = {}
        for cell in self.cells:
            first_of_model.setdefault(model_key(cell), cell)
        self._unprepared = deque(first_of_model.items())
        self._loaded = [OrderedDict() for _ in range(self.slots)]

    def add(self, assignments: Iterable[Assignment]) -> None:
        """Queue jobs whose model is prepared."""
        self._ready.extend(assignments)

    def add_first(self, assignment: Assignment) -> None:
        """Queue a job before all others: a finished cell should reach the record soon."""
        self._ready.appendleft(assignment)

    def next_for(self, slot: int) -> Assignment | None:
        """Return the next job for an idle slot; None where nothing is left to start.

        A slot that has not loaded a job's model is given a warming job first, which no time limit bounds: a search's
        limit is for the search alone.
        """
        for i, assignment in enumerate(self._ready):
            if assignment.model in self._loaded[slot]:
                del self._ready[i]
                self._note_loaded(slot, assignment.model)
                return assignment
        if self._unprepared:
            key, cell = self._unprepared.popleft()
            self._note_loaded(slot, key)
            return Assignment(Purpose.PREPARE, key, cell, (cell,))
        if self._ready:
            waiting = self._ready[0]
            self._note_loaded(slot, waiting.model)
            return Assignment(Purpose.WARM, waiting.model, waiting.cell, (waiting.cell,))
        return None

    def _note_loaded(self, slot: int, key: ModelKey) -> None:
        """Follow what the worker keeps: its last few models."""
        loaded = self._loaded[slot]
        loaded[key] = None
        loaded.move_to_end(key)
        if len(loaded) > GROUNDS_KEPT:
            loaded.popitem(last=False)

    def forget_slot(self, slot: int) -> None:
        """A slot's worker was replaced: it has loaded nothing."""
        self._loaded[slot].clear()

    def drop_model(self, key: ModelKey) -> None:
        """A model cannot be had: forget the jobs that wait for it."""
        self._ready = deque(assignment for assignment in self._ready if assignment.model != key)

    def drop_cell(self, key: str) -> None:
        """A cell has failed: forget the jobs that wait for it."""
        self._ready = deque(assignment for assignment in self._ready if assignment.cell.info.key != key)
