"""Metrics about searches that are in the record: called, checked, written as rows.

One metric's mistake costs only that metric; everything else of the cell is measured.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from cfbench.running.search import FittedFold, SearchTask, judge_of
from cfbench.space.space import FloatArray
from cfbench.study.plan import Cell
from cfbench.study.protocol import guarded_randomness
from cfbench.study.variants import Variant, build_settings, resolve_variant


def checked_values(metric: str, returned: object, index: pd.Index) -> FloatArray:
    """Return a metric's values as float64 in the order of `index`, NaN where it has none.

    Raises PluginError, which names the metric by its label, if `returned` is not a Series of finite numbers or NaN with
    this index.
    """
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

    `stream` says what the call is about, so that its global generators are seeded alike wherever it runs. Raises
    PluginError in place of what the metric raises; errors of ours (no data, no model) pass as they are.
    """
    seed = np.random.SeedSequence(int(digest_of(["metric", metric, *stream]), 16))
    try:
        with guarded_randomness(seed), chdir(Path.cwd()):
            yield
    except (CfbenchError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginError(f"metric {metric!r} raised {type(error).__name__}: {error}") from error


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured about a cell.

    `table` has the columns of ``MEASURE_SCHEMA``, and no rows if every metric failed. `complaints` has a sentence for
    each metric that failed.
    """

    table: pd.DataFrame
    complaints: tuple[str, ...] = ()


def measure_cell(
    searches: pd.DataFrame,
    context: CellContext,
    registry: Registry,
    measures: Sequence[Variant],
    judged: Callable[[Variant], FloatArray] | None = None,
) -> Measured:
    """Compute measures of the searches of one cell, each for itself.

    `searches` has the columns of ``SEARCH_SCHEMA``. `judged` returns the values of an objective measure.
    """
    tables, complaints = [pd.DataFrame(columns=MEASURE_SCHEMA.names)], []
    for measure in measures:
        try:
            if judged is not None and measure.name.startswith(OBJECTIVE):
                values = judged(measure)
            else:
                values = _values(searches, context, registry, measure)
        except CfbenchError as error:
            complaints.append(str(error))
            continue
        label, version, settings = identity(measure, registry)
        rows = searches[["cell_key", "point", "repetition"]]
        rows = rows.assign(metric=label, version=version, settings=settings, value=values)
        tables.append(rows[MEASURE_SCHEMA.names])
    table = tables[0] if len(tables) == 1 else pd.concat(tables[1:], ignore_index=True)
    return Measured(table, tuple(complaints))


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


def _values(searches: pd.DataFrame, context: CellContext, registry: Registry, variant: Variant) -> FloatArray:
    metric = build_settings(registry.metric(variant.name).entry.metric, variant.settings, variant.name)
    assert isinstance(metric, CounterfactualMetric)
    key = "" if searches.empty else str(searches["cell_key"].iloc[0])
    with plugin_call(variant.label, key):
        returned: object = metric.measure(searches.copy(), context)
    return checked_values(variant.label, returned, searches.index)


def objective_measure(objective: Variant) -> Variant:
    """Return the measure that holds the values of results under an objective.

    A searcher that minimises the loss alone has no search of its own under a robustness objective. Its results for
    objective ``none`` are judged under it instead, and the values are stored as a measure of the cell of objective
    ``none``. The measure carries the version and the settings of the objective, so that it is computed again when they
    change.
    """
    return Variant(f"{OBJECTIVE}{objective.name}", objective.settings, f"{OBJECTIVE}{objective.label}")


def judged_values(
    searches: pd.DataFrame, cell: Cell, fitted_fold: FittedFold, registry: Registry, measure: Variant
) -> FloatArray:
    """Judge the results of a cell of objective ``none`` by the judge of a search under another objective.

    The value of a result is what the judge would give to a searcher that minimises the objective and returns the same
    `z`, bit for bit: the judge takes the same draws for all searchers, objectives and repetitions of a point. If an
    objective adds nothing on the data set, the value is the loss. The candidates of a set are not chosen again.
    Searches that found nothing have NaN.
    """
    name, label = measure.name.removeprefix(OBJECTIVE), measure.label.removeprefix(OBJECTIVE)
    objective = build_settings(registry.objective(name).entry.objective, measure.settings, name)
    values = np.full(len(searches), np.nan)
    columns = (searches[name].tolist() for name in ("point", "row_id", "repetition", "loss", "z"))
    for i, (point, row_id, repetition, loss, z) in enumerate(zip(*columns, strict=True)):
        if pd.isna(loss):
            continue
        if z is None:
            raise CfbenchError(
                f"results on {cell.dataset} cannot be judged under objective {label}: the record holds them "
                "without their rows"
            )
        task = SearchTask(cell, point, row_id, repetition)
        with plugin_call(measure.label, cell.info.key):
            judge = judge_of(task, fitted_fold, objective, label)
            value = judge.verdict(np.asarray(z, dtype=np.float64), returns_sets=False)
        if value.objective_value is None:
            raise CfbenchError(
                f"a result of {cell.searcher.label} on {cell.dataset}, fold {cell.fold}, point {point} is not valid "
                f"when it is judged under objective {label}: {value.reason}"
            )
        values[i] = value.objective_value
    return checked_values(measure.label, pd.Series(values, index=searches.index), searches.index)
