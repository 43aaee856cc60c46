"""What a worker does: it holds data, fitted models and their oracles, and answers one job at a time.

The same worker serves in this process and in a spawned one. Its inventory of packages and entries shows whether two
processes can work on one study.
"""

from __future__ import annotations

import pickle
import platform
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cfbench.errors import DataError, ModelError
from cfbench.problem.access import TrainingFold
from cfbench.problem.distances import FastCandidateMeasure
from cfbench.problem.oracle import checked_oracle
from cfbench.record.cells import Preparation
from cfbench.record.schema import Row
from cfbench.registry.contracts import DataSource, FittedModel, Objective, Searcher
from cfbench.registry.metrics import CellContext
from cfbench.registry.registry import Registered, Registry, RegistryOptions, build_registry
from cfbench.running.fitted import FittedModels, eligible_points, reject_pointless
from cfbench.running.measure import Measured, judged_values, measure_cell
from cfbench.running.preparation import PreparedSearch, prepared_search
from cfbench.running.search import FittedFold, SearchTask, run_search
from cfbench.space.dataset import Dataset, Fold, split
from cfbench.space.space import FloatArray, IntArray
from cfbench.study.plan import Cell, Plan
from cfbench.study.protocol import DRAWN, point_order
from cfbench.study.sources import load_dataset
from cfbench.study.variants import Variant, build_settings

PACKAGES = ("counterfactual-bench", "numpy", "scipy", "scikit-learn")
"""Distributions whose versions must be the same wherever searches of one study run."""

EntryName = tuple[str, str]
"""(kind, name), as in ("searcher", "cogs")."""


@dataclass(frozen=True)
class Inventory:
    """The versions of packages and entries, by "Python", "numpy", "searcher cogs"; `problems` of plugins that are not
    registered.
    """

    versions: dict[str, str]
    problems: tuple[str, ...] = ()

    def differences(self, other: Inventory) -> list[str]:
        """Return what `other` lacks or has in another version, a phrase each."""
        found, lacking = [], []
        for name, mine in self.versions.items():
            theirs = other.versions.get(name)
            if theirs is None:
                lacking.append(name)
            elif theirs != mine:
                found.append(f"{name} is {theirs}, not {mine}")
        if lacking:
            why = f" ({other.problems[0]})" if other.problems else ""
            found.append(f"it lacks {', '.join(lacking)}{why}")
        return found


def entries_of(plan: Plan) -> tuple[EntryName, ...]:
    """Return the entries that a plan's searches and measures ask for; data sets travel with the models."""
    names: dict[EntryName, None] = {}
    for cell in plan.cells:
        if not cell.skipped:
            names |= dict.fromkeys([("model", cell.model.name), ("searcher", cell.searcher.name)])
            names |= dict.fromkeys(("objective", objective.name) for objective in (cell.objective, *cell.judged))
    names |= dict.fromkeys(("metric", metric.name) for metric in plan.metrics)
    return tuple(names)


def take_inventory(registry: Registry, entries: Iterable[EntryName]) -> Inventory:
    """Look up what this process has."""
    versions = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "absent"
    for kind, name in entries:
        registered: Registered[Any] | None = getattr(registry, f"{kind}s").get(name)
        if registered is not None:
            where = (
                f" of {registered.distribution} {registered.distribution_version}" if registered.distribution else ""
            )
            versions[f"{kind} {name}"] = f"version {registered.entry.version}{where}"
    return Inventory(versions, tuple(str(problem) for problem in registry.problems))


A = TypeVar("A", bound="np.ndarray[Any, Any]")

FOLDS_KEPT = 4
"""Models that a worker holds at once; cells are planned model by model, so more would only cost memory."""


CELLS_KEPT = 4
"""Cells whose prepared searches a worker holds at once; batches of one cell usually follow each other."""

