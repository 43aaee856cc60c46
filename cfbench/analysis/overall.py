"""From a contest to its standings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from cfbench.analysis.aggregate import spending, statuses
from cfbench.analysis.comparison import Relatives
from cfbench.analysis.contest import Arena, Contest, Entrant
from cfbench.analysis.fairness import limits, listing, unequal
from cfbench.analysis.measured import Measurements
from cfbench.analysis.positions import ALPHA, FEWEST, Position, duels, least_p, plain_positions, positions
from cfbench.analysis.ranks import rank_intervals, task_ranks, task_wins, unit_means
from cfbench.analysis.scores import Losses, metric_scores
from cfbench.analysis.standings import Basis, Count, Score, Standing, Standings, State, TaskResult, TaskView
from cfbench.harness.store.summary import CellSummary
from cfbench.space import BoolArray, FloatArray

ORDER = (State.RANKED, State.WHITE_BOX, State.NOT_RANKED, State.FAILED, State.SKIPPED)


def make_standings(
    contest: Contest,
    relatives: Relatives,
    measurements: Measurements,
    *,
    basis: Basis = Basis.SOLVED_BY_ALL,
    title: str = "",
) -> Standings:
    """Compute an overall table.

    Parameters
    ----------
    contest : Contest
    relatives : Relatives
        The comparisons with the reference searcher.
    measurements : Measurements
    basis : Basis
    title : str
    """
    desk = _Desk(contest, basis)
    metrics = {
        column.label: metric_scores(contest, desk.losses, basis, measurements.of(column))
        for column in measurements.columns
    }
    rows = [
        desk.row(entrant, relatives, {label: scores.get(entrant) for label, scores in metrics.items()})
        for entrant in contest.entrants
    ]
    rows.sort(key=_order)
    # Duels name rows by their places.
    assert desk.unranked or [row.entrant for row in rows[: len(desk.ranked)]] == desk.ranked
    cells = [cell for arena in contest.arenas for group in arena.groups.values() for cell in group.cells]
    return Standings(
        title=title,
        rows=tuple(rows),
        tasks=tuple(desk.view(arena) for arena in contest.arenas),
        basis=basis,
        unit=desk.unit,
        units=desk.unit_ranks.shape[1],
        verdict=desk.verdict(),
        duels=() if desk.unranked else tuple(duels(desk.ranks, desk.unit_ranks)),
        repetitions=desk.repetitions(),
        metrics=measurements.columns,
        cells=len(cells) + sum(row.missing for row in rows),
        ran=sum(cell.has_results for cell in cells),
        failed=sum(bool(cell.failure) and not cell.has_results for cell in cells),
        skipped=sum(bool(cell.skipped) and not cell.has_results for cell in cells),
        limits=limits(cells),
        notes=(*desk.powerless(), *desk.inseparable(), *unequal(contest, rows, desk.losses)),
    )


class _Desk:
    """What the rows of one table share."""

    def __init__(self, contest: Contest, basis: Basis) -> None:
        self.contest = contest
        self.losses = Losses(contest, basis)
        arenas, ranked = contest.in_play, contest.ranked
        ranks = (
            np.array([task_ranks(np.array([arena.losses[one][arena.counted] for one in ranked])) for arena in arenas])
            if ranked
            else np.zeros((len(arenas), 0))
        )
        pairs = [(arena.task.dataset, arena.task.model) for arena in arenas]
        self.unit = "task" if len(set(pairs)) == len(pairs) else "pair"
        units = [sorted(set(pairs)).index(pair) for pair in pairs]
        by_mean = sorted(range(len(ranked)), key=lambda i: (round(float(ranks[:, i].mean()), 9), ranked[i]))
        self.ranked: list[Entrant] = [ranked[i] for i in by_mean]
        self.ranks: FloatArray = ranks.T[by_mean]
        """Shape (ranked, tasks in play), in the order of the table."""
        self.unit_ranks = unit_means(self.ranks, units) if self.ranked else np.zeros((0, len(set(pairs))))
        self.enough = self.unit_ranks.shape[1] >= FEWEST
        self.found: BoolArray = np.zeros(self.ranks.shape, dtype=np.bool_)
        """Whether they found anything, of the same shape."""
        for task, arena in enumerate(arenas):
            for at, one in enumerate(self.ranked):
                self.found[at, task] = np.isfinite(arena.losses[one][arena.counted]).any()
        self.separating: BoolArray = np.logical_or.reduce(self.found)
        """In which tasks in play anybody ranked found something."""
        self.unranked = len(self.ranked) < 2 or not self.found.any()
        self.intervals = rank_intervals(self.ranks, units) if self.enough and not self.unranked else None
        self.positions = self._positions()
        self.wins = [] if self.unranked else task_wins(self.ranks, self.separating).tolist()

    def _positions(self) -> list[Position]:
        if self.unranked:
            return []
        if self.enough:
            return positions(self.unit_ranks, int(self.found.any(axis=1).sum()))
        return plain_positions(self.ranks.mean(axis=1).tolist())

    def verdict(self) -> str:
        """Say why nobody is ranked or compared."""
        contest = self.contest
        with_results = [one for one in contest.entrants if any(one in arena.losses for arena in contest.arenas)]
        black = [one for one in with_results if not one.white_box]
        if not with_results:
            return "no cell has results"
        if len(black) < 2:
            return "one searcher: nothing to rank it against" if black else "white boxes only: nothing to rank"
        if not contest.in_play:
            return "no point was asked of more than half of the searchers: nobody is ranked"
        if self.unranked:
            few, idle = (
                "fewer than two searchers were asked all points that count",
                "none of those who could be ranked found anything",
            )
            return f"{few if len(self.ranked) < 2 else idle}: nobody is ranked"
        if not self.enough:
            held = counted_units(self.unit_ranks.shape[1], self.unit)
            return f"too few tasks to compare: {held}, {FEWEST} are needed"
        return ""

    def powerless(self) -> list[str]:
        """Say where no result whatsoever could tell the first from anybody."""
        units = self.unit_ranks.shape[1]
        least = least_p(len(self.ranked), units)
        if self.unranked or not self.enough or least < ALPHA:
            return []
        return [
            f"{counted_units(units, self.unit)} cannot tell {len(self.ranked)} searchers apart, however clear their "
            f"ranks are: p is {least:.2f} at least"
        ]

    def inseparable(self) -> list[str]:
        """Say in which tasks no ranked searcher found anything."""
        if self.unranked or self.separating.all():
            return []
        found = zip(self.contest.in_play, self.separating, strict=True)
        listed = listing([arena.label for arena, anybody in found if not anybody])
        return [f"tasks that tell nobody apart and nobody wins, since no ranked searcher found anything: {listed}"]

    def repetitions(self) -> tuple[int, ...]:
        """Return the numbers of searches that points have, of those who are compared; of all where nobody is."""
        compared = self.ranked or self.contest.entrants
        groups = [arena.groups[one] for arena in self.contest.arenas for one in compared if one in arena.groups]
        return tuple(sorted({tries for group in groups for cell in group.ran for tries in cell.tries}))

    def row(self, entrant: Entrant, relatives: Relatives, metrics: Mapping[str, Score | None]) -> Standing:
        """Return an entrant's row."""
        contest = self.contest
        groups = [arena.groups[entrant] for arena in contest.arenas if entrant in arena.groups]
        cells = [cell for group in groups for cell in group.cells]
        ran = [cell for cell in cells if cell.has_results]
        state, why = self._state(entrant, cells)
        at = self.ranked.index(entrant) if state is State.RANKED else None
        interval = None if at is None or self.intervals is None else self.intervals[at]
        compared = ran if at is None else [cell for arena in contest.in_play for cell in arena.groups[entrant].ran]
        return Standing(
            entrant=entrant,
            state=state,
            why=why,
            position=None if at is None else self.positions[at],
            rank=None if at is None else float(self.ranks[at].mean()),
            interval=None if interval is None else (float(interval[0]), float(interval[1])),
            wins=None if at is None else self.wins[at],
            found=self._found(entrant, counted=at is not None),
            loss=self.losses.score(entrant),
            mean_loss=self.losses.mean_score(entrant),
            comparison=partial(relatives.over_tasks, groups),
            spending=spending(compared),
            statuses=statuses(ran),
            metrics={label: score for label, score in metrics.items() if score is not None},
            complete=contest.complete_in(entrant),
            cells=len(cells),
            failed=sum(bool(cell.failure) for cell in cells),
            skipped=sum(bool(cell.skipped) for cell in cells),
            missing=sum(len(_missing(arena, entrant)) for arena in contest.in_play),
            results=tuple(self._result(arena, entrant) for arena in contest.arenas),
        )

    def _state(self, entrant: Entrant, cells: Sequence[CellSummary]) -> tuple[State, str]:
        if not any(cell.has_results for cell in cells):
            failure = next((cell.failure for cell in cells if cell.failure), "")
            skipped = next((cell.skipped for cell in cells if cell.skipped), "")
            return (State.FAILED, failure) if failure else (State.SKIPPED, skipped)
        if entrant.white_box:
            return State.WHITE_BOX, "it looks into the model: shown for reference, never ranked among black boxes"
        if self.unranked:
            return State.NOT_RANKED, self.verdict()
        if entrant in self.ranked:
            return State.RANKED, ""
        complete, tasks = self.contest.complete_in(entrant), len(self.contest.in_play)
        return State.NOT_RANKED, f"it was asked all points that count in {complete} of {tasks} tasks"

    def _found(self, entrant: Entrant, *, counted: bool) -> Count:
        """Count searches: of the points that count, or all."""
        found = asked = 0
        for arena in self.contest.in_play if counted else self.contest.arenas:
            if entrant not in arena.losses:
                continue
            count = _searches(arena, entrant, counted=counted)
            found, asked = found + count.k, asked + count.n
        return Count(found, asked)

    def _result(self, arena: Arena, entrant: Entrant) -> TaskResult | None:
        group = arena.groups.get(entrant)
        if group is None:
            return None
        if not group.ran:
            state = "failed" if any(cell.failure for cell in group.cells) else "skipped"
            return TaskResult(state, None, Count(0, 0), None, None)
        if not arena.counted.any():
            return TaskResult("ran", None, _searches(arena, entrant, counted=False), None, None)
        ranked = entrant in self.ranked and not self.unranked
        at = self.contest.in_play.index(arena)
        return TaskResult(
            state="ran" if arena.asked_all_of(entrant) else "partly",
            rank=float(self.ranks[self.ranked.index(entrant), at]) if ranked else None,
            found=_searches(arena, entrant, counted=True),
            loss=self.losses.mean(arena, entrant),
            against_best=self.losses.against_best(arena, entrant),
        )

    def view(self, arena: Arena) -> TaskView:
        """Return what a reader sees of a task."""
        points = int(arena.counted.sum())
        shared = int(self.losses.shared[arena].sum()) if points else 0
        asked = {_searches(arena, one, counted=True).n for one in self.ranked} if points else {0}
        return TaskView(arena.task, arena.setup, points, shared, asked.pop() if len(asked) == 1 else None)


def counted_units(number: int, unit: str) -> str:
    """Write how many independent tasks there are.

    Examples
    --------
    >>> counted_units(1, "task"), counted_units(10, "pair")
    ('1 task', '10 pairs of data set and model')
    """
    plural = "" if number == 1 else "s"
    return f"{number} task{plural}" if unit == "task" else f"{number} pair{plural} of data set and model"


def _searches(arena: Arena, entrant: Entrant, *, counted: bool) -> Count:
    counts = arena.searches[entrant]
    successes, tries = (counts[:, arena.counted] if counted else counts).sum(axis=1).tolist()
    return Count(successes, tries)


def _missing(arena: Arena, entrant: Entrant) -> set[int]:
    """Return the folds with points that count of which an entrant has no cell."""
    folds = {fold for (fold, _), counts in zip(arena.places, arena.counted, strict=True) if counts}
    group = arena.groups.get(entrant)
    return folds - (set() if group is None else {cell.info.fold for cell in group.cells})


def _order(row: Standing) -> tuple[int, float, str]:
    return ORDER.index(row.state), row.rank if row.rank is not None else 0.0, row.label
