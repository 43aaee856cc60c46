"""The page's ranked tables: their columns, their rows, and what a row opens to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cfbench.analysis.board import Board
from cfbench.analysis.groups import bare_name
from cfbench.analysis.loss_alone import MARK, record_key
from cfbench.analysis.result_matrix import ComparedSearcher
from cfbench.analysis.standings import RankState, Standings, StandingsRow, TaskView
from cfbench.board.columns import StandingColumn, columns_of, page_columns, state_text
from cfbench.board.page.figures import rank_bar
from cfbench.board.text import ABSENT, share
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import Registry
from cfbench.study.plan import command_again
from cfbench.text import plural, visible

RECOMPUTED = ("found", "rank", "objective", "loss", "wins")
"""What the page's script computes anew where tasks are filtered; other columns are hidden then."""

ON_A_PHONE = (("found",), ("rank",), ("objective", "loss"))
"""Columns that stay in the table on a phone, one of each; the others are in the opened row."""


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
    further: bool
    recomputed: bool


@dataclass(frozen=True)
class PageCell:
    """A cell: what is read, what is sorted by, a picture of it, and what is read after the text in smaller type."""

    text: str
    value: float | None
    picture: str = ""
    detail: str = ""


@dataclass(frozen=True)
class CellLine:
    """One cell of the record in an opened row."""

    task: str
    fold: int
    found: str
    key: str
    note: str


@dataclass(frozen=True)
class PageRow:
    """A row of the table."""

    position: str
    label: str
    state: str
    method: str
    url: str
    cells: tuple[PageCell, ...]
    facts: tuple[tuple[str, str], ...]
    command: str
    record: tuple[CellLine, ...]


@dataclass(frozen=True)
class PageTable:
    """A ranked table."""

    name: str  # its id on the page
    title: str
    what: str  # what its positions are by
    tested: bool  # whether ranks have letters
    headings: tuple[Heading, ...]
    lines: tuple[PageRow, ...]
    data: str  # what the page's script needs to rank some tasks alone, as JSON


def ranked_tables(board: Board, names: Sequence[str], registry: Registry) -> list[PageTable]:
    """Return the main table, and that of the white boxes where they are ranked among themselves."""
    whole, white = board.standings, board.white_standings
    tables = [_table("board", "Searchers", whole, board, names, registry)]
    if white is not None and white is not whole:
        tables.append(_table("white-boxes", "White boxes", white, board, names, registry))
    return tables


def _table(
    name: str, title: str, standings: Standings, board: Board, names: Sequence[str], registry: Registry
) -> PageTable:
    columns = table_columns(standings, names)
    return PageTable(
        name=name,
        title=title,
        what="objective value" if standings.robust else "loss",
        tested=any(row.group for row in standings.rows),
        headings=tuple(headings(columns, names, registry)),
        lines=tuple(_line(row, standings, board, columns, registry) for row in standings.rows),
        data=filter_data(standings),
    )


def table_columns(standings: Standings, names: Sequence[str]) -> list[StandingColumn]:
    """Return the columns that are shown, without metrics that nothing was measured of; the notes tell of those."""
    metrics = {metric.label for metric in standings.metrics}
    left_out = {"objective"} if not standings.robust and "loss" in names else set()
    return [
        column
        for column in columns_of(standings, names)
        if column.name not in left_out
        and not column.column.part_of
        and (column.name not in metrics or any(column.value(row) is not None for row in standings.rows))
    ]


def headings(columns: Sequence[StandingColumn], names: Sequence[str], registry: Registry) -> list[Heading]:
    """Return the columns' headers, a unit and a better direction in each."""
    better = {"↑": "higher is better", "↓": "lower is better", "": ""}
    known = [column.name for column in columns]
    kept = [next((name for name in names if name in known), "") for names in ON_A_PHONE]
    kept = [name for name in kept if name] or known[: len(ON_A_PHONE)]
    has_further = set(page_columns(registry)) <= set(names)
    return [
        Heading(
            name=column.name,
            title=column.title or column.name,
            unit=column.bare_unit,
            arrow=column.arrow,
            better=better[column.arrow],
            legend=column.explained,
            secondary=column.name not in kept,
            further=has_further and not column.column.default,
            recomputed=column.name in RECOMPUTED,
        )
        for column in columns
    ]


