"""The numbers of the overall table: every searcher over all tasks, and over each task alone.

`result_matrix` says which searchers are compared on what; `ranks` and `scores` compute the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from cfbench.analysis.aggregate import Median, Spending
from cfbench.analysis.comparison import RelativeMetric
from cfbench.analysis.groups import Task, bare_name
from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.notes import Note
from cfbench.analysis.ranks import DEFAULT_TOLERANCE, Position, SearcherPair, Tolerance
from cfbench.analysis.result_matrix import ComparedSearcher


class Basis(StrEnum):
    """Which results a loss or a metric is averaged over."""

    SOLVED_BY_ALL = "solved-by-all"
    OWN_SUCCESSES = "own-successes"
    OWN_POINTS = "own-points"
    """What all solved, of the points that the user's own searchers have; ranks are of these points alone, too."""


class RankState(StrEnum):
    """Why a row has a rank, or has none."""

    RANKED = "ranked"
    NOT_RANKED = "not ranked"
    """Points that count are missing, or there is no searcher to rank it against."""
    WHITE_BOX = "white box"
    """It looks into the model: its row is a reference for the others."""
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Count:
    """Successes of what was asked."""

    k: int
    n: int

    @property
    def share(self) -> float | None:
        """The share of successes; None where nothing was asked."""
        return self.k / self.n if self.n else None


@dataclass(frozen=True)
class OverallValue:
    """A number over tasks."""

    value: float | None  # None where there is nothing to compute it from
    k: int  # the points that went in
    n: int  # the points that count
    tasks: int  # the tasks that went in


@dataclass(frozen=True)
class TaskResult:
    """One searcher on one task."""

    state: str  # "ran", "failed", "skipped"; "partly" where it was asked a part of the points that count only
    rank: float | None  # mean rank over the task's points; None without a rank
    found: Count  # searches
    # Mean loss over the points that all compared searchers solved, or over its own successes (see the board's
    # basis)
    loss: float | None
    against_best: float | None  # that loss divided by the mean best-known loss on the same points, minus 1
    # Mean objective value over the same points; the loss under objective ``none``, and where the task is compared
    # by the loss (see `TaskView.by_loss`)
    objective: float | None
    # That value divided by the mean best-known objective value on the same points, minus 1
    objective_against_best: float | None
    # Whether its results were searched for the loss alone, and judged under the task's objective
    loss_alone: bool = False
    solved: int = 0  # of the points that count, how many have a result


@dataclass(frozen=True)
class StandingsRow:
    """A row of the overall table."""

    searcher: ComparedSearcher
    state: RankState
    why: str  # why it is not ranked, in words; empty where it is
    position: Position | None
    # A letter; rows of one letter are not significantly different from the first of them. Empty where there are too
    # few tasks for a test, and without a rank.
    group: str
    rank: float | None  # mean over the tasks of its mean ranks
    interval: tuple[float, float] | None  # of `rank`; None under six independent tasks
    wins: int | None  # tasks in which a searcher found something and no other ranked searcher has a smaller rank
    found: Count  # searches of the points that count; of a row that is not ranked, all its searches
    loss: OverallValue  # median over tasks: loss divided by the best-known loss on the same points, minus 1
    mean_loss: OverallValue  # mean over tasks of the mean loss, on the same basis
    # Median over tasks: objective value divided by the best-known one on the same points, minus 1
    objective: OverallValue
    mean_objective: OverallValue  # mean over tasks of the mean objective value, on the same basis
    # Returns by the name of a comparison metric the median over tasks of its medians against the reference, with
    # `k` of `n` points; None without one. It is computed when it is first needed.
    relative: Callable[[str], Median | None]
    # Over its searches of the tasks in play, which are the same for all that are ranked; without a rank, over all
    # its searches
    spending: Spending
    statuses: Mapping[str, int]  # how all its searches ended
    metrics: Mapping[str, OverallValue]  # by the metric's label: mean over tasks of its mean over points
    complete: int  # tasks in which it was asked every point that counts
    cells: int
    failed: int  # cells whose last run failed
    skipped: int
    missing: int  # folds with points that count of which it has no cell
    results: tuple[TaskResult | None, ...]  # one for each of the board's tasks, in order; None where it was not run

    @property
    def label(self) -> str:
        """The searcher as readers see it."""
        return self.searcher.label

    @property
    def loss_alone(self) -> int:
        """Tasks whose results were searched for the loss alone, and judged under the task's objective."""
        return sum(result is not None and result.loss_alone for result in self.results)


