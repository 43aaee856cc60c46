"""``cfbench drop``: cells leave a record, with everything that belongs to them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import aligned, command_name, results_option, tell, this_command
from cfbench.errors import UnknownNameError
from cfbench.text import plural, visible

if TYPE_CHECKING:
    from cfbench.record.cells import CellSummary
    from cfbench.record.store import Record

HEADER = (
    *("searcher", "version", "data set", "model"),
    *("cells", "no result", "searches", "measures", "preparations"),
)


@click.command("drop", short_help="Remove cells from a record.")
@results_option
@click.option("--searcher", "searchers", multiple=True, metavar="NAME", help="Only this searcher. May be repeated.")
@click.option("--version", metavar="VERSION", help="Only cells of this version of their searcher.")
@click.option("--dataset", "datasets", multiple=True, metavar="NAME", help="Only this data set. May be repeated.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Only this model. May be repeated.")
@click.option("--objective", "objectives", multiple=True, metavar="NAME", help="Only this objective. May be repeated.")
@click.option("--failed", is_flag=True, help="Only cells without results: those that failed or were skipped.")
@click.option("--yes", is_flag=True, help="Remove without asking, as in a script.")
def command(
    *,
    results: Path,
    searchers: Sequence[str],
    version: str | None,
    datasets: Sequence[str],
    models: Sequence[str],
    objectives: Sequence[str],
    failed: bool,
    yes: bool,
) -> None:
    """Remove the cells that match all given options from the record at --results.

    A name matches every variant of the entry; a name with settings, as in "cogs[population_size=500]", matches one.

    The command lists what it would remove, and asks first. It removes the cells with their searches, their measures and
    what their preparations took, and cannot undo that. Runs in MLflow stay.
    """
    if not (searchers or version is not None or datasets or models or objectives or failed):
        raise click.UsageError(
            "say which cells to remove, for example with --searcher NAME or --failed; to remove all of them, delete "
            f"the directory {results}"
        )
    from cfbench.analysis.groups import Selection
    from cfbench.record.files import check_record
    from cfbench.record.store import Record
    from cfbench.tracking.addresses import remembered_tracking, shown_address

    check_record(results)
    tracked = remembered_tracking(results)
    with Record.open(results, write=True) as record:  # the lock is held until the question is answered
        summaries = record.summaries()
        unnamed = len(record.pending() - summaries.keys())
        cells = Selection(datasets, models, objectives, searchers=searchers).of(summaries.values())
        if version is not None:
            cells = _of_version(cells, version)
        if failed:
            cells = [cell for cell in cells if not cell.has_results]
        if cells:
            listing, total = _listing(record, cells)
            click.echo(listing)
            if not yes:
                _ask(total, results)
            record.remove(cell.info.key for cell in cells)
            click.echo(f"{total} removed from {results}; {plural(len(summaries) - len(cells), 'cell')} left")
        else:
            click.echo(f"nothing to remove: no cell of {results} matches")
    for problem in record.problems:
        tell("Warning", problem)
    if unnamed:
        tell(
            "Note",
            f"{plural(unnamed, 'cell')} with searches, but never finished: the record does not name their searchers, "
            f"and they stay. `{command_name()} run` with their study finishes them",
        )
    if cells and tracked is not None and tracked.tracking:
        tell(
            "Note",
            f"the runs of these cells stay in MLflow, in the experiment {tracked.study!r} of "
            f"{shown_address(tracked.tracking)}: delete them there. The next run that logs a cell renews the summary",
        )


def _of_version(cells: Iterable[CellSummary], version: str) -> list[CellSummary]:
    found: dict[str, list[CellSummary]] = {}
    for cell in cells:
        found.setdefault(cell.info.versions.get("searcher", ""), []).append(cell)
    if version not in found:
        raise UnknownNameError("searcher's version among these cells", version, found)
    return found[version]


def _listing(record: Record, cells: Sequence[CellSummary]) -> tuple[str, str]:
    """Return the table of what would be removed, and its total in words."""
    from cfbench.record.schema import MEASURES, PREPARATIONS, SEARCHES

    counts = [record.rows_per_cell(table) for table in (SEARCHES, MEASURES, PREPARATIONS)]
    groups: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
    for cell in cells:
        info = cell.info
        place = (info.searcher, info.versions.get("searcher", ""), info.dataset, info.model)
        numbers = (1, not cell.has_results, *(count[info.key] for count in counts))
        groups.setdefault(tuple(map(visible, place)), []).append(numbers)
    sums = {place: [sum(column) for column in zip(*numbers, strict=True)] for place, numbers in sorted(groups.items())}
    lines = [HEADER, *((*place, *(f"{number:,}" for number in numbers)) for place, numbers in sums.items())]
    n_cells, _, *rest = (sum(column) for column in zip(*sums.values(), strict=True))
    named = zip((n_cells, *rest), ("cell", "search", "measure", "preparation"), strict=True)
    return "\n".join(aligned(lines, left=4)), ", ".join(plural(number, what) for number, what in named if number)


def _ask(total: str, results: Path) -> None:
    """Ask whether to remove what was listed; exit with 1 if the answer is no, or if there is no terminal."""
    if not _has_terminal():
        tell(
            "Error",
            f"nothing was removed: without a terminal the command cannot ask. To remove {total}, add --yes: "
            f"{this_command()} --yes",
        )
        sys.exit(1)
    if not click.confirm(f"Remove {total} from {results}?"):
        click.echo("nothing was removed")
        sys.exit(1)


def _has_terminal() -> bool:
    return sys.stdin.isatty()
