"""The overall table as lines of text, with the header above it."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from cfbench.analysis.board import Board
from cfbench.analysis.groups import GroupBy, Task
from cfbench.analysis.standings import Basis, Standings, StandingsRow
from cfbench.board.columns import (
    LOSS_ALONE,
    NOT_MEASURED,
    SIGNIFICANCE,
    StandingColumn,
    column_named,
    columns_of,
    marked_label,
    state_text,
)
from cfbench.board.text import GAP, StyledLine, both_ends, explained, wrapped
from cfbench.text import plural, visible

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard

SHOWN = 5
"""Notes below a table of text, unless all are wanted."""
ALL = "`--notes` shows all, `notes` of a board in Python"


def note_lines(notes: Sequence[str], width: int, *, whole: bool) -> list[StyledLine]:
    """Lay notes out below a table."""
    if whole:
        return [line for note in notes for line in wrapped(f"Note: {note}", width, "yellow", hanging=6)]
    texts = [f"Note: {visible(note)}" for note in notes[:SHOWN]]
    lines = [
        StyledLine(text if cell_len(text) <= width else f"{set_cell_size(text, width - 3)}...", "yellow")
        for text in texts
    ]
    more = f"and {len(notes) - SHOWN} more" if len(notes) > SHOWN else ""
    cut = "cut at ..." if any(cell_len(text) > width for text in texts) else ""
    if more or cut:
        lines += wrapped(f"Note: {more or cut}: {ALL}", width, "yellow", hanging=6)
    return lines


def about(board: Board, record: str = "") -> str:
    """Say which cells a board is of: a mark that is equal for equal cells, seeds, the record where it is given."""
    seeds = f"  seed {', '.join(map(str, board.seeds))}" if board.seeds else ""
    return f"cfbench leaderboard  study {board.mark[:7]}{seeds}{f'  record {visible(record)}' if record else ''}"


def coverage(standings: Standings) -> str:
    """Say how many cells are in the numbers, as a run counts them: skipped ones are apart."""
    cells = plural(standings.cells - standings.skipped, "cell")
    if standings.failed:
        cells = f"{standings.ran:,} of {cells} ({standings.failed:,} failed)"
    return f"{cells}, {standings.skipped:,} skipped" if standings.skipped else cells


def tasks_of(standings: Standings) -> str:
    """Say how many tasks are in play, and what they are made of."""
    tasks = standings.in_play or standings.tasks
    able = f" (each of the white boxes can do {'it' if len(tasks) == 1 else 'them'})" if standings.white else ""
    return f"{'1 task:' if len(tasks) == 1 else 'tasks'} {make_up(standings)}{able}"


def make_up(standings: Standings) -> str:
    """Say what the tasks in play are made of; of a single one, which it is."""
    tasks = [view.task for view in (standings.in_play or standings.tasks)]
    if len(tasks) == 1:
        return visible(str(tasks[0]))
    several = {what: values for what, values in _parts(tasks).items() if len(values) > 1}
    written = [f"{len(values)} {what if what == 'constraints' else f'{what}s'}" for what, values in several.items()]
    is_product = math.prod(map(len, several.values())) == len(tasks)
    made = f" = {' x '.join(written)}" if is_product else f": {', '.join(written)}"
    return f"{len(tasks)}{made}"


def alike(standings: Standings) -> str:
    """Say what all tasks in play have in common; empty where they are one, or differ in everything."""
    tasks = [view.task for view in (standings.in_play or standings.tasks)]
    parts = _parts(tasks)
    common = [f"{what} {next(iter(values))}" for what, values in parts.items() if len(values) == 1]
    return visible(f"all with {', '.join(common)}") if common and len(tasks) > 1 else ""


def searches_a_task(standings: Standings) -> str:
    """Say how many searches were made of each task, and whether of all ranked searchers alike."""
    if not standings.ranked:
        return ""
    counts = [view.searches for view in standings.in_play]
    if any(count is None for count in counts):
        return "ranked searchers made different numbers of searches"
    known = sorted({count for count in counts if count is not None})
    number = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,}-{known[-1]:,}"
    return f"{number} {'search' if known == [1] else 'searches'} a task, the same for all"


def _parts(tasks: Sequence[Task]) -> dict[str, set[str]]:
    return {what: {task.parts[what] for task in tasks} for what in tasks[0].parts} if tasks else {}


LABEL_AT = 4
"""Where searchers' labels begin, behind their positions."""
LONGEST_LABEL = 28
"""A searcher's label beyond this stands on a line of its own."""
RIGHT = ("queries",)
"""Columns whose header ends where their numbers end; the others' begin where their numbers begin."""


