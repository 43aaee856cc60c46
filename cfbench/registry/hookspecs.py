"""The hooks that plugins implement, in pluggy's terms.

A plugin is a module (or object) named in the entry-point group ``cfbench``. It marks its implementations with
:data:`hookimpl`; each registering hook returns an iterable of entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pluggy

from cfbench.registry.entries import (
    DatasetEntry,
    MetricEntry,
    ModelEntry,
    ObjectiveEntry,
    PresetEntry,
    ReportEntry,
    SearcherEntry,
)
from cfbench.registry.events import CellFinished, CellStarted, RunFinished, RunStarted, SearchFinished

PROJECT = "cfbench"
"""Name of the entry-point group and of the pluggy project."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a plugin's implementation of a hook.

Examples
--------
>>> from cfbench import SearcherEntry, hookimpl
>>> def keep(problem, rng):
...     return None
>>> @hookimpl
... def cfbench_register_searchers():
...     yield SearcherEntry(name="keep", searcher=keep)
>>> [entry.name for entry in cfbench_register_searchers()]
['keep']
"""


@hookspec
def cfbench_register_datasets(folders: Sequence[Path]) -> Iterable[DatasetEntry]:  # type: ignore[empty-body]
    """Register data sets.

    Parameters
    ----------
    folders : sequence of Path
        Data-set folders that the user named. A plugin that cannot read folders omits the parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import Dataset, DatasetEntry, FeatureSpace, FeatureSpec, Kind, hookimpl
    >>> def load(source):  # a DataSource in, a Dataset out
    ...     space = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),))
    ...     X = np.arange(0.0, 100.0, 5.0)[:, np.newaxis]  # shape (n, d)
    ...     y = (X[:, 0] > 50).astype(np.int64)  # class codes, shape (n,)
    ...     return Dataset("my-data", X, y, space, target=1, class_labels=("refused", "granted"))
    >>> @hookimpl
    ... def cfbench_register_datasets():
    ...     yield DatasetEntry(name="my-data", load=load, summary="20 loans, 1 feature")
    """


@hookspec
def cfbench_register_models() -> Iterable[ModelEntry]:  # type: ignore[empty-body]
    """Register models.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import ModelEntry, ModelFamily, hookimpl
    >>> class Threshold:
    ...     def __init__(self, value):
    ...         self.value = value
    ...
    ...     def predict(self, Z):  # rows, float64, shape (n, d), in; class codes, int64, shape (n,), out
    ...         return (Z[:, 0] > self.value).astype(np.int64)
    ...
    ...     def predict_proba(self, Z):  # probabilities, float64, shape (n, classes), columns by class code
    ...         return np.eye(2)[self.predict(Z)]
    ...
    ...     def fingerprint(self):  # a string that differs between models that answer differently
    ...         return f"above {self.value}"
    ...
    ...     def oracle(self):  # the fastest exact way to query the model: here, itself
    ...         return self
    >>> class Quantile(ModelFamily):
    ...     share: float | None = None  # a setting; None: tuned
    ...
    ...     def grid(self):  # the hyper-parameters to choose from: a list of values by name
    ...         return {"share": [0.25, 0.5, 0.75] if self.share is None else [self.share]}
    ...
    ...     def tune(self, X, y, space):  # a training fold in; one value of each list, by name, out
    ...         def accuracy(share):
    ...             return np.mean(self.fit(X, y, space, {"share": share}).predict(X) == y)
    ...
    ...         return {"share": max(self.grid()["share"], key=accuracy)}
    ...
    ...     def fit(self, X, y, space, hyperparameters):  # a fitted model with the four methods above
    ...         return Threshold(np.quantile(X[:, 0], hyperparameters["share"]))
    >>> @hookimpl
    ... def cfbench_register_models():
    ...     yield ModelEntry(name="quantile", family=Quantile)
    """


@hookspec
def cfbench_register_searchers() -> Iterable[SearcherEntry]:  # type: ignore[empty-body]
    """Register search algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import Handles, SearcherEntry, hookimpl
    >>> def search(problem, rng):  # a Problem and a numpy Generator in; a row, shape (d,), or None out
    ...     Z = problem.sample(100, rng)
    ...     values, classes = problem.evaluate(Z)
    ...     values[classes != problem.target] = np.inf
    ...     best = np.argmin(values)
    ...     return Z[best] if np.isfinite(values[best]) else None
    >>> @hookimpl
    ... def cfbench_register_searchers():
    ...     yield SearcherEntry(name="best-of-100", searcher=search, handles=[Handles.CATEGORICAL, Handles.CONSTRAINTS])
    """


@hookspec
def cfbench_register_objectives() -> Iterable[ObjectiveEntry]:  # type: ignore[empty-body]
    """Register objectives.

    Examples
    --------
    >>> from cfbench import Objective, ObjectiveEntry, hookimpl
    >>> class PricePerIncrease(Objective):
    ...     price: float = 0.1
    ...
    ...     def bind(self, context):  # an ObjectiveContext in; a term, or None, out
    ...         def term(Z, classes):  # candidates, shape (n, d), and their classes in; values to add, shape (n,), out
    ...             return self.price * (Z > context.x).sum(axis=1)
    ...
    ...         return term
    ...
    ...     def draws_per_candidate(self):  # 0: equal candidates have equal values
    ...         return 0
    >>> @hookimpl
    ... def cfbench_register_objectives():
    ...     yield ObjectiveEntry(name="price-per-increase", objective=PricePerIncrease)
    """


@hookspec
def cfbench_register_metrics() -> Iterable[MetricEntry]:  # type: ignore[empty-body]
    """Register metrics.

    Examples
    --------
    >>> from cfbench import Direction, Metric, MetricEntry, hookimpl
    >>> class SearchQueries(Metric):
    ...     def measure(self, found, context):
    ...         return found.search_queries
    >>> @hookimpl
    ... def cfbench_register_metrics():
    ...     yield MetricEntry(
    ...         name="search-queries",
    ...         metric=SearchQueries,
    ...         direction=Direction.LOWER,
    ...         unit="queries",
    ...         summary="queries of the searcher alone",
    ...         header="searcher",
    ...         group="cost-of-search",
    ...         shown_by_default=True,
    ...     )
    """


@hookspec
def cfbench_register_presets() -> Iterable[PresetEntry]:  # type: ignore[empty-body]
    """Register presets: studies that are run by their names.

    Examples
    --------
    >>> from cfbench import PresetEntry, hookimpl
    >>> SMALL = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["cogs", "lore"], "points": 3}
    >>> @hookimpl
    ... def cfbench_register_presets():
    ...     yield PresetEntry(name="small", study=SMALL, reference="cogs", summary="two searchers on wine")
    """


@hookspec
def cfbench_register_reports() -> Iterable[ReportEntry]:  # type: ignore[empty-body]
    """Register reports: pages, tables and figures that are rendered from a record.

    Examples
    --------
    >>> import json
    >>> from cfbench import ReportEntry, hookimpl
    >>> from cfbench.analysis import RenderedReport
    >>> def render(context):
    ...     counts = {cell.info.key: cell.searches for cell in context.record.summaries().values()}
    ...     return RenderedReport({"searches.json": json.dumps(counts).encode()}, said=f"{len(counts)} cells")
    >>> @hookimpl
    ... def cfbench_register_reports():
    ...     yield ReportEntry(name="searches", render=render, summary="how many searches each cell has")
    """


@hookspec
def cfbench_run_started(event: RunStarted) -> None:
    """A run begins. No search has started yet.

    Examples
    --------
    >>> from cfbench import hookimpl
    >>> @hookimpl
    ... def cfbench_run_started(event):
    ...     print(f"{len(event.cells)} cells, {event.cells_done} done before")
    """


@hookspec
def cfbench_cell_started(event: CellStarted) -> None:
    """A cell's model is ready and its eligible points are known.

    Examples
    --------
    >>> from cfbench import hookimpl
    >>> @hookimpl
    ... def cfbench_cell_started(event):
    ...     print(event.cell.searcher, event.searches)
    """


@hookspec
def cfbench_search_finished(event: SearchFinished) -> None:
    """A search has been judged and committed to the record.

    Examples
    --------
    >>> from cfbench import hookimpl
    >>> @hookimpl
    ... def cfbench_search_finished(event):
    ...     print(event.status, event.loss)
    """


@hookspec
def cfbench_cell_finished(event: CellFinished) -> None:
    """A cell is complete in the record, or has failed.

    Examples
    --------
    >>> from cfbench import hookimpl
    >>> @hookimpl
    ... def cfbench_cell_finished(event):
    ...     print(event.cell.key, event.failure or "finished")
    """


@hookspec
def cfbench_run_finished(event: RunFinished) -> None:
    """A run ends, normally or interrupted.

    Examples
    --------
    >>> from cfbench import hookimpl
    >>> @hookimpl
    ... def cfbench_run_finished(event):
    ...     print(event.searches_run, "searches added")
    """
