"""``cfbench merge``: several records become one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import command_name, tell
from cfbench.text import plural

if TYPE_CHECKING:
    from cfbench.record.merge import MergeReport


@click.command("merge", short_help="Merge records, such as the shards of a study, into one.")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    help="The record to merge into, new or existing.  [required]",
)
@click.option("--mixed-models", is_flag=True, help="Also merge searches on differently fitted models of one fold.")
def command(directories: tuple[Path, ...], results: Path | None, *, mixed_models: bool) -> None:
    """Merge the records in DIR... into the one at --results, as in `cfbench merge part-1 part-2 --results whole`.

    The records in DIR... are only read, even while a run writes them.

    A search that several of them hold must have the same result everywhere, except for times. If it differs, its cell
    is named and left out; everything else is merged. Repeat the command after an interruption.
    """
    if results is None:
        raise click.UsageError(
            "name the record that they are merged into, a new one or one that holds something: "
            f"merge {shlex.join(map(str, directories))} --results DIR"
        )
    from rich.console import Console
    from rich.progress import Progress

    from cfbench.record.merge import merge_records
    from cfbench.tracking.addresses import remember_tracking, remembered_tracking

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("Cells", total=None)
        report = merge_records(
            directories,
            results,
            mixed_models=mixed_models,
            progress=lambda done, of: shown.update(task, completed=done, total=of),
        )
    studies = {known.study for path in directories if (known := remembered_tracking(path)) is not None}
    if remembered_tracking(results) is None and len(studies) == 1:
        remember_tracking(results, studies.pop(), "")
    for sentence in [*report.conflicts, *report.damage]:
        tell("Conflict" if sentence in report.conflicts else "Damaged", sentence)
    click.echo("\n".join(_summary(report, results)))
    if not report.complete:
        sys.exit(1)


def _summary(report: MergeReport, results: Path) -> list[str]:
    left_out = report.cells - report.added - report.grown - report.same
    numbers = {
        "new": report.added,
        "grown": report.grown,
        "there already": report.same,
        "left out": left_out,
    }
    counts = ", ".join(f"{count:,} {what}" for what, count in numbers.items() if count) or "none"
    lines = [f"{plural(report.cells, 'cell')} ({counts}), {plural(report.searches, 'new search')}: {results}"]
    option = f"--results {shlex.quote(str(results))}"
    name = command_name()
    if report.kept_by_clock:
        lines.append(
            f"{report.kept_by_clock:,} searches ended by the clock in one record and not in another: the first is kept"
        )
    if report.waiting:
        lines.append(f"{report.waiting:,} cells are not finished: `{name} run` with their study and {option} goes on")
    if report.unmeasured:
        lines.append(f"{report.unmeasured:,} cells have grown: `{name} measure {option}` measures them anew")
    lines.append(
        f"Go on with `{name} leaderboard {option}`; `{name} plan STUDY {option}` says what of a study is missing, "
        f"`{name} sync {option}` logs the cells to MLflow"
    )
    return lines
