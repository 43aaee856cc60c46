"""Which metrics a board shows, and what the record holds of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cfbench.entries import Direction, MetricEntry
from cfbench.errors import CfbenchError, UnknownNameError
from cfbench.harness.store.point_values import MetricId
from cfbench.harness.variants import parse_variant, resolve_variant
from cfbench.registry import Registry
from cfbench.space import FloatArray


@dataclass(frozen=True)
class MetricColumn:
    """A metric on the board.

    Parameters
    ----------
    label : str
        Its name with its variant label, such as ``invalidity[part=c]``.
    identity : (str, str, str)
        Which of the record's values are meant.
    direction : Direction
    unit, denominator, summary : str
        As its entry says; empty where no plugin here registers it.
    """

    label: str
    identity: MetricId
    direction: Direction = Direction.NEUTRAL
    unit: str = ""
    denominator: str = ""
    summary: str = ""

    @property
    def arrow(self) -> str:
        """The better direction as a sign; empty where neither is better."""
        return {Direction.HIGHER: "↑", Direction.LOWER: "↓", Direction.NEUTRAL: ""}[self.direction]


@dataclass(frozen=True)
class Measurements:
    """Metrics with their values.

    Parameters
    ----------
    columns : tuple of MetricColumn
    values : mapping of MetricId to mapping of str to ndarray of float64
        By cell key: one a point of the cell's summary, of the point's result; NaN outside the denominator.
    complaints : tuple of str
        What could not be had, a sentence each.
    """

    columns: tuple[MetricColumn, ...] = ()
    values: Mapping[MetricId, Mapping[str, FloatArray]] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()

    def of(self, column: MetricColumn) -> Mapping[str, FloatArray]:
        """Return the values of a column by cell key; empty where nothing was measured."""
        return self.values.get(column.identity, {})


def metric_column(
    text: str, registry: Registry, measured: Collection[MetricId], others: Collection[str]
) -> MetricColumn:
    """Resolve the name of a metric, as written for ``--columns``.

    Parameters
    ----------
    text : str
        ``NAME`` or ``NAME[setting=value]``.
    registry : Registry
    measured : collection of MetricId
        What the record holds. A metric whose plugin is not installed here is known by it.
    others : collection of str
        Columns that are no metrics, for the error's list.

    Raises
    ------
    UnknownNameError
        If it is neither registered nor in the record.
    """
    from cfbench.harness.measure import identity  # loads pandas

    name = parse_variant(text)[0]
    entry = registry.metrics[name].entry if name in registry.metrics else None
    if entry is None:
        return _unregistered(text, registry, measured, others)
    variant = resolve_variant(registry, "metric", text)
    return _column(entry, identity(variant, registry), variant.label)


def _column(entry: MetricEntry, metric: MetricId, label: str) -> MetricColumn:
    return MetricColumn(label, metric, entry.direction, entry.unit, entry.denominator, entry.summary)


def _unregistered(
    text: str, registry: Registry, measured: Collection[MetricId], others: Collection[str]
) -> MetricColumn:
    alike = sorted(metric for metric in measured if metric[0] == text)
    if not alike:
        known = {*others, *registry.metrics, *(label for label, _, _ in measured)}
        raise UnknownNameError("column", text, known, "A metric's name is a column, too: `cfbench plugins` lists them.")
    if len(alike) > 1:
        versions = ", ".join(f"{version} {settings}" for _, version, settings in alike)
        raise CfbenchError(
            f"metric {text!r} is registered by no plugin here, and the record holds several of that name ({versions}): "
            "install or name its plugin (--plugin), which says which is meant"
        )
    return MetricColumn(text, alike[0])
