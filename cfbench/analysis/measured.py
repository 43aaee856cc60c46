"""Which metrics a board shows, and their values in a record: measured ones are read, comparisons are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cfbench.analysis.groups import bare_name
from cfbench.analysis.loss_alone import with_judged
from cfbench.analysis.references import Comparisons, PointResults, compare_with_none, compare_with_reference
from cfbench.errors import CfbenchError, StudyError, UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.record.measures import OBJECTIVE, PointValues
from cfbench.record.reading import RecordReading
from cfbench.record.schema import MetricId
from cfbench.registry.contracts import ComparisonMetric, ObjectiveComparison, ReferenceComparison
from cfbench.registry.entries import Direction, MetricClass, MetricEntry
from cfbench.registry.registry import Registry
from cfbench.space.space import FeatureSpace, FloatArray
from cfbench.study.obstacles import beyond_metric
from cfbench.study.sources import data_source, load_dataset
from cfbench.study.variants import parse_variant, resolve_variant
from cfbench.text import plural


@dataclass(frozen=True)
class MetricColumn:
    """A metric on the board."""

    label: str  # its name with its variant label, such as ``depth[part=c]``
    identity: MetricId  # which of the record's values are meant
    # What is registered under its name; None if no plugin here registers it
    entry: MetricEntry | None = field(default=None, compare=False)

    @property
    def direction(self) -> Direction:
        """Which values are better."""
        return Direction.NEUTRAL if self.entry is None else self.entry.direction


@dataclass(frozen=True)
class Measurements:
    """Metrics with their values."""

    columns: tuple[MetricColumn, ...] = ()
    # By cell key: one value per point of the cell's summary, of the point's result; NaN outside the denominator
    values: Mapping[MetricId, Mapping[str, FloatArray]] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()  # what is unavailable, one sentence for each

    def of(self, column: MetricColumn) -> Mapping[str, FloatArray]:
        """Return the values of a column by cell key; empty where nothing was measured."""
        return self.values.get(column.identity, {})


def metric_column(
    text: str, registry: Registry, measured: Collection[MetricId], others: Collection[str]
) -> MetricColumn:
    """Resolve the name of a metric, as written for ``--columns``.

    Raises UnknownNameError if it is neither registered nor in the record.
    """
    from cfbench.running.measure import identity  # loads pandas

    name = parse_variant(text)[0]
    entry = registry.metrics[name].entry if name in registry.metrics else None
    if entry is None:
        return _unregistered(text, registry, measured, others)
    variant = resolve_variant(registry, "metric", text)
    return MetricColumn(variant.label, identity(variant, registry), entry)


def _unregistered(
    text: str, registry: Registry, measured: Collection[MetricId], others: Collection[str]
) -> MetricColumn:
    alike = sorted(metric for metric in measured if metric[0] == text)
    if not alike:
        known = {*others, *registry.metrics, *(label for label, _, _ in measured)}
        hint = registry.renamed_metric(text) or "A metric's name is a column, too: `cfbench plugins` lists them."
        raise UnknownNameError("column", text, known, hint)
    if len(alike) > 1:
        versions = ", ".join(f"{version} {settings}" for _, version, settings in alike)
        raise CfbenchError(
            f"metric {text!r} is registered by no plugin here, and the record holds several of that name ({versions}): "
            "install or name its plugin (--plugin), which says which is meant"
        )
    return MetricColumn(text, alike[0])


def measurements_for(
    names: Sequence[str],
    others: Sequence[str],
    record: RecordReading,
    registry: Registry,
    summaries: Mapping[str, CellSummary],
    shown: Iterable[CellSummary] = (),
    values: PointValues | None = None,
) -> tuple[Measurements, list[str]]:
    """Find the values of the metrics among the names of columns.

    Raises UnknownNameError if a name is neither a column nor a metric. Raises StudyError if a metric that compares
    searchers is named with settings.
    """
    values = record.point_values() if values is None else values
    if not names:
        measured = {label for label, _, _ in values.metrics}
        chosen = [name for name, one in registry.metrics.items() if one.entry.shown_by_default and name in measured]
    else:
        chosen = [name for name in names if name not in others]
    metrics = {metric for metric in values.metrics if not metric[0].startswith(OBJECTIVE)}
    columns = {name: metric_column(name, registry, metrics, others) for name in chosen}
    comparisons = [column for column in columns.values() if _compares_cells(column, registry)]
    complaints: list[str] = []
    found = {column.identity: values.of(column.identity) for column in columns.values() if column not in comparisons}
    obstacles = {column.label: _obstacles(column, registry, summaries.values()) for column in columns.values()}
    for counts in obstacles.values():
        complaints += [f"{reason}: no values in {plural(count, 'cell')}" for reason, count in counts.items() if reason]
    absent = [
        column.label
        for column in columns.values()
        if not found.get(column.identity, True) and "" in obstacles[column.label]
    ]
    if absent:
        options = " ".join(f"--metric '{label}'" for label in absent)
        complaints.append(f"not measured: {', '.join(absent)}; `cfbench measure {options}` adds them")
    if comparisons:
        compared, said = _compared(comparisons, record, registry, summaries)
        found |= compared
        complaints += said
    for column in columns.values():
        if not _names_a_reference(column, registry):
            found[column.identity] = with_judged(found[column.identity], shown)
    labels = [columns[name].label if name in columns else name for name in names]
    return Measurements(tuple(dict.fromkeys(columns.values())), found, tuple(complaints)), list(dict.fromkeys(labels))


def measured_in_part(measurements: Measurements, cells: Iterable[CellSummary]) -> list[str]:
    """Say which metrics were measured in some of the cells only."""
    keys = [cell.info.key for cell in cells if cell.searches]
    said = []
    for column in measurements.columns:
        count = sum(key in measurements.of(column) for key in keys)
        if 0 < count < len(keys):
            said.append(f"{column.label} is known in {count:,} of {len(keys):,} cells with searches")
    return said


def _obstacles(column: MetricColumn, registry: Registry, cells: Iterable[CellSummary]) -> Counter[str]:
    """Count what keeps a metric from having values, by cells with searches; nothing does so in those under ``""``."""
    name = bare_name(column.label)
    return Counter(beyond_metric(name, bare_name(cell.info.model), registry) for cell in cells if cell.searches)


def _compares_cells(column: MetricColumn, registry: Registry) -> bool:
    """Whether a column is computed now, from several cells."""
    metric = _metric_of(column, registry)
    if metric is not None and issubclass(metric, ComparisonMetric):
        raise StudyError(
            f"column {column.label!r} compares searchers with the reference, with its default settings only: name it "
            f"{bare_name(column.label)!r}"
        )
    return metric is not None and issubclass(metric, ObjectiveComparison | ReferenceComparison)


def _metric_of(column: MetricColumn, registry: Registry) -> MetricClass | None:
    name = bare_name(column.label)
    return registry.metric(name).entry.metric if name in registry.metrics else None


def _compared(
    columns: Sequence[MetricColumn], record: RecordReading, registry: Registry, summaries: Mapping[str, CellSummary]
) -> tuple[dict[MetricId, dict[str, FloatArray]], list[str]]:
    """Compute metrics that compare a result with another: the same searcher's under ``none``, or a reference's."""
    results = PointResults(record, registry)
    compared: list[Comparisons] = []
    complaints: list[str] = []
    with_none = [column for column in columns if not _names_a_reference(column, registry)]
    if with_none:
        names = {cell.info.dataset for cell in summaries.values()}
        spaces, complaints = spaces_at_hand(sorted(names), registry)
        at_hand = [cell for cell in summaries.values() if cell.info.dataset in spaces]
        variants = [resolve_variant(registry, "metric", column.label) for column in with_none]
        compared.append(compare_with_none(record, registry, spaces, variants, cells=at_hand, results=results))
    named = [column for column in columns if column not in with_none]
    variants = [resolve_variant(registry, "metric", column.label) for column in named]
    compared.append(compare_with_reference(record, registry, variants, cells=summaries.values(), results=results))
    found: dict[MetricId, dict[str, FloatArray]] = {column.identity: {} for column in columns}
    identities = {column.label: column.identity for column in columns}
    for comparisons in compared:
        complaints += [f"{reason} ({count:,} cells)" for reason, count in comparisons.complaints.most_common()]
        complaints += [f"{remark} ({count:,} points)" for remark, count in comparisons.remarks.most_common()]
        for place, part in comparisons.table.groupby(["cell_key", "metric"], sort=False):
            key, label = map(str, place if isinstance(place, tuple) else (place, ""))
            of_row = dict(zip(part["row_id"].tolist(), part["value"].tolist(), strict=True))
            values = [of_row.get(row_id, np.nan) for row_id in summaries[key].row_ids]
            found[identities[label]][key] = np.array(values, dtype=np.float64)
    return found, complaints


def _names_a_reference(column: MetricColumn, registry: Registry) -> bool:
    metric = _metric_of(column, registry)
    return metric is not None and issubclass(metric, ReferenceComparison)


def spaces_at_hand(names: Sequence[str], registry: Registry) -> tuple[dict[str, FeatureSpace], list[str]]:
    """Return the spaces of the data sets that are at hand, and sentences on the others; nothing is downloaded."""
    source = data_source((), download=False)
    spaces, complaints = {}, []
    for name in names:
        try:
            spaces[name] = load_dataset(registry.dataset(name).entry, source).space
        except CfbenchError as error:
            complaints.append(f"data set {name} is not at hand: {error}")
    return spaces, complaints
