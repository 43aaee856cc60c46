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
from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary
from cfbench.record.published import OWN
from cfbench.space.space import FloatArray, IntArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, order=True)
class Entrant:
    """A searcher across tasks.

    Parameters
    ----------
    searcher : str
        Its label.
    setup : str
        What else (seed, budget, version) tells it from others of that label; mostly empty.
    white_box : bool
        Whether it uses the model's structure; such searchers are never ranked among black boxes.
    yours : bool
        Whether its results are the user's own, shown next to the published ones.
    """

    searcher: str
    setup: str = ""
    white_box: bool = False
    yours: bool = False

    @property
    def label(self) -> str:
        """The searcher as readers see it."""
        label = f"{self.searcher} ({self.setup})" if self.setup else self.searcher
        label = f"{label} [white-box]" if self.white_box else label
        return f"{label} [yours]" if self.yours else label


@dataclass(eq=False)
class Arena:
    """One task with the results of everybody who was asked.

    Parameters
    ----------
    task : Task
    setup : str
        What else (a version, a table) tells it from other tasks of that name; mostly empty.
    groups : dict of Entrant to Group
        Their cells of this task, failed and skipped ones included.
    """

    task: Task
    setup: str = ""
    groups: dict[Entrant, Group] = field(default_factory=dict)
    counted: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which of `places` count; set by the contest."""

    @property
    def label(self) -> str:
        """The task as readers see it."""
        return f"{self.task} ({self.setup})" if self.setup else str(self.task)

    @cached_property
    def places(self) -> list[Point]:
        """Every point that anybody was asked, sorted."""
        return sorted({place for group in self.groups.values() for place in group.places})

    @cached_property
    def _at(self) -> dict[Entrant, IntArray]:
        """Where each entrant's points are among the places."""
        number = {place: i for i, place in enumerate(self.places)}
        return {
            entrant: np.array([number[place] for place in group.places], dtype=np.int64)
            for entrant, group in self.groups.items()
        }

    def _laid_out(self, name: str) -> dict[Entrant, FloatArray]:
        """Lay a field of the results out: infinity where nothing was found, NaN where nothing was searched."""
        found = {}
        for entrant, group in self.groups.items():
            if group.ran:
                found[entrant] = np.full(len(self.places), np.nan)
                own = group.column(name)
                found[entrant][self._at[entrant]] = np.where(np.isnan(own), np.inf, own)
        return found

    @cached_property
    def losses(self) -> dict[Entrant, FloatArray]:
        """The loss of each place's result: infinity where nothing was found, NaN where nothing was searched."""
        return self._laid_out("loss")

    @cached_property
    def without_values(self) -> tuple[CellSummary, ...]:
        """The cells with results that lack an objective value; none of them if it is the loss anyway."""
        if bare_name(self.task.objective) == "none":
            return ()
        return tuple(cell for group in self.groups.values() for cell in group.ran if lacks_values(cell))

    @cached_property
    def values(self) -> dict[Entrant, FloatArray]:
        """What is compared at each place: the objective value of its result.

        Infinity where nothing was found, NaN where nothing was searched. The losses where they are the objective, and
        where any cell of the task lacks objective values: values of two kinds are never compared.
        """
        if bare_name(self.task.objective) == "none" or self.without_values:
            return self.losses
        return self._laid_out("objective_value")

    @cached_property
    def searches(self) -> dict[Entrant, IntArray]:
        """Successful and all searches of each place, shape (2, places); 0 where nothing was asked."""
        counts = {}
        for entrant, group in self.groups.items():
            counts[entrant] = np.zeros((2, len(self.places)), dtype=np.int64)
            counts[entrant][:, self._at[entrant]] = [group.column("successes"), group.column("tries")]
        return counts

    def cells_of(self, entrant: Entrant) -> tuple[CellSummary, ...]:
        """Return an entrant's cells of this task, failed and skipped ones included."""
        group = self.groups.get(entrant)
        return () if group is None else group.cells

    def asked_all_of(self, entrant: Entrant) -> bool:
        """Whether an entrant was asked every point that counts."""
        losses = self.losses.get(entrant)
        return losses is not None and not bool(np.isnan(losses[self.counted]).any())

    def spread(self, entrant: Entrant, by_cell: Mapping[str, FloatArray]) -> FloatArray:
        """Lay values of an entrant's cells, one a point of the cell, over the places; NaN where there are none."""
        values = np.full(len(self.places), np.nan)
        start = 0
        for cell in self.groups[entrant].ran:
            at = self._at[entrant][start : start + len(cell.row_ids)]
            start += len(cell.row_ids)
            given = by_cell.get(cell.info.key)
            if given is not None and len(given) == len(at):
                values[at] = given
        return values


