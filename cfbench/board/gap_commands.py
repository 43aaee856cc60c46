"""The commands that fill the gaps of searchers that are not ranked, with every option that this record needs."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
    have commands. A searcher has none if a cell of it was skipped, since it cannot do that task; if its results were
    made elsewhere; if the points were taken by another version of cfbench; and if no searcher is ranked, since then it
    is not clear what is missing.
    """
    standings, matrix = shown.board.standings, shown.board.matrix
    if not standings.ranked:
        return []
    packed = (Path(shown.record) / PACKED_NAME).is_file()
    target = "more" if packed else shown.record

    def written(cells: Sequence[CellInfo], gap: _Gap) -> str:
        return command_again(
            cells,
            gap.content,
            points=gap.points,
            repetitions=gap.repetitions,
            results=target,
            command=shown.command,
            plugins=shown.registry.options.plugins,
        )

    alike: dict[str, list[tuple[ComparedSearcher, _Gap]]] = defaultdict(list)
    for row in standings.rows:
        if row.state is not RankState.NOT_RANKED or (shown.with_published and not row.searcher.yours):
            continue
        if row.searcher.not_run_here:
            continue
        gap = _gap(row.searcher, matrix.in_play)
        if gap is not None:
            alike[written([replace(cell, searcher="") for cell in gap.cells], gap)].append((row.searcher, gap))
    made = []
    for members in alike.values():
        gap = members[0][1]
        commands = [written([replace(cell, searcher=one.name) for one, _ in members for cell in gap.cells], gap)]
        if packed:
            commands.append(shlex.join([shown.command, "merge", shown.record, target, "--results", "merged"]))
        made.append(GapCommand(tuple(one.label for one, _ in members), tuple(commands)))
    return made


class _Gap(NamedTuple):
    """What is missing of a searcher's results: cells without keys, and the settings to search with."""

    cells: list[CellInfo]
    content: Mapping[str, Any]
    points: int
    repetitions: int


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
    return _Gap(cells, content, points, repetitions)


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
