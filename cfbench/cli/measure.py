"""``cfbench measure``: metrics for an old record, without any search."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from cfbench.cli.options import (
    Sources,
    aligned,
    count_cells,
    own_model_options,
    results_option,
    source_options,
    tell,
)
from cfbench.errors import RecordError, StudyError
from cfbench.study.sources import datasets_of, folders_among
from cfbench.text import plural

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry
    from cfbench.running.second_stage import MetricCounts, SecondStage
    from cfbench.study.study import Study
    from cfbench.study.variants import Variant

HEADER = ("metric", "cells measured", "now", "values", "mean", "denominator")


@click.command("measure", short_help="Add metrics to a record, without any search.")
@click.argument("study_file", metavar="[STUDY]", required=False, type=click.Path(path_type=Path))
@results_option
@click.option(
    "--metric", "names", multiple=True, metavar="NAME[setting=value]", help="A metric to add. May be repeated."
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="NAME[setting=value]",
    help="Judge results of searchers that minimise the loss alone under this objective. May be repeated.",
)
@click.option("--preset", metavar="NAME", help="Add the metrics of a preset, as `cfbench plugins` lists them.")
@click.option("--all", "everything", is_flag=True, help="Add every registered metric.")
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="A data-set folder of your own that the record's study used. May be repeated.",
)
@own_model_options
@source_options
def command(
    *,
    study_file: Path | None,
    results: Path,
    names: Sequence[str],
    objectives: Sequence[str],
    preset: str | None,
    everything: bool,
    folders: Sequence[Path],
    models: Sequence[str],
    sources: Sources,
) -> None:
    """Add metrics to a record, without any search.

    STUDY is a study file: its metrics are added, to its record unless you name another. Results of searchers that
    minimise the loss alone are also judged under its objectives; with --all under every objective of the record.

    Only what is missing is computed: a metric whose version and settings the record has is not measured again. The
    table's mean is over the searches in the denominator, of all cells together.
    """
    if not (names or objectives) and preset is None and study_file is None and not everything:
        raise click.UsageError(
            "name metrics with --metric NAME or an objective with --objective NAME, take those of a study (cfbench "
            "measure STUDY) or of a preset with --preset NAME, or ask for --all of them; `cfbench plugins` lists them"
        )
    from cfbench.caches import cache_dir
    from cfbench.record.files import check_record
    from cfbench.record.store import Record
    from cfbench.running.second_stage import measure_record
    from cfbench.running.worker import Worker, WorkerSetup
    from cfbench.study.presets import preset as study_of
    from cfbench.study.study import read_study

    studies = [] if study_file is None else [read_study(study_file)]
    if studies and click.get_current_context().get_parameter_source("results") is ParameterSource.DEFAULT:
        results = studies[0].results
    check_record(results)
    named = [name for study in studies for name in datasets_of(study)]
    registry = sources.registry([*folders, *folders_among(named)], models)
    if preset is not None:
        studies.append(study_of(preset, registry))
    metrics, left_out = wanted_metrics(registry, names, studies, everything=everything)
    with Record.open(results, write=True) as record:
        if everything:
            contents = [(cell.info.objective, cell.content["objective"]) for cell in record.summaries().values()]
            known = {label for label, content in contents if content["name"] in registry.objectives}
            objectives = [*objectives, *sorted(known)]
        under = wanted_objectives(registry, objectives, studies)
        worker = Worker(WorkerSetup(registry.options, sources.data(), cache_dir()), registry)
        stage = measure_record(record, worker, registry, metrics, under, progress=count_cells)
        for problem in record.problems:  # what was found damaged when it was read
            tell("Warning", problem)
        if not (stage.cells or stage.left_out or record.problems):
            raise RecordError(
                f"there is nothing to measure in {results}: no cell is finished; `cfbench run` finishes some"
            )
    click.echo(table_of(stage, registry))
    _complain(stage, left_out)
    if stage.failures:
        sys.exit(1)


def wanted_metrics(
    registry: Registry, names: Sequence[str], studies: Sequence[Study], *, everything: bool
) -> tuple[tuple[Variant, ...], tuple[str, ...]]:
    """Return the requested metrics of single cells, and the labels of those that compare cells and are left out.

    Raises UnknownNameError if one is not registered or has no such setting, and StudyError if a setting is impossible,
    or a metric named by `names` compares cells and so has no value per search.
    """
    from cfbench.running.measure import cell_metrics
    from cfbench.study.plan import metrics_of
    from cfbench.study.variants import resolve_variant

    wanted = [resolve_variant(registry, "metric", name) for name in names]
    comparing = [variant.label for variant in wanted if not cell_metrics([variant], registry)]
    if comparing:
        raise StudyError(
            f"metric {comparing[0]!r} compares results of several cells and is stored for none of them: it is computed "
            "where they are shown side by side; `cfbench leaderboard --reference NAME` does so for searchers"
        )
    for study in studies:
        wanted += metrics_of(study, registry)
    if everything:
        wanted += [resolve_variant(registry, "metric", name) for name in registry.metrics]
    unique = {variant.label: variant for variant in wanted}
    left_out = tuple(label for label, variant in unique.items() if not cell_metrics([variant], registry))
    return cell_metrics(unique.values(), registry), left_out


def wanted_objectives(registry: Registry, names: Sequence[str], studies: Sequence[Study]) -> tuple[Variant, ...]:
    """Return the requested objectives, including those of the studies, except the one that adds no term.

    Raises UnknownNameError if one is not registered or has no such setting, and StudyError if a setting is impossible.
    """
    from cfbench.study.obstacles import PLAIN
    from cfbench.study.plan import simplest
    from cfbench.study.variants import resolve_variant

    found = [resolve_variant(registry, "objective", name) for name in names]
    for study in studies:
        of_parts = [objective for part in study.parts for objective in part.objectives or ()]
        found += [
            resolve_variant(registry, "objective", name, study.settings) for name in (*study.objectives, *of_parts)
        ]
    found = [simplest(objective, registry) for objective in found]
    return tuple({objective.label: objective for objective in found if objective.name != PLAIN}.values())


def table_of(stage: SecondStage, registry: Registry) -> str:
    """Return the table of the record's metrics: a header, then one line per metric."""
    lines = [HEADER, *(_line(counts, registry) for counts in stage.tallies)]
    return "\n".join(aligned(lines, left=len(HEADER)))


