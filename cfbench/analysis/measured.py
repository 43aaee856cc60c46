"""Which metrics a board shows, and their values in a record: measured ones are read, comparisons are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cfbench.analysis.groups import bare_name
from cfbench.analysis.loss_alone import with_judged
from cfbench.analysis.references import PointResults, compare_cells
from cfbench.errors import CfbenchError, UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.record.files import results_option
from cfbench.record.measures import OBJECTIVE
from cfbench.record.reading import RecordReading
from cfbench.record.schema import MetricId
from cfbench.registry.entries import Direction, MetricEntry, Stage
from cfbench.registry.registry import Registry
from cfbench.space.space import FeatureSpace, FloatArray
from cfbench.study.obstacles import beyond_metric
from cfbench.study.sources import data_source, load_dataset
from cfbench.study.variants import Variant, parse_variant, resolve_variant
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
    # Metrics that compare each searcher with the reference searcher, and are shown with other settings than their own
    variants: tuple[Variant, ...] = ()

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
    results: PointResults | None = None,
) -> tuple[Measurements, list[str]]:
    """Find the values of the metrics among the names of columns.

    Raises UnknownNameError if a name is neither a column nor a metric.
    """
    values = record.point_values()
    results = results or PointResults(record, registry, values=values)
    if not names:
        measured = {label for label, _, _ in values.metrics}
        shown_by_default = {name: one.entry for name, one in registry.metrics.items() if one.entry.shown_by_default}
        chosen = [
            name
            for name, entry in shown_by_default.items()
            if name in measured or (entry.stage is Stage.COMPARISON and not entry.compares_with_board)
        ]
    else:
        chosen = [name for name in names if name not in others]
    metrics = {metric for metric in values.metrics if not metric[0].startswith(OBJECTIVE)}
    columns = {name: metric_column(name, registry, metrics, others) for name in chosen}
    relative = {
        name: column.label for name, column in columns.items() if column.entry and column.entry.compares_with_board
    }
    columns = {name: column for name, column in columns.items() if name not in relative}
    comparisons = [column for column in columns.values() if column.entry and column.entry.stage is Stage.COMPARISON]
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
        options += results_option(record.path)
        complaints.append(f"not measured: {', '.join(absent)}; `cfbench measure {options}` adds them")
    if comparisons:
        compared, said = _compared(comparisons, record, registry, summaries, results)
        found |= compared
        complaints += said
    for column in columns.values():
        if not (column.entry and column.entry.metric.reference.searcher):
            found[column.identity] = with_judged(found[column.identity], shown)
    labels = [columns[name].label if name in columns else relative.get(name, name) for name in names]
    variants = tuple(resolve_variant(registry, "metric", label) for label in dict.fromkeys(relative.values()))
    found_of_all = Measurements(tuple(dict.fromkeys(columns.values())), found, tuple(complaints), variants)
    return found_of_all, list(dict.fromkeys(labels))


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


def _compared(
    columns: Sequence[MetricColumn],
    record: RecordReading,
    registry: Registry,
    summaries: Mapping[str, CellSummary],
    results: PointResults,
) -> tuple[dict[MetricId, dict[str, FloatArray]], list[str]]:
    """Compute metrics that compare a result with another: under another objective, or of another searcher."""
    variants = [resolve_variant(registry, "metric", column.label) for column in columns]
    compared = compare_cells(record, registry, variants, cells=summaries.values(), results=results)
    complaints = [f"{reason} ({plural(count, 'cell')})" for reason, count in compared.complaints.most_common()]
    complaints += [f"{remark} ({plural(count, 'point')})" for remark, count in compared.remarks.most_common()]
    return {column.identity: compared.values(column.label, summaries) for column in columns}, complaints


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
