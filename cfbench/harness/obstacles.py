"""Why a searcher cannot take a cell: what its entry declares, held against what the cell asks for."""

from __future__ import annotations

import numpy as np

from cfbench.contracts import Objective, ObjectiveContext
from cfbench.dataset import Dataset
from cfbench.entries import Handles, ModelEntry, Need, SearcherEntry


def obstacle(
    searcher: SearcherEntry, model: ModelEntry, dataset: Dataset, objective: str, *, has_term: bool, constraints: bool
) -> str:
    """Say in one sentence why `searcher` is not run on a cell; empty: it is.

    Parameters
    ----------
    searcher : SearcherEntry
    model : ModelEntry
    dataset : Dataset
    objective : str
        The objective's label.
    has_term : bool
        Whether the objective adds anything to the loss.
    constraints : bool
        Whether the plausibility constraints hold.
    """
    name = searcher.name
    if searcher.unavailable:
        return f"{name} cannot run here: {searcher.unavailable}"
    if Need.MODEL_STRUCTURE in searcher.needs and not model.shows_structure:
        return f"{name} needs the model's structure, and {model.name} does not show it"
    if Handles.CATEGORICAL not in searcher.handles and dataset.space.is_categorical.any():
        return f"{name} does not handle categorical features, and {dataset.name} has them"
    if Handles.CONSTRAINTS not in searcher.handles and constraints:
        return f"{name} does not handle constraints"
    if Handles.OBJECTIVES not in searcher.handles and has_term:
        return f"{name} minimises the loss alone, not objective {objective}"
    return ""


def has_term(objective: Objective, dataset: Dataset) -> bool:
    """Whether an objective adds a term to the loss on a data set, found out by binding it to the first row."""
    context = ObjectiveContext(
        x=dataset.X[0],
        target=dataset.target,
        space=dataset.space,
        predict=lambda Z: np.zeros(len(Z), dtype=np.int64),
        stream=0,
    )
    try:
        return objective.bind(context) is not None
    except Exception:
        return True  # a broken objective shows as such in its searches, where the record keeps the reason
