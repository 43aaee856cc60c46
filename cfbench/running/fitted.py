"""Fitted models: tuned, fitted or loaded from the cache, and checked before anything is searched."""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

import cfbench
from cfbench.caches import load_object, private_folder, read_trusted, store_object
from cfbench.digests import digest_of
from cfbench.errors import ModelError
from cfbench.files import write_atomically
from cfbench.models.own_model import of_dataset
from cfbench.problem.answers import classes_fault, model_fault
from cfbench.registry.contracts import FittedModel, ModelFamily
from cfbench.registry.discovery import FILE_MODULE
from cfbench.registry.entries import ModelEntry
from cfbench.running.crashes import called
from cfbench.space.dataset import FOLD_SEED, Dataset, Fold, split
from cfbench.space.space import IntArray

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class TunedRow:
    """The outcome of tuning one model on one training fold.

    `key` is the `tuning_key` of what was tuned; model and data set are named for readers. `cv_accuracy` is that of the
    choice in five-fold cross-validation on the training fold, and `test_accuracy` that of the model fitted with it on
    the fold's test rows.
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
            "grid": grid_of(entry, family),
        }
    )


def grid_of(entry: ModelEntry, family: ModelFamily) -> dict[str, list[Any]]:
    """Return the hyper-parameters that a family may choose from; raise ModelError if they have another form."""
    grid: object = _called(entry, "grid", family.grid)
    if not isinstance(grid, dict) or not all(isinstance(values, (list, tuple)) for values in grid.values()):
        raise ModelError(
            f"model {entry.name!r}: grid returned {grid!r}; it must return a dict of lists: the values of each "
            "hyper-parameter to choose from"
        )
    return grid


def read_table(path: Path) -> dict[str, TunedRow]:
    """Return the rows of a table by their keys; none where there is no file.

    Raises ModelError if it is not a table of tuned hyper-parameters.
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
    """Write a table atomically, with one line for each row, sorted by model, data set and fold."""
    ordered = sorted(rows, key=lambda row: (row.model, row.dataset, row.fold, row.key))
    lines = ",\n".join(json.dumps(dataclasses.asdict(row)) for row in ordered)
    write_atomically(path, f"[\n{lines}\n]\n".encode())


class TunedCache:
    """The user's own tuned hyper-parameters: a file a row, so that several processes may add at once."""

    def __init__(self, cache_dir: Path) -> None:
        self._folder = cache_dir / "tuned"

    def get(self, key: str, code: str = "") -> TunedRow | None:
        """Return the row of `key` that the family with this `code_of` chose.

        None if there is none, or only a damaged one, which is reported.
        """
        path = self._path(key, code)
        content = read_trusted(path)
        if content is None:
            return None
        try:
            row = TunedRow(**json.loads(content))
        except (ValueError, TypeError) as error:
            _log.warning("the cached file %s is damaged (%s); the model is tuned again", path, error)
            return None
        return row if row.key == key else None

    def add(self, row: TunedRow, code: str = "") -> None:
        """Keep a row. A cache that cannot be written is reported, not an error."""
        path = self._path(row.key, code)
        try:
            write_atomically(path, json.dumps(dataclasses.asdict(row)).encode(), mode=0o600)
        except OSError as error:
            _log.warning("cannot keep %s in the cache: %s", path, error.strerror)

    def _path(self, key: str, code: str) -> Path:
        return private_folder(self._folder) / f"{f'{key}-{code}' if code else key}.json"