ModelKey = tuple[str, str, int]
"""Data set, model label, fold: what a worker loads together."""


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker needs to know before its first job; picklable."""

    options: RegistryOptions
    source: DataSource
    cache_dir: Path


@dataclass(frozen=True)
class Prepared:
    """A cell's model is ready.

    `row_ids` are the fold's eligible points, in the order in which they are explained.
    """

    row_ids: tuple[int, ...]
    fingerprint: str


class Batch(NamedTuple):
    """The rows of searches of one cell, and what their preparation took, if there was one."""

    rows: list[dict[str, Any]]
    preparation: Preparation | None


class Worker:
    """Prepares models, runs searches, confirms results, measures.

    Without a registry, it is built from the setup. `told` receives a sentence before a model is tuned or fitted.
    """

    def __init__(
        self, setup: WorkerSetup, registry: Registry | None = None, told: Callable[[str], None] = lambda _: None
    ) -> None:
        self._setup = setup
        self._registry = registry or build_registry(setup.options)
        self._fitted = FittedModels(setup.cache_dir, told, self._registry.families)
        self._datasets: dict[str, Dataset] = {}
        self._fitted_folds: OrderedDict[ModelKey, FittedFold] = OrderedDict()
        self._prepared: OrderedDict[str, PreparedSearch] = OrderedDict()
        self._unpacks = False

    def prepare(self, cell: Cell) -> Prepared:
        """Fit or load the cell's model and list the eligible points.

        Raises CfbenchError if the data set or the model is unavailable, or the model makes every search pointless.
        """
        fitted_fold = self.fitted_fold(cell)
        reject_pointless(fitted_fold.model, fitted_fold.dataset, fitted_fold.fold)
        rows = points_of(cell, fitted_fold)
        return Prepared(tuple(int(row) for row in rows), fitted_fold.fingerprint)

    def prepare_searches(self, cell: Cell) -> Preparation | None:
        """Prepare the searches of a cell; return what it took, or None if the searcher prepares nothing.

        A worker keeps what it has prepared for its last few cells. PluginError: the preparation failed.
        """
        return self._prepared_search(cell).preparation

    def search(self, task: SearchTask) -> dict[str, Any]:
        """Run one search and return its row."""
        entry, search = self._registry.searcher(task.cell.searcher.name).entry, self._prepared_search(task.cell).search
        return run_search(task, self.fitted_fold(task.cell), entry, search, self._objective(task.cell.objective))

    def search_all(self, tasks: tuple[SearchTask, ...]) -> Batch:
        """Run searches of one cell, one after the other."""
        preparation = self.prepare_searches(tasks[0].cell)
        return Batch([self.search(task) for task in tasks], preparation)

    def _prepared_search(self, cell: Cell) -> PreparedSearch:
        key = cell.info.key
        if key not in self._prepared:
            fitted_fold, entry = self.fitted_fold(cell), self._registry.searcher(cell.searcher.name).entry
            searcher: Searcher | None = None
            if isinstance(entry.searcher, type):
                searcher = build_settings(entry.searcher, cell.searcher.settings, entry.name)
            objective = self._objective(cell.objective)
            self._prepared[key] = prepared_search(cell, fitted_fold, entry, searcher, objective)
            if len(self._prepared) > CELLS_KEPT:
                self._prepared.popitem(last=False)
        self._prepared.move_to_end(key)
        return self._prepared[key]

    def confirm(self, cell: Cell, Z: FloatArray) -> IntArray:
        """Return the classes that the model's own predict, not its oracle, gives a cell's results, in one batch."""
        return self.fitted_fold(cell).model.predict(Z)

    def measure(self, cell: Cell, rows: Sequence[Row], metrics: tuple[Variant, ...]) -> Measured:
        """Compute metrics about the searches of a cell, and the values of its results under further objectives.

        The model is loaded if something needs it; it must be the one that the searches queried.
        """
        loaded = self._fitted_folds.get(model_key(cell))
        dataset = self.dataset(cell) if loaded is None else loaded.dataset
        fold = split(dataset, cell.fold)

        def fitted_fold() -> FittedFold:
            found = self.fitted_fold(cell)
            others = sorted({row["model_fingerprint"] for row in rows} - {found.fingerprint})
            if others:
                raise ModelError(
                    f"model {cell.info.model} on {cell.dataset}, fold {cell.fold}, has fingerprint {found.fingerprint} "
                    f"here, the searches queried one with {', '.join(others)}: measure where that model was fitted, or "
                    "copy the fitted models from there (`cfbench fit` makes them)"
                )
            return found

        context = CellContext(
            dataset=dataset,
            train=fold.train,
            test=fold.test,
            constraints=cell.constraints,
            respect_steps=cell.respect_steps,
            model=lambda: fitted_fold().model,
            make_oracle=lambda: fitted_fold().oracle,
            seed=cell.seed,
        )

        def judged(measure: Variant) -> FloatArray:
            return judged_values(rows, cell, fitted_fold(), self._registry, measure)

        return measure_cell(rows, context, self._registry, metrics, judged)

    def _objective(self, variant: Variant) -> Objective:
        return build_settings(self._registry.objective(variant.name).entry.objective, variant.settings, variant.name)

    def fitted_fold(self, cell: Cell) -> FittedFold:
        """Return what the searches of a cell share: data, model and oracle, loaded when they are first asked for."""
        key = model_key(cell)
        if key in self._fitted_folds:
            self._fitted_folds.move_to_end(key)
            return self._fitted_folds[key]
        if self._unpacks:
            raise ModelError(f"the model {cell.model.label} of {cell.dataset}, fold {cell.fold}, has not arrived here")
        dataset = self.dataset(cell)
        fold = split(dataset, cell.fold)
        entry = self._registry.model(cell.model.name).entry
        planned = cell.content["model"]["version"]
        if entry.fitted is not None and entry.version != planned:
            raise ModelError(
                f"the model {entry.origin or entry.name} has the digest {entry.version} here, but its cells were "
                f"planned with {planned}: it has changed, or a function that fits it does not give the same model twice"
            )
        family = build_settings(entry.family, cell.model.settings, entry.name)
        model = self._fitted.get(dataset, cell.fold, entry, family)
        return self._keep(key, dataset, fold, model)

    def pickled_model(self, cell: Cell) -> tuple[Prepared, bytes]:
        """Prepare a cell's model, and pack it with its data for workers that have neither."""
        prepared, fitted_fold = self.prepare(cell), self.fitted_fold(cell)
        return prepared, pickle.dumps((fitted_fold.dataset, fitted_fold.model), protocol=pickle.HIGHEST_PROTOCOL)

    def unpack(self, cell: Cell, payload: bytes) -> None:
        """Load what `pickled_model` has packed elsewhere; from then on this worker fits no model itself."""
        # From the main process: a program that can put anything else here already runs code in this one.
        dataset, model = pickle.loads(payload)  # noqa: S301
        self._keep(model_key(cell), dataset, split(dataset, cell.fold), model)
        self._unpacks = True

    def inventory(self, entries: tuple[EntryName, ...]) -> Inventory:
        """Look up what is installed and registered here."""
        return take_inventory(self._registry, entries)

    def _keep(self, key: ModelKey, dataset: Dataset, fold: Fold, model: FittedModel) -> FittedFold:
        oracle = checked_oracle(model, dataset.space, dataset.X[fold.train])
        train = TrainingFold(_read_only(dataset.X[fold.train]), _read_only(dataset.y[fold.train]))
        fitted_fold = FittedFold(dataset, fold, model, oracle, model.fingerprint(), train)
        _load_compiled(dataset)
        self._fitted_folds[key] = fitted_fold
        if len(self._fitted_folds) > FOLDS_KEPT:
            self._fitted_folds.popitem(last=False)
        return fitted_fold

    def dataset(self, cell: Cell) -> Dataset:
        """Return the data set of a cell. Raise CfbenchError if it is unavailable, or is not the cell's."""
        if cell.dataset not in self._datasets:
            entry = self._registry.dataset(cell.dataset).entry
            self._datasets[cell.dataset] = load_dataset(entry, self._setup.source)
        dataset = self._datasets[cell.dataset]
        planned = cell.content["dataset"]["digest"]
        if dataset.digest != planned:
            raise DataError(
                f"data set {cell.dataset!r} has digest {dataset.digest} here, but its cells were planned with "
                f"{planned}: its table or annotation has changed. Restore the version of that time, or run the study "
                "again"
            )
        return dataset


def points_of(cell: Cell, fitted_fold: FittedFold) -> IntArray:
    """Return the rows of a cell's eligible points, in the order that its point numbers count.

    Cells of earlier versions have their points in the order of the table.
    """
    rows = fitted_fold.fold.test
    if cell.content.get("points") == DRAWN:
        rows = point_order(cell.seed, cell.content["dataset"]["name"], cell.fold, rows)
    return eligible_points(fitted_fold.model, fitted_fold.dataset, rows)


def model_key(cell: Cell) -> ModelKey:
    """Return what a worker loads for `cell`."""
    return cell.dataset, cell.model.label, cell.fold


def _load_compiled(dataset: Dataset) -> None:
    """Load what the first search would load, which takes a second: a search's limit is for the search alone."""
    x = dataset.X[0]
    FastCandidateMeasure(dataset.space, x, constraints=False, respect_steps=False).measure(x[np.newaxis])


def _read_only(array: A) -> A:
    """Return a view that cannot be made writeable again: the array that owns the values is locked first."""
    array.setflags(write=False)
    return array.view()
