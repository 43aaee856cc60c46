"""Two searchers, or one searcher in two records, point by point.

Decision: what is compared at a point is the value that the task asks for, of its best repetition: the objective value
as the judge computes it, which is the loss under objective ``none``. Values within the tolerance of the better one are
a tie. If only one searcher finds a counterfactual, it wins the point; if neither does, it is a tie. The median
difference is over the points that both solved. Its interval is from a bootstrap that draws points anew within each
task, so it says what other points of these tasks would give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cfbench.analysis.comparison import reference_of
from cfbench.analysis.groups import Group, Task, bare_name, differences, lacks_values
from cfbench.analysis.ranks import DEFAULT_TOLERANCE, Tolerance
from cfbench.errors import UnknownNameError
from cfbench.space.space import FloatArray

RESAMPLES = 2000
LEVEL = 0.95
FEWEST = 6
"""Points that both solved, below which there is no interval."""

_AT_ONCE = 4_000_000
_SEED = 0


@dataclass(frozen=True)
class PairedPoint:
    """One point that both sides ran on."""

    fold: int
    row: int
    first: float | None  # the value that is compared; None where nothing was found
    second: float | None
    first_loss: float | None
    second_loss: float | None
    outcome: int  # 1: the first wins, -1: the second, 0: a tie

    @property
    def difference(self) -> float | None:
        """First less second; None where not both solved it."""
        return None if self.first is None or self.second is None else self.first - self.second


@dataclass(frozen=True, eq=False)
class PairedTask:
    """All points of one task."""

    key: Task
    first: Group
    second: Group
    tolerance: Tolerance = DEFAULT_TOLERANCE  # for ties

    @property
    def by_loss(self) -> bool:
        """Whether losses are compared although the task has another objective: results lack objective values."""
        groups = (self.first, self.second)
        return bare_name(self.key.objective) != "none" and any(lacks_values(cell) for one in groups for cell in one.ran)

    @property
    def label(self) -> str:
        """The task, with the searcher where both sides have the same, and the first's setup where it has several."""
        if self.first.searcher == self.second.searcher:
            return f"{self.key}, {self.first.label}"
        return f"{self.key} ({self.first.setup})" if self.first.setup else str(self.key)

    @cached_property
    def points(self) -> tuple[PairedPoint, ...]:
        """The points that both sides ran on, in the order of folds and points."""
        first, second = self.first.points, self.second.points
        places = [place for place in first if place in second]
        losses = [(first[place].loss, second[place].loss) for place in places]
        values = losses
        if bare_name(self.key.objective) != "none" and not self.by_loss:
            values = [(first[place].objective_value, second[place].objective_value) for place in places]
        compared = np.array([[np.inf if value is None else value for value in pair] for pair in values]).reshape(-1, 2)
        limits = self.tolerance.limit(compared)
        outcomes = (compared[:, 1] > limits[:, 0]).astype(int) - (compared[:, 0] > limits[:, 1])
        rows = zip(places, values, losses, outcomes.tolist(), strict=True)
        return tuple(PairedPoint(*place, *value, *loss, outcome) for place, value, loss, outcome in rows)

    @property
    def asked(self) -> int:
        """Points that either was asked."""
        return len({*self.first.points, *self.second.points})


@dataclass(frozen=True)
class PairwiseResult:
    """What the comparisons of tasks come to."""

    points: int  # that both were asked
    asked: int  # that either was
    wins: int  # of the first
    ties: int
    losses: int
    only_first: int  # points that only the first solved, which are among the wins
    only_second: int
    neither: int  # points that neither solved, which are among the ties
    solved: int  # points that both solved: what `median` is over
    median: float | None  # of the first's value less the second's; None without any
    interval: tuple[float, float] | None  # None under six points


def meet(
    first: Sequence[Group], second: Sequence[Group], opponent: str = "", tolerance: Tolerance | None = None
) -> list[PairedTask]:
    """Pair the groups of two sides that were given the same: data, model, objective, constraints.

    If there are several (with different seeds or budgets, for example), the most similar ones are paired. A group is
    left out if no group of the other side matches it, or if the two have no point in common.
    """
    tasks = []
    for group in first:
        other = reference_of(group, opponent or group.searcher, second)
        if other is not None and any(place in other.points for place in group.points):
            tasks.append(PairedTask(group.task, group, other, tolerance or DEFAULT_TOLERANCE))
    return tasks


