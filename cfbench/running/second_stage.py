"""Metrics for the finished cells of a record, without any search: what is missing is computed and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cfbench.errors import CfbenchError
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.registry.entries import Handles
from cfbench.registry.registry import Registry
from cfbench.running.measure import Measured, cell_metrics, identity, objective_measure
from cfbench.running.progress import Metrics
from cfbench.running.warned import counted_warnings, show
from cfbench.running.worker import Worker
from cfbench.study.obstacles import PLAIN, added_by, beyond_metric, beyond_objective, lacks_all
from cfbench.study.plan import Cell
from cfbench.study.variants import Variant, build_settings


@dataclass
class MetricCounts:
    """What the record holds of a metric after the second stage.

    It is measured in `asked` finished cells, of which `cells` have values of its present version and settings, and
    `added` were measured now. `counted` of the `searches` are inside the metric's denominator.
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

    `left_out` cells lack searches: they are measured when their study goes on. `failures` and `beyond` (why metrics say
    nothing of some models) count cells by reason.
    """

    cells: int = 0
    tallies: list[MetricCounts] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    beyond: Counter[str] = field(default_factory=Counter)


def measure_record(
    record: Record,
    worker: Worker,
    registry: Registry,
    metrics: Sequence[Variant],
    objectives: Sequence[Variant] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> SecondStage:
    """Compute what is missing of `metrics` for every finished cell, and write it to the record.

    Under `objectives`, the results of searchers that cannot minimise them are judged. The worker loads data, and
    models for the metrics that use them. `progress` receives how many cells of how many are done.
    """
    metrics = cell_metrics(metrics, registry)
    wanted = Metrics(metrics, registry)
    pending = record.pending()
    ran = [cell for cell in record.summaries().values() if cell.has_results]
    whole = sorted((cell for cell in ran if cell.info.key not in pending), key=_by_model)
    measures = [*metrics, *map(objective_measure, objectives)]
    stage = SecondStage(len(whole), [MetricCounts(measure) for measure in measures], left_out=len(ran) - len(whole))
    for done, cell in enumerate(whole):
        if progress is not None:
            progress(done, len(whole))
        key = cell.info.key
        judged = [one for one in objectives if _is_judged_under(one, cell, registry, worker)]
        missing = wanted.missing(record.measured_of(key), judged)
        if missing:
            measured = _measured(record, worker, cell, missing)
            stage.failures.update(set(measured.complaints))
            record.write_values(key, measured.values)
        asked = {*metrics, *map(objective_measure, judged)}
        _count([counts for counts in stage.tallies if counts.metric in asked], record, registry, cell, missing)
        reasons = [beyond_metric(metric.name, cell.content["model"]["name"], registry) for metric in metrics]
        stage.beyond.update(filter(None, reasons))
    if progress is not None:
        progress(len(whole), len(whole))
    return stage


def _is_judged_under(objective: Variant, cell: CellSummary, registry: Registry, worker: Worker) -> bool:
    """Whether a cell's results stand for a search under an objective that its searcher cannot minimise."""
    name, content = cell.content["searcher"]["name"], cell.content
    if content["objective"]["name"] != PLAIN or not (name in registry.searchers or cell.info.not_run_here):
        return False
    entry = registry.objective(objective.name).entry.objective
    if lacks_all(entry.needs_one_of, registry.model(content["model"]["name"]).entry):
        return False
    if cell.info.not_run_here:
        return True
    searcher = registry.searcher(name).entry
    if Handles.SEPARABLE not in searcher.handles:
        return Handles.OBJECTIVES not in searcher.handles
    bound = build_settings(entry, objective.settings, objective.name)
    try:
        return bool(beyond_objective(searcher, objective.label, added_by(bound, worker.dataset(recorded_cell(cell)))))
    except CfbenchError:
        return True  # the data set is unavailable: measuring the cell says so


def _measured(record: Record, worker: Worker, cell: CellSummary, metrics: tuple[Variant, ...]) -> Measured:
    try:
        with counted_warnings() as counts:
            measured = worker.measure(recorded_cell(cell), record.rows(cell.info.key), metrics)
    except CfbenchError as error:
        return Measured({}, (str(error),))
    show(counts)
    return measured


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


def _by_model(cell: CellSummary) -> tuple[str, int, str, str]:
    """Order cells so that those of one fitted model follow each other."""
    return cell.info.dataset, cell.info.fold, cell.info.model, cell.info.key


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
        prepare_budget=content.get("prepare_budget"),
    )
