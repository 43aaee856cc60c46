"""Why a searcher does not support a cell: its entry's declarations compared with what the cell requires."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cfbench.problem.access import SHOWN, Need
from cfbench.problem.problem import SeparableTerm
from cfbench.registry.contracts import Objective, ObjectiveContext
from cfbench.registry.entries import Handles, ModelEntry, SearcherEntry
from cfbench.registry.registry import Registry
from cfbench.space.dataset import Dataset

PLAIN = "none"
"""Name of the objective that adds nothing to the loss."""


class Added(NamedTuple):
    """What an objective adds to the loss on a data set, as far as it decides which searchers support it."""

    has_term: bool = False
    separable: bool = False  # the term is a sum over the features
    needs_one_of: tuple[Need, ...] = ()


def added_by(objective: Objective, dataset: Dataset) -> Added:
    """Find out what an objective adds to the loss on a data set, by binding it to the first row."""
    context = ObjectiveContext(
        x=dataset.X[0],
        target=dataset.target,
        space=dataset.space,
        predict=lambda Z: np.zeros(len(Z), dtype=np.int64),
        stream=0,
    )
    try:
        term = objective.bind(context)
    except Exception:  # a broken objective shows as such in its searches, where the record keeps the reason
        return Added(True, False, objective.needs_one_of)
    return Added(term is not None, isinstance(term, SeparableTerm), objective.needs_one_of)


def obstacle(
    searcher: SearcherEntry, model: ModelEntry, dataset: Dataset, objective: str, added: Added, *, constraints: bool
) -> str:
    """Say in one sentence why `searcher` is not run on a cell; empty if it is. `objective` is a label."""
    name = searcher.name
    for entry in (searcher, model):
        if entry.unavailable:
            return f"{entry.name} cannot run here: {entry.unavailable}"
    for need in (Need.PROBABILITIES, *SHOWN):
        if need in searcher.needs and need not in model.offers:
            return f"{name} needs {need.value}, and {model.name} does not show it"
    if Handles.CATEGORICAL not in searcher.handles and dataset.space.is_categorical.any():
        return f"{name} does not handle categorical features, and {dataset.name} has them"
    if constraints and (unable := beyond_constraints(searcher, dataset)):
        return unable
    if lacks_all(added.needs_one_of, model):
        return f"objective {objective} needs {either(added.needs_one_of)}, and {model.name} does not show it"
    return beyond_objective(searcher, objective, added)


def beyond_constraints(searcher: SearcherEntry, dataset: Dataset) -> str:
    """Say in one sentence why a searcher cannot obey a data set's constraints; empty if it can."""
    if Handles.CONSTRAINTS not in searcher.handles:
        return f"{searcher.name} does not handle constraints"
    if dataset.space.relations and Handles.RELATIONS not in searcher.handles:
        return f"{searcher.name} does not handle relations between features, and {dataset.name} has them"
    return ""


def beyond_objective(searcher: SearcherEntry, objective: str, added: Added) -> str:
    """Say in one sentence why a searcher cannot minimise what an objective adds to the loss; empty if it can."""
    if not added.has_term or Handles.OBJECTIVES in searcher.handles:
        return ""
    if Handles.SEPARABLE not in searcher.handles:
        return f"{searcher.name} minimises the loss alone, not objective {objective}"
    if not added.separable:
        return f"{searcher.name} minimises sums over the features, and objective {objective} adds none"
    return ""


def beyond_metric(metric: str, model: str, registry: Registry) -> str:
    """Say in one sentence why a metric has no values for a model's results; empty if it has, or is not registered."""
    if metric not in registry.metrics or model not in registry.models:
        return ""
    needs: tuple[Need, ...] = getattr(registry.metric(metric).entry.metric, "needs_one_of", ())
    if lacks_all(needs, registry.model(model).entry):
        return f"{metric} needs {either(needs)}, and {model} does not show it"
    return ""


def lacks_all(needs: tuple[Need, ...], model: ModelEntry) -> bool:
    """Whether a model shows none of the structures of which a metric or an objective needs one."""
    return bool(needs) and {*needs}.isdisjoint(model.shows)


def either(needs: tuple[Need, ...]) -> str:
    """Return the needs of which one suffices, as a message names them."""
    return " or ".join(need.value for need in needs)
