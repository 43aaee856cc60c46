"""Metrics about searches that are in the record: called, checked, written as rows.

One metric's mistake costs only that metric; everything else of the cell is measured.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, PluginError, StudyError
from cfbench.record.frames import search_column
from cfbench.record.measures import OBJECTIVE
from cfbench.record.schema import MetricId, Row
from cfbench.registry.entries import Stage
from cfbench.registry.metrics import CellContext, Found
from cfbench.registry.registry import Registry
from cfbench.running.search import FittedFold, SearchTask, judge_of
from cfbench.space.space import FloatArray
from cfbench.study.plan import Cell
from cfbench.study.protocol import guarded_randomness
from cfbench.study.variants import Variant, build_settings, resolve_variant


def checked_values(metric: str, returned: object, n: int) -> FloatArray:
    """Return a metric's values as float64, NaN where it has none.

    Raises PluginError, which names the metric by its label, if `returned` is not an array of `n` finite numbers or NaN.
    """
    if not isinstance(returned, np.ndarray):
        raise PluginError(
            f"metric {metric!r} returned a {type(returned).__name__}; it must return a numpy array of shape ({n},), "
            "one number per search or point"
        )
    if returned.shape != (n,):
        raise PluginError(
            f"metric {metric!r} returned values of shape {returned.shape} for {n} rows; it must return shape ({n},), "
            "NaN where there is no value"
        )
    if returned.dtype.kind not in "fiub":
        raise PluginError(f"metric {metric!r} returned values of type {returned.dtype}, not numbers")
    values = returned.astype(np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise PluginError(
            f"metric {metric!r} returned {values[infinite[0]]} for row {infinite[0]}; an infinity cannot be averaged "
            "or stored: return NaN where there is no value"
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

    `values` has, by (metric, version, settings), one value per search in the order of the searches. `complaints` has a
    sentence for each metric that failed.
    """

    values: dict[MetricId, FloatArray]
    complaints: tuple[str, ...] = ()


def measure_cell(
    rows: Sequence[Row],
    context: CellContext,
    registry: Registry,
    measures: Sequence[Variant],
    judged: Callable[[Variant], FloatArray] | None = None,
) -> Measured:
    """Compute measures of the searches of one cell, each for itself.

    `rows` are the searches. `judged` returns the values of an objective measure.
    """
    of_cell = _CellMetrics(rows, context, registry)
    found: dict[MetricId, FloatArray] = {}
    complaints = []
    for measure in measures:
        try:
            if judged is not None and measure.name.startswith(OBJECTIVE):
                values = judged(measure)
            else:
                values = of_cell.values(measure)
        except CfbenchError as error:
            complaints.append(str(error))
            continue
        found[identity(measure, registry)] = values
    return Measured(found, tuple(complaints))


class _CellMetrics:
    """The metrics of one cell: all share its searches as arrays, and each is computed once."""

    def __init__(self, rows: Sequence[Row], context: CellContext, registry: Registry) -> None:
        self._context, self._registry = context, registry
        self._key = str(rows[0]["cell_key"]) if rows else ""
        self._known: dict[str, FloatArray] = {}
        self._open: list[str] = []
        self._found = Found(
            len(rows),
            partial(search_column, rows),
            d=context.space.d,
            measured=lambda name: self.values(resolve_variant(registry, "metric", name)),
            is_valid=context.is_valid,
        )

    def values(self, variant: Variant) -> FloatArray:
        """Return the checked values of a metric, shape (n,)."""
        label = variant.label
        if label in self._open:
            chain = " -> ".join([*self._open[self._open.index(label) :], label])
            raise PluginError(f"metric {label!r} needs itself ({chain}): name in `needs` what does not depend on it")
        if label not in self._known:
            metric = build_settings(self._registry.metric(variant.name).entry.metric, variant.settings, variant.name)
            self._open.append(label)
            try:
                with plugin_call(label, self._key):
                    returned: object = metric.measure(self._found, self._context)
                self._known[label] = checked_values(label, returned, len(self._found))
            finally:
                self._open.pop()
        return self._known[label]


def cell_metrics(metrics: Iterable[Variant], registry: Registry) -> tuple[Variant, ...]:
    """Return the metrics that measure one cell, and those among them that the others need.

    Raises StudyError if a metric needs one that compares cells.
    """
    found: dict[str, Variant] = {}

    def add(variant: Variant) -> None:
        entry = registry.metric(variant.name).entry
        if variant.label in found:
            return
        if entry.stage is Stage.COUNTERFACTUAL:
            found[variant.label] = variant
        for text in build_settings(entry.metric, variant.settings, variant.name).needs():
            needed = resolve_variant(registry, "metric", text)
            if registry.metric(needed.name).entry.stage is Stage.COMPARISON:
                raise StudyError(
                    f"metric {variant.label!r} needs {text!r}, which compares cells; a metric can only need metrics "
                    "that measure one cell"
                )
            add(needed)

    for variant in metrics:
        add(variant)
    return tuple(found.values())


def identity(variant: Variant, registry: Registry) -> MetricId:
    """Return what tells a measure's values from all others in the record: (label, version, settings as JSON)."""
    settings = json.dumps(variant.settings, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if variant.name.startswith(OBJECTIVE):
        return variant.label, registry.objective(variant.name.removeprefix(OBJECTIVE)).entry.version, settings
    return variant.label, registry.metric(variant.name).entry.version, settings


def objective_measure(objective: Variant) -> Variant:
    """Return the measure that holds the values of results under an objective.

    A searcher that minimises the loss alone has no search of its own under a robustness objective. Its results for
    objective ``none`` are judged under it instead, and the values are stored as a measure of the cell of objective
    ``none``. The measure carries the version and the settings of the objective, so that it is computed again when they
    change.
    """
    return Variant(f"{OBJECTIVE}{objective.name}", objective.settings, f"{OBJECTIVE}{objective.label}")


def judged_values(
    rows: Sequence[Row], cell: Cell, fitted_fold: FittedFold, registry: Registry, measure: Variant
) -> FloatArray:
    """Judge the results of a cell of objective ``none`` by the judge of a search under another objective.

    The value of a result is what the judge would give to a searcher that minimises the objective and returns the same
    `z`, bit for bit: the judge takes the same draws for all searchers, objectives and repetitions of a point. If an
    objective adds nothing on the data set, the value is the loss. The candidates of a set are not chosen again.
    Searches that found nothing have NaN.
    """
    name, label = measure.name.removeprefix(OBJECTIVE), measure.label.removeprefix(OBJECTIVE)
    objective = build_settings(registry.objective(name).entry.objective, measure.settings, name)
    values = np.full(len(rows), np.nan)
    for i, row in enumerate(rows):
        point, z = row["point"], row["z"]
        if row["loss"] is None:
            continue
        if z is None:
            raise CfbenchError(
                f"results on {cell.dataset} cannot be judged under objective {label}: the record holds them "
                "without their rows"
            )
        task = SearchTask(cell, point, row["row_id"], row["repetition"])
        with plugin_call(measure.label, cell.info.key):
            judge = judge_of(task, fitted_fold, objective, label)
            value = judge.verdict(np.asarray(z, dtype=np.float64), returns_sets=False)
        if value.objective_value is None:
            raise CfbenchError(
                f"a result of {cell.searcher.label} on {cell.dataset}, fold {cell.fold}, point {point} is not valid "
                f"when it is judged under objective {label}: {value.reason}"
            )
        values[i] = value.objective_value
    return checked_values(measure.label, values, len(rows))
