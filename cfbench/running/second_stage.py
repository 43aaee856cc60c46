"""Metrics for the finished cells of a record, without any search: what is missing is computed and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from cfbench.errors import CfbenchError, DataError, ModelError
from cfbench.problem.oracle import Oracle
from cfbench.problem.problem import TrainingFold
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.registry.contracts import CellContext, DataSource, FittedModel, ModelFamily
from cfbench.registry.entries import Handles, ModelEntry
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.running.fitted import FittedModels
from cfbench.running.measure import Measured, cell_metrics, identity, measure_cell
from cfbench.running.objective_measures import judge_cell, objective_measure, parted
from cfbench.running.progress import Metrics
from cfbench.running.search import FittedFold
from cfbench.space.dataset import Dataset, split
from cfbench.study.obstacles import PLAIN, added_by, beyond_metric, beyond_objective
from cfbench.study.plan import Cell
from cfbench.study.sources import load_dataset
from cfbench.study.variants import Variant, build_settings


@dataclass
class MetricCounts:
    """What the record holds of a metric after the second stage.

    Parameters
    ----------
    metric : Variant
    asked : int
        Finished cells that it is measured in: all of them, but for values under another objective.
    cells : int
        Those among them with values of its present version and settings.
    added : int
        Those among them that were measured now.
    counted, searches : int
        Searches inside the metric's denominator, and all searches.
    total : float
        The sum of the values of the searches inside.
    """

    metric: Variant
    asked: int = 0
    cells: int = 0
    added: int = 0
    counted: int = 0
    searches: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float | None:
        """The mean over the searches inside the denominator; None where there are none."""
        return self.total / self.counted if self.counted else None


@dataclass
class SecondStage:
    """What the second stage did.

    Parameters
    ----------
    cells : int
        Finished cells.
    tallies : list of MetricCounts
        In the order of the metrics.
    failures : Counter of str
        What went wrong, with the number of cells that it happened in.
    left_out : int
        Cells whose searches are not all in: they are measured when their study is run on.
    beyond : Counter of str
        Why metrics say nothing of some models, with the number of cells.
    """

    cells: int = 0
    tallies: list[MetricCounts] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    beyond: Counter[str] = field(default_factory=Counter)


def measure_record(
    record: Record,
    registry: Registry,
    source: DataSource,
    models: FittedModels,
    metrics: Sequence[Variant],
    objectives: Sequence[Variant] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> SecondStage:
    """Compute what is missing of `metrics` for every finished cell, and write it.

    Parameters
    ----------
    record : Record
        Open for writing.
    registry : Registry
    source : DataSource
        Where tables may be found; asked only for cells with something to measure.
    models : FittedModels
        Asked only where a metric asks for the model.
    metrics : sequence of Variant
    objectives : sequence of Variant
        Objectives under which the results of searchers that cannot minimise them are judged.
    progress : callable, optional
        Told how many cells of how many are done.
    """
    fitted_folds = FittedFolds(registry, source, models)
    metrics = cell_metrics(metrics, registry)
    wanted = Metrics(metrics, registry)
    pending = record.pending()
    ran = [cell for cell in record.summaries().values() if cell.has_results]
    whole = sorted((cell for cell in ran if cell.info.key not in pending), key=_nearness)
    measures = [*metrics, *map(objective_measure, objectives)]
    stage = SecondStage(len(whole), [MetricCounts(measure) for measure in measures], left_out=len(ran) - len(whole))
    for done, cell in enumerate(whole):
        if progress is not None:
            progress(done, len(whole))
        key = cell.info.key
        judged = [one for one in objectives if _is_judged_under(one, cell, registry, fitted_folds)]
        missing = wanted.missing(record.measured_of(key), judged)
        if missing:
            measured = _measured(record, registry, fitted_folds, cell, missing)
            stage.failures.update(measured.complaints)
            if len(measured.table):
                record.write_measures(key, measured.table)
        asked = {*metrics, *map(objective_measure, judged)}
        _count([counts for counts in stage.tallies if counts.metric in asked], record, registry, cell, missing)
        reasons = [beyond_metric(metric.name, cell.content["model"]["name"], registry) for metric in metrics]
        stage.beyond.update(filter(None, reasons))
    if progress is not None:
        progress(len(whole), len(whole))
    return stage


class FittedFolds:
    """What the cells of one data set and one model share, loaded when it is first needed.

    Parameters
    ----------
    registry : Registry
    source : DataSource
    models : FittedModels
    """

    def __init__(self, registry: Registry, source: DataSource, models: FittedModels) -> None:
        self._registry = registry
        self._source = source
        self._models = models
        self._datasets: dict[str, Dataset] = {}

    def context(self, cell: CellSummary) -> CellContext:
        """Return what metrics get in addition to a cell's rows; its model must be the one that the searches queried.

        Raises
        ------
        CfbenchError
            If the data set is unavailable, or is not the cell's.
        """
        dataset = self.dataset(cell)
        fold = split(dataset, cell.info.fold)
        return CellContext(
            dataset=dataset,
            train=fold.train,
            test=fold.test,
            constraints=cell.info.constraints,
            respect_steps=bool(cell.content["respect_steps"]),
            model=partial(self._model, cell, dataset),
            make_oracle=partial(self._oracle, cell, dataset),
            seed=int(cell.content["seed"]),
        )

    def fitted_fold(self, cell: CellSummary) -> FittedFold:
        """Return the data and the model of a cell, as a search of it would get them.

        Raises
        ------
        CfbenchError
            If the data set or the model is unavailable, or is not the cell's.
        """
        dataset = self.dataset(cell)
        fold = split(dataset, cell.info.fold)
        model, oracle = self._model(cell, dataset), self._oracle(cell, dataset)
        training = TrainingFold(dataset.X[fold.train], dataset.y[fold.train])
        return FittedFold(dataset, fold, model, oracle, model.fingerprint(), training)

    def dataset(self, cell: CellSummary) -> Dataset:
        """Return the data set of a cell.

        Raises
        ------
        CfbenchError
            If it is unavailable, or is not the cell's.
        """
        name = cell.info.dataset
        if name not in self._datasets:
            self._datasets[name] = load_dataset(self._registry.dataset(name).entry, self._source)
        dataset, recorded = self._datasets[name], cell.content["dataset"]["digest"]
        if dataset.digest != recorded:
            raise DataError(
                f"data set {name!r} has digest {dataset.digest} here, the searches were made on one with {recorded}: "
                "its table or annotation has changed since; measure with the version of that time, or search again"
            )
        return dataset

    def _model(self, cell: CellSummary, dataset: Dataset) -> FittedModel:
        model = self._models.get(dataset, cell.info.fold, *self._family(cell))
        here = model.fingerprint()
        others = sorted(set(cell.fingerprints) - {here})
        if others:
            raise ModelError(
                f"model {cell.info.model} on {cell.info.dataset}, fold {cell.info.fold}, has fingerprint {here} here, "
                f"the searches asked one with {', '.join(others)}: measure where that model was "
                "fitted, or copy the fitted models from there (`cfbench fit` makes them)"
            )
        return model

    def _oracle(self, cell: CellSummary, dataset: Dataset) -> Oracle:
        self._model(cell, dataset)  # refuses another model than the cell's
        return self._models.oracle(dataset, cell.info.fold, *self._family(cell))

    def _family(self, cell: CellSummary) -> tuple[ModelEntry, ModelFamily]:
        content = cell.content["model"]
        entry = self._registry.model(content["name"]).entry
        return entry, build_settings(entry.family, content["settings"], entry.name)


def _is_judged_under(objective: Variant, cell: CellSummary, registry: Registry, fitted_folds: FittedFolds) -> bool:
    """Whether a cell's results stand for a search under an objective that its searcher cannot minimise."""
    name, content = cell.content["searcher"]["name"], cell.content
    if content["objective"]["name"] != PLAIN or name not in registry.searchers:
        return False
    searcher, entry = registry.searcher(name).entry, registry.objective(objective.name).entry.objective
    if entry.looks_into_model and not registry.model(content["model"]["name"]).entry.shows_structure:
        return False
    if Handles.SEPARABLE not in searcher.handles:
        return Handles.OBJECTIVES not in searcher.handles
    bound = build_settings(entry, objective.settings, objective.name)
    try:
        return bool(beyond_objective(searcher, objective.label, added_by(bound, fitted_folds.dataset(cell))))
    except CfbenchError:
        return True  # the data set is unavailable: measuring the cell says so


