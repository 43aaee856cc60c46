"""``cfbench leaderboard``: the board of a record. It reads the index and runs nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import open_registry, plugin_option, results_option, strict_option
from cfbench.errors import CfbenchError, RecordError

if TYPE_CHECKING:
    from cfbench.analysis.board import Board

DEFAULT_REFERENCE = "cogs"


@click.command("leaderboard", short_help="Show the leaderboard of a record.")
@results_option
@click.option(
    "--reference",
    metavar="SEARCHER",
    help=f"The searcher whose loss the others are compared with.  [default: {DEFAULT_REFERENCE}]",
)
@click.option("--dataset", "datasets", multiple=True, metavar="NAME", help="Show this data set. May be repeated.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Show this model. May be repeated.")
@click.option("--objective", "objectives", multiple=True, metavar="NAME", help="Show this objective. May be repeated.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "csv", "json"]),
    default="table",
    show_default=True,
    help="How to write it; csv and json hold every number, unrounded.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead of the terminal."
)
@plugin_option
@strict_option
def command(
    *,
    results: Path,
    reference: str | None,
    datasets: Sequence[str],
    models: Sequence[str],
    objectives: Sequence[str],
    form: str,
    output: Path | None,
    plugins: Sequence[str],
    strict: bool,
) -> None:
    """Show the leaderboard of a record.

    Per data set, model, objective and constraints: success rate, loss, relative change in loss against a reference
    searcher, seconds and queries, each with what it is counted over. Nothing is searched or fitted.
    """
    from cfbench.analysis.board import make_board
    from cfbench.analysis.selection import Selection
    from cfbench.harness.store.record import Record

    if not results.is_dir():
        raise _nothing(results)
    with Record.open(results) as record:
        summaries = record.summaries()
        pending = record.pending()
        under_way = 0 if summaries else sum(len(record.done(key)) for key in pending)
        problems = list(record.problems)
    for problem in problems:
        click.echo(f"Warning: {problem}", err=True)
    if under_way:
        raise _nothing_finished(results, under_way)
    if not summaries:
        raise _nothing(results)
    board = make_board(
        summaries.values(),
        open_registry(plugins, strict=strict),
        reference or DEFAULT_REFERENCE,
        need_reference=reference is not None,
        selection=Selection(datasets, models, objectives),
        unfinished=len(pending),
    )
    if form == "table" and output is None:
        from cfbench.leaderboard.terminal import show

        show(board, str(results))
        return
    text = rendered(board, str(results), form)
    if output is None:
        click.echo(text, nl=False)
    else:
        write(text, output)


def rendered(board: Board, record: str, form: str) -> str:
    """Return the board as plain text in the format `form`."""
    if form == "table":
        from cfbench.leaderboard.terminal import render_text

        return render_text(board, record)
    if form == "markdown":
        from cfbench.leaderboard.markdown import render_markdown

        return render_markdown(board, record)
    from cfbench.leaderboard.tabular import render_csv, render_json

    return render_csv(board) if form == "csv" else render_json(board)


def write(text: str, output: Path) -> None:
    """Write a rendered board to a file.

    Raises
    ------
    CfbenchError
        If the file cannot be written.
    """
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CfbenchError(
            f"{output} cannot be written: {error.strerror or error}; name a file in a folder that exists and that you "
            "may write to"
        ) from error


def _nothing_finished(results: Path, searches: int) -> RecordError:
    held = f"{searches:,} {'search' if searches == 1 else 'searches'}"
    return RecordError(
        f"there is nothing to show in {results} yet: it holds {held}, but no finished cell. If its run was stopped, "
        "the same `cfbench run` command goes on where it was"
    )


def _nothing(results: Path) -> RecordError:
    return RecordError(
        f"there is nothing to show in {results}: no cell is finished. Run a study first, for a start\n"
        f"  cfbench run --preset quick --results {shlex.quote(str(results))}"
    )
