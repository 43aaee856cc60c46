"""Objective measures: the values of a cell's results under another objective than that of their search.

A searcher that minimises the loss alone has no search of its own under a robustness objective. Its results for
objective ``none`` are judged under it instead, and the values are stored as a measure of the cell of objective
``none``. The measure carries the version and the settings of the objective, so that it is computed again when they
change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from cfbench.errors import CfbenchError
from cfbench.record.measures import OBJECTIVE
from cfbench.registry.registry import Registry
from cfbench.running.measure import Measured, checked_values, identity, measure_table, plugin_call
from cfbench.running.search import FittedFold, SearchTask, judge_of
from cfbench.study.plan import Cell
from cfbench.study.variants import Variant, build_settings


def objective_measure(objective: Variant) -> Variant:
    """Return the measure that holds the values under an objective."""
    return Variant(f"{OBJECTIVE}{objective.name}", objective.settings, f"{OBJECTIVE}{objective.label}")


def objective_of(measure: Variant) -> Variant | None:
    """Return the objective of an objective measure; None from a metric."""
    if not measure.name.startswith(OBJECTIVE):
        return None
    return Variant(measure.name.removeprefix(OBJECTIVE), measure.settings, measure.label.removeprefix(OBJECTIVE))


def parted(measures: Iterable[Variant]) -> tuple[tuple[Variant, ...], tuple[Variant, ...]]:
    """Return the metrics among measures, and the objectives of the others."""
    metrics, objectives = [], []
    for measure in measures:
        objective = objective_of(measure)
        if objective is None:
            metrics.append(measure)
        else:
            objectives.append(objective)
    return tuple(metrics), tuple(objectives)


def judge_cell(
    searches: pd.DataFrame, cell: Cell, fitted_fold: FittedFold, registry: Registry, objectives: Sequence[Variant]
) -> Measured:
    """Judge the results of a cell under further objectives, each by the judge of a search under that objective.

    The value of a result is what the judge would give to a searcher that minimises the objective and returns the same
    `z`, bit for bit: the judge takes the same draws for all searchers, objectives and repetitions of a point. Where an
    objective adds nothing on the data set, the value is the loss. The candidates of a set are not chosen again.

    Parameters
    ----------
    searches : DataFrame
        The cell's rows, columns of ``SEARCH_SCHEMA``.
    cell : Cell
        Of objective ``none``.
    fitted_fold : FittedFold
        The data and the fitted model that the results were found on.
    registry : Registry
    objectives : sequence of Variant

    Returns
    -------
    Measured
        A value for each search that found something, NaN for the others.
    """
    tables, complaints = [], []
    for objective in objectives:
        try:
            tables.append(_judged(searches, cell, fitted_fold, registry, objective))
        except CfbenchError as error:
            complaints.append(str(error))
    return Measured.of(tables, complaints)


def _judged(
    searches: pd.DataFrame, cell: Cell, fitted_fold: FittedFold, registry: Registry, variant: Variant
) -> pd.DataFrame:
    measure = objective_measure(variant)
    objective = build_settings(registry.objective(variant.name).entry.objective, variant.settings, variant.name)
    values = np.full(len(searches), np.nan)
    columns = (searches[name].tolist() for name in ("point", "row_id", "repetition", "loss", "z"))
    for i, (point, row_id, repetition, loss, z) in enumerate(zip(*columns, strict=True)):
        if pd.isna(loss):
            continue
        if z is None:
            raise CfbenchError(
                f"results on {cell.dataset} cannot be judged under objective {variant.label}: the record holds them "
                "without their rows"
            )
        task = SearchTask(cell, point, row_id, repetition)
        with plugin_call(measure.label, cell.info.key):
            value = judge_of(task, fitted_fold, objective).verdict(np.asarray(z, dtype=np.float64), returns_sets=False)
        if value.objective_value is None:
            raise CfbenchError(
                f"a result of {cell.searcher.label} on {cell.dataset}, fold {cell.fold}, point {point} is not valid "
                f"when it is judged under objective {variant.label}: {value.reason}"
            )
        values[i] = value.objective_value
    series = pd.Series(values, index=searches.index)
    checked = checked_values(measure.label, series, searches.index)
    return measure_table(searches, identity(measure, registry), checked)
