"""Problems for white boxes: a fitted model that shows its structure stands in for a case's rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cfbench.contracts import FittedModel
from cfbench.entries import Entry, ModelEntry
from cfbench.errors import UnavailableError
from cfbench.registry import build_registry
from cfbench.space import FeatureSpace, FloatArray, IntArray
from cfbench.testing.cases import Case

N_ROWS = 400
"""Training rows of a grown model: enough for it to follow the rule, few enough to be fitted at once."""

OUTVOTED = 30
"""Rows that hold against a single one that is labelled otherwise, so that no model follows it."""


def structured_model(entry: Entry) -> ModelEntry:
    """Return the first registered model that shows its structure.

    Raises
    ------
    UnavailableError
        If there is none.
    """
    models = [registered.entry for registered in build_registry().models.values()]
    found = next((model for model in models if model.shows_structure), None)
    if found is None:
        raise UnavailableError(
            f"{entry.name} cannot be checked here: it needs the model's structure, and none of the registered models "
            f"shows it ({', '.join(model.name for model in models) or 'there are none'})"
        )
    return found


def grown(case: Case, entry: ModelEntry) -> Case:
    """Return `case` with a model fitted to what its rule says.

    The model follows the rule loosely: the factual point is the training row nearest to the case's own that the model
    does not put into the target class.
    """
    X = case.training(N_ROWS).X
    y = case.rule.predict(X)
    if len(np.unique(y)) == 1:  # of which nothing can be learned: one row among many equals says otherwise
        X = np.concatenate([X, np.repeat(X[:1], OUTVOTED, axis=0)])
        y = np.append(y, np.full(OUTVOTED, y[0]))
        y[0] = case.target
    model = fitted(entry, X, y, case.space)
    elsewhere = X[model.predict(X) != case.target]
    x = elsewhere[np.argmin(case.space.gower(elsewhere, np.array(case.x)))]
    return replace(case, model=model, x=tuple(float(value) for value in x), answer=None)


def fitted(entry: ModelEntry, X: FloatArray, y: IntArray, space: FeatureSpace) -> FittedModel:
    """Return a model fitted with the first hyper-parameters of its grid."""
    family = entry.family()
    return family.fit(X, y, space, {name: values[0] for name, values in family.grid().items()})
