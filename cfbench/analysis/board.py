"""The board: every row with its numbers, from the record's index alone. All renderings show this."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from cfbench.analysis.cautions import cautions
from cfbench.analysis.comparison import Yardstick, resolve_reference
from cfbench.analysis.groups import Group, Task, bare_name, group_cells
from cfbench.analysis.rows import Row, rows_of_task
from cfbench.entries import MetricEntry
from cfbench.errors import UnknownNameError
from cfbench.events import CellInfo
from cfbench.harness.store.summary import CellSummary
from cfbench.registry import Registry

COMPARISON = "relative-loss"
"""The comparison metric that the board shows."""


@dataclass(frozen=True)
class Board:
    """All that a rendering shows.

    Parameters
    ----------
    rows : tuple of Row
        Task by task.
    reference : str
        Label of the reference searcher; empty where there is none.
    cells, failed, skipped : int
        All cells, and those among them without results.
    cautions : tuple of str
        What a reader should know before comparing rows.
    """

    rows: tuple[Row, ...]
    reference: str
    cells: int
    failed: int
    skipped: int
    cautions: tuple[str, ...]

    def by_task(self) -> dict[Task, list[Row]]:
        """The rows of each task, in order."""
        tasks: dict[Task, list[Row]] = defaultdict(list)
        for row in self.rows:
            tasks[row.task].append(row)
        return dict(tasks)


@dataclass(frozen=True)
class Selection:
    """Which cells of a record are shown: labels or names to keep, everything where empty."""

    datasets: Collection[str] = ()
    models: Collection[str] = ()
    objectives: Collection[str] = ()

    def of(self, summaries: Iterable[CellSummary]) -> list[CellSummary]:
        """Return the cells that are shown.

        Raises
        ------
        UnknownNameError
            If something to keep is not in the record.
        """
        kept = list(summaries)
        kept = _only(kept, "data set", self.datasets, lambda info: info.dataset)
        kept = _only(kept, "model", self.models, lambda info: info.model)
        return _only(kept, "objective", self.objectives, lambda info: info.objective)


def make_board(
    summaries: Iterable[CellSummary],
    registry: Registry,
    reference: str = "cogs",
    *,
    need_reference: bool = True,
    selection: Selection = Selection(),
    unfinished: int = 0,
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
    selection : Selection
    unfinished : int
        Cells of the record with searches that are not in their summaries yet.

    Raises
    ------
    UnknownNameError
        If something asked for is not in the record.
    """
    cells = selection.of(summaries)
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
    rows = [row for of_task in tasks.values() for row in rows_of_task(of_task, yardstick, white_boxes)]
    return Board(
        rows=tuple(rows),
        reference=label,
        cells=len(cells),
        failed=sum(bool(cell.failure) for cell in cells),
        skipped=sum(bool(cell.skipped) for cell in cells),
        cautions=(*notes, *yardstick.complaints, *cautions(groups)),
    )


def _only(
    cells: list[CellSummary], kind: str, wanted: Collection[str], label_of: Callable[[CellInfo], str]
) -> list[CellSummary]:
    labels = {label_of(cell.info) for cell in cells}
    kept = set() if wanted else labels
    for name in wanted:
        matching = {label for label in labels if name in (label, bare_name(label))}
        if not matching:
            raise UnknownNameError(f"{kind} of this record", name, labels)
        kept |= matching
    return [cell for cell in cells if label_of(cell.info) in kept]


def _comparison_entry(registry: Registry, notes: list[str]) -> MetricEntry | None:
    try:
        return registry.metric(COMPARISON).entry
    except UnknownNameError as error:
        notes.append(f"no relative change: {error}")
        return None
