"""The page's main table: its columns, its rows, and what a row opens to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cfbench.analysis.board import Board
from cfbench.analysis.contest import Entrant
from cfbench.analysis.standings import Standing, Standings, State
from cfbench.counts import plural
from cfbench.harness.again import command_again
from cfbench.harness.store.summary import CellSummary
from cfbench.leaderboard.numbers import ABSENT, share
from cfbench.leaderboard.page.figures import rank_bar
from cfbench.leaderboard.safe import visible
from cfbench.leaderboard.standing_columns import StandingColumn, cell_text, columns_of, state_text

RECOMPUTED = ("found", "rank", "loss", "wins")
"""What the page's script computes anew where tasks are filtered; other columns are hidden then."""

SECONDARY_FROM = 3
"""Columns from this one on stand in the opened row on a phone."""


@dataclass(frozen=True)
class Heading:
    """A column's header."""

    name: str
    title: str
    unit: str
    arrow: str
    better: str
    legend: str
    secondary: bool
    recomputed: bool


@dataclass(frozen=True)
class Cell:
    """A cell: what is read, what is sorted by, and a picture of it."""

    text: str
    value: float | None
    picture: str = ""


@dataclass(frozen=True)
class CellLine:
    """One cell of the record in an opened row."""

    task: str
    fold: int
    found: str
    key: str
    note: str


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    position: str
    label: str
    state: str
    cells: tuple[Cell, ...]
    facts: tuple[tuple[str, str], ...]
    command: str
    record: tuple[CellLine, ...]


def table_columns(board: Board, names: Sequence[str]) -> list[StandingColumn]:
    """Return the columns that are shown, without metrics that nothing was measured of; the notes tell of those.

    Parameters
    ----------
    board : Board
    names : sequence of str
        Names of columns; the board's default ones where empty.
    """
    metrics = {metric.label for metric in board.standings.metrics}
    columns = columns_of(board.standings, names, board.reference)
    return [
        column
        for column in columns
        if column.name not in ("share", "interval")  # the page shows them beside found and rank
        and (column.name not in metrics or any(column.value(row) is not None for row in board.standings.rows))
    ]


def headings(columns: list[StandingColumn]) -> list[Heading]:
    """Return the columns' headers, a unit and a better direction in each."""
    better = {"↑": "higher is better", "↓": "lower is better", "": ""}
    return [
        Heading(
            name=column.name,
            title=column.title or column.name,
            unit=column.unit.replace(column.arrow, "").strip() if column.arrow else column.unit,
            arrow=column.arrow,
            better=better[column.arrow],
            legend=f"{column.legend}{f' ({column.counted})' if column.counted else ''}",
            secondary=number >= SECONDARY_FROM - 1,
            recomputed=column.name in RECOMPUTED,
        )
        for number, column in enumerate(columns)
    ]


def lines(board: Board, columns: list[StandingColumn]) -> list[Line]:
    """Return the table's rows in the board's order."""
    return [_line(row, board, columns) for row in board.standings.rows]


def filter_data(standings: Standings) -> str:
    """Return what the page's script needs to compute ranks of some tasks alone, as JSON."""
    tasks = [
        {
            "dataset": view.task.dataset,
            "model": view.task.model,
            "objective": view.task.objective,
            "constraints": "on" if view.task.constraints else "off",
            "counts": view.points > 0,
        }
        for view in standings.tasks
    ]
    rows = []
    for row in standings.rows:
        results = [
            None
            if result is None or result.state not in ("ran", "partly")
            else [result.rank, result.found.k, result.found.n, result.against_best]
            for result in row.results
        ]
        rows.append({"ranked": row.state is State.RANKED, "results": results})
    text = json.dumps({"tasks": tasks, "rows": rows}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")  # nothing in it ends the element that it stands in


def _line(row: Standing, board: Board, columns: list[StandingColumn]) -> Line:
    standings = board.standings
    cells = []
    for column in columns:
        text = cell_text(row, column, standings) or ABSENT
        value = column.value(row) if text != ABSENT else None
        picture = ""
        if column.name == "found":
            text = f"{row.found.k:,} of {row.found.n:,} ({share(row.found.share)})" if row.found.n else ABSENT
            picture = f'<span class="bar" style="--share:{100 * (row.found.share or 0):.1f}%"></span>'
        elif column.name == "rank":
            picture = rank_bar(row, len(standings.ranked))
            if row.interval is not None:
                text = f"{text} ({row.interval[0]:.1f} - {row.interval[1]:.1f})"
        cells.append(Cell(text, value, picture))
    own = _cells(board, row.entrant)
    position = str(row.position).strip() if row.position else ABSENT
    return Line(
        position=position,
        label=visible(row.label),
        state=state_text(row, standings),
        cells=tuple(cells),
        facts=tuple(_facts(row, own)),
        command=_command(own),
        record=tuple(_record_lines(board, row.entrant)),
    )


def _cells(board: Board, entrant: Entrant) -> list[CellSummary]:
    groups = (arena.groups.get(entrant) for arena in board.contest.arenas)
    return [cell for group in groups if group is not None for cell in group.cells]


def _facts(row: Standing, own: list[CellSummary]) -> list[tuple[str, str]]:
    """Return terms with what the record says of a row."""
    facts = []
    if row.why:
        facts.append(("not ranked", row.why))
    content: dict[str, Any] = own[0].content if own else {}
    searcher = content.get("searcher", {})
    settings = searcher.get("settings", {}) if isinstance(searcher, dict) else {}
    facts.append(("settings", ", ".join(f"{key} = {value}" for key, value in settings.items()) or "none"))
    versions: dict[str, set[str]] = {}
    for cell in own:
        for part, version in cell.info.versions.items():
            versions.setdefault(part, set()).add(version)
    facts.append(("versions", ", ".join(f"{part} {'/'.join(sorted(v))}" for part, v in sorted(versions.items()))))
    limits = [
        f"{what}: {'none' if content.get(key) is None else content[key]}"
        for key, what in (("query_budget", "query budget"), ("time_limit", "time limit in s"), ("seed", "seed"))
    ]
    facts.append(("limits", ", ".join(limits)))
    facts.append(("searches", ", ".join(f"{count:,} {status}" for status, count in row.statuses.items()) or "none"))
    cells = [plural(row.cells, "cell")]
    cells += [f"{n:,} {what}" for n, what in ((row.failed, "failed"), (row.skipped, "skipped")) if n]
    cells += [f"{row.missing:,} that others have are missing"] if row.missing else []
    facts.append(("cells", ", ".join(cells)))
    return [(term, visible(text)) for term, text in facts]


def _command(own: list[CellSummary]) -> str:
    ran = [cell for cell in own if not cell.skipped] or own
    points = max((max(cell.points, default=0) + 1 for cell in ran), default=1)
    repetitions = max((cell.repetitions for cell in ran), default=1) or 1
    command = command_again([cell.info for cell in ran], ran[0].content, points=points, repetitions=repetitions)
    return visible(command)


def _record_lines(board: Board, entrant: Entrant) -> list[CellLine]:
    found = []
    for arena in board.contest.arenas:
        group = arena.groups.get(entrant)
        for cell in group.cells if group is not None else ():
            note = f"failed: {cell.failure}" if cell.failure else f"skipped: {cell.skipped}" if cell.skipped else ""
            count = f"{sum(cell.successes):,} of {cell.searches:,}" if cell.searches else ABSENT
            found.append(CellLine(visible(arena.label), cell.info.fold, count, cell.info.key, visible(note)))
    return found
