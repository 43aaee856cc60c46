"""Metrics about searches that are in the record: called, checked, written as rows.

One metric's mistake costs only that metric; everything else of the cell is measured.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, PluginError
from cfbench.record.frames import MEASURE_SCHEMA
from cfbench.record.measures import OBJECTIVE
from cfbench.registry.contracts import CellContext, CounterfactualMetric, ObjectiveComparison
from cfbench.registry.entries import Stage
from cfbench.registry.registry import Registry
from cfbench.space.space import FloatArray
from cfbench.study.protocol import guarded_randomness
from cfbench.study.variants import Variant, build_settings, resolve_variant


def checked_values(metric: str, returned: object, index: pd.Index) -> FloatArray:
    """Return a metric's values as float64 in the order of `index`, NaN where it has none.

    Parameters
    ----------
    metric : str
        Its label, for messages.
    returned : object
        What the metric returned; a Series with exactly this index is right.
    index : Index
        Of the rows that it was given.

    Raises
    ------
    PluginError
        If it is anything else, or holds an infinity or what is no number.
    """
    import pandas as pd

    if not isinstance(returned, pd.Series):
        raise PluginError(
            f"metric {metric!r} returned a {type(returned).__name__}; it must return a pandas Series with the index "
            "of the rows that it was given"
        )
    if len(returned) != len(index):
        raise PluginError(
            f"metric {metric!r} returned {len(returned)} values for {len(index)} rows; it must return one per row, "
            "NaN where there is none"
        )
    if not returned.index.equals(index):
        raise PluginError(
            f"metric {metric!r} returned a Series with another index than that of the rows that it was given; "
            "build it with index=searches.index"
        )
    try:
        values = returned.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise PluginError(f"metric {metric!r} returned values of type {returned.dtype}, not numbers: {error}") from None
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise PluginError(
            f"metric {metric!r} returned {values[infinite[0]]} for row {index[infinite[0]]}; an infinity cannot be "
            "averaged or stored: return NaN where there is no value"
        )
    return values


@contextlib.contextmanager
def plugin_call(metric: str, *stream: str) -> Iterator[None]:
    """Guard a call of a metric: its error names it, and it leaves the global random states as they were.

    Parameters
    ----------
    metric : str
        Its label.
    stream : str
        What the call is about, so that its global generators are seeded alike wherever it runs.

    Raises
    ------
    PluginError
        In place of whatever the metric raises; errors of ours (no data, no model) pass as they are.
    """
    seed = np.random.SeedSequence(int(digest_of(["metric", metric, *stream]), 16))
    try:
        with guarded_randomness(seed), chdir(Path.cwd()):
            yield
    except CfbenchError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(f"metric {metric!r} raised {type(error).__name__}: {error}") from error


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