@dataclass(frozen=True, eq=False)
class Contest:
    """All tasks and all searchers that ran on any of them.

    Parameters
    ----------
    arenas : tuple of Arena
        In the order of their tasks.
    entrants : tuple of Entrant
        Those without any result included.
    white : bool
        Whether the white boxes are ranked among themselves here, not the black boxes.
    own_points : bool
        Whether only the points of the user's own searchers count.
    """

    arenas: tuple[Arena, ...]
    entrants: tuple[Entrant, ...]
    white: bool = False
    own_points: bool = False

    @cached_property
    def in_play(self) -> tuple[Arena, ...]:
        """The tasks with points that count."""
        return tuple(arena for arena in self.arenas if arena.counted.any())

    @cached_property
    def ranked(self) -> tuple[Entrant, ...]:
        """The searchers of the kind that is ranked here that ran on every point that counts."""
        if not self.in_play:
            return ()
        return tuple(one for one in self.candidates if self.complete_in(one) == len(self.in_play))

    @property
    def candidates(self) -> tuple[Entrant, ...]:
        """The searchers of the kind that is ranked here, with or without results."""
        return tuple(one for one in self.entrants if one.white_box is self.white)

    def complete_in(self, entrant: Entrant) -> int:
        """Return in how many of the tasks in play an entrant was asked every point that counts."""
        return sum(arena.asked_all_of(entrant) for arena in self.in_play)

    def of_white_boxes(self) -> Contest | None:
        """Return the white boxes' own contest, on the tasks that each of them can do.

        A task is left out if the cells of one of them were skipped there, which says that it cannot do it. None if
        fewer than two white boxes have results on what is left: then there is nothing to rank.
        """
        white = [one for one in self.entrants if one.white_box and any(one in arena.losses for arena in self.arenas)]
        able = [arena for arena in self.arenas if not any(_cannot(arena.cells_of(one)) for one in white)]
        arenas = tuple(copy(arena) for arena in able)
        left = [one for one in white if any(one in arena.losses for arena in arenas)]
        if len(left) < 2:
            return None
        contest = Contest(arenas, self.entrants, white=True, own_points=self.own_points)
        _count_places(contest)
        return contest if contest.in_play else None


def make_contest(
    groups: Iterable[Group], white_boxes: Collection[str], *, yours: Collection[str] = (), own_points: bool = False
) -> Contest:
    """Lay out groups by task and searcher, and decide which points count.

    Parameters
    ----------
    groups : iterable of Group
    white_boxes : collection of str
        Names of the searchers that use the model's structure.
    yours : collection of str
        Keys of the cells that are the user's own, where these are shown next to published ones.
    own_points : bool
        Whether a point counts only if every searcher with a cell of `yours` has results for it; without `yours`, every
        black box.
    """
    tasks: dict[tuple[Task, str], list[tuple[tuple[str, str], Group]]] = defaultdict(list)
    contents: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    peeking: set[str] = set()
    own: set[tuple[str, str]] = set()
    for group in groups:
        peeking |= {group.searcher} if is_white_box(group, white_boxes) else set()
        content = group.cells[0].content
        setting = {key: value for key, value in content.items() if key in OWN}
        given = {key: value for key, value in content.items() if key not in (*OWN, "fold")}
        identity = group.searcher, digest_of(setting)
        contents[group.searcher][identity[1]] = setting
        own |= {identity} if any(record_key(cell) in yours for cell in group.cells) else set()
        tasks[group.task, digest_of(given)].append((identity, group))
    entrants = {}
    for searcher, variants in sorted(contents.items()):
        for digest, setup in zip(variants, differences(list(variants.values())), strict=True):
            entrants[searcher, digest] = Entrant(searcher, setup, searcher in peeking, (searcher, digest) in own)
    arenas = []
    for (task, _), members in sorted(tasks.items(), key=lambda item: item[0]):
        arenas.append(Arena(task, groups={entrants[identity]: group for identity, group in members}))
    for arena, setup in zip(arenas, _setups(arenas), strict=True):
        arena.setup = setup
    arenas.sort(key=lambda arena: (arena.task, arena.setup))
    contest = Contest(tuple(arenas), tuple(sorted(entrants.values())), own_points=own_points)
    _count_places(contest)
    return contest


def _setups(arenas: Sequence[Arena]) -> list[str]:
    """Say of each task what tells it from others of its name."""
    setups = []
    for arena in arenas:
        alike = [other for other in arenas if other.task == arena.task]
        contents = [_given(other) for other in alike]
        setups.append(differences(contents)[alike.index(arena)])
    return setups


def _given(arena: Arena) -> dict[str, Any]:
    content = next(iter(arena.groups.values())).cells[0].content
    return {key: value for key, value in content.items() if key not in OWN}


def _count_places(contest: Contest) -> None:
    ran = [one for one in contest.candidates if any(one in arena.losses for arena in contest.arenas)]
    places = sum(len(arena.places) for arena in contest.arenas)
    voters = [one for one in ran if 2 * _asked(one, contest) >= places]
    if len(voters) < 2:
        voters = ran
    for arena in contest.arenas:
        votes = [~np.isnan(arena.losses[one]) for one in voters if one in arena.losses]
        askers = np.sum(votes, axis=0) if votes else np.zeros(len(arena.places))
        arena.counted = askers > len(voters) / 2
    if contest.own_points:
        _count_own_places(contest)


def _count_own_places(contest: Contest) -> None:
    """Let only those points count that every searcher of the user's own has; without one, every one that is ranked."""
    own = [one for one in contest.entrants if one.yours] or contest.candidates
    for arena in contest.arenas:
        for one in own:
            arena.counted = arena.counted & (~np.isnan(arena.losses[one]) if one in arena.losses else np.False_)


def _cannot(cells: Sequence[CellSummary]) -> bool:
    """Whether any of a searcher's cells of a task were skipped and have no results of an earlier run."""
    return any(cell.skipped and not cell.has_results for cell in cells)


def _asked(entrant: Entrant, contest: Contest) -> int:
    """Return how many points an entrant was asked, of all tasks."""
    return sum(len(arena.groups[entrant].places) for arena in contest.arenas if entrant in arena.losses)
