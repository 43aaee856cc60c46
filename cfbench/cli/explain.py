"""``cfbench explain``: one case for a person to read. It searches like a study, or reads the record."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from cfbench.cli.options import FOLD, Sources, model_options, source_options, tell, text_width
from cfbench.files import at_home
from cfbench.study.sources import folders_among

NOTHING_FOUND = 3
"""Exit code if the search found no counterfactual."""

DEFAULT_RESULTS = Path("results")


@click.command("explain", short_help="Explain one case: what to change, and what could undo it.")
@click.option("--dataset", required=True, metavar="NAME|./FOLDER", help="Data set.")
@click.option("--model", required=True, metavar="NAME[SETTING=VALUE,...]", help="Model.")
@click.option(
    "--point", type=int, metavar="I", help="The case: position among the fold's eligible points, from 0; or give --row."
)
@click.option("--row", type=int, metavar="N", help="The case by its row of the data set, from 0, instead of --point.")
@click.option(
    "--searcher",
    metavar="NAME[SETTING=VALUE,...]",
    help="Searcher.  [default: the reference of the default preset]",
)
@click.option("--objective", default="none", show_default=True, metavar="NAME[SETTING=VALUE,...]", help="Objective.")
@click.option(
    "--constraints",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Constraints: whether the result must obey them.",
)
@click.option("--fold", type=FOLD, default=0, show_default=True, metavar="N", help="Fold, from 0 to 4.")
@click.option("--respect-steps", is_flag=True, help="Values off a feature's step are invalid.")
@click.option("--query-budget", type=int, metavar="QUERIES", help="Most queries of the model that the search may make.")
@click.option("--seed", type=int, default=42, show_default=True, metavar="N", help="Seed of all random streams.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    help="A record: a search that it holds is read, not repeated.  [default: results, if it exists]",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@model_options
@source_options
def command(
    *,
    dataset: str,
    model: str,
    point: int | None,
    row: int | None,
    results: Path | None,
    form: str,
    sources: Sources,
    **chosen: Any,
) -> None:
    """Explain one case: what to change, what to keep, and what could undo it.

    The search is that of a study: the same seed, searcher and judge give the same result. Exits with 3 if no
    counterfactual was found.
    """
    from cfbench.explaining.explain import default_searcher
    from cfbench.explaining.explain_point import explain_point
    from cfbench.record.files import DATABASE_NAME, check_record

    if (point is None) == (row is None):
        raise click.UsageError("name the case with --point I, or with --row N")
    record = None if results is None else at_home(results)
    if record is None and (DEFAULT_RESULTS / DATABASE_NAME).is_file():
        record = DEFAULT_RESULTS
    if record is not None:
        check_record(record)  # before a model is fitted
    registry = sources.registry(folders_among([dataset]), [model])
    chosen["searcher"] = chosen["searcher"] or default_searcher(registry)
    explanation = explain_point(
        _study(dataset, model, chosen),
        registry,
        sources.data(),
        point=point,
        row=row,
        results=record,
        remark=lambda note: tell("Note", note),
    )
    if form == "json":
        click.echo(json.dumps(explanation.content(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo(explanation.text(text_width()))
    if not explanation.found:
        sys.exit(NOTHING_FOUND)


def _study(dataset: str, model: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a study of one cell."""
    return {
        "name": "explain",
        "datasets": [dataset],
        "models": [model],
        "searchers": [chosen["searcher"]],
        "objectives": [chosen["objective"]],
        "constraints": [chosen["constraints"] == "on"],
        "folds": [chosen["fold"]],
        "respect_steps": chosen["respect_steps"],
        "query_budget": chosen["query_budget"],
        "seed": chosen["seed"],
    }
