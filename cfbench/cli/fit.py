"""``cfbench fit``: fit the models before a run, and print their fingerprints."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import Sources, source_options, tell
from cfbench.cli.run import study_from_options, study_options

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry
    from cfbench.running.fitted import FittedModels
    from cfbench.study.plan import Cell, Plan


@click.command("fit", short_help="Fit a study's models ahead of its run.")
@study_options
@source_options
def command(sources: Sources, **options: Any) -> None:
    """Tune and fit a study's models, keep them in the user's cache, and print their fingerprints.

    Accepts the options of `cfbench run`. Training may differ between machines in the last bits: machines that share the
    models (CFBENCH_CACHE_DIR) have the same fingerprints, and their records can be merged.
    """
    from cfbench.caches import cache_dir
    from cfbench.errors import CfbenchError
    from cfbench.running.fitted import FittedModels
    from cfbench.study.plan import make_plan

    registry, study = study_from_options(options, sources)
    plan = make_plan(study, registry, sources.data())
    for note in plan.notes:
        tell("Note", note)
    models = FittedModels(cache_dir())
    cells = {(cell.dataset, cell.fold, cell.model.label): cell for cell in plan.cells if not cell.skipped}
    failed = False
    for cell in cells.values():
        where = f"{cell.model.label} {cell.dataset} fold {cell.fold}"
        try:
            click.echo(f"{where}: {_fit(cell, plan, registry, models)}")
        except CfbenchError as error:
            tell("Failed", f"{where}: {error}")
            failed = True
    if failed:
        sys.exit(1)


def _fit(cell: Cell, plan: Plan, registry: Registry, models: FittedModels) -> str:
    from cfbench.running.fitted import eligible_points, reject_pointless
    from cfbench.space.dataset import split
    from cfbench.study.variants import build_settings

    started = time.perf_counter()
    dataset = plan.datasets[cell.dataset]
    entry = registry.model(cell.model.name).entry
    model = models.get(dataset, cell.fold, entry, build_settings(entry.family, cell.model.settings, entry.name))
    fold = split(dataset, cell.fold)
    reject_pointless(model, dataset, fold)
    right = model.predict(dataset.X[fold.test]) == dataset.y[fold.test]
    return (
        f"fingerprint {model.fingerprint()}, accuracy {right.mean():.3f}, "
        f"{len(eligible_points(model, dataset, fold.test))} eligible points, {time.perf_counter() - started:.1f} s"
    )
