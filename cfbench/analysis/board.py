"""The board: every number of every rendering, from the record's indexes alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from cfbench.analysis.aggregate import Median
from cfbench.analysis.cautions import cautions
from cfbench.analysis.comparison import Yardstick, resolve_reference
from cfbench.analysis.contest import make_contest
from cfbench.analysis.groups import Group, Task, bare_name, group_cells
from cfbench.analysis.measured import Measurements
from cfbench.analysis.overall import make_standings
from cfbench.analysis.rows import Row, rows_of_task
from cfbench.analysis.selection import GroupBy, Selection
from cfbench.analysis.standings import Basis, Standings
from cfbench.digests import digest_of
from cfbench.entries import MetricEntry
from cfbench.errors import UnknownNameError
from cfbench.harness.store.summary import CellSummary
from cfbench.registry import Registry

COMPARISON = "relative-loss"
"""The comparison metric that the board shows."""


@dataclass(frozen=True)
class Board:
    """All that a rendering shows.

    Parameters
    ----------
    standings : Standings
        Over all tasks.
    parts : tuple of Standings
        The tables that are shown: one, or one for each part that the board is divided into.
    group_by : GroupBy
        By what it is divided.
    rows : tuple of Row
        Every searcher on every task, task by task.
    reference : str
        Label of the reference searcher; empty where there is none.
    cells, failed, skipped : int
        All cells, and those among them whose last run failed or that were skipped.
    unfinished : int
        Cells with searches that are in no number yet.
    seeds : tuple of int
        The seeds of the studies.
    mark : str
        Digest of the cells' keys: equal for boards of the same cells.
    cautions : tuple of str
        What a reader should know before comparing rows.
    """

    standings: Standings
    parts: tuple[Standings, ...]
    group_by: GroupBy
    rows: tuple[Row, ...]
    reference: str
    cells: int
    failed: int
    skipped: int
    unfinished: int
    seeds: tuple[int, ...]
    mark: str
    cautions: tuple[str, ...]

    def by_task(self) -> dict[Task, list[Row]]:
        """The rows of each task, in order."""
        tasks: dict[Task, list[Row]] = defaultdict(list)
        for row in self.rows:
            tasks[row.task].append(row)
        return dict(tasks)


def make_board(
    summaries: Iterable[CellSummary],
    registry: Registry,
    reference: str = "cogs",
    *,
    need_reference: bool = True,
    selection: Selection | None = None,
    unfinished: int = 0,
    measurements: Measurements | None = None,
    basis: Basis = Basis.SOLVED_BY_ALL,
    group_by: GroupBy = GroupBy.NOTHING,
) -> Board:
    """Compute the board of a record.

    Parameters
    ----------
    summaries : iterable of CellSummary
    registry : Registry
        For the comparison metric, and for which searchers are white boxes.
    reference : str
        The searcher that others are compared with: a label, or a name with one variant in the record.
    need_reference : bool
        Whether its absence is an error. Otherwise nothing is compared; a caution says so where the record has
        several variants of it, among which nothing decides.
    selection : Selection, optional
        Everything by default.
    unfinished : int
        Cells of the record with searches that are not in their summaries yet.
    measurements : Measurements, optional
        Metrics to show beside what the summaries hold.
    basis : Basis
        What losses and metrics are averaged over.
    group_by : GroupBy

    Raises
    ------
    UnknownNameError
        If something asked for is not in the record.
    RecordError
        If the cells are of several versions of the protocol.
    """
    cells = (selection or Selection()).of(summaries)
    groups = group_cells(cells)
    notes: list[str] = []
    if unfinished:
        notes.append(f"unfinished cells, whose searches under way are in no number yet: {unfinished:,}")
    try:
        label = resolve_reference(reference, groups)
    except UnknownNameError as error:
        if need_reference:
            raise
        label = ""
        if any(bare_name(group.searcher) == reference for group in groups):
            notes.append(f"nothing to compare with: {error}")
    yardstick = Yardstick(label, _comparison_entry(registry, notes))
    white_boxes = {name for name, found in registry.searchers.items() if found.entry.is_white_box}
    tasks: dict[Task, list[Group]] = defaultdict(list)
    for group in groups:
        tasks[group.task].append(group)
    relatives: dict[Group, Median | None] = {
        group: yardstick.relative(group, of_task) for of_task in tasks.values() for group in of_task
    }

    def standings_of(members: Iterable[Group], title: str = "") -> Standings:
        contest = make_contest(members, white_boxes)
        return make_standings(contest, relatives, measurements or Measurements(), basis=basis, title=title)

    whole = standings_of(groups)
    parts: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        parts[group_by.of(group)].append(group)
    return Board(
        standings=whole,
        parts=(whole,)
        if group_by is GroupBy.NOTHING
        else tuple(standings_of(members, title) for title, members in parts.items()),
        group_by=group_by,
        rows=tuple(row for of_task in tasks.values() for row in rows_of_task(of_task, relatives, label, white_boxes)),
        reference=label,
        cells=len(cells),
        failed=sum(bool(cell.failure) for cell in cells),
        skipped=sum(bool(cell.skipped) for cell in cells),
        unfinished=unfinished,
        seeds=tuple(sorted({cell.content["seed"] for cell in cells if "seed" in cell.content})),
        mark=digest_of(sorted(cell.info.key for cell in cells)),
        cautions=(*notes, *yardstick.complaints, *cautions(groups)),
    )


def _comparison_entry(registry: Registry, notes: list[str]) -> MetricEntry | None:
    try:
        return registry.metric(COMPARISON).entry
    except UnknownNameError as error:
        notes.append(f"no relative change: {error}")
        return None
