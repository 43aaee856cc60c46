"""The page's views of single tasks: the heat table and a card each, with an example counterfactual a searcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfbench.analysis.board import Board
from cfbench.analysis.standings import Standing, TaskResult, TaskView
from cfbench.leaderboard.numbers import ABSENT, decimal, whole_change
from cfbench.leaderboard.page.evidence import Example
from cfbench.leaderboard.safe import visible
from cfbench.leaderboard.task_columns import columns_for, table_of
from cfbench.space import FeatureSpace, FeatureSpec, FloatArray, Kind

SHADES = ((0.001, 0), (0.05, 1), (0.25, 2), (1.0, 3), (4.0, 4))
"""Up to which loss above the best known one a cell of the heat table has which shade; 5 beyond."""


@dataclass(frozen=True)
class Heat:
    """A cell of the heat table."""

    text: str
    shade: str
    words: str


@dataclass(frozen=True)
class Found:
    """What one searcher found for a card's example: the changed features alone."""

    label: str
    loss: str
    changes: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Card:
    """A task.

    Parameters
    ----------
    title : str
    points : str
        How many points count, and how many everybody compared solved.
    header : tuple of str
    rows : tuple of tuple of str
        The task's table.
    example : str
        Which point the examples are of; or why there are none.
    found : tuple of Found
    """

    title: str
    points: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    example: str
    found: tuple[Found, ...]


def heat_of(result: TaskResult | None) -> Heat:
    """Return the cell of a searcher on a task: loss above the best known one, or why there is none."""
    if result is None:
        return Heat("not run", "gap", "not run")
    if result.state in ("failed", "skipped"):
        return Heat(result.state, "gap", result.state)
    if result.found.n and not result.found.k:
        return Heat("none found", "gap", f"0 of {result.found.n:,} found")
    value = result.against_best
    words = f"{result.found.k:,} of {result.found.n:,} found"
    if value is None:
        return Heat(f"{result.found.k}/{result.found.n}", "plain", f"{words}; not compared")
    shade = next((shade for limit, shade in SHADES if value <= limit), 5)
    missing = "" if result.found.k == result.found.n else f" {result.found.k}/{result.found.n}"
    return Heat(
        f"{whole_change(value)}{missing}", f"h{shade}", f"loss {whole_change(value)} of the best known, {words}"
    )


def heat_rows(board: Board) -> list[tuple[str, list[Heat]]]:
    """Return the heat table: a row a searcher, a cell a task."""
    return [(visible(row.label), [heat_of(result) for result in row.results]) for row in board.standings.rows]


def cards(board: Board, examples: list[Example | None], spaces: Mapping[str, FeatureSpace]) -> list[Card]:
    """Return a card for each task."""
    columns = columns_for(board)
    header = tuple(" ".join(filter(None, [column.title, column.unit])) for column in columns)
    by_task = board.by_task()
    made = []
    for view, example in zip(board.standings.tasks, examples, strict=True):
        rows = by_task.get(view.task, [])
        space = spaces.get(view.task.dataset)
        made.append(
            Card(
                title=visible(view.label),
                points=_points(view),
                header=header,
                rows=tuple(tuple(cells) for cells in table_of(rows, columns)),
                example=_which(example),
                found=_found(example, board.standings.rows, space),
            )
        )
    return made


def _points(view: TaskView) -> str:
    if not view.points:
        return "its points were asked of too few searchers to count in ranks"
    return f"{view.points:,} points count in ranks; everybody compared solved {view.shared:,} of them"


def _which(example: Example | None) -> str:
    if example is None:
        return "no searcher found a counterfactual"
    if not len(example.x):
        return "the rows of this data set may not be passed on, so that no example is shown"
    return f"row {example.row_id} of the data set, fold {example.fold}"


def _found(example: Example | None, rows: tuple[Standing, ...], space: FeatureSpace | None) -> tuple[Found, ...]:
    if example is None or not len(example.x):
        return ()
    found = []
    for row in rows:
        if row.entrant in example.found:
            z, loss = example.found[row.entrant]
            found.append(Found(visible(row.label), decimal(loss), tuple(_changes(example.x, z, space))))
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
