"""``cfbench leaderboard``: the board of a record. It reads the record and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import (
    Sources,
    command_name,
    plugin_options,
    results_option,
    tell,
    tie_option,
)
from cfbench.cli.sync import from_tracking_options, results_to_read
from cfbench.errors import StudyError

if TYPE_CHECKING:
    from cfbench.analysis.ranks import Tolerance


class ColumnsOption(click.Option):
    """An option whose help names the columns that there are; they are looked up only for the help."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option with its help."""
        from cfbench.board.columns import groups_of, names_without_metrics
        from cfbench.registry.registry import build_registry

        registry = build_registry()
        template = self.help or ""
        self.help = template.format(
            columns=", ".join(names_without_metrics(registry)), groups=", ".join(groups_of(registry))
        )
        try:
            return super().get_help_record(ctx)
        finally:
            self.help = template


@click.command("leaderboard", short_help="Show the leaderboard of a record.")
@results_option
@from_tracking_options
@click.option("--by", default="", metavar="COLUMN", help="Sort by this column; positions stay those of the rank.")
@click.option(
    "--group-by",
    type=click.Choice(["dataset", "model", "objective", "constraints", "task"]),
    help="One table per value, each with its own ranks; `task` shows every task.",
)
@click.option("--dataset", "datasets", multiple=True, metavar="NAME", help="Show this data set. May be repeated.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Show this model. May be repeated.")
@click.option("--objective", "objectives", multiple=True, metavar="NAME", help="Show this objective. May be repeated.")
@click.option(
    "--searcher",
    "searchers",
    multiple=True,
    metavar="NAME",
    help="Show this searcher; ranks are computed among those shown. May be repeated.",
)
@click.option("--constraints", type=click.Choice(["on", "off"]), help="Show only tasks with constraints on, or off.")
@click.option(
    "--columns",
    cls=ColumnsOption,
    multiple=True,
    metavar="NAME,...",
    help="Show these columns: {columns}; the columns of a group: {groups}; or any metric by its name, with settings as "
    "in NAME[setting=value].",
)
@click.option(
    "--on",
    "basis",
    type=click.Choice(["solved-by-all", "own-successes", "own-points"]),
    default="solved-by-all",
    show_default=True,
    help="Points over which losses and metrics are averaged; `own-points` also ranks only on the points that your "
    "searchers have (with --with-published, else those of --searcher).",
)
@tie_option
@click.option(
    "--reference",
    metavar="SEARCHER",
    help="The searcher whose loss the others are compared with.  [default: that of the study or of the presets]",
)
@click.option("--notes", "all_notes", is_flag=True, help="Show every note in full, not only the first few.")
@click.option("--with-published", is_flag=True, help="Show the record together with the published one.")
@click.option("--protocol", default="", metavar="VERSION", help="Show only cells of this version of the protocol.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "csv", "json", "latex", "html"]),
    default="table",
    show_default=True,
    help="Output format; csv and json hold every number, unrounded; html is a page.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead of the terminal."
)
@plugin_options
def command(
    *,
    results: Path,
    from_tracking: str | None,
    study: str,
    by: str,
    group_by: str | None,
    datasets: Sequence[str],
    models: Sequence[str],
    objectives: Sequence[str],
    searchers: Sequence[str],
    constraints: str | None,
    columns: Sequence[str],
    basis: str,
    tie: Tolerance | None,
    reference: str | None,
    all_notes: bool,
    with_published: bool,
    protocol: str,
    form: str,
    output: Path | None,
    sources: Sources,
) -> None:
    """Show the leaderboard of a record.

    Searchers are ranked over all tasks (data set, model, objective, constraints), by the value that each task
    minimises. The table shows found, rank with its interval, objective value, loss, robustness, seconds and queries,
    each with what it is counted over. Nothing is searched or fitted.
    """
    from cfbench.analysis.groups import GroupBy, Selection
    from cfbench.analysis.published import opened_record
    from cfbench.analysis.standings import Basis
    from cfbench.board.board import check_output, leaderboard_of, write_output
    from cfbench.board.columns import page_columns
    from cfbench.board.text import show

    for file in files_of(output, form):
        check_output(file)
    registry = sources.registry()
    results = results_to_read(results, from_tracking, study, registry)
    shown = leaderboard_of(
        opened_record(results, with_published=with_published),
        registry,
        reference=reference,
        selection=Selection(
            datasets, models, objectives, None if constraints is None else constraints == "on", protocol, searchers
        ),
        columns=names_in(columns) or (page_columns(registry) if form == "html" else ()),
        by=by,
        group_by=GroupBy(group_by or ""),
        basis=Basis(basis),
        tolerance=tie,
        shown_as=str(results),
    )
    shown = replace(shown, all_notes=all_notes, command=command_name())
    for problem in shown.problems:
        tell("Warning", problem)
    if output is not None and form == "html":
        _, numbers = files_of(output, form)
        write_output(shown.render("csv"), numbers)
        from cfbench.board.page.render import page_of

        write_output(page_of(shown, numbers.name), output)
        click.echo(f"{output}, its numbers in {numbers}", err=True)
    elif output is not None:
        write_output(shown.render(form), output)
    elif form == "table":
        show(shown)
    else:
        click.echo(shown.render(form), nl=False)


def files_of(output: Path | None, form: str) -> tuple[Path, ...]:
    """Return the files to write; for a page, also the file of its numbers.

    Raises StudyError if both are the same file.
    """
    if output is None or form != "html":
        return () if output is None else (output,)
    numbers = output.with_suffix(".csv")
    if numbers == output:
        raise StudyError(f"--output {output} is the file of the page's numbers; name a page, as in board.html")
    return output, numbers


def names_in(texts: Sequence[str]) -> list[str]:
    """Split names at the commas outside brackets.

    Raises StudyError if the texts contain no name.

    Examples
    --------
    >>> names_in(["rank,loss", "depth[part=c,draws=10]"])
    ['rank', 'loss', 'depth[part=c,draws=10]']
    """
    names: list[str] = []
    for text in texts:
        depth = start = 0
        for i, sign in enumerate(f"{text},"):
            depth += (sign == "[") - (sign == "]")
            if sign == "," and depth <= 0:
                names.append(f"{text},"[start:i].strip())
                start = i + 1
        names.append(text[start:].strip())
    found = [name for name in names if name]
    if texts and not found:
        raise StudyError(f"--columns {', '.join(map(repr, texts))} names no column; write names, as in rank,loss")
    return found
