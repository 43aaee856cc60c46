"""Tables of tuned hyper-parameters: their rows, their keys, their files.

Tuning a grid takes minutes, so its outcome is kept: for the shipped data sets in a committed table beside the model's
code, for everything else in the user's cache.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfbench.contracts import ModelFamily
from cfbench.dataset import Dataset
from cfbench.digests import digest_of
from cfbench.entries import ModelEntry
from cfbench.errors import ModelError
from cfbench.harness.caches import private_folder, read_trusted, write_atomically

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TunedRow:
    """The outcome of tuning one model on one training fold.

    Parameters
    ----------
    key : str
        `tuning_key` of what was tuned.
    model, dataset : str
        For readers; the key alone decides.
    fold : int
    hyperparameters : dict
        What the model family's `tune` chose.
    cv_accuracy : float
        Accuracy of the choice in five-fold cross-validation on the training fold.
    test_accuracy : float
        Accuracy on the fold's test rows of the model that was fitted with the choice.
    sklearn : str
        Version of scikit-learn that tuned.
    """

    key: str
    model: str
    dataset: str
    fold: int
    hyperparameters: dict[str, Any]
    cv_accuracy: float
    test_accuracy: float
    sklearn: str


def tuning_key(dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> str:
    """Return the digest of all that the choice of hyper-parameters depends on."""
    return digest_of(
        {
            "data": dataset.digest,
            "fold": fold,
            "model": entry.name,
            "version": entry.version,
            "settings": family.model_dump(),
            "grid": family.grid(),
        }
    )


def read_table(path: Path) -> dict[str, TunedRow]:
    """Return the rows of a table by their keys; none where there is no file.

    Raises
    ------
    ModelError
        If the file is no table of tuned hyper-parameters.
    """
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, list):
            raise ValueError(f"it holds a {type(content).__name__}, not a list of rows")
        rows = [TunedRow(**row) for row in content]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{path} is no table of tuned hyper-parameters ({error}); restore it, or remove it and make it again with "
            f"`cfbench tune --output {path}`"
        ) from error
    return {row.key: row for row in rows}


def write_table(path: Path, rows: Iterable[TunedRow]) -> None:
    """Write a table atomically, a line a row, sorted by model, data set and fold."""
    ordered = sorted(rows, key=lambda row: (row.model, row.dataset, row.fold, row.key))
    lines = ",\n".join(json.dumps(dataclasses.asdict(row)) for row in ordered)
    write_atomically(path, f"[\n{lines}\n]\n".encode())
    path.chmod(0o644)  # a table is for others to read, unlike the cache


class TunedCache:
    """The user's own tuned hyper-parameters: a file a row, so that several processes may add at once.

    Parameters
    ----------
    cache_dir : Path
    """

    def __init__(self, cache_dir: Path) -> None:
        self._folder = cache_dir / "tuned"

    def get(self, key: str) -> TunedRow | None:
        """Return the row of `key`; None where there is none, or only a damaged one, which is reported."""
        path = self._path(key)
        content = read_trusted(path)
        if content is None:
            return None
        try:
            row = TunedRow(**json.loads(content))
        except (ValueError, TypeError) as error:
            _log.warning("the cached file %s is damaged (%s); the model is tuned again", path, error)
            return None
        return row if row.key == key else None

    def add(self, row: TunedRow) -> None:
        """Keep a row. A cache that cannot be written is reported, not an error."""
        path = self._path(row.key)
        try:
            write_atomically(path, json.dumps(dataclasses.asdict(row)).encode())
        except OSError as error:
            _log.warning("cannot keep %s in the cache: %s", path, error.strerror)

    def _path(self, key: str) -> Path:
        return private_folder(self._folder) / f"{key}.json"


def only_choice(grid: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    """Return the grid's one point; None where there is something to choose.

    Raises
    ------
    ModelError
        If a hyper-parameter has no value to choose from.
    """
    for name, values in grid.items():
        if not values:
            raise ModelError(f"the grid gives hyper-parameter {name!r} no value; list at least one")
    if any(len(values) > 1 for values in grid.values()):
        return None
    return {name: values[0] for name, values in grid.items()}