def _measured(
    record: Record, registry: Registry, fitted_folds: FittedFolds, cell: CellSummary, metrics: Sequence[Variant]
) -> Measured:
    plain, objectives = parted(metrics)
    try:
        context = fitted_folds.context(cell)
        fitted_fold = fitted_folds.fitted_fold(cell) if objectives else None
    except CfbenchError as error:
        return Measured.nothing(str(error))
    searches = record.searches(cell.info.key)
    found = measure_cell(searches, context, registry, plain)
    if fitted_fold is None:
        return found
    return found.and_also(judge_cell(searches, recorded_cell(cell), fitted_fold, registry, objectives))


def _count(
    tallies: Sequence[MetricCounts], record: Record, registry: Registry, cell: CellSummary, missing: Sequence[Variant]
) -> None:
    table = record.measures(cell.info.key)
    present = record.measured_of(cell.info.key)
    for counts in tallies:
        counts.asked += 1
        label, version, settings = identity(counts.metric, registry)
        if (label, version, settings) not in present:
            continue
        of_metric = (table["metric"] == label) & (table["version"] == version) & (table["settings"] == settings)
        values = table.loc[of_metric, "value"]
        counts.cells += 1
        counts.added += counts.metric in missing
        counts.counted += int(values.notna().sum())
        counts.searches += len(values)
        counts.total += float(values.sum())


def _nearness(cell: CellSummary) -> tuple[str, int, str, str]:
    """Order cells so that those of one fitted model follow each other."""
    info: CellInfo = cell.info
    return info.dataset, info.fold, info.model, info.key


def recorded_cell(summary: CellSummary) -> Cell:
    """Return the cell that a record tells of, as a plan would hold it."""
    content, info = summary.content, summary.info
    model, searcher, objective = (
        Variant(content[kind]["name"], content[kind]["settings"], label)
        for kind, label in (("model", info.model), ("searcher", info.searcher), ("objective", info.objective))
    )
    return Cell(
        info=info,
        dataset=info.dataset,
        model=model,
        searcher=searcher,
        objective=objective,
        constraints=content["constraints"],
        fold=content["fold"],
        query_budget=content["query_budget"],
        time_limit=content["time_limit"],
        respect_steps=content["respect_steps"],
        seed=content["seed"],
        content=content,
        points=None,
        repetitions=summary.repetitions,
        searches=summary.searches,
    )
