"""``cfbench judge``: results that were made elsewhere, judged and stored like those of a search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import FOLD, Sources, command_name, results_option, source_options, tell
from cfbench.errors import StudyError

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry
    from cfbench.running.elsewhere import PreparedCell

NAMELESS = "made-elsewhere"
"""The searcher in the plan of a template, which has no results yet."""


@click.command("judge", short_help="Judge results that were made elsewhere, from a file.")
@click.argument("table", metavar="[RESULTS.csv]", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--dataset", required=True, metavar="NAME|./FOLDER", help="Data set.")
@click.option("--model", required=True, metavar="NAME[SETTING=VALUE,...]", help="Model, as cfbench fits it.")
@click.option("--searcher", metavar="NAME", help="What the board calls the results, as in my-method.")
@click.option("--fold", type=FOLD, default=0, show_default=True, metavar="N", help="Fold, from 0 to 4.")
@click.option(
    "--constraints",
    type=click.Choice(["on", "off"]),
    default="off",
    show_default=True,
    help="Constraints: whether the counterfactuals must obey them.",
)
@click.option(
    "--objective",
    default="none",
    show_default=True,
    metavar="NAME[SETTING=VALUE,...]",
    help="Judge the results under this objective as well. They count as searched for the loss alone.",
)
@click.option(
    "--points",
    type=click.IntRange(min=1),
    metavar="N",
    help="Points that were searched from; those without a result count as not found.  [default: up to the last one "
    "with a result]",
)
@click.option("--white-box", is_flag=True, help="The search looked inside the model.")
@click.option("--respect-steps", is_flag=True, help="Values off a feature's step are invalid.")
@click.option("--seed", type=int, default=42, show_default=True, metavar="N", help="Seed of the order of points.")
@click.option(
    "--example",
    is_flag=False,
    flag_value="wide",
    type=click.Choice(["wide", "long"]),
    help="Write a template with the factuals of the fold to standard output, and judge nothing; long: two lines per "
    "point.",
)
@results_option
@source_options
def command(*, table: Path | None, example: str | None, results: Path, sources: Sources, **chosen: Any) -> None:
    """Judge results that were made elsewhere, and store them in a record.

    RESULTS.csv has factuals and counterfactuals in raw units; --example writes a template. A wide table has the columns
    factual.NAME and counterfactual.NAME of every feature, one line per search. A long one has a column "role" (factual
    or counterfactual), the features, and "row" or "case". Columns "row", "repetition", "seconds" and "queries" may be
    absent: what is unknown stays empty on the board, which marks the results "not run here".

    A counterfactual that is wrong is an invalid result, with the reason. Judging the same searcher, data set, model and
    fold again replaces the earlier results.
    """
    if (example is None) == (table is None):
        raise click.UsageError("name the file with the results, or write a template with --example")
    name, points = chosen.pop("searcher"), chosen.pop("points")
    if table is not None and name is None:
        raise click.UsageError("name the results with --searcher NAME, as the board shall call them")
    from cfbench.record.store import Record
    from cfbench.running.elsewhere import judge_results
    from cfbench.running.results_file import read_results, template

    registry, task = prepared(sources, searcher=name or NAMELESS, **chosen)
    dataset = task.fitted_fold.dataset
    if table is None:
        click.echo(template(task.space, dataset.X, task.eligible[:points], long=example == "long"), nl=False)
        return
    given = read_results(table, task.space)
    with Record.open(results, write=True) as record:
        judged = judge_results(task, given, registry, record, points=points)
    click.echo(str(judged))
    click.echo(f"The board: {command_name()} leaderboard --results {results}")


def prepared(
    sources: Sources, *, dataset: str, white_box: bool, constraints: str, fold: int, **more: Any
) -> tuple[Registry, PreparedCell]:
    """Return the registry and the cell that a command's options name, with its model."""
    from cfbench.registry.own_models import references_among
    from cfbench.running.elsewhere import PreparedCell, registry_for

    if references_among([more["model"]]):
        raise StudyError(
            f"{more['model']} is a model of your own, and this command takes only models that cfbench fits on a fold: "
            "`cfbench plugins` lists them; --plugin adds a model family of yours"
        )
    registry = registry_for(more["searcher"], sources.plugins, [dataset], white_box=white_box, strict=sources.strict)
    for problem in registry.problems:
        tell("Warning", problem)
    more |= {"constraints": [constraints == "on"], "folds": [fold]}
    return registry, PreparedCell.prepare(
        registry, sources.data(), lambda sentence: tell("Note", sentence), dataset=dataset, **more
    )
