"""The page's views of single tasks: the heat table and a card each, with an example counterfactual per searcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cfbench.analysis.aggregate import spending
from cfbench.analysis.board import Board
from cfbench.analysis.loss_alone import MARK
from cfbench.analysis.ranks import EQUAL
from cfbench.analysis.standings import StandingsRow, TaskResult, TaskView
from cfbench.board.page.evidence import Example
from cfbench.board.text import ABSENT, decimal, share, short_seconds, whole, whole_change
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, Kind
from cfbench.text import visible

SHADES = ((0.001, 0), (0.05, 1), (0.25, 2), (1.0, 3), (4.0, 4))
"""Upper limits of the value relative to the best known one, each with its shade in the heat table; above: shade 5."""


@dataclass(frozen=True)
class Heat:
    """A cell of the heat table."""

    text: str
    shade: str
    words: str
    best: bool = False
    alone: bool = False


@dataclass(frozen=True)
class HeatRow:
    """A task in the heat table."""

    task: int  # its number among the board's tasks
    name: str  # the task without its data set
    cells: tuple[Heat, ...]  # one for each searcher


@dataclass(frozen=True)
class HeatTable:
    """The heat table: a row per task, a column per searcher, grouped by data set."""

    searchers: tuple[str, ...]
    groups: tuple[tuple[str, tuple[HeatRow, ...]], ...]

    @property
    def alone(self) -> bool:
        """Whether any result was searched for the loss alone."""
        return any(cell.alone for _, rows in self.groups for row in rows for cell in row.cells)


@dataclass(frozen=True)
class ExampleResult:
    """What one searcher found for a card's example: the changed features alone."""

    label: str
    value: str
    changes: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Card:
    """A task."""

    title: str
    points: str  # how many points count, and how many every searcher compared solved
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the task's table
    example: str  # which point the examples are of; or why there are none
    found: tuple[ExampleResult, ...]


def heat_of(result: TaskResult | None, *, best: bool = False, alone: bool = False) -> Heat:
    """Return the cell of a searcher on a task: its value above the best known one, or why there is none."""
    if result is None:
        return Heat("not run", "gap", "not run")
    if result.state in ("failed", "skipped"):
        return Heat(result.state, "gap", result.state)
    if result.found.n and not result.found.k:
        return Heat("none found", "gap", f"0 of {result.found.n:,} found")
    value = result.objective_against_best
    words = f"{result.found.k:,} of {result.found.n:,} found{f'; {MARK}' if alone else ''}"
    if value is None:
        return Heat(f"{result.found.k}/{result.found.n}", "plain", f"{words}; not compared", best, alone)
    shade = next((shade for limit, shade in SHADES if value <= limit), 5)
    missing = "" if result.found.k == result.found.n else f" {result.found.k}/{result.found.n}"
    rank = "" if result.rank is None else f", mean rank {result.rank:.1f}"
    words = f"{whole_change(value)} compared with the best known, {words}{rank}{'; wins the task' if best else ''}"
    return Heat(f"{whole_change(value)}{missing}", f"h{shade}", words, best, alone)


def heat_table(board: Board) -> HeatTable:
    """Return the heat table of a board, white boxes with a table of their own included."""
    rows, results = _results(board)
    groups: dict[str, list[HeatRow]] = {}
    for number, (view, task) in enumerate(zip(board.standings.tasks, board.matrix.tasks, strict=True)):
        of_task = results[view.label]
        alone = [row.searcher in task.groups and task.groups[row.searcher].loss_alone for row in rows]
        leaders = _leaders(view, of_task[: len(board.standings.rows)])
        cells = tuple(heat_of(result, best=at in leaders, alone=alone[at]) for at, result in enumerate(of_task))
        key = view.task
        name = f"{key.model}, {key.objective}, constraints {'on' if key.constraints else 'off'}"
        name = f"{name} ({view.setup})" if view.setup else name
        groups.setdefault(key.dataset, []).append(HeatRow(number, visible(name), cells))
    return HeatTable(
        tuple(visible(row.label) for row in rows),
        tuple((visible(name), tuple(members)) for name, members in groups.items()),
    )


