"""``cfbench export``: what other programs need to search on the points and the model of a fold."""

from __future__ import annotations

from pathlib import Path

import click

from cfbench.cli.judge import NAMELESS, prepared
from cfbench.cli.options import FOLD, Sources, source_options, tell
from cfbench.files import at_home
from cfbench.study.sources import may_be_passed_on
from cfbench.text import plural


@click.group("export", short_help="Write a fold's points and model for other programs.")
def command() -> None:
    """Write a fold's points and model for other programs."""


@command.command("points", short_help="Write the points, training rows and model of a fold.")
@click.option("--dataset", required=True, metavar="NAME|./FOLDER", help="Data set.")
@click.option("--model", required=True, metavar="NAME[SETTING=VALUE,...]", help="Model, as cfbench fits it.")
@click.option("--fold", type=FOLD, default=0, show_default=True, metavar="N", help="Fold, from 0 to 4.")
@click.option("--points", type=click.IntRange(min=1), metavar="N", help="Eligible points.  [default: all]")
@click.option("--seed", type=int, default=42, show_default=True, metavar="N", help="Seed of the order of points.")
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="The folder to write to; files of the same names are replaced.",
)
@source_options
def points_command(
    *, dataset: str, model: str, fold: int, points: int | None, seed: int, output: Path, sources: Sources
) -> None:
    """Write the points, training rows and model of a fold, for a search by another program.

    FOLDER receives points.csv, training.csv, features.json, results.csv (a template for `cfbench judge`), model.skops
    (needs the extra skops) and model.onnx (needs the extra onnx). A model file is written only if it gives exactly the
    model's classes on all rows of the data set and on rows with features drawn anew.
    """
    from cfbench.running.export import export_points

    registry, task = prepared(
        sources,
        dataset=dataset,
        model=model,
        searcher=NAMELESS,
        fold=fold,
        seed=seed,
        constraints="off",
        white_box=False,
    )
    chosen = task.eligible[:points]
    missing = export_points(task.cell, task.fitted_fold, chosen, at_home(output))
    for sentence in missing:
        tell("Note", sentence)
    if not may_be_passed_on(task.cell.dataset, registry):
        found = registry.datasets.get(task.cell.dataset)
        if found is not None and found.entry.folder is not None:
            tell("Note", f"you alone know whether the rows of {task.cell.dataset} may be passed on")
        else:
            tell("Note", f"the rows of {task.cell.dataset} may not be passed on")
    click.echo(f"{plural(len(chosen), 'point')} of {task.cell.dataset}, fold {fold}, model {model}: {output}")
