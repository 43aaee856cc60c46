"""The preparation of a cell's searches: `Searcher.prepare` is called once per cell in every worker.

What it does to its process ends with it, its queries are counted, and an error in it fails the cell.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cfbench.errors import BudgetExhausted, PluginError
from cfbench.problem.access import ModelAccess
from cfbench.problem.oracle import Meter
from cfbench.record.cells import Preparation
from cfbench.registry.contracts import Objective, PrepareContext, Searcher, SearchFunction
from cfbench.registry.entries import SearcherEntry
from cfbench.running.crashes import crash_reason
from cfbench.running.interrupt import was_asked_for
from cfbench.running.search import CountingOracle, FittedFold, contained, guarded_signals
from cfbench.study.plan import Cell
from cfbench.study.protocol import guarded_randomness, preparation_seed

PREPARE_LIMIT = 3600.0
"""Seconds after which a preparation in a worker process is killed if the study sets no limit."""


@dataclass(frozen=True, eq=False)
class PreparedSearch:
    """The function that searches, and what its preparation took; None if the searcher prepares nothing."""

    search: SearchFunction
    preparation: Preparation | None = None


def prepared_search(
    cell: Cell, fitted_fold: FittedFold, entry: SearcherEntry, searcher: Searcher | None, objective: Objective
) -> PreparedSearch:
    """Prepare the searches of a cell; `searcher` is None if the entry holds a plain function.

    Raises PluginError if the preparation raises anything, exceeds its query budget, queries the model behind the
    meter's back, or returns no function.
    """
    if searcher is None:
        return PreparedSearch(entry.function)
    if not entry.prepares:
        return PreparedSearch(searcher.search)
    dataset, seed = fitted_fold.dataset, preparation_seed(cell.seed, *cell.names, cell.fold)
    counting = CountingOracle(fitted_fold.oracle)
    meter = Meter(counting, dataset.space.d, cell.prepare_budget)
    space = replace(dataset.space)  # its own arrays: what it does to them ends here
    needs = fitted_fold.offers(entry)
    context = PrepareContext(
        space=space,
        target=dataset.target,
        access=ModelAccess(space, dataset.target, meter, needs, fitted_fold.training, fitted_fold.model),
        rng=np.random.default_rng(seed),
        objective=objective,
        constraints=cell.constraints,
        respect_steps=cell.respect_steps,
    )
    with guarded_randomness(seed), chdir(Path.cwd()):
        wall = time.perf_counter()
        try:
            with contained(), guarded_signals():
                search = searcher.prepare(context)
        except BudgetExhausted as error:
            raise PluginError(f"the preparation of {entry.name} exceeds `prepare_budget`: {error}") from error
        except BaseException as error:  # whatever a plugin and its compiled parts raise fails its own cell alone
            if isinstance(error, KeyboardInterrupt) and was_asked_for():
                raise
            raise PluginError(f"the preparation of {entry.name} raised {crash_reason(error)}") from error
        wall = time.perf_counter() - wall
    if not callable(search):
        raise PluginError(
            f"`prepare` of {entry.name} returned {type(search).__name__}; it has to return the function that searches, "
            "called as search(problem, rng), for example `return self.search`"
        )
    _require_two_arguments(search, entry.name)
    queries = counting.rows + meter.gradient_queries
    if queries != meter.search_queries:
        raise PluginError(
            f"in the preparation of {entry.name}, {queries:,} rows reached the model, and {meter.search_queries:,} "
            "were queried through the context"
        )
    meter.close("the preparation is over: in a search, query the model through the problem, which counts its queries")
    return PreparedSearch(search, Preparation(wall, queries))


def _require_two_arguments(search: Callable[..., object], name: str) -> None:
    """Raise PluginError if what `prepare` returned cannot be called as search(problem, rng)."""
    try:
        signature = inspect.signature(search)
    except ValueError:  # some compiled functions have none; their first search shows it
        return
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise PluginError(
            f"`prepare` of {name} returned something that cannot be called as search(problem, rng): {error}"
        ) from error


class PreparationLost(PluginError):
    """A preparation was killed past its limit, or ended its process: the worker is gone."""


def preparation_lost(cell: Cell, error: BaseException) -> PreparationLost:
    """Return the error that fails a cell whose preparation was killed or ended its process."""
    name = cell.searcher.label
    if isinstance(error, TimeoutError):
        limit = prepare_limit(cell)
        return PreparationLost(
            f"the preparation of {name} was killed after its limit of {limit:g} s; `prepare_time_limit` in the study "
            "sets another one"
        )
    return PreparationLost(f"the preparation of {name} failed: {error}")


def prepare_limit(cell: Cell) -> float:
    """Return the wall-clock seconds that a preparation of a cell may take in a worker process."""
    return PREPARE_LIMIT if cell.prepare_time_limit is None else cell.prepare_time_limit