def _line(counts: MetricCounts, registry: Registry) -> tuple[str, ...]:
    from cfbench.record.measures import OBJECTIVE

    if counts.metric.name.startswith(OBJECTIVE):
        denominator = "results for the loss alone"
    else:
        denominator = registry.metric(counts.metric.name).entry.denominator
    mean = "-"
    if counts.mean is not None:
        mean = f"{counts.mean:,.0f}" if abs(counts.mean) >= 1000 else f"{counts.mean:.4g}"
    return (
        counts.metric.label,
        f"{counts.cells:,} of {counts.asked:,}",
        f"{counts.added:,}",
        f"{counts.counted:,} of {counts.searches:,}",
        mean,
        denominator or "-",
    )


def _complain(stage: SecondStage, left_out: Sequence[str]) -> None:
    if left_out:
        click.echo(
            f"Note: left out, as they compare cells and are stored for none of them: {', '.join(left_out)}. They are "
            "computed where results stand side by side, as on `cfbench leaderboard` for searchers "
            "and by `cfbench report paper` for objectives.",
            err=True,
        )
    if stage.left_out:
        click.echo(
            f"Note: {stage.left_out} cells have searches that are not finished and were left out; "
            "their study measures them when it is run on.",
            err=True,
        )
    for reason, count in stage.beyond.most_common():
        tell("Note", f"{reason}: no values in {plural(count, 'cell')}")
    for reason, count in stage.failures.most_common():
        tell("Failed", f"{reason}{f' (in {count} cells)' if count > 1 else ''}")