def score(tasks: Sequence[PairedTask]) -> PairwiseResult:
    """Count wins, ties and losses, and estimate the median difference."""
    points = [point for task in tasks for point in task.points]
    apart = [_differences(task) for task in tasks]
    all_apart = np.concatenate(apart) if apart else np.empty(0)
    outcomes = [point.outcome for point in points]
    return PairwiseResult(
        points=len(points),
        asked=sum(task.asked for task in tasks),
        wins=outcomes.count(1),
        ties=outcomes.count(0),
        losses=outcomes.count(-1),
        only_first=sum(point.first is not None and point.second is None for point in points),
        only_second=sum(point.first is None and point.second is not None for point in points),
        neither=sum(point.first is None and point.second is None for point in points),
        solved=len(all_apart),
        median=float(np.median(all_apart)) if len(all_apart) else None,
        interval=_interval(apart) if len(all_apart) >= FEWEST else None,
    )


def farthest(tasks: Iterable[PairedTask], count: int) -> list[tuple[PairedTask, PairedPoint]]:
    """Return the points that both solved and where they differ most, the greatest difference first."""
    found = [
        (task, point)
        for task in tasks
        for point in task.points
        if point.difference is not None and point.difference != 0
    ]
    return sorted(found, key=lambda pair: -abs(pair[1].difference or 0.0))[:count]


def one_sided(tasks: Iterable[PairedTask], outcome: int) -> list[tuple[PairedTask, PairedPoint]]:
    """Return the points that one side alone solved: the first (outcome 1) or the second (-1)."""
    return [
        (task, point)
        for task in tasks
        for point in task.points
        if point.difference is None and point.outcome == outcome
    ]


def reservations(tasks: Iterable[PairedTask]) -> list[str]:
    """Return what was not the same for both sides, a sentence each, with the tasks where it was not."""
    found: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        for what in _unlike(task):
            found[what].append(task.label)
    sentences = []
    for what, labels in found.items():
        more = f"; and {len(labels) - 1} more" if len(labels) > 1 else ""
        sentences.append(f"not given alike: {what} ({labels[0]}{more})")
    return sentences


def _unlike(task: PairedTask) -> Iterator[str]:
    one, other = task.first, task.second
    marks = [{cell.info.fold: set(cell.fingerprints) for cell in group.ran} for group in (one, other)]
    folds = sorted(fold for fold in marks[0] if fold in marks[1] and marks[0][fold] != marks[1][fold])
    if folds:
        yield f"differently fitted models of fold {', '.join(map(str, folds))}"
    contents = [
        {key: value for key, value in group.cells[0].content.items() if key != "searcher"} for group in (one, other)
    ]
    first, second = differences(contents)
    if first != second:
        yield f"{first} against {second}"
    if task.by_loss:
        yield "objective values, which results of one side lack, so that losses are compared"
    tries = [max((point.tries for point in group.points.values()), default=0) for group in (one, other)]
    if tries[0] != tries[1]:
        yield f"the best of {tries[0]} against the best of {tries[1]} repetitions"


def side_of(groups: Iterable[Group], wanted: str) -> list[Group]:
    """Return the groups of one searcher: of the label `wanted`, or of its only variant.

    Raises UnknownNameError if there is no such searcher, or several variants of it and none by the bare name.
    """
    groups = list(groups)
    labels = {group.searcher for group in groups}
    label = wanted
    if wanted not in labels:
        variants = [one for one in labels if bare_name(one) == wanted]
        if len(variants) != 1:
            hint = "Name one variant, as it is listed here." if variants else ""
            raise UnknownNameError("searcher of this record", wanted, labels, hint)
        (label,) = variants
    return [group for group in groups if group.searcher == label]


def _differences(task: PairedTask) -> FloatArray:
    return np.array([point.difference for point in task.points if point.difference is not None], dtype=np.float64)


def _interval(apart: Sequence[FloatArray]) -> tuple[float, float]:
    """Return the percentile interval of the median from a bootstrap that draws points anew within each task."""
    rng = np.random.default_rng(_SEED)
    tasks = [values for values in apart if len(values)]
    at_once = max(1, _AT_ONCE // sum(map(len, tasks)))
    medians = []
    for start in range(0, RESAMPLES, at_once):
        size = min(at_once, RESAMPLES - start)
        drawn = [values[rng.integers(0, len(values), (size, len(values)))] for values in tasks]
        medians.append(np.median(np.concatenate(drawn, axis=1), axis=1))
    low, high = np.quantile(np.concatenate(medians), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
