"""``cfbench tune``: choose hyper-parameters and keep them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import FOLD, data_dir_option, open_registry, plugin_option, strict_option, tell
from cfbench.study.sources import data_source, folders_among, load_dataset

if TYPE_CHECKING:
    from cfbench.registry.contracts import DataSource, ModelFamily
    from cfbench.registry.entries import ModelEntry
    from cfbench.registry.registry import Registry
    from cfbench.running.fitted import TunedRow
    from cfbench.space.dataset import Dataset

Find = Callable[["Dataset", int, "ModelEntry", "ModelFamily"], "TunedRow | None"]
Keep = Callable[["TunedRow"], None]


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
@data_dir_option
@plugin_option
@strict_option
def command(
    *,
    datasets: tuple[str, ...],
    models: tuple[str, ...],
    folds: tuple[int, ...],
    output: Path | None,
    data_dirs: tuple[Path, ...],
    plugins: tuple[str, ...],
    strict: bool,
) -> None:
    """Tune the models' hyper-parameters on the training folds.

    Settings that are already tuned are kept, so repeat the command after an interruption. The options choose what is
    tuned; a data set whose table is unavailable is skipped unless you name it.
    """
    from cfbench.record.files import refuse_inside_record
    from cfbench.running.fitted import only_choice, tune
    from cfbench.study.variants import build_settings, resolve_variant

    if output is not None:
        refuse_inside_record(output)
    registry = open_registry(plugins, folders_among(datasets), strict=strict)
    variants = [resolve_variant(registry, "model", text) for text in models or registry.models]
    find, keep = _table(output) if output is not None else _cache()
    for variant in variants:
        entry = registry.model(variant.name).entry
        family = build_settings(entry.family, variant.settings, entry.name)
        if only_choice(family.grid()) is not None:
            click.echo(f"{variant.label}: nothing to tune")
            continue
        for dataset in _loaded(registry, datasets, data_source(data_dirs)):
            for fold in folds or _all_folds():
                row, seconds = find(dataset, fold, entry, family), None
                if row is None:
                    started = time.perf_counter()
                    row = tune(dataset, fold, entry, family)
                    seconds = time.perf_counter() - started
                    keep(row)
                click.echo(_line(row, seconds))


def _all_folds() -> range:
    from cfbench.space.dataset import N_FOLDS

    return range(N_FOLDS)


def _table(path: Path) -> tuple[Find, Keep]:
    """Rows of a table that others will read: find and add them."""
    from cfbench.errors import UnavailableError
    from cfbench.running.fitted import read_table, tuning_key, write_table

    rows = read_table(path)

    def find(dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> TunedRow | None:
        return rows.get(tuning_key(dataset, fold, entry, family))

    def keep(row: TunedRow) -> None:
        rows[row.key] = row
        try:
            write_table(path, rows.values())
        except OSError as error:
            raise UnavailableError(
                f"the table {path} cannot be written: {error.strerror}. The row not kept: {row}"
            ) from error

    return find, keep


def _cache() -> tuple[Find, Keep]:
    """Rows of the entries' tables and of the user's cache: find them, and add them to the cache."""
    from cfbench.caches import cache_dir
    from cfbench.running.fitted import FittedModels, TunedCache

    return FittedModels(cache_dir()).known, TunedCache(cache_dir()).add


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