def facets(view: TaskView) -> dict[str, str]:
    """Return what a task can be filtered by."""
    task = view.task
    return {
        "dataset": task.dataset,
        "model": task.model,
        "objective": task.objective,
        "constraints": "on" if task.constraints else "off",
    }


def filter_data(standings: Standings) -> str:
    """Return what the page's script needs to compute a table of some tasks alone, as JSON.

    A task has the results that the table has: its ranks among the ranked searchers, and values on the points that they
    all solved. So a table of all tasks is the table itself.
    """
    tasks = [{**facets(view), "counts": view.points > 0} for view in standings.tasks]
    rows = []
    for row in standings.rows:
        results = [
            None
            if result is None or result.state not in ("ran", "partly")
            else [result.rank, result.found.k, result.found.n, result.against_best, result.objective_against_best]
            for result in row.results
        ]
        compared = row.state in (RankState.RANKED, RankState.WHITE_BOX) or not standings.ranked
        rows.append({"ranked": row.state is RankState.RANKED, "blank": not compared, "results": results})
    text = json.dumps({"tasks": tasks, "rows": rows}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")  # nothing in it ends the element that it stands in


def _line(
    row: StandingsRow, standings: Standings, board: Board, columns: Sequence[StandingColumn], registry: Registry
) -> PageRow:
    cells = []
    for column in columns:
        text = column.text(row) or ABSENT
        value = column.value(row) if text != ABSENT else None
        picture = detail = ""
        if column.name == "found":
            text = f"{row.found.k:,} of {row.found.n:,}" if row.found.n else ABSENT
            detail = f"({share(row.found.share)})" if row.found.n else ""
            picture = f'<span class="bar" style="--share:{100 * (row.found.share or 0):.1f}%"></span>'
        elif column.name == "rank":
            picture = rank_bar(row, len(standings.ranked))
            if row.interval is not None:
                detail = f"({row.interval[0]:.1f} - {row.interval[1]:.1f})"
        cells.append(PageCell(text, value, picture, detail))
    own = _cells(board, row.searcher)
    position = str(row.position).strip() if row.position else ABSENT
    known = registry.searchers.get(bare_name(row.searcher.name))
    groups = [task.groups[row.searcher] for task in board.matrix.tasks if row.searcher in task.groups]
    alone = sum(group.loss_alone for group in groups)
    state = [state_text(row, standings), f"{MARK} on {plural(alone, 'task')}" if alone else ""]
    return PageRow(
        position=position,
        label=visible(row.label),
        state="; ".join(filter(None, state)),
        method="" if known is None else visible(known.entry.summary),
        url="" if known is None else known.entry.url,
        cells=tuple(cells),
        facts=tuple(_facts(row, own, alone)),
        command=_command(own),
        record=tuple(_record_lines(board, row.searcher)),
    )


def _cells(board: Board, searcher: ComparedSearcher) -> list[CellSummary]:
    groups = (task.groups.get(searcher) for task in board.matrix.tasks)
    return [cell for group in groups if group is not None for cell in group.cells]


def _facts(row: StandingsRow, own: list[CellSummary], alone: int) -> list[tuple[str, str]]:
    """Return terms with what the record says of a row, `alone` tasks of which were searched for the loss alone."""
    facts = []
    if row.why:
        facts.append(("not ranked", row.why))
    if alone:
        facts.append(("objectives", f"{MARK}, and judged under the task's objective: {plural(alone, 'task')}"))
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


def _record_lines(board: Board, searcher: ComparedSearcher) -> list[CellLine]:
    found = []
    for task in board.matrix.tasks:
        group = task.groups.get(searcher)
        for cell in group.cells if group is not None else ():
            note = f"failed: {cell.failure}" if cell.failure else f"skipped: {cell.skipped}" if cell.skipped else ""
            count = f"{sum(cell.successes):,} of {cell.searches:,}" if cell.searches else ABSENT
            found.append(CellLine(visible(task.label), cell.info.fold, count, record_key(cell), visible(note)))
    return found