def cards(board: Board, examples: Sequence[Example | None], spaces: Mapping[str, FeatureSpace]) -> list[Card]:
    """Return a card for each task: its searchers by their mean ranks, and what they found for one point."""
    rows, results = _results(board)
    white = {row.searcher for row in rows[len(board.standings.rows) :]}
    made = []
    for view, task, example in zip(board.standings.tasks, board.matrix.tasks, examples, strict=True):
        of_task = [(row, result) for row, result in zip(rows, results[view.label], strict=True) if result is not None]
        of_task.sort(key=lambda pair: (pair[1].rank is None, pair[0].searcher in white, pair[1].rank or 0.0))
        by_loss = view.task.objective == "none"
        header = ("searcher", "rank", "found", *(() if by_loss else ("objective vs best",)), "loss vs best")
        lines = []
        for row, result in of_task:
            value = () if by_loss else (whole_change(result.objective_against_best),)
            spent = spending(task.groups[row.searcher].ran)
            rank = ABSENT if result.rank is None else f"{result.rank:.1f}"
            mark = f" ({MARK})" if task.groups[row.searcher].loss_alone else ""
            lines.append(
                (
                    visible(row.label) + mark,
                    f"{rank} of the white boxes" if row.searcher in white and rank != ABSENT else rank,
                    _count(result),
                    *value,
                    whole_change(result.against_best),
                    short_seconds(spent.seconds),
                    whole(spent.queries),
                )
            )
        made.append(
            Card(
                title=visible(view.label),
                points=_points(view),
                header=(*header, "s/search", "queries"),
                rows=tuple(lines),
                example=_which(example),
                found=_found(example, rows, spaces.get(view.task.dataset), "loss" if by_loss else "objective value"),
            )
        )
    return made


def _results(board: Board) -> tuple[list[StandingsRow], dict[str, list[TaskResult | None]]]:
    """Return the rows of all tables, and by the label of a task their results, in this order."""
    tables = [board.standings]
    if board.white_standings is not None and board.white_standings is not board.standings:
        tables.append(board.white_standings)
    rows = [row for table in tables for row in table.rows]
    found = []
    for table in tables:
        labels = [view.label for view in table.tasks]
        found += [dict(zip(labels, row.results, strict=True)) for row in table.rows]
    return rows, {view.label: [own.get(view.label) for own in found] for view in board.standings.tasks}


def _leaders(view: TaskView, results: Sequence[TaskResult | None]) -> set[int]:
    """Return which results win a task."""
    ranks = {at: one.rank for at, one in enumerate(results) if one is not None and one.rank is not None}
    found = any(one is not None and one.rank is not None and one.found.k for one in results)
    if not view.points or not found:
        return set()
    least = min(ranks.values())
    return {at for at, rank in ranks.items() if rank <= least + EQUAL}


def _count(result: TaskResult) -> str:
    if result.state in ("failed", "skipped"):
        return result.state
    return f"{result.found.k:,} of {result.found.n:,} ({share(result.found.share)})" if result.found.n else ABSENT


def _points(view: TaskView) -> str:
    if not view.points:
        return "too few searchers ran on its points for them to count in ranks"
    return (
        f"{view.points:,} points count in ranks; every searcher that is compared solved {view.shared:,} of them, and "
        "values are compared on these"
    )


def _which(example: Example | None) -> str:
    if example is None:
        return "no searcher found a counterfactual"
    if not len(example.x):
        return "the rows of this data set may not be passed on, so that no example is shown"
    return f"row {example.row_id} of the data set, fold {example.fold}"


def _found(
    example: Example | None, rows: Sequence[StandingsRow], space: FeatureSpace | None, what: str
) -> tuple[ExampleResult, ...]:
    if example is None or not len(example.x):
        return ()
    found = []
    for row in rows:
        if row.searcher in example.found:
            z, value = example.found[row.searcher]
            found.append(
                ExampleResult(visible(row.label), f"{what} {decimal(value)}", tuple(_changes(example.x, z, space)))
            )
    return tuple(found)


def _changes(x: FloatArray, z: FloatArray, space: FeatureSpace | None) -> list[tuple[str, str, str]]:
    changes = []
    for i in range(len(x)):
        if x[i] == z[i]:
            continue
        if space is None or space.d != len(x):
            changes.append((f"feature {i + 1}", f"{x[i]:g}", f"{z[i]:g}"))
        else:
            feature = space.features[i]
            changes.append((visible(feature.name), _value(feature, x[i]), _value(feature, z[i])))
    return changes


def _value(feature: FeatureSpec, value: float) -> str:
    if feature.kind is Kind.CATEGORICAL:
        inside = value in range(feature.n_categories)
        return visible(feature.categories[int(value)]) if inside else ABSENT
    return f"{value:g}{f' {visible(feature.unit)}' if feature.unit else ''}"