@dataclass(frozen=True)
class TaskView:
    """A task of the board."""

    task: Task
    setup: str  # what else tells it from others of that name; mostly empty
    points: int  # its points that count; 0: it is in no rank
    shared: int  # those that all compared searchers solved
    # How many searches every ranked searcher made of these points; None where they made different numbers
    searches: int | None
    # Whether it is compared by the loss although it has another objective, since results lack objective values
    by_loss: bool = False

    @property
    def label(self) -> str:
        """The task as readers see it."""
        return f"{self.task} ({self.setup})" if self.setup else str(self.task)


@dataclass(frozen=True)
class Standings:
    """An overall table."""

    title: str  # what it is restricted to, such as "data set credit" or "white boxes"; empty for the whole board
    # Ranked ones in order, then white boxes, then the others. Where the white boxes have a table of their own, they
    # are in no other.
    rows: tuple[StandingsRow, ...]
    tasks: tuple[TaskView, ...]  # all tasks, those that are in no rank included
    basis: Basis
    # What is resampled and compared as independent: "task", or "pair" (a data set with a model) where objectives or
    # constraints make several tasks of one pair
    unit: str
    units: int  # how many of them are in play
    verdict: str  # why no searcher is ranked, or why there is no test; empty where there is nothing to say
    pairs: tuple[SearcherPair, ...]  # every two ranked rows; `first` and `second` are places in `rows`
    # The numbers of searches that points have: (1,) is one search a point, (5,) the best of five
    repetitions: tuple[int, ...]
    metrics: tuple[MetricColumn, ...] = ()  # what the rows' `metrics` are
    reference: str = ""  # the reference searcher's label; empty if there is none
    comparisons: tuple[RelativeMetric, ...] = ()  # the metrics that compare rows with the reference
    cells: int = 0
    ran: int = 0  # cells with results
    failed: int = 0  # cells without results that failed
    skipped: int = 0  # cells without results that were skipped
    limits: str = ""  # query budgets and time limits in words; empty where the record does not say
    # How far apart values may be that count as equal in ranks, wins and `pairs`
    tolerance: Tolerance = DEFAULT_TOLERANCE
    white: bool = False  # whether this is the table of the white boxes
    notes: tuple[Note, ...] = ()  # what was not given alike

    @property
    def in_play(self) -> tuple[TaskView, ...]:
        """The tasks that ranks are computed over."""
        return tuple(task for task in self.tasks if task.points)

    @property
    def robust(self) -> bool:
        """Whether ranks are computed over a task with another objective than the loss."""
        return any(bare_name(view.task.objective) != "none" for view in self.in_play or self.tasks)

    @property
    def ranked(self) -> tuple[StandingsRow, ...]:
        """The rows that have a rank."""
        return tuple(row for row in self.rows if row.state is RankState.RANKED)

    @property
    def not_run(self) -> int:
        """Cells that would be needed to rank every searcher, and that the record does not have."""
        return sum(row.missing for row in self.rows)

    @property
    def searches(self) -> int | None:
        """How many searches every ranked searcher made; None where they made different numbers."""
        counts = [task.searches for task in self.in_play]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def shared(self) -> Count:
        """Points that all compared searchers solved, of those that count."""
        return Count(sum(task.shared for task in self.tasks), sum(task.points for task in self.tasks))