@dataclass(frozen=True)
class _Placed:
    """A column with its place."""

    column: StandingColumn
    cells: list[str]
    start: int
    stop: int
    title_at: int
    unit_at: int


def standings_lines(shown: Leaderboard, width: int, *, keep_all: bool = False) -> list[StyledLine]:
    """Lay out a board's overall tables: what they are of, each table, legend, cautions.

    With `keep_all`, tables may be wider than `width`, and no column is left out.
    """
    board, names = shown.board, shown.columns
    lines: list[StyledLine] = []
    table_width = sys.maxsize if keep_all else width
    tables = [_table(part, table_width, names, shown.by) for part in board.parts]
    notes = shown.notes  # with what comparison metrics did wrong, which the tables compute
    end = max(cell_len(line.text) for table, _ in tables for line in table)
    left_out = dict.fromkeys(name for _, missing in tables for name in missing)
    if left_out and names:  # what was asked for
        text = f"columns that do not fit into {width} signs: {', '.join(left_out)}; `--format csv` has all"
        notes = (text, *notes)
    remarks = note_lines(notes, width, whole=shown.all_notes)
    lines += both_ends(about(board), coverage(board.standings), end, width, "bold")
    if not board.standings.ran:  # then nothing else is worth reading first
        lines, remarks = lines + remarks, []
    for part, (table, _) in zip(board.parts, tables, strict=True):
        if part.title:
            counted = "" if part.white or board.group_by is GroupBy.NOTHING else coverage(part)
            lines += [StyledLine(""), *both_ends(part.title, counted, end, width, "bold cyan")]
        lines += both_ends(tasks_of(part), searches_a_task(part), end, width)
        lines += wrapped(alike(part), width) if alike(part) else []
        lines += [StyledLine(""), *table]
        if len(board.parts) > 1:
            lines += wrapped(f"    {_counts(part, names)}", width, "dim", hanging=LABEL_AT)
    lines.append(StyledLine(""))
    legend = _legend(board.parts, names, left_out)
    if left_out and not names:
        legend.append(("more", f"no room here for {', '.join(left_out)}: `--columns` says what to show"))
    lines += explained([*legend, ("record", shown.record)], width)
    for gap in shown.gap_commands():
        lines += [*remarks, *wrapped(f"To rank {visible(', '.join(gap.searchers))}:", width)]
        # A command is never broken, so that it can be copied.
        lines += [StyledLine(f"  {visible(command)}") for command in gap.commands]
        remarks = []
    return lines + remarks


def _table(standings: Standings, width: int, names: Sequence[str], by: str) -> tuple[list[StyledLine], list[str]]:
    """Return the lines of a table, and the names of the columns that do not fit."""
    columns = columns_of(standings, names)
    rows = column_named(columns, by).sorted_rows() if by else list(standings.rows)
    placed = _fitting(rows, columns, standings, width)
    lines = [
        StyledLine(_written([(at.title_at, at.column.title) for at in placed], "searcher"), "bold"),
        StyledLine(_written([(at.unit_at, at.column.unit) for at in placed], ""), "dim"),
    ]
    for number, row in enumerate(rows):
        label = visible(marked_label(row))
        cells = [(at.stop - cell_len(at.cells[number]), at.cells[number]) for at in placed]
        state = _state(state_text(row, standings), placed, number, width)
        position = f"{row.position!s:>3}" if row.position else " - "
        if cell_len(label) > LONGEST_LABEL:
            lines += wrapped(f"{position} {label}", width, hanging=LABEL_AT)
            position, label = "", ""
        lines.append(StyledLine(_written([*cells, *state], label, position)))
    return lines, [column.name for column in columns[len(placed) :]]


def _state(text: str, placed: Sequence[_Placed], number: int, width: int) -> list[tuple[int, str]]:
    """Put the reason for a missing rank into the row's empty rank columns."""
    at = next((i for i, one in enumerate(placed) if one.column.compares and not one.cells[number]), None)
    if at is None or not text:
        return []
    following = [one.stop - cell_len(one.cells[number]) for one in placed[at:] if one.cells[number]]
    room = min(following, default=width + len(GAP)) - len(GAP) - placed[at].start
    for shorter in (text, text.partition(" (")[0]):
        if cell_len(shorter) <= room:
            return [(placed[at].start, shorter)]
    return []


