"""The second stage: metrics about searches that are in the record already.

One metric's mistake costs only that metric; everything else of the cell is measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from cfbench.entries import Stage
from cfbench.errors import CfbenchError
from cfbench.harness.metric_values import checked_values, plugin_call
from cfbench.harness.store.point_values import OBJECTIVE
from cfbench.harness.store.schema import MEASURE_SCHEMA
from cfbench.harness.variants import Variant, build_settings, resolve_variant
from cfbench.metric_contracts import CellContext, CounterfactualMetric, ObjectiveComparison
from cfbench.registry import Registry
from cfbench.space import FloatArray


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured about a cell.

    Parameters
    ----------
    table : DataFrame
        Columns of ``MEASURE_SCHEMA``; no rows where every metric failed.
    complaints : tuple of str
        A sentence for each metric that failed.
    """

    table: pd.DataFrame
    complaints: tuple[str, ...] = ()

    @classmethod
    def nothing(cls, *complaints: str) -> Measured:
        """Return what is left where nothing could be measured."""
        return cls(pd.DataFrame(columns=MEASURE_SCHEMA.names), complaints)

    @classmethod
    def of(cls, tables: Sequence[pd.DataFrame], complaints: Sequence[str]) -> Measured:
        """Return what tables of single measures and sentences about others come to."""
        if not tables:
            return cls.nothing(*complaints)
        return cls(pd.concat(tables, ignore_index=True), tuple(complaints))

    def and_also(self, other: Measured) -> Measured:
        """Return this with what else was measured about the same cell."""
        tables = [measured.table for measured in (self, other) if len(measured.table)]
        return Measured.of(tables, (*self.complaints, *other.complaints))


def measure_cell(
    searches: pd.DataFrame, context: CellContext, registry: Registry, metrics: Sequence[Variant]
) -> Measured:
    """Compute metrics about the searches of one cell.

    Parameters
    ----------
    searches : DataFrame
        The cell's rows, columns of ``SEARCH_SCHEMA``.
    context : CellContext
    registry : Registry
    metrics : sequence of Variant
        Those that compare cells are passed over: they are computed where a board is made.
    """
    tables, complaints = [], []
    for variant in cell_metrics(metrics, registry):
        try:
            tables.append(_table(searches, context, registry, variant))
        except CfbenchError as error:
            complaints.append(str(error))
    return Measured.of(tables, complaints)


def cell_metrics(metrics: Iterable[Variant], registry: Registry) -> tuple[Variant, ...]:
    """Return the metrics that are about the searches of one cell, not about several cells side by side.

    What a comparison of objectives needs to have been measured about each cell is among them.
    """
    found: dict[str, Variant] = {}
    for variant in metrics:
        entry = registry.metric(variant.name).entry
        if entry.stage is Stage.COUNTERFACTUAL:
            found.setdefault(variant.label, variant)
        elif issubclass(entry.metric, ObjectiveComparison):
            comparison = build_settings(entry.metric, variant.settings, variant.name)
            for text in comparison.measures():
                needed = resolve_variant(registry, "metric", text)
                found.setdefault(needed.label, needed)
    return tuple(found.values())


def identity(variant: Variant, registry: Registry) -> tuple[str, str, str]:
    """Return what tells a measure's values from all others in the record: (label, version, settings as JSON)."""
    settings = json.dumps(variant.settings, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if variant.name.startswith(OBJECTIVE):
        return variant.label, registry.objective(variant.name.removeprefix(OBJECTIVE)).entry.version, settings
    return variant.label, registry.metric(variant.name).entry.version, settings


def _table(searches: pd.DataFrame, context: CellContext, registry: Registry, variant: Variant) -> pd.DataFrame:
    metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
    assert isinstance(metric, CounterfactualMetric)
    label, version, settings = identity(variant, registry)
    key = "" if searches.empty else str(searches["cell_key"].iloc[0])
    with plugin_call(label, key):
        returned: object = metric.measure(searches.copy(), context)
    return measure_table(searches, (label, version, settings), checked_values(label, returned, searches.index))


def measure_table(searches: pd.DataFrame, measure: tuple[str, str, str], values: FloatArray) -> pd.DataFrame:
    """Return the rows of a measure for a cell's table, from a value for each of its searches."""
    label, version, settings = measure
    return pd.DataFrame(
        {
            "cell_key": searches["cell_key"],
            "metric": label,
            "version": version,
            "settings": settings,
            "point": searches["point"],
            "repetition": searches["repetition"],
            "value": values,
        }
    )
