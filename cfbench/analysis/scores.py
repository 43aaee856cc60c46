"""Losses and metrics over tasks, on the points that every compared searcher solved, and what was not given alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np

from cfbench.analysis.contest import Arena, BoolArray, Contest, Entrant
from cfbench.analysis.notes import Kind, Note, listing
from cfbench.analysis.standings import Basis, Score, Standing, State
from cfbench.record.cells import CellSummary
from cfbench.space.space import FloatArray

LEAST_FOUND = 0.5
"""Share of the points that count which a ranked searcher must have solved to be compared in losses and metrics."""


class Losses:
    """Losses and objective values, compared with the best known ones.

    Parameters
    ----------
    contest : Contest
    basis : Basis
    """

    def __init__(self, contest: Contest, basis: Basis) -> None:
        self._contest = contest
        self.basis = basis
        self._best_loss = {arena: _best_known(arena.losses) for arena in contest.in_play}
        self._best_value = {
            arena: self._best_loss[arena] if arena.values is arena.losses else _best_known(arena.values)
            for arena in contest.in_play
        }
        self.compared = [one for one in contest.ranked if _share_found(contest, one) >= LEAST_FOUND]
        """The ranked searchers that are compared, in the contest's order."""
        self.shared = {arena: _solved_by_all(arena, self.compared) for arena in contest.in_play}
        """By task: which places count and were solved by every searcher compared."""
        self._places: dict[tuple[Arena, Entrant], BoolArray] = {}
        self._means: dict[tuple[bool, Arena, Entrant], float | None] = {}

    def places(self, arena: Arena, entrant: Entrant) -> BoolArray:
        """Return the places of a task over which an entrant's results are averaged."""
        if (arena, entrant) not in self._places:
            left_out = entrant in self._contest.ranked and entrant not in self.compared
            if left_out and self.basis is not Basis.OWN_SUCCESSES:
                found = np.zeros_like(arena.counted)
            else:
                found = _places(arena, entrant, self.shared[arena], self.basis)
            self._places[arena, entrant] = found
        return self._places[arena, entrant]

    def mean(self, arena: Arena, entrant: Entrant) -> float | None:
        """Return the mean loss over these places; None where there are none."""
        return self._mean(arena.losses, arena, entrant)

    def mean_value(self, arena: Arena, entrant: Entrant) -> float | None:
        """Return the mean objective value over these places; None where there are none."""
        if arena.values is arena.losses:
            return self.mean(arena, entrant)
        return self._mean(arena.values, arena, entrant)

    def against_best(self, arena: Arena, entrant: Entrant) -> float | None:
        """Return the mean loss by the mean of the best known losses of the same places, less 1."""
        return self._against(self._best_loss[arena], arena.losses, arena, entrant)

    def value_against_best(self, arena: Arena, entrant: Entrant) -> float | None:
        """Return the mean objective value by the mean of the best known ones of the same places, less 1."""
        if arena.values is arena.losses:
            return self.against_best(arena, entrant)
        return self._against(self._best_value[arena], arena.values, arena, entrant)

    def score(self, entrant: Entrant) -> Score:
        """Return the median over tasks of the loss against the best known one."""
        return self._over_tasks(entrant, self.against_best, median)

    def value_score(self, entrant: Entrant) -> Score:
        """Return the median over tasks of the objective value against the best known one."""
        return self._over_tasks(entrant, self.value_against_best, median)

    def mean_score(self, entrant: Entrant) -> Score:
        """Return the mean over tasks of the mean loss."""
        return self._over_tasks(entrant, self.mean, fmean)

    def mean_value_score(self, entrant: Entrant) -> Score:
        """Return the mean over tasks of the mean objective value."""
        return self._over_tasks(entrant, self.mean_value, fmean)

    def _mean(self, results: Mapping[Entrant, FloatArray], arena: Arena, entrant: Entrant) -> float | None:
        at = results is arena.losses, arena, entrant
        if at not in self._means:
            places = self.places(arena, entrant)
            self._means[at] = float(results[entrant][places].mean()) if places.any() else None
        return self._means[at]

    def _against(
        self, best: FloatArray, results: Mapping[Entrant, FloatArray], arena: Arena, entrant: Entrant
    ) -> float | None:
        mean = self._mean(results, arena, entrant)
        least = 0.0 if mean is None else float(best[self.places(arena, entrant)].mean())
        return None if mean is None or least <= 0 else mean / least - 1

    def _over_tasks(
        self,
        entrant: Entrant,
        of_task: Callable[[Arena, Entrant], float | None],
        join: Callable[[list[float]], float],
    ) -> Score:
        arenas = [arena for arena in self._contest.in_play if entrant in arena.losses]
        values = [value for arena in arenas if (value := of_task(arena, entrant)) is not None]
        k = sum(int(self.places(arena, entrant).sum()) for arena in arenas)
        return Score(join(values) if values else None, k, _counted(self._contest), len(values))