def _fitting(
    rows: Sequence[StandingsRow], columns: Sequence[StandingColumn], standings: Standings, width: int
) -> list[_Placed]:
    labels = [cell_len(visible(marked_label(row))) for row in rows]
    label_end = LABEL_AT + max([cell_len("searcher"), *(size for size in labels if size <= LONGEST_LABEL)])
    kept = list(columns)
    while True:
        placed = _placed(rows, kept, standings, label_end)
        end = max(
            max(at.stop, at.title_at + cell_len(at.column.title), at.unit_at + cell_len(at.column.unit))
            for at in placed
        )
        if end <= width or len(kept) == 1:
            return placed
        kept.pop()


def _placed(
    rows: Sequence[StandingsRow], columns: Sequence[StandingColumn], standings: Standings, label_end: int
) -> list[_Placed]:
    title_end, unit_end, cells_end = LABEL_AT + len("searcher"), 0, label_end
    placed = []
    for column in columns:
        cells = [column.text(row) for row in rows]
        title, unit = cell_len(column.title), cell_len(column.unit)
        size = max(map(cell_len, cells), default=0)
        if column.compares and not standings.ranked:  # then no row of empty columns has room for a word of its state
            size = max([size, *(cell_len(state_text(row, standings)) for row in rows)])
        right = max(size, title, unit) if column.name in RIGHT else 0
        starts = [cells_end + len(GAP) + min(0, size - right) if right else cells_end + len(GAP)]
        starts += [title_end + len(GAP) - (right - title if right else 0)] if title else []
        starts += [unit_end + len(GAP) - (right - unit if right else 0)] if unit else []
        start = max(starts)
        if right:
            stop = start + right
            at = _Placed(column, cells, stop - size, stop, stop - title, stop - unit)
        else:
            at = _Placed(column, cells, start, start + max(size, min(title, size + 2) if size else 0), start, start)
        placed.append(at)
        cells_end = max(cells_end, at.stop)
        title_end = max(title_end, at.title_at + title) if title else title_end
        unit_end = max(unit_end, at.unit_at + unit) if unit else unit_end
    return placed


def _written(texts: Sequence[tuple[int, str]], label: str, position: str = "") -> str:
    line = f"{position:<{LABEL_AT}}{label}"
    for at, text in sorted(texts):
        if text:
            line += " " * (at - cell_len(line)) + text
    return line.rstrip()


def _legend(parts: Sequence[Standings], names: Sequence[str], left_out: Collection[str]) -> list[tuple[str, str]]:
    """Return what the columns mean; what differs between parts is said of each."""
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for part in parts:
        for column in columns_of(part, names):
            if column.legend and column.name not in left_out:
                words = column.explained if len(parts) == 1 else column.legend
                said[column.title][f"{words}{_better(column)}"].append(part.title or column.unit)
            if column.name == "rank" and any(row.group for row in part.rows):
                said[SIGNIFICANCE[0]][SIGNIFICANCE[1]].append(part.title)
        if any(row.loss_alone for row in part.rows):
            said[LOSS_ALONE[0]][LOSS_ALONE[1]].append(part.title)
        if part.basis is Basis.OWN_POINTS:
            on = f"ranks and losses are on those points alone that {_owners(part)}"
            said["points"][on].append(part.title)
        if part.limits:
            said["limits"][part.limits].append(part.title)
    return [
        (term, meaning if len(meanings) == 1 else f"{meaning} ({', '.join(titles)})")
        for term, meanings in said.items()
        for meaning, titles in meanings.items()
    ]


def _owners(standings: Standings) -> str:
    """Say which searchers decide what counts: the user's own, or all black boxes."""
    labels = [visible(row.label) for row in standings.rows if row.searcher.yours]
    verb = "have" if len(labels) > 1 else "has"
    return f"{' and '.join(labels) or 'every black box'} {verb} results for"


def _counts(standings: Standings, names: Sequence[str]) -> str:
    """Say in one line what the numbers of one of several tables are counted over."""
    alike: dict[str, dict[str, None]] = defaultdict(dict)
    for column in columns_of(standings, names):
        if column.counted:
            alike[column.counted][column.title] = None
    return "; ".join(
        f"{', '.join(titles)} {counted if counted == NOT_MEASURED else f'on {counted}'}"
        for counted, titles in alike.items()
    )


def _better(column: StandingColumn) -> str:
    return f"; {column.direction.value} is better" if column.arrow and column.name not in ("found", "rank") else ""
