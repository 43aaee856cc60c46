"""What searchers are compared on: which tasks and points count, which values, and which searchers have all of them.

Decision: a point of a task counts if more than half of the black-box searchers ran on it. Searchers that ran on less
than half of all points are ignored in this count, unless that leaves fewer than two. A searcher is ranked if it ran on
every point that counts. So a searcher that was tried on little does not shrink the comparison of all others, and a few
further points of one searcher do not end it.

Decision: the value compared at a point is the one that the task asks searchers to minimise: the objective value of the
point's result, as the judge computes it. Under objective ``none`` it is the loss. A task in which results have no
objective value (records of early versions) is compared by the loss, all searchers alike, and the board says so.

Decision: white boxes are ranked among themselves, if there are two or more, on the tasks that each of them can do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfbench.analysis.groups import Group, Point, Task, bare_name, differences, is_white_box, lacks_values
from cfbench.analysis.loss_alone import record_key
from cfbench.analysis.published import OWN
from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary
from cfbench.registry.events import NOT_RUN_HERE
from cfbench.space.space import FloatArray, IntArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, order=True)
class ComparedSearcher:
    """A searcher across tasks."""

    name: str  # its label
    setup: str = ""  # what else (seed, budget, version) tells it from others of that label; mostly empty
    white_box: bool = False  # whether it uses the model's structure; such searchers are never ranked among black boxes
    yours: bool = False  # whether its results are the user's own, shown next to the published ones
    not_run_here: bool = False  # whether its results were made elsewhere and judged from a file

    @property
    def label(self) -> str:
        """The searcher as readers see it."""
        label = f"{self.name} ({self.setup})" if self.setup else self.name
        label = f"{label} [white-box]" if self.white_box else label
        label = f"{label} [{NOT_RUN_HERE}]" if self.not_run_here else label
        return f"{label} [yours]" if self.yours else label


@dataclass(eq=False)
class ComparedTask:
    """One task with the results of all searchers."""

    key: Task
    setup: str = ""  # what else (a version, a table) tells it from other tasks of that name; mostly empty
    # Their cells of this task, failed and skipped ones included
    groups: dict[ComparedSearcher, Group] = field(default_factory=dict)
    counted: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which of `places` count; set by the matrix."""

    @property
    def label(self) -> str:
        """The task as readers see it."""
        return f"{self.key} ({self.setup})" if self.setup else str(self.key)

    @cached_property
    def places(self) -> list[Point]:
        """Every point that a searcher ran on, sorted."""
        return sorted({place for group in self.groups.values() for place in group.places})

    @cached_property
    def _at(self) -> dict[ComparedSearcher, IntArray]:
        """Where each searcher's points are among the places."""
        number = {place: i for i, place in enumerate(self.places)}
        return {
            searcher: np.array([number[place] for place in group.places], dtype=np.int64)
            for searcher, group in self.groups.items()
        }

    def _laid_out(self, name: str) -> dict[ComparedSearcher, FloatArray]:
        """Lay a field of the results out: infinity where nothing was found, NaN where nothing was searched."""
        found = {}
        for searcher, group in self.groups.items():
            if group.ran:
                found[searcher] = np.full(len(self.places), np.nan)
                own = group.column(name)
                found[searcher][self._at[searcher]] = np.where(np.isnan(own), np.inf, own)
        return found

    @cached_property
    def losses(self) -> dict[ComparedSearcher, FloatArray]:
        """The loss of each place's result: infinity where nothing was found, NaN where nothing was searched."""
        return self._laid_out("loss")

    @cached_property
    def without_values(self) -> tuple[CellSummary, ...]:
        """The cells with results that lack an objective value; none of them if it is the loss anyway."""
        if bare_name(self.key.objective) == "none":
            return ()
        return tuple(cell for group in self.groups.values() for cell in group.ran if lacks_values(cell))

    @cached_property
    def values(self) -> dict[ComparedSearcher, FloatArray]:
        """What is compared at each place: the objective value of its result.

        Infinity where nothing was found, NaN where nothing was searched. The losses where they are the objective, and
        where any cell of the task lacks objective values: values of two kinds are never compared.
        """
        if bare_name(self.key.objective) == "none" or self.without_values:
            return self.losses
        return self._laid_out("objective_value")

    @cached_property
    def searches(self) -> dict[ComparedSearcher, IntArray]:
        """Successful and all searches of each place, shape (2, places); 0 where nothing was asked."""
        counts = {}
        for searcher, group in self.groups.items():
            counts[searcher] = np.zeros((2, len(self.places)), dtype=np.int64)
            counts[searcher][:, self._at[searcher]] = [group.column("successes"), group.column("tries")]
        return counts

    def cells_of(self, searcher: ComparedSearcher) -> tuple[CellSummary, ...]:
        """Return a searcher's cells of this task, failed and skipped ones included."""
        group = self.groups.get(searcher)
        return () if group is None else group.cells

    def asked_all_of(self, searcher: ComparedSearcher) -> bool:
        """Whether a searcher was asked every point that counts."""
        losses = self.losses.get(searcher)
        return losses is not None and not bool(np.isnan(losses[self.counted]).any())

    def spread(self, searcher: ComparedSearcher, by_cell: Mapping[str, FloatArray]) -> FloatArray:
        """Return the values of a searcher's cells, one per point, in the order of the places; NaN if missing."""
        values = np.full(len(self.places), np.nan)
        start = 0
        for cell in self.groups[searcher].ran:
            at = self._at[searcher][start : start + len(cell.row_ids)]
            start += len(cell.row_ids)
            given = by_cell.get(cell.info.key)
            if given is not None and len(given) == len(at):
                values[at] = given
        return values


