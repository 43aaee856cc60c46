"""``cfbench tune``: choose hyper-parameters and keep them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import FOLD, Sources, source_options, tell
from cfbench.study.sources import folders_among, load_dataset

if TYPE_CHECKING:
    from cfbench.registry.contracts import DataSource
    from cfbench.registry.registry import Registry
    from cfbench.running.fitted import TunedRow
    from cfbench.space.dataset import Dataset


@click.command("tune", short_help="Tune the models' hyper-parameters and keep them.")
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME|./FOLDER", help="Only this data set. May be repeated."
)
@click.option(
    "--model", "models", multiple=True, metavar="NAME[SETTING=VALUE,...]", help="Only this model. May be repeated."
)
@click.option("--fold", "folds", multiple=True, type=FOLD, help="Only this fold. May be repeated.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Table (JSON) to complete, read and written after each row; without it, the user's cache.",
)
@source_options
def command(
    *,
    datasets: tuple[str, ...],
    models: tuple[str, ...],
    folds: tuple[int, ...],
    output: Path | None,
    sources: Sources,
) -> None:
    """Tune the models' hyper-parameters on the training folds.

    Settings that are already tuned are kept, so repeat the command after an interruption. The options choose what is
    tuned; a data set whose table is unavailable is skipped unless you name it.
    """
    from cfbench.caches import cache_dir
    from cfbench.record.files import refuse_inside_record
    from cfbench.running.fitted import (
        FittedModels,
        TunedCache,
        code_of,
        grid_of,
        only_choice,
        read_table,
        tune,
        tuning_key,
    )
    from cfbench.space.dataset import N_FOLDS
    from cfbench.study.variants import build_settings, resolve_variant

    if output is not None:
        refuse_inside_record(output)
    registry = sources.registry(folders_among(datasets))
    variants = [resolve_variant(registry, "model", text) for text in models or registry.models]
    table = None if output is None else read_table(output)
    known, cache = FittedModels(cache_dir()).known, TunedCache(cache_dir())
    for variant in variants:
        entry = registry.model(variant.name).entry
        if entry.unavailable:
            tell(entry.name, f"skipped: {entry.unavailable}")
            continue
        family = build_settings(entry.family, variant.settings, entry.name)
        if only_choice(grid_of(entry, family)) is not None:
            click.echo(f"{variant.label}: nothing to tune")
            continue
        for dataset in _loaded(registry, datasets, sources.data()):
            for fold in folds or range(N_FOLDS):
                given = (dataset, fold, entry, family)
                row, seconds = known(*given) if table is None else table.get(tuning_key(*given)), None
                if row is None:
                    started = time.perf_counter()
                    row = tune(*given)
                    seconds = time.perf_counter() - started
                    if table is None or output is None:
                        cache.add(row, code_of(family))
                    else:
                        table[row.key] = row
                        _write(output, table, row)
                click.echo(_line(row, seconds))


def _write(path: Path, table: Mapping[str, TunedRow], row: TunedRow) -> None:
    from cfbench.errors import UnavailableError
    from cfbench.running.fitted import write_table

    try:
        write_table(path, table.values())
    except OSError as error:
        raise UnavailableError(
            f"the table {path} cannot be written: {error.strerror}. The row not kept: {row}"
        ) from error


def _loaded(registry: Registry, names: tuple[str, ...], source: DataSource) -> Iterator[Dataset]:
    from cfbench.errors import UnavailableError

    for name in names or registry.datasets:
        try:
            yield load_dataset(registry.dataset(name).entry, source)
        except UnavailableError as error:
            if names:
                raise
            tell(name, f"skipped, {error}")


def _line(row: TunedRow, seconds: float | None) -> str:
    chosen = ", ".join(f"{name}={value}" for name, value in row.hyperparameters.items())
    spent = "tuned before" if seconds is None else f"{seconds:.0f} s"
    return (
        f"{row.model} {row.dataset} fold {row.fold}: accuracy {row.test_accuracy:.3f} on the test fold, "
        f"{row.cv_accuracy:.3f} in cross-validation; {chosen}; {spent}"
    )
