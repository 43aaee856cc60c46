"""The order of jobs: model by model, so that workers keep what they have loaded, and none idles while a job is left.

Cells whose searches are known to take longest come first: what is started last should be short, since the run waits
for it. Cells of which nothing is known come before them.
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from cfbench.running.estimate import BatchSizes, Durations
from cfbench.running.executors.local import Job
from cfbench.running.search import SearchTask
from cfbench.running.worker import FOLDS_KEPT, ModelKey, model_key
from cfbench.study.plan import Cell


class Purpose(Enum):
    """What a job is for, so that its result finds its way."""

    PREPARE = auto()
    WARM = auto()
    SEARCH = auto()
    CONFIRM = auto()
    MEASURE = auto()


_METHODS = {
    Purpose.PREPARE: "prepare",
    Purpose.WARM: "prepare",
    Purpose.SEARCH: "search_all",
    Purpose.CONFIRM: "confirm",
    Purpose.MEASURE: "measure",
}


@dataclass(frozen=True, eq=False)
class Assignment:
    """A job with what its result is needed for.

    The first of the `arguments` of the worker's method names the cell. `tasks` are the searches of a batch, all of the
    cell.
    """

    purpose: Purpose
    cell: Cell
    arguments: tuple[Any, ...]
    tasks: tuple[SearchTask, ...] = ()

    @property
    def model(self) -> ModelKey:
        """What the worker has to have loaded."""
        return model_key(self.cell)

    def job(self) -> Job:
        """The call to make; only searches have a time limit, a batch that of a single search."""
        limit = self.cell.time_limit if self.purpose is Purpose.SEARCH else None
        prepares = self.cell if self.purpose is Purpose.SEARCH and self.cell.prepares else None
        return Job(_METHODS[self.purpose], self.arguments, limit, prepares, counted=True)


class Schedule:
    """The jobs that wait, and what each slot has loaded.

    The cells of one model should follow each other. `durations` may grow meanwhile.
    """

    def __init__(self, cells: Iterable[Cell], durations: Durations) -> None:
        self._durations = durations
        self._sizes = BatchSizes()
        by_model: dict[ModelKey, list[Cell]] = {}
        for cell in cells:
            by_model.setdefault(model_key(cell), []).append(cell)
        longest_first = sorted(by_model.items(), key=lambda item: -max(map(self._expected, item[1])))
        self._unprepared = deque((key, of_model[0]) for key, of_model in longest_first)
        self._first: deque[Assignment] = deque()
        self._queues: dict[ModelKey, dict[str, deque[SearchTask]]] = {}
        self._alone: set[tuple[str, int, int]] = set()
        self._loaded: defaultdict[int, OrderedDict[ModelKey, None]] = defaultdict(OrderedDict)

    def add_searches(self, tasks: Iterable[SearchTask]) -> None:
        """Queue searches whose model is prepared."""
        new: dict[str, deque[SearchTask]] = {}
        for task in tasks:
            new.setdefault(task.cell.info.key, deque()).append(task)
        for key, queue in sorted(new.items(), key=lambda item: -self._expected(item[1][0].cell)):
            self._queues.setdefault(model_key(queue[0].cell), {}).setdefault(key, deque()).extend(queue)

    def add_first(self, assignment: Assignment) -> None:
        """Queue a job before all searches: a finished cell should reach the record soon."""
        self._first.append(assignment)

    def add_alone(self, tasks: Iterable[SearchTask]) -> None:
        """Queue the searches of a batch that was lost once more, each to travel alone: one of them is to blame."""
        for task in tasks:
            self._alone.add(_name(task))
            self._queues.setdefault(model_key(task.cell), {}).setdefault(task.cell.info.key, deque()).appendleft(task)

    def returned(self, cell: Cell, seconds: Iterable[float]) -> None:
        """Learn from the searches of a batch how long such searches take."""
        taken = list(seconds)
        self._sizes.returned(cell.info, taken)
        self._durations.add(cell.info, sum(taken), len(taken))

    def next_for(self, slot: int, slots: int) -> Assignment | None:
        """Return the next job for an idle slot of so many; None where nothing is left to start.

        A slot that has not loaded a job's model is given a warming job first, which no time limit bounds: a search's
        limit is for the search alone.
        """
        loaded = self._loaded[slot]
        for i, assignment in enumerate(self._first):
            if assignment.model in loaded:
                del self._first[i]
                self._note_loaded(slot, assignment.model)
                return assignment
        for key, queues in self._queues.items():
            if key in loaded:
                self._note_loaded(slot, key)
                return self._batch(key, queues, slots)
        if self._unprepared:
            key, cell = self._unprepared.popleft()
            self._note_loaded(slot, key)
            return Assignment(Purpose.PREPARE, cell, (cell,))
        if self._first:
            return self._warm(slot, self._first[0].cell)
        for queues in self._queues.values():
            return self._warm(slot, next(iter(queues.values()))[0].cell)
        return None

    def _batch(self, key: ModelKey, queues: dict[str, deque[SearchTask]], slots: int) -> Assignment:
        cell_key, queue = next(iter(queues.items()))
        cell = queue[0].cell
        # At the end, every slot gets its share of what is left.
        share = -(-sum(map(len, queues.values())) // (2 * slots))
        tasks = [queue.popleft()]
        if _name(tasks[0]) not in self._alone:
            size = min(self._sizes.size(cell.info, cell.time_limit), share)
            while queue and len(tasks) < size and _name(queue[0]) not in self._alone:
                tasks.append(queue.popleft())
        self._alone.discard(_name(tasks[0]))
        if not queue:
            del queues[cell_key]
            if not queues:
                del self._queues[key]
        return Assignment(Purpose.SEARCH, cell, (tuple(tasks),), tuple(tasks))

    def _warm(self, slot: int, cell: Cell) -> Assignment:
        self._note_loaded(slot, model_key(cell))
        return Assignment(Purpose.WARM, cell, (cell,))

    def _note_loaded(self, slot: int, key: ModelKey) -> None:
        """Follow what the worker keeps: its last few models."""
        loaded = self._loaded[slot]
        loaded[key] = None
        loaded.move_to_end(key)
        if len(loaded) > FOLDS_KEPT:
            loaded.popitem(last=False)

    def forget_slot(self, slot: int) -> None:
        """A slot's worker was replaced: it has loaded nothing."""
        self._loaded[slot].clear()

    def drop_model(self, key: ModelKey) -> None:
        """Forget the jobs that wait for a model that is unavailable."""
        self._queues.pop(key, None)
        self._first = deque(assignment for assignment in self._first if assignment.model != key)

    def drop_cell(self, cell: Cell) -> None:
        """A cell has failed or is finished: forget the jobs that wait for it, and what was learnt of it alone."""
        self._sizes.forget(cell.info)
        self._durations.forget_cell(cell.info)
        self._first = deque(assignment for assignment in self._first if assignment.cell.info.key != cell.info.key)
        queues = self._queues.get(model_key(cell))
        if queues is not None:
            queues.pop(cell.info.key, None)
            if not queues:
                del self._queues[model_key(cell)]

    def _expected(self, cell: Cell) -> float:
        expected = self._durations.expected(cell.info)
        return math.inf if expected is None else expected[0]


def _name(task: SearchTask) -> tuple[str, int, int]:
    return task.cell.info.key, task.point, task.repetition
