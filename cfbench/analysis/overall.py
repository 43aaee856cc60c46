"""From a result matrix to its standings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from cfbench.analysis.aggregate import spending, statuses
from cfbench.analysis.comparison import Relatives
from cfbench.analysis.loss_alone import JudgedCell
from cfbench.analysis.measured import Measurements
from cfbench.analysis.notes import Note, NoteKind, listing_note
from cfbench.analysis.ranks import (
    DEFAULT_TOLERANCE,
    FEWEST,
    Tolerance,
    equal_means,
    fewest_units,
    group_letters,
    pair_advantages,
    positions,
    rank_intervals,
    searcher_pairs,
    task_ranks,
    task_wins,
    unit_means,
)
from cfbench.analysis.result_matrix import ComparedSearcher, ComparedTask, ResultMatrix
from cfbench.analysis.scores import Losses, limits, metric_scores, unequal
from cfbench.analysis.standings import (
    Basis,
    Count,
    OverallValue,
    RankState,
    Standings,
    StandingsRow,
    TaskResult,
    TaskView,
)
from cfbench.record.cells import CellSummary
from cfbench.space.space import BoolArray, FloatArray

ORDER = (RankState.RANKED, RankState.WHITE_BOX, RankState.NOT_RANKED, RankState.FAILED, RankState.SKIPPED)


def make_standings(
    matrix: ResultMatrix,
    relatives: Relatives,
    measurements: Measurements,
    *,
    basis: Basis = Basis.SOLVED_BY_ALL,
    tolerance: Tolerance | None = None,
    title: str = "",
    apart: bool = False,
) -> Standings:
    """Compute an overall table."""
    table = _RankedTable(matrix, basis, tolerance or DEFAULT_TOLERANCE)
    metrics = {
        column.label: metric_scores(matrix, table.losses, basis, measurements.of(column))
        for column in measurements.columns
    }
    rows = [
        table.row(searcher, relatives, {label: scores.get(searcher) for label, scores in metrics.items()})
        for searcher in (matrix.candidates if apart else matrix.searchers)
        if any(searcher in task.groups for task in matrix.tasks)
    ]
    rows.sort(key=table.order)
    counted = matrix.candidates if matrix.white else matrix.searchers
    cells = [cell for task in matrix.tasks for one in counted for cell in task.cells_of(one)]
    stored = _stored(cells)
    return Standings(
        title=title,
        rows=tuple(rows),
        tasks=tuple(table.view(task) for task in matrix.tasks),
        basis=basis,
        unit=table.unit,
        units=table.unit_ranks.shape[1],
        verdict=table.verdict(),
        pairs=() if table.unranked else tuple(searcher_pairs(table.advantages, table.units, tested=table.tested)),
        repetitions=table.repetitions(),
        metrics=measurements.columns,
        reference=relatives.reference,
        comparisons=tuple(relatives.metrics.values()),
        cells=len(stored),
        ran=sum(cell.has_results for cell in stored),
        failed=sum(bool(cell.failure) and not cell.has_results for cell in stored),
        skipped=sum(bool(cell.skipped) and not cell.has_results for cell in stored),
        limits=limits(cells),
        tolerance=table.tolerance,
        white=matrix.white,
        notes=(*table.inseparable(), *unequal(matrix, rows, table.losses)),
    )


def _stored(cells: Sequence[CellSummary]) -> list[CellSummary]:
    """Return one summary per cell of the record: a cell that is judged under further objectives counts once."""
    stored = [cell for cell in cells if not isinstance(cell, JudgedCell)]
    known = {cell.info.key for cell in stored}
    judged = {cell.judged_from: cell for cell in cells if isinstance(cell, JudgedCell)}
    return [*stored, *(cell for key, cell in judged.items() if key not in known)]


class _RankedTable:
    """What the rows of one table share."""

    def __init__(self, matrix: ResultMatrix, basis: Basis, tolerance: Tolerance) -> None:
        self.matrix = matrix
        self.tolerance = tolerance
        self.losses = Losses(matrix, basis)
        tasks, ranked = matrix.in_play, matrix.ranked
        values = [_values(task, ranked) for task in tasks]
        ranks = (
            np.array([task_ranks(of_task, tolerance) for of_task in values]) if ranked else np.zeros((len(tasks), 0))
        )
        pairs = [(task.key.dataset, task.key.model) for task in tasks]
        self.unit = "task" if len(set(pairs)) == len(pairs) else "pair"
        self.units = [sorted(set(pairs)).index(pair) for pair in pairs]
        means = equal_means(ranks.mean(axis=0)) if ranked else np.zeros(0)
        by_mean = sorted(range(len(ranked)), key=lambda i: (means[i], ranked[i]))
        self.ranked: list[ComparedSearcher] = [ranked[i] for i in by_mean]
        """In the order of the table: by mean rank, equal ones by name."""
        self.ranks: FloatArray = ranks.T[by_mean]
        """Shape (ranked, tasks in play), in the order of the table."""
        self.means: FloatArray = means[by_mean]
        self.unit_ranks = unit_means(self.ranks, self.units) if self.ranked else np.zeros((0, len(set(pairs))))
        self.found: BoolArray = np.zeros(self.ranks.shape, dtype=np.bool_)
        """Whether they found anything, of the same shape."""
        for number, of_task in enumerate(values):
            self.found[:, number] = np.isfinite(of_task[by_mean]).any(axis=1)
        self.separating: BoolArray = np.logical_or.reduce(self.found)
        """In which tasks in play any ranked searcher found something."""
        self.unranked = len(self.ranked) < 2 or not self.found.any()
        number = self.unit_ranks.shape[1]
        self.tested = not self.unranked and number >= fewest_units(len(self.ranked))
        """Whether there are enough independent tasks for a test of so many searchers."""
        self.intervals = rank_intervals(self.ranks, self.units) if number >= FEWEST and not self.unranked else None
        self.positions = [] if self.unranked else positions(self.means)
        self.letters = (
            group_letters(self.unit_ranks, int(self.found.any(axis=1).sum()))
            if self.tested
            else [""] * len(self.positions)
        )
        self.wins = [] if self.unranked else task_wins(self.ranks, self.separating).tolist()
        self._values = [of_task[by_mean] for of_task in values]

    @cached_property
    def advantages(self) -> FloatArray:
        """Every two ranked searchers by their own values, shape (tasks in play, ranked, ranked)."""
        return np.array([pair_advantages(of_task, self.tolerance) for of_task in self._values])

    def order(self, row: StandingsRow) -> tuple[int, int, str]:
        """Return what sorts the rows: ranked ones as `ranked` has them, which `positions` and pairs go by."""
        place = self.ranked.index(row.searcher) if row.state is RankState.RANKED else 0
        return ORDER.index(row.state), place, row.label

    def verdict(self) -> str:
        """Say why no searcher is ranked, or why there is no test."""
        matrix = self.matrix
        with_results = [one for one in matrix.searchers if any(one in task.losses for task in matrix.tasks)]
        able = [one for one in with_results if one.white_box is matrix.white]
        if not with_results:
            return "no cell has results"
        if len(able) < 2:
            return "one searcher: nothing to rank it against" if able else "white boxes only: nothing to rank"
        if not matrix.in_play:
            return "no point was searched by more than half of the searchers: no searcher is ranked"
        if self.unranked:
            few, idle = (
                "fewer than two searchers ran on all points that count",
                "none of the searchers that could be ranked found anything",
            )
            return f"{few if len(self.ranked) < 2 else idle}: no searcher is ranked"
        if not self.tested:
            counted = counted_units(self.unit_ranks.shape[1], self.unit)
            number = len(self.ranked)
            return f"too few tasks for a test: {counted}; {number} searchers need {fewest_units(number)}"
        return ""

    def inseparable(self) -> list[Note]:
        """Say in which tasks no ranked searcher found anything."""
        if self.unranked:
            return []
        found = zip(self.matrix.in_play, self.separating, strict=True)
        labels = [task.label for task, anybody in found if not anybody]
        return listing_note(NoteKind.NO_WINNER, labels, "tasks without a winner, as nothing was found: ")

    def repetitions(self) -> tuple[int, ...]:
        """Return the numbers of searches that points have, of the ranked searchers; of all if no searcher is ranked."""
        compared = self.ranked or self.matrix.searchers
        groups = [task.groups[one] for task in self.matrix.tasks for one in compared if one in task.groups]
        return tuple(sorted({tries for group in groups for cell in group.ran for tries in cell.tries}))

    def row(
        self, searcher: ComparedSearcher, relatives: Relatives, metrics: Mapping[str, OverallValue | None]
    ) -> StandingsRow:
        """Return a searcher's row."""
        matrix = self.matrix
        groups = [task.groups[searcher] for task in matrix.tasks if searcher in task.groups]
        cells = [cell for group in groups for cell in group.cells]
        ran = [cell for cell in cells if cell.has_results]
        state, why = self._state(searcher, cells)
        at = self.ranked.index(searcher) if state is RankState.RANKED else None
        interval = None if at is None or self.intervals is None else self.intervals[at]
        compared = ran if at is None else [cell for task in matrix.in_play for cell in task.groups[searcher].ran]
        return StandingsRow(
            searcher=searcher,
            state=state,
            why=why,
            position=None if at is None else self.positions[at],
            group="" if at is None else self.letters[at],
            rank=None if at is None else float(self.means[at]),
            interval=None if interval is None else (float(interval[0]), float(interval[1])),
            wins=None if at is None else self.wins[at],
            found=self._found(searcher, counted=at is not None),
            loss=self.losses.median_against_best(searcher, value=False),
            mean_loss=self.losses.mean_of_means(searcher, value=False),
            objective=self.losses.median_against_best(searcher, value=True),
            mean_objective=self.losses.mean_of_means(searcher, value=True),
            relative=partial(relatives.over_tasks, groups),
            spending=spending(compared),
            statuses=statuses(ran),
            metrics={label: score for label, score in metrics.items() if score is not None},
            complete=matrix.complete_in(searcher),
            cells=len(cells),
            failed=sum(bool(cell.failure) for cell in cells),
            skipped=sum(bool(cell.skipped) for cell in cells),
            missing=sum(len(_missing(task, searcher)) for task in matrix.in_play),
            results=tuple(self._result(task, searcher) for task in matrix.tasks),
        )

    def _state(self, searcher: ComparedSearcher, cells: Sequence[CellSummary]) -> tuple[RankState, str]:
        if not any(cell.has_results for cell in cells):
            failure = next((cell.failure for cell in cells if cell.failure), "")
            skipped = next((cell.skipped for cell in cells if cell.skipped), "")
            return (RankState.FAILED, failure) if failure else (RankState.SKIPPED, skipped)
        if searcher.white_box and not self.matrix.white:
            return RankState.WHITE_BOX, "it looks into the model: shown for reference, never ranked among black boxes"
        if self.unranked:
            return RankState.NOT_RANKED, self.verdict()
        if searcher in self.ranked:
            return RankState.RANKED, ""
        complete, tasks = self.matrix.complete_in(searcher), len(self.matrix.in_play)
        waiting = next((f"; {cell.skipped}" for cell in cells if isinstance(cell, JudgedCell) and cell.skipped), "")
        return RankState.NOT_RANKED, f"it ran on all points that count in {complete} of {tasks} tasks{waiting}"

    def _found(self, searcher: ComparedSearcher, *, counted: bool) -> Count:
        """Count searches: of the points that count, or all."""
        found = asked = 0
        for task in self.matrix.in_play if counted else self.matrix.tasks:
            if searcher not in task.losses:
                continue
            count = _searches(task, searcher, counted=counted)
            found, asked = found + count.k, asked + count.n
        return Count(found, asked)

    def _result(self, task: ComparedTask, searcher: ComparedSearcher) -> TaskResult | None:
        group = task.groups.get(searcher)
        if group is None:
            return None
        if not group.ran:
            state = "failed" if any(cell.failure for cell in group.cells) else "skipped"
            return TaskResult(state, None, Count(0, 0), None, None, None, None)
        if not task.counted.any():
            found = _searches(task, searcher, counted=False)
            return TaskResult("ran", None, found, None, None, None, None, group.loss_alone)
        ranked = searcher in self.ranked and not self.unranked
        at = self.matrix.in_play.index(task)
        return TaskResult(
            state="ran" if task.asked_all_of(searcher) else "partly",
            rank=float(self.ranks[self.ranked.index(searcher), at]) if ranked else None,
            found=_searches(task, searcher, counted=True),
            loss=self.losses.mean(task, searcher, value=False),
            against_best=self.losses.against_best(task, searcher, value=False),
            objective=self.losses.mean(task, searcher, value=True),
            objective_against_best=self.losses.against_best(task, searcher, value=True),
            loss_alone=group.loss_alone,
            solved=int(np.isfinite(task.losses[searcher][task.counted]).sum()),
        )

    def view(self, task: ComparedTask) -> TaskView:
        """Return what a reader sees of a task."""
        points = int(task.counted.sum())
        shared = int(self.losses.shared[task].sum()) if points else 0
        asked = {_searches(task, one, counted=True).n for one in self.ranked} if points else {0}
        searches = asked.pop() if len(asked) == 1 else None
        return TaskView(task.key, task.setup, points, shared, searches, by_loss=bool(task.without_values))


def counted_units(number: int, unit: str) -> str:
    """Write how many independent tasks there are."""
    plural = "" if number == 1 else "s"
    return f"{number} task{plural}" if unit == "task" else f"{number} pair{plural} of data set and model"


def _values(task: ComparedTask, ranked: Sequence[ComparedSearcher]) -> FloatArray:
    """Return what is compared at the points that count, shape (ranked, points)."""
    values = np.empty((len(ranked), int(task.counted.sum())))
    for at, one in enumerate(ranked):
        values[at] = task.values[one][task.counted]
    return values


def _searches(task: ComparedTask, searcher: ComparedSearcher, *, counted: bool) -> Count:
    counts = task.searches[searcher]
    successes, tries = (counts[:, task.counted] if counted else counts).sum(axis=1).tolist()
    return Count(successes, tries)


def _missing(task: ComparedTask, searcher: ComparedSearcher) -> set[int]:
    """Return the folds with points that count of which a searcher has no cell."""
    folds = {fold for (fold, _), counts in zip(task.places, task.counted, strict=True) if counts}
    group = task.groups.get(searcher)
    return folds - (set() if group is None else {cell.info.fold for cell in group.cells})