@dataclass(frozen=True, eq=False)
class ResultMatrix:
    """All tasks and all searchers that ran on any of them."""

    tasks: tuple[ComparedTask, ...]  # in the order of their tasks
    searchers: tuple[ComparedSearcher, ...]  # those without any result included
    white: bool = False  # whether the white boxes are ranked among themselves here, not the black boxes
    own_points: bool = False  # whether only the points of the user's own searchers count

    @cached_property
    def in_play(self) -> tuple[ComparedTask, ...]:
        """The tasks with points that count."""
        return tuple(task for task in self.tasks if task.counted.any())

    @cached_property
    def ranked(self) -> tuple[ComparedSearcher, ...]:
        """The searchers of the kind that is ranked here that ran on every point that counts."""
        if not self.in_play:
            return ()
        return tuple(one for one in self.candidates if self.complete_in(one) == len(self.in_play))

    @property
    def candidates(self) -> tuple[ComparedSearcher, ...]:
        """The searchers of the kind that is ranked here, with or without results."""
        return tuple(one for one in self.searchers if one.white_box is self.white)

    def complete_in(self, searcher: ComparedSearcher) -> int:
        """Return in how many of the tasks in play a searcher was asked every point that counts."""
        return sum(task.asked_all_of(searcher) for task in self.in_play)

    def of_white_boxes(self) -> ResultMatrix | None:
        """Return the white boxes' own matrix, on the tasks that each of them can do.

        A task is left out if the cells of one of them were skipped there, which says that it cannot do it. None if
        fewer than two white boxes have results on what is left: then there is nothing to rank.
        """
        white = [one for one in self.searchers if one.white_box and any(one in task.losses for task in self.tasks)]
        able = [task for task in self.tasks if not any(_cannot(task.cells_of(one)) for one in white)]
        tasks = tuple(copy(task) for task in able)
        left = [one for one in white if any(one in task.losses for task in tasks)]
        if len(left) < 2:
            return None
        matrix = ResultMatrix(tasks, self.searchers, white=True, own_points=self.own_points)
        _count_places(matrix)
        return matrix if matrix.in_play else None


