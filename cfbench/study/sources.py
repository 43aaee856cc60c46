"""Where data sets come from: folders that the user names, folders of tables, the user's cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cfbench.files import at_home
from cfbench.text import plural

if TYPE_CHECKING:
    from cfbench.registry.contracts import DataSource
    from cfbench.registry.entries import DatasetEntry
    from cfbench.registry.registry import Registry
    from cfbench.space.dataset import Dataset
    from cfbench.study.study import Study

DATA_VARIABLE = "CFBENCH_DATA_DIR"
"""Environment variable that names folders with tables, separated as in PATH."""


def data_source(data_dirs: Sequence[Path], *, download: bool = True, points_from: Path | None = None) -> DataSource:
    """Return where tables may be found: `data_dirs`, then ``CFBENCH_DATA_DIR``, then the user's cache.

    `points_from` is a table of held-out rows, whose points are explained.

    Raises UnavailableError if one of `data_dirs` is not a folder. Folders in the variable may be missing, because it is
    set for all calls.
    """
    from cfbench.caches import cache_dir
    from cfbench.errors import UnavailableError
    from cfbench.registry.contracts import DataSource

    for path in data_dirs:
        if not at_home(path).is_dir():
            raise UnavailableError(f"there is no folder {path}; name an existing folder with tables, or none")
    from_environment = os.environ.get(DATA_VARIABLE, "")
    named = [*data_dirs, *(Path(part) for part in from_environment.split(os.pathsep) if part)]
    return DataSource(
        data_dirs=tuple(at_home(path).resolve() for path in named),
        cache_dir=cache_dir(),
        download=download,
        points_from=None if points_from is None else at_home(points_from).resolve(),
    )


def load_dataset(entry: DatasetEntry, source: DataSource) -> Dataset:
    """Return an entry's data set; turn any fault of the plugin into an error of cfbench.

    Raises UnavailableError or DataError if the table is unavailable or invalid. Raises PluginError if the entry's
    `load` raises anything else, or returns anything else.
    """
    import numpy as np

    from cfbench.errors import CfbenchError, DataError, PluginError
    from cfbench.registry.discovery import failure
    from cfbench.space.dataset import Dataset, require_kept_relations

    try:
        loaded: object = entry.load(source)
    except CfbenchError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"data set {entry.name!r}: {failure(error)}") from error
    if not isinstance(loaded, Dataset):
        raise PluginError(
            f"data set {entry.name!r}: its entry's load returned {type(loaded).__name__}, not a cfbench.Dataset"
        )
    off = np.argwhere(~loaded.space.on_steps(loaded.X))
    if len(off):
        row, column = off[0]
        feature = loaded.space.features[column]
        raise DataError(
            f"data set {entry.name!r}: column {feature.name!r}, row {row + 1}: {float(loaded.X[row, column])!r} is no "
            f"multiple of the step {feature.step!r}; correct the value, or the step ({plural(len(off), 'such value')})"
        )
    require_kept_relations(loaded)
    if source.points_from is not None:
        from cfbench.study.held_out import with_held_out  # loads pandas

        return with_held_out(loaded, source.points_from)
    return loaded


def folders_among(datasets: Iterable[str]) -> tuple[Path, ...]:
    """Return the data sets that are written as paths: with a separator, or beginning with a dot."""
    separators = {os.sep, "/"}
    paths = [text for text in datasets if text.startswith(".") or separators & set(text)]
    return tuple(dict.fromkeys(at_home(Path(text)).resolve() for text in paths))


def datasets_of(study: Study) -> list[str]:
    """Return all data sets that a study names, its parts' included."""
    return [*study.datasets, *(name for part in study.parts for name in part.datasets or ())]


def models_of(study: Study) -> list[str]:
    """Return all models that a study names, its parts' included."""
    return [*study.models, *(name for part in study.parts for name in part.models or ())]


def refuse_foreign_models(study: Study, file: Path, *, trust: bool) -> None:
    """Raise StudyError if a study file names a model that runs code or receives the data, and it is not trusted.

    The file may be by another author than the user. A model in a skops file does neither.
    """
    from cfbench.errors import StudyError
    from cfbench.registry.own_models import is_skops_file, references_among

    foreign = [name for name in references_among(models_of(study)) if not is_skops_file(name)]
    if foreign and not trust:
        raise StudyError(
            f"{file} names the model {foreign[0]}, whose code would run here, or which would receive the data's rows: "
            "if you trust it, add --trust"
        )


def may_be_passed_on(name: str, registry: Registry) -> bool:
    """Return whether the rows of a data set may be published: not those of a user's folder or of an unavailable one."""
    found = registry.datasets.get(name)
    return found is not None and found.entry.shareable and found.entry.folder is None
