"""Metrics of a cell, measured again and held against what a record says."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cfbench.errors import CfbenchError
from cfbench.harness.measure import identity
from cfbench.harness.objective_measures import objective_measure
from cfbench.harness.plan import Cell
from cfbench.harness.store.point_values import ID_COLUMNS, OBJECTIVE, MetricId
from cfbench.harness.store.record import Record
from cfbench.harness.variants import Variant, resolve_variant
from cfbench.harness.worker import Worker
from cfbench.registry import Registry

CLOSE = 1e-9
"""Relative difference of values that sums in another order, of other versions of numpy, may have."""
LIMIT = "seconds"
"""Setting of metrics that a clock ends: what they give is another machine's by right."""


def remeasured(
    cell: Cell, measured: Iterable[MetricId], record: Record, worker: Worker, registry: Registry
) -> tuple[list[str], tuple[str, ...]]:
    """Measure again what metrics say of a cell, and what its results are worth under further objectives.

    Parameters
    ----------
    cell : Cell
    measured : iterable of MetricId
        What the record counts as measured of it.
    record : Record
        The cell's rows are whole, and none waits in a journal.
    worker : Worker
    registry : Registry

    Returns
    -------
    differing : list of str
        Metrics that give other values. Those of other versions than are registered here, which no board shows, and
        those that a clock ends are left out.
    complaints : tuple of str
        Why others could not be measured, a sentence each.
    """
    variants = [variant for metric in sorted(measured) if (variant := _here(metric, registry)) is not None]
    found = worker.measure(cell, record.searches(cell.info.key), tuple(variants))
    again = set(found.table[ID_COLUMNS].itertuples(index=False, name=None))
    said = record.measures(cell.info.key)
    said = said[[one in again for one in said[ID_COLUMNS].itertuples(index=False, name=None)]]
    place = [*ID_COLUMNS, "point", "repetition"]
    both = said.merge(found.table, how="outer", on=place, suffixes=("_said", "_found"))
    one, other = (both[f"value_{side}"].to_numpy(dtype=np.float64, na_value=np.nan) for side in ("said", "found"))
    close = np.isclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True)
    return sorted(set(both["metric"][~close])), found.complaints


def _here(metric: MetricId, registry: Registry) -> Variant | None:
    """Return a metric as it is registered here; None where it is another one, or a clock ends it."""
    try:
        if metric[0].startswith(OBJECTIVE):
            variant = objective_measure(resolve_variant(registry, "objective", metric[0].removeprefix(OBJECTIVE)))
        else:
            variant = resolve_variant(registry, "metric", metric[0])
    except CfbenchError:
        return None
    return variant if LIMIT not in variant.settings and identity(variant, registry) == metric else None