def only_choice(grid: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    """Return the grid's one point; None where there is something to choose."""
    for name, values in grid.items():
        if not values:
            raise ModelError(f"the grid gives hyper-parameter {name!r} no value; list at least one")
    if any(len(values) > 1 for values in grid.values()):
        return None
    return {name: values[0] for name, values in grid.items()}


N_SPLITS = 5
"""Parts of the cross-validation by which a model is tuned; the largest class needs as many training rows."""


MOST_TUNING_ROWS = 10_000
"""Rows of a training fold that a model is tuned on; of a larger fold, a stratified sample of so many."""


def tuning_rows(dataset: Dataset, fold: int) -> IntArray:
    """Return the training rows that a model is tuned on, ascending: all of them, or a stratified sample."""
    from sklearn.model_selection import train_test_split

    train = split(dataset, fold).train
    if len(train) <= MOST_TUNING_ROWS:
        return train
    sample, _ = train_test_split(
        train, train_size=MOST_TUNING_ROWS, stratify=dataset.y[train], random_state=FOLD_SEED, shuffle=True
    )
    return np.sort(sample)


def tune(dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> TunedRow:
    """Tune, and measure the choice.

    Tuning and cross-validation use the `tuning_rows`; the model whose test accuracy is measured is fitted on all.

    The accuracies are measured here, by fitting the choice anew, and not asked of the family: they then mean the same
    for every model.

    Raises ModelError if there are too few rows to cross-validate, or the family chose something that is not in its
    grid.
    """
    import sklearn
    from sklearn.model_selection import StratifiedKFold

    rows, grid = split(dataset, fold), grid_of(entry, family)
    tuned_on = tuning_rows(dataset, fold)
    X, y = dataset.X[tuned_on], dataset.y[tuned_on]
    if np.bincount(y).max() < N_SPLITS:
        raise ModelError(
            f"data set {dataset.name!r}: no class has {N_SPLITS} training rows, too few to tune model {entry.name!r} "
            f"by cross-validation; add rows, or give every setting that is tuned ({', '.join(grid)}) a value"
        )
    chosen = _called(entry, "tune", lambda: family.tune(X, y, dataset.space))
    if (
        not isinstance(chosen, Mapping)
        or chosen.keys() != grid.keys()
        or any(value not in grid[name] for name, value in chosen.items())
    ):
        raise ModelError(f"model {entry.name!r} tuned to {chosen}, which is not in its grid {grid}")

    def accuracy(train: IntArray, test: IntArray) -> float:
        model = _fit(dataset, train, entry, family, chosen)
        return float(np.mean(model.predict(dataset.X[test]) == dataset.y[test]))

    with warnings.catch_warnings():
        # A class with five rows has four in a training fold; the accuracy of the splits that lack it still counts.
        warnings.filterwarnings("ignore", message="The least populated class in y", category=UserWarning)
        splits = [(tuned_on[train], tuned_on[test]) for train, test in StratifiedKFold(N_SPLITS).split(X, y)]
    return TunedRow(
        key=tuning_key(dataset, fold, entry, family),
        model=entry.name,
        dataset=dataset.name,
        fold=fold,
        hyperparameters=dict(chosen),
        cv_accuracy=float(np.mean([accuracy(train, test) for train, test in splits])),
        test_accuracy=accuracy(rows.train, rows.test),
        sklearn=sklearn.__version__,
    )


class FittedModels:
    """The way from a data set's fold and a model family to a fitted model.

    `told` is called with a sentence before something that takes its time. `families` may know the last step of a
    model that was fitted elsewhere.
    """

    def __init__(
        self,
        cache_dir: Path,
        told: Callable[[str], None] = lambda _: None,
        families: Iterable[type[ModelFamily]] = (),
    ) -> None:
        self._families = tuple(families)
        self._cache_dir = cache_dir
        self._told = told
        self._tuned = TunedCache(cache_dir)

    def hyperparameters(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> dict[str, Any]:
        """Return a fold's hyper-parameters: the settings, the entry's table, the cache, or tuning, in this order."""
        settled = only_choice(grid_of(entry, family))
        if settled is not None:
            return settled
        row = self.known(dataset, fold, entry, family)
        if row is None:
            self._told(f"tuning {entry.name} on {dataset.name}, fold {fold}; this is done once")
            row = tune(dataset, fold, entry, family)
            self._tuned.add(row, code_of(family))
        return dict(row.hyperparameters)

    def known(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> TunedRow | None:
        """Return the row of the entry's table or of the cache; None where the fold was not tuned yet."""
        key = tuning_key(dataset, fold, entry, family)
        table = read_table(entry.tuned) if entry.tuned is not None else {}
        return table.get(key) or self._tuned.get(key, code_of(family))

    def stored(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> FittedModel | None:
        """Return a fold's fitted model from the cache; None where it was not fitted yet."""
        if entry.fitted is not None:
            return self.get(dataset, fold, entry, family)
        chosen = only_choice(grid_of(entry, family))
        if chosen is None:
            row = self.known(dataset, fold, entry, family)
            if row is None:
                return None
            chosen = dict(row.hyperparameters)
        model = load_object(self._path(_fitted_key(dataset, fold, entry, family, chosen)))
        return model if isinstance(model, FittedModel) else None

    def _path(self, key: str) -> Path:
        return private_folder(self._cache_dir / "models") / f"{key}.pickle"

    def get(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> FittedModel:
        """Return a fold's fitted model: the user's own, from the cache, or fitted now and cached."""
        if entry.fitted is not None:
            return of_dataset(entry, dataset, split(dataset, fold).train, self._families)
        hyperparameters = self.hyperparameters(dataset, fold, entry, family)
        key = _fitted_key(dataset, fold, entry, family, hyperparameters)
        path = self._path(key)
        model = load_object(path)
        if not isinstance(model, FittedModel):
            self._told(f"fitting {entry.name} on {dataset.name}, fold {fold}; this is done once")
            model = _fit(dataset, split(dataset, fold).train, entry, family, hyperparameters)
            try:
                store_object(path, model)
            except MemoryError:
                raise
            except Exception as error:  # whatever pickling a plugin's object raises
                raise ModelError(
                    f"model {entry.name!r}: the fitted model cannot be pickled ({type(error).__name__}: {error}); "
                    "define its classes at the top level of a module, and leave out with __getstate__ what cannot be "
                    "pickled"
                ) from error
        return model


def _fit(
    dataset: Dataset, train: IntArray, entry: ModelEntry, family: ModelFamily, hyperparameters: Mapping[str, Any]
) -> FittedModel:
    """Fit a plugin's model and check its answers."""
    model = _called(
        entry, "fit", lambda: family.fit(dataset.X[train], dataset.y[train], dataset.space, hyperparameters)
    )
    _require_sound(model, dataset, train, entry)
    return model


def _require_sound(model: object, dataset: Dataset, train: IntArray, entry: ModelEntry) -> None:
    """Raise ModelError if a method of a fitted model is missing, raises, or returns what is not allowed."""
    X = dataset.X[train]
    fault = model_fault(model, dataset.space, X, dataset.n_classes, partial(_called, entry))
    if fault:
        raise ModelError(f"model {entry.name!r}: {fault}")


def _called(entry: ModelEntry, what: str, call: Callable[[], T]) -> T:
    return called(f"model {entry.name!r}", what, call, ModelError)


def eligible_points(model: FittedModel, dataset: Dataset, rows: IntArray) -> IntArray:
    """Return those of the `rows` that the model does not put into the target class, in the order given."""
    eligible: IntArray = rows[model.predict(dataset.X[rows]) != dataset.target]
    return eligible


def reject_pointless(model: FittedModel, dataset: Dataset, fold: Fold) -> None:
    """Stop before any search where the model leaves nothing to find or nothing to explain.

    Raises ModelError if it predicts one class only, or never or always the target, on the data set's rows; or always
    the target on the test fold.
    """
    classes = model.predict(dataset.X)
    fault = classes_fault(classes, dataset.n, dataset.n_classes)
    if fault:
        raise ModelError(f"the model is not sound on the rows of {dataset.name!r}: {fault}")
    label = dataset.class_labels
    target = f"the target class {label[dataset.target]!r}"
    fix = "use other settings of the model, another fold, or another target"
    predicted = np.unique(classes)
    if len(predicted) == 1:
        raise ModelError(
            f"the model predicts class {label[predicted[0]]!r} for all {dataset.n} rows of {dataset.name!r}: "
            f"there is no other class to search for; {fix}"
        )
    if dataset.target not in predicted:
        raise ModelError(
            f"the model never predicts {target} on the {dataset.n} rows of {dataset.name!r}: no search could be "
            f"expected to find it; {fix}"
        )
    if np.all(classes[fold.test] == dataset.target):
        raise ModelError(
            f"the model predicts {target} for all {len(fold.test)} test rows of {dataset.name!r}: "
            f"there is no row to explain; {fix}"
        )


def code_of(family: ModelFamily) -> str:
    """Return the digest of a family's source, which its author may edit between two runs.

    It is empty for modules that are installed where cfbench is: there, a change comes with another version. A plugin
    given as a file counts wherever it lies. What was typed into a notebook has a digest of its own in every process.
    """
    name = type(family).__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return _PROCESS
    path = Path(file).resolve()
    if path.is_relative_to(Path(cfbench.__file__).resolve().parents[1]) and not name.startswith(FILE_MODULE):
        return ""
    package = sys.modules.get(name.partition(".")[0])
    folders = list(getattr(package, "__path__", ()))
    files = sorted(found for folder in folders for found in Path(folder).rglob("*.py")) or [path]
    return digest_of([file.read_bytes().hex() for file in files])


_PROCESS = uuid4().hex


def _fitted_key(
    dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily, hyperparameters: dict[str, Any]
) -> str:
    """Return the digest of all that the fitted model, and the way that it is stored, depends on."""
    import sklearn

    content = {
        "tuning": tuning_key(dataset, fold, entry, family),
        "hyperparameters": hyperparameters,
        "sklearn": sklearn.__version__,
        "cfbench": cfbench.__version__,
        "class": f"{type(family).__module__}.{type(family).__qualname__}",
    }
    code = code_of(family)
    return digest_of({**content, "code": code} if code else content)
