"""The commands that fill the gaps of searchers that are not ranked, with every option that this record needs."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench.analysis.result_matrix import ComparedSearcher, ComparedTask
from cfbench.analysis.standings import RankState
from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary
from cfbench.record.files import PACKED_NAME
from cfbench.registry.events import CellInfo
from cfbench.study.plan import command_again
from cfbench.study.protocol import DRAWN

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard

LIMITS = ("query_budget", "time_limit")


@dataclass(frozen=True)
class GapCommand:
    """What ranks searchers that are not ranked."""

    searchers: tuple[str, ...]  # as the rows of the board name them
    commands: tuple[str, ...]  # to be run in this order


def gap_commands(shown: Leaderboard) -> list[GapCommand]:
    """Return the commands after which the searchers of the board's main table are ranked that are not ranked now.

    Searchers with the same gap share a command. Of a record next to the published one, only the user's own searchers
    have commands. A searcher has none if a cell of it was skipped, since it cannot do that task; if the points were
    taken by another version of cfbench; and if no searcher is ranked, since then it is not clear what is missing.
    """
    standings, matrix = shown.board.standings, shown.board.matrix
    if not standings.ranked:
        return []
    record = Path(shown.record)
    packed = (record / PACKED_NAME).is_file()
    target = "more" if packed else shown.record
    alike: dict[str, list[tuple[ComparedSearcher, _Gap]]] = defaultdict(list)
    for row in standings.rows:
        if row.state is not RankState.NOT_RANKED or (shown.with_published and not row.searcher.yours):
            continue
        gap = _gap(row.searcher, matrix.in_play)
        if gap is not None:
            alike[gap.written([""], target, shown)].append((row.searcher, gap))
    made = []
    for members in alike.values():
        commands = [members[0][1].written([one.name for one, _ in members], target, shown)]
        if packed:
            commands.append(shlex.join([shown.command, "merge", shown.record, target, "--results", "merged"]))
        made.append(GapCommand(tuple(one.label for one, _ in members), tuple(commands)))
    return made


@dataclass(frozen=True)
class _Gap:
    """What a searcher lacks."""

    cells: tuple[CellInfo, ...]  # without keys
    content: Mapping[str, Any]  # the settings to search with
    points: int
    repetitions: int

    def written(self, names: list[str], results: str, shown: Leaderboard) -> str:
        """Return the command for the searchers of these names."""
        cells = [CellInfo(**{**_coordinates(cell), "searcher": name}) for name in names for cell in self.cells]
        return command_again(
            cells,
            self.content,
            points=self.points,
            repetitions=self.repetitions,
            results=results,
            command=shown.command,
            plugins=shown.registry.options.plugins,
        )


def _coordinates(info: CellInfo) -> dict[str, Any]:
    names = ("key", "dataset", "model", "searcher", "objective", "constraints", "fold")
    return {name: getattr(info, name) for name in names}


def _gap(searcher: ComparedSearcher, tasks: tuple[ComparedTask, ...]) -> _Gap | None:
    """Return what a searcher lacks of the points that count; None if nothing can fill it, and if nothing is missing."""
    cells: list[CellInfo] = []
    points = 0
    own = [cell for task in tasks for cell in task.cells_of(searcher)]
    contents: dict[str, dict[str, Any]] = {}
    for task in tasks:
        others = [cell for one, group in task.groups.items() if one != searcher for cell in group.ran]
        alike = bool(own and others) and own[0].content.get("seed") == others[0].content.get("seed")
        has = np.zeros(len(task.places), dtype=np.bool_)
        if alike and searcher in task.losses:  # another seed is another row, which has nothing yet
            has = ~np.isnan(task.losses[searcher])
        folds = {fold for (fold, _), lacks in zip(task.places, task.counted & ~has, strict=True) if lacks}
        if not folds:
            continue
        if not others or any(cell.skipped and not cell.has_results for cell in task.cells_of(searcher)):
            return None
        content = _content(own, others)
        if content["points"] != DRAWN:
            return None
        contents[digest_of(content)] = content
        counted = {place for place, counts in zip(task.places, task.counted, strict=True) if counts}
        points = max([points, *(_points(cell, counted) for cell in others if cell.info.fold in folds)])
        key = task.key
        place = (key.dataset, key.model, searcher.name, key.objective)
        cells += [CellInfo("", *place, constraints=key.constraints, fold=fold) for fold in sorted(folds)]
    if not cells or len(contents) != 1:
        return None
    (content,) = contents.values()
    repetitions = max((cell.repetitions for cell in own), default=0) or 1
    return _Gap(tuple(cells), content, points, repetitions)


def _points(cell: CellSummary, counted: set[tuple[int, int]]) -> int:
    """Return how many points of its fold a cell has to have to hold all that count."""
    at = zip(cell.points, cell.row_ids, strict=True)
    return max((point + 1 for point, row_id in at if (cell.info.fold, row_id) in counted), default=0)


def _content(own: list[CellSummary], others: list[CellSummary]) -> dict[str, Any]:
    """Return the settings of a search that fits: the task's, with the searcher's own limits."""
    task = others[0].content
    limits = own[0].content if own else {}
    given = {name: task.get(name) for name in ("seed", "respect_steps", "points")}
    return given | {name: limits.get(name) for name in LIMITS}
