"""What stands above a table: what it is of, how much of it there is, and on what searchers are compared."""

from __future__ import annotations

from collections.abc import Sequence

from cfbench.analysis.board import Board
from cfbench.analysis.groups import Task
from cfbench.analysis.standings import Standings
from cfbench.counts import plural
from cfbench.leaderboard.safe import visible


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
    product = 1
    for values in several.values():
        product *= len(values)
    written = [_several(what, len(values)) for what, values in several.items()]
    made = f" = {' x '.join(written)}" if product == len(tasks) else f": {', '.join(written)}"
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
    return {
        "data set": {task.dataset for task in tasks},
        "model": {task.model for task in tasks},
        "objective": {task.objective for task in tasks},
        "constraints": {"on" if task.constraints else "off" for task in tasks},
    }


def _several(what: str, number: int) -> str:
    return f"{number} {what}" if what == "constraints" else f"{number} {what}s"
