"""Losses and metrics over tasks, on the points that every compared searcher solved, and what was not given alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

import numpy as np

from cfbench.analysis.notes import Note, NoteKind, listing_note
from cfbench.analysis.result_matrix import BoolArray, ComparedSearcher, ComparedTask, ResultMatrix
from cfbench.analysis.standings import Basis, OverallValue, RankState, StandingsRow
from cfbench.record.cells import CellSummary
from cfbench.space.space import FloatArray

LEAST_FOUND = 0.5
"""Share of the points that count which a ranked searcher must have solved to be compared in losses and metrics."""


class Losses:
    """Losses and objective values, compared with the best known ones."""

    def __init__(self, matrix: ResultMatrix, basis: Basis) -> None:
        self._matrix = matrix
        self.basis = basis
        self._best_loss = {task: _best_known(task.losses) for task in matrix.in_play}
        self._best_value = {
            task: self._best_loss[task] if task.values is task.losses else _best_known(task.values)
            for task in matrix.in_play
        }
        self.compared = [one for one in matrix.ranked if _share_found(matrix, one) >= LEAST_FOUND]
        """The ranked searchers that are compared, in the matrix's order."""
        self.shared = {task: _solved_by_all(task, self.compared) for task in matrix.in_play}
        """By task: which places count and were solved by every searcher compared."""
        self._places: dict[tuple[ComparedTask, ComparedSearcher], BoolArray] = {}
        self._means: dict[tuple[bool, ComparedTask, ComparedSearcher], float | None] = {}

    def places(self, task: ComparedTask, searcher: ComparedSearcher) -> BoolArray:
        """Return the places of a task over which a searcher's results are averaged."""
        if (task, searcher) not in self._places:
            own = np.isfinite(task.losses[searcher])
            if self.basis is Basis.OWN_SUCCESSES:
                found = own & task.counted
            elif searcher in self._matrix.ranked and searcher not in self.compared:
                found = np.zeros_like(task.counted)
            else:
                found = own & self.shared[task]
            self._places[task, searcher] = found
        return self._places[task, searcher]

    def mean(self, task: ComparedTask, searcher: ComparedSearcher, *, value: bool) -> float | None:
        """Return the mean loss, or objective value, over these places; None where there are none."""
        results = task.values if value else task.losses
        at = results is task.losses, task, searcher
        if at not in self._means:
            places = self.places(task, searcher)
            self._means[at] = float(results[searcher][places].mean()) if places.any() else None
        return self._means[at]

    def against_best(self, task: ComparedTask, searcher: ComparedSearcher, *, value: bool) -> float | None:
        """Return this mean divided by the mean of the best known ones of the same places, minus 1."""
        mean = self.mean(task, searcher, value=value)
        best = (self._best_value if value else self._best_loss)[task]
        least = 0.0 if mean is None else float(best[self.places(task, searcher)].mean())
        return None if mean is None or least <= 0 else mean / least - 1

    def median_against_best(self, searcher: ComparedSearcher, *, value: bool) -> OverallValue:
        """Return the median over tasks of the loss, or objective value, against the best known one."""
        return self._over_tasks(searcher, partial(self.against_best, value=value), median)

    def mean_of_means(self, searcher: ComparedSearcher, *, value: bool) -> OverallValue:
        """Return the mean over tasks of the mean loss, or objective value."""
        return self._over_tasks(searcher, partial(self.mean, value=value), fmean)

    def _over_tasks(
        self,
        searcher: ComparedSearcher,
        of_task: Callable[[ComparedTask, ComparedSearcher], float | None],
        join: Callable[[list[float]], float],
    ) -> OverallValue:
        tasks = [task for task in self._matrix.in_play if searcher in task.losses]
        values = [value for task in tasks if (value := of_task(task, searcher)) is not None]
        k = sum(int(self.places(task, searcher).sum()) for task in tasks)
        return OverallValue(join(values) if values else None, k, _counted(self._matrix), len(values))


def metric_scores(
    matrix: ResultMatrix, losses: Losses, basis: Basis, by_cell: Mapping[str, FloatArray]
) -> dict[ComparedSearcher, OverallValue]:
    """Return a metric's score for every searcher with values: the mean over tasks of its mean over the task's points.

    On the basis of what all solved, a point counts only if every compared searcher that has any value has one there.
    """
    values = {(task, searcher): task.spread(searcher, by_cell) for task in matrix.in_play for searcher in task.losses}
    measured = [
        one
        for one in losses.compared
        if any(np.isfinite(values[task, one][task.counted]).any() for task in matrix.in_play)
    ]
    total = _counted(matrix)
    scores = {}
    for searcher in matrix.searchers:
        means, k = [], 0
        for task in matrix.in_play:
            if (task, searcher) not in values:
                continue
            places = losses.places(task, searcher) & np.isfinite(values[task, searcher])
            if basis is not Basis.OWN_SUCCESSES:
                for other in measured:
                    places &= np.isfinite(values[task, other])
            if places.any():
                means.append(float(values[task, searcher][places].mean()))
                k += int(places.sum())
        if means:
            scores[searcher] = OverallValue(fmean(means), k, total, len(means))
    return scores