def metric_scores(
    contest: Contest, losses: Losses, basis: Basis, by_cell: Mapping[str, FloatArray]
) -> dict[Entrant, Score]:
    """Return a metric's score for every entrant with values: the mean over tasks of its mean over the task's points.

    On the basis of what all solved, only points with a value of everybody compared who has any count for all.

    Parameters
    ----------
    contest : Contest
    losses : Losses
        On the same basis.
    basis : Basis
    by_cell : mapping of str to ndarray of float64
        The metric's value of each point's result, by cell key.
    """
    values = {(arena, entrant): arena.spread(entrant, by_cell) for arena in contest.in_play for entrant in arena.losses}
    measured = [
        one
        for one in losses.compared
        if any(np.isfinite(values[arena, one][arena.counted]).any() for arena in contest.in_play)
    ]
    total = _counted(contest)
    scores = {}
    for entrant in contest.entrants:
        means, k = [], 0
        for arena in contest.in_play:
            if (arena, entrant) not in values:
                continue
            places = losses.places(arena, entrant) & np.isfinite(values[arena, entrant])
            if basis is not Basis.OWN_SUCCESSES:
                for other in measured:
                    places &= np.isfinite(values[arena, other])
            if places.any():
                means.append(float(values[arena, entrant][places].mean()))
                k += int(places.sum())
        if means:
            scores[entrant] = Score(fmean(means), k, total, len(means))
    return scores


def _best_known(results: Mapping[Entrant, FloatArray]) -> FloatArray:
    """Return the smallest value of each place that any searcher found, white boxes included.

    White boxes count under every objective: what they found is judged like any other result. That it is proven to be
    the optimum holds for the loss alone.
    """
    found = [np.where(np.isnan(values), np.inf, values) for values in results.values()]
    best: FloatArray = np.min(found, axis=0)
    return best


def _share_found(contest: Contest, entrant: Entrant) -> float:
    solved = sum(int(np.isfinite(arena.losses[entrant][arena.counted]).sum()) for arena in contest.in_play)
    return solved / _counted(contest)


def _solved_by_all(arena: Arena, ranked: Sequence[Entrant]) -> BoolArray:
    solved = arena.counted.copy()
    for entrant in ranked:
        solved &= np.isfinite(arena.losses[entrant])
    return solved if ranked else np.zeros_like(solved)


def _places(arena: Arena, entrant: Entrant, shared: BoolArray, basis: Basis) -> BoolArray:
    own = np.isfinite(arena.losses[entrant])
    places: BoolArray = own & (shared if basis is not Basis.OWN_SUCCESSES else arena.counted)
    return places


def _counted(contest: Contest) -> int:
    return sum(int(arena.counted.sum()) for arena in contest.in_play)


def limits(cells: Iterable[CellSummary]) -> str:
    """Say which limits searches had; empty where the cells do not say."""
    ran = [cell for cell in cells if cell.has_results]
    rows = _limit(ran, "query_budget", "query budget", lambda value: f"{value:,} rows")
    clock = _limit(ran, "time_limit", "time limit", lambda value: f"{value:g} s")
    return ", ".join(filter(None, [rows, clock]))


def unequal(contest: Contest, rows: Sequence[Standing], losses: Losses) -> list[Note]:
    """Say which tasks and points are in no rank, and which searchers are not ranked because of missing points."""
    found = []
    asked = [arena for arena in contest.arenas if arena.places]
    out = [arena.label for arena in asked if not arena.counted.any()]
    if out:
        found.append(Note(Kind.TASKS_LEFT_OUT, listing(out, start="tasks in no rank, as few searchers did them: ")))
    points = sum(int((~arena.counted).sum()) for arena in contest.in_play)
    if points:
        found.append(
            Note(Kind.POINTS_LEFT_OUT, f"points in no rank, as few searchers have results for them: {points:,}")
        )
    found += _left_out(rows, losses)
    total = len(contest.in_play)
    short = [f"{row.label} {row.complete}" for row in rows if row.state is State.NOT_RANKED]
    if short and any(row.state is State.RANKED for row in rows):
        start = f"not ranked, as points are missing (complete tasks of {total:,}): "
        found.append(Note(Kind.NOT_RANKED, listing(short, start=start, join=", ")))
    lacking = [f"{row.label} {row.missing:,}" for row in rows if row.missing]
    if lacking:
        start = "cells that others have and that were not run: "
        found.append(Note(Kind.NOT_RUN, listing(lacking, start=start, join=", ")))
    return found


def _left_out(rows: Sequence[Standing], losses: Losses) -> list[Note]:
    """Say which searchers are ranked, and found too little for the others to be compared on it."""
    weak = [
        f"{row.label} ({row.found.k:,} of {row.found.n:,})"
        for row in rows
        if row.state is State.RANKED and row.entrant not in losses.compared
    ]
    if not weak or losses.basis is Basis.OWN_SUCCESSES:
        return []
    start = f"ranked, but in no loss and no metric, as less than {LEAST_FOUND:.0%} was found: "
    return [Note(Kind.NO_LOSS, listing(weak, start=start, join=", "))]


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