def make_result_matrix(
    groups: Iterable[Group], white_boxes: Collection[str], *, yours: Collection[str] = (), own_points: bool = False
) -> ResultMatrix:
    """Lay out groups by task and searcher, and decide which points count."""
    by_task: dict[tuple[Task, str], list[tuple[tuple[str, str], Group]]] = defaultdict(list)
    contents: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    peeking: set[str] = set()
    own: set[tuple[str, str]] = set()
    elsewhere: set[tuple[str, str]] = set()
    for group in groups:
        peeking |= {group.searcher} if is_white_box(group, white_boxes) else set()
        content = group.cells[0].content
        setting = {key: value for key, value in content.items() if key in OWN}
        given = {key: value for key, value in content.items() if key not in (*OWN, "fold")}
        identity = group.searcher, digest_of(setting)
        contents[group.searcher][identity[1]] = setting
        elsewhere |= {identity} if group.cells[0].info.not_run_here else set()
        own |= {identity} if any(record_key(cell) in yours for cell in group.cells) else set()
        by_task[group.task, digest_of(given)].append((identity, group))
    searchers = {}
    for name, variants in sorted(contents.items()):
        for digest, setup in zip(variants, differences(list(variants.values())), strict=True):
            identity = name, digest
            searchers[identity] = ComparedSearcher(
                name, setup, name in peeking, yours=identity in own, not_run_here=identity in elsewhere
            )
    tasks = []
    for (key, _), members in sorted(by_task.items(), key=lambda item: item[0]):
        tasks.append(ComparedTask(key, groups={searchers[identity]: group for identity, group in members}))
    for task, setup in zip(tasks, _setups(tasks), strict=True):
        task.setup = setup
    tasks.sort(key=lambda task: (task.key, task.setup))
    matrix = ResultMatrix(tuple(tasks), tuple(sorted(searchers.values())), own_points=own_points)
    _count_places(matrix)
    return matrix


def _setups(tasks: Sequence[ComparedTask]) -> list[str]:
    """Say of each task what tells it from others of its name."""
    setups = []
    for task in tasks:
        alike = [other for other in tasks if other.key == task.key]
        contents = [_given(other) for other in alike]
        setups.append(differences(contents)[alike.index(task)])
    return setups


def _given(task: ComparedTask) -> dict[str, Any]:
    content = next(iter(task.groups.values())).cells[0].content
    return {key: value for key, value in content.items() if key not in OWN}


def _count_places(matrix: ResultMatrix) -> None:
    ran = [one for one in matrix.candidates if any(one in task.losses for task in matrix.tasks)]
    places = sum(len(task.places) for task in matrix.tasks)
    voters = [one for one in ran if 2 * _asked(one, matrix) >= places]
    if len(voters) < 2:
        voters = ran
    for task in matrix.tasks:
        votes = [~np.isnan(task.losses[one]) for one in voters if one in task.losses]
        n_ran = np.sum(votes, axis=0) if votes else np.zeros(len(task.places))
        task.counted = n_ran > len(voters) / 2
    if matrix.own_points:
        _count_own_places(matrix)


def _count_own_places(matrix: ResultMatrix) -> None:
    """Let only those points count that every searcher of the user's own has; without one, every one that is ranked."""
    own = [one for one in matrix.searchers if one.yours] or matrix.candidates
    for task in matrix.tasks:
        for one in own:
            task.counted = task.counted & (~np.isnan(task.losses[one]) if one in task.losses else np.False_)


def _cannot(cells: Sequence[CellSummary]) -> bool:
    """Whether any of a searcher's cells of a task were skipped and have no results of an earlier run."""
    return any(cell.skipped and not cell.has_results for cell in cells)


def _asked(searcher: ComparedSearcher, matrix: ResultMatrix) -> int:
    """Return how many points a searcher was asked, of all tasks."""
    return sum(len(task.groups[searcher].places) for task in matrix.tasks if searcher in task.losses)
