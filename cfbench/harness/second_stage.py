"""Metrics for the finished cells of a record, without any search: what is missing is computed and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from cfbench.contracts import DataSource, FittedModel, ModelFamily
from cfbench.dataset import Dataset
from cfbench.entries import ModelEntry
from cfbench.errors import CfbenchError, DataError, ModelError
from cfbench.events import CellInfo
from cfbench.harness.fitted import FittedModels
from cfbench.harness.folds import split
from cfbench.harness.measure import Measured, cell_metrics, identity, measure_cell
from cfbench.harness.obstacles import beyond_metric
from cfbench.harness.sources import load_dataset
from cfbench.harness.standing import Metrics
from cfbench.harness.store.record import Record
from cfbench.harness.store.summary import CellSummary
from cfbench.harness.variants import Variant, build_settings
from cfbench.metric_contracts import CellContext
from cfbench.oracle import Oracle
from cfbench.registry import Registry


@dataclass
class Tally:
    """What the record holds of a metric after the second stage.

    Parameters
    ----------
    metric : Variant
    cells : int
        Finished cells with values of its present version and settings.
    added : int
        Those among them that were measured now.
    counted, searches : int
        Searches inside the metric's denominator, and all searches.
    total : float
        The sum of the values of the searches inside.
    """

    metric: Variant
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
    tallies : list of Tally
        In the order of the metrics.
    failures : Counter of str
        What went wrong, with the number of cells that it happened in.
    left_out : int
        Cells whose searches are not all in: they are measured when their study is run on.
    beyond : Counter of str
        Why metrics say nothing of some models, with the number of cells.
    """

    cells: int = 0
    tallies: list[Tally] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    beyond: Counter[str] = field(default_factory=Counter)


def measure_record(
    record: Record,
    registry: Registry,
    source: DataSource,
    models: FittedModels,
    metrics: Sequence[Variant],
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
    progress : callable, optional
        Told how many cells of how many are done.
    """
    grounds = Grounds(registry, source, models)
    metrics = cell_metrics(metrics, registry)
    wanted = Metrics(metrics, registry)
    pending = record.pending()
    ran = [cell for cell in record.summaries().values() if cell.has_results]
    whole = sorted((cell for cell in ran if cell.info.key not in pending), key=_nearness)
    stage = SecondStage(len(whole), [Tally(metric) for metric in metrics], left_out=len(ran) - len(whole))
    for done, cell in enumerate(whole):
        if progress is not None:
            progress(done, len(whole))
        key = cell.info.key
        missing = wanted.missing(record.measured().get(key, set()))
        if missing:
            measured = _measured(record, registry, grounds, cell, missing)
            stage.failures.update(measured.complaints)
            if len(measured.table):
                record.write_measures(key, measured.table)
        _count(stage.tallies, record, registry, cell, missing)
        reasons = [beyond_metric(metric.name, cell.content["model"]["name"], registry) for metric in metrics]
        stage.beyond.update(filter(None, reasons))
    if progress is not None:
        progress(len(whole), len(whole))
    return stage


class Grounds:
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
        """Return what metrics get beside the rows of a cell; its model must be the one that the searches asked.

        Raises
        ------
        CfbenchError
            If the data set cannot be had, or is another than the cell's.
        """
        dataset = self._dataset(cell)
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

    def _dataset(self, cell: CellSummary) -> Dataset:
        name = cell.content["dataset"]["name"]
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


def _measured(
    record: Record, registry: Registry, grounds: Grounds, cell: CellSummary, metrics: Sequence[Variant]
) -> Measured:
    try:
        context = grounds.context(cell)
    except CfbenchError as error:
        return Measured.nothing(str(error))
    return measure_cell(record.searches(cell.info.key), context, registry, metrics)


def _count(
    tallies: Sequence[Tally], record: Record, registry: Registry, cell: CellSummary, missing: Sequence[Variant]
) -> None:
    table = record.measures(cell.info.key)
    present = record.measured().get(cell.info.key, set())
    for tally in tallies:
        label, version, settings = identity(tally.metric, registry)
        if (label, version, settings) not in present:
            continue
        of_metric = (table["metric"] == label) & (table["version"] == version) & (table["settings"] == settings)
        values = table.loc[of_metric, "value"]
        tally.cells += 1
        tally.added += tally.metric in missing
        tally.counted += int(values.notna().sum())
        tally.searches += len(values)
        tally.total += float(values.sum())


def _nearness(cell: CellSummary) -> tuple[str, int, str, str]:
    """Order cells so that those of one fitted model follow each other."""
    info: CellInfo = cell.info
    return info.dataset, info.fold, info.model, info.key