def _best_known(results: Mapping[ComparedSearcher, FloatArray]) -> FloatArray:
    """Return the smallest value of each place that any searcher found, white boxes included.

    White boxes count under every objective: what they found is judged like any other result. That it is proven to be
    the optimum holds for the loss alone.
    """
    found = [np.where(np.isnan(values), np.inf, values) for values in results.values()]
    best: FloatArray = np.min(found, axis=0)
    return best


def _share_found(matrix: ResultMatrix, searcher: ComparedSearcher) -> float:
    solved = sum(int(np.isfinite(task.losses[searcher][task.counted]).sum()) for task in matrix.in_play)
    return solved / _counted(matrix)


def _solved_by_all(task: ComparedTask, ranked: Sequence[ComparedSearcher]) -> BoolArray:
    solved = task.counted.copy()
    for searcher in ranked:
        solved &= np.isfinite(task.losses[searcher])
    return solved if ranked else np.zeros_like(solved)


def _counted(matrix: ResultMatrix) -> int:
    return sum(int(task.counted.sum()) for task in matrix.in_play)


def limits(cells: Iterable[CellSummary]) -> str:
    """Say which limits searches had; empty where the cells do not say."""
    ran = [cell for cell in cells if cell.has_results]
    rows = _limit(ran, "query_budget", "query budget", lambda value: f"{value:,} queries")
    clock = _limit(ran, "time_limit", "time limit", lambda value: f"{value:g} s")
    return ", ".join(filter(None, [rows, clock]))


def unequal(matrix: ResultMatrix, rows: Sequence[StandingsRow], losses: Losses) -> list[Note]:
    """Say which tasks and points are in no rank, and which searchers are not ranked because of missing points."""
    asked = [task for task in matrix.tasks if task.places]
    out = [task.label for task in asked if not task.counted.any()]
    found = listing_note(NoteKind.TASKS_LEFT_OUT, out, "tasks in no rank, as few searchers did them: ")
    points = sum(int((~task.counted).sum()) for task in matrix.in_play)
    if points:
        found.append(
            Note(NoteKind.POINTS_LEFT_OUT, f"points in no rank, as few searchers have results for them: {points:,}")
        )
    found += _left_out(rows, losses)
    total = len(matrix.in_play)
    short = [f"{row.label} {row.complete}" for row in rows if row.state is RankState.NOT_RANKED]
    if any(row.state is RankState.RANKED for row in rows):
        start = f"not ranked, as points are missing (complete tasks of {total:,}): "
        found += listing_note(NoteKind.NOT_RANKED, short, start, ", ")
    lacking = [f"{row.label} {row.missing:,}" for row in rows if row.missing]
    return found + listing_note(NoteKind.NOT_RUN, lacking, "cells that others have and that were not run: ", ", ")


def _left_out(rows: Sequence[StandingsRow], losses: Losses) -> list[Note]:
    """Say which searchers are ranked, and found too little for the others to be compared on it."""
    weak = [
        f"{row.label} ({row.found.k:,} of {row.found.n:,})"
        for row in rows
        if row.state is RankState.RANKED and row.searcher not in losses.compared
    ]
    if losses.basis is Basis.OWN_SUCCESSES:
        return []
    start = f"ranked, but in no loss and no metric, as less than {LEAST_FOUND:.0%} was found: "
    return listing_note(NoteKind.NO_LOSS, weak, start, ", ")


def _limit(cells: Sequence[CellSummary], key: str, name: str, written: Callable[[Any], str]) -> str:
    by_searcher: Mapping[str, set[str]] = defaultdict(set)
    for cell in cells:
        if key in cell.content:
            value = cell.content[key]
            by_searcher[cell.info.searcher].add("none" if value is None else written(value))
    views = {searcher: " and ".join(sorted(values)) for searcher, values in by_searcher.items()}
    if not views:
        return ""
    usual = Counter(views.values()).most_common(1)[0][0]
    others: dict[str, list[str]] = defaultdict(list)
    for searcher, view in sorted(views.items()):
        if view != usual:
            others[view].append(searcher)
    written_out = "; ".join(f"{view} for {', '.join(searchers)}" for view, searchers in others.items())
    return f"{name} {usual}" + (f" ({written_out})" if others else "")
