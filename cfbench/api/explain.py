"""One search for a user's own case and model, by any searcher, judged as in a run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from cfbench.analysis.hazards import DRAWS
from cfbench.api.explained_row import explanation_of
from cfbench.api.explanation import Explanation
from cfbench.api.plugins import registry_with
from cfbench.api.point import point_of
from cfbench.api.user_model import UserModel
from cfbench.contracts import ModelFamily, Objective, Searcher
from cfbench.dataset import Dataset
from cfbench.entries import ModelEntry, Need, SearcherEntry
from cfbench.errors import CfbenchError, ModelError, StudyError
from cfbench.events import CellInfo
from cfbench.harness.folds import Fold
from cfbench.harness.obstacles import has_term, obstacle
from cfbench.harness.plan import Cell
from cfbench.harness.search import Ground, SearchTask, run_search
from cfbench.harness.variants import Variant, build_settings, make_variant, resolve_variant
from cfbench.problem import TrainingFold
from cfbench.registry import Registry
from cfbench.space import FeatureSpace

_MODEL = Variant("your-model", {}, "your-model")


def explain(
    x: Any,
    *,
    model: Any,
    space: FeatureSpace,
    target: Any,
    searcher: str | SearcherEntry = "cogs",
    constraints: bool = False,
    objective: str = "none",
    training: tuple[Any, Any] | None = None,
    query_budget: int | None = None,
    respect_steps: bool = False,
    seed: int = 42,
    draws: int = DRAWS,
    plugins: Iterable[object] = (),
) -> Explanation:
    """Search a counterfactual of one case for a model of your own.

    The search is a run's: counted, seeded, and judged by the harness. The model has to be deterministic.

    Parameters
    ----------
    x : array-like, mapping or Series
        The case: values in the space's feature order or by feature name; categories as codes or labels.
    model : object or callable
        A fitted model with ``predict`` in scikit-learn's way, or a function from rows to classes. Rows are float64,
        shape (n, d), categories as codes; a model that was fitted on a data frame gets one.
    space : FeatureSpace
        What the features may be: intervals, categories, constraints.
    target : object
        The class wanted, as the model names it.
    searcher : str or SearcherEntry
        A registered name, with settings in brackets (``"cogs[population_size=500]"``), or an entry.
    constraints : bool
        Whether the plausibility constraints of the space hold.
    objective : str
        A registered objective, with settings in brackets.
    training : tuple of (X, y), optional
        Rows (n, d) and their classes, for searchers that need training data.
    query_budget : int or None
        Rows that may be asked of the model; None: the searcher's own default.
    respect_steps : bool
        Whether values off a feature's step are implausible.
    seed : int
    draws : int
        Random perturbations that the counterfactual is put to, for each part of the features and for each kept one:
        rows that the model is asked beside those of the search, where the space annotates perturbations. 0: none.
    plugins : iterable
        What to register for this call, as for `cfbench.run`.

    Returns
    -------
    Explanation

    Raises
    ------
    DataError
        If `x` does not fit the space.
    ModelError
        If the model cannot be asked, or `x` is of the target class already.
    StudyError
        If the searcher does not support what is asked for.
    UnknownNameError
        If there is no such searcher, objective, setting, feature or class.
    """
    if not isinstance(draws, int) or draws < 0:
        raise CfbenchError(f"draws is {draws!r}; it must be a whole number of at least 0")
    registry = registry_with(plugins)
    for problem in registry.problems:
        warnings.warn(str(problem), stacklevel=2)
    point = point_of(x, space)
    asked = UserModel(model, space, target)
    before = int(asked.predict(point[np.newaxis])[0])
    if before == asked.target:
        raise ModelError(f"x is of class {target!r} already, so there is nothing to explain; name another target")
    dataset = Dataset(
        name="the space",
        X=point[np.newaxis],
        y=np.array([before]),
        space=space,
        target=asked.target,
        class_labels=tuple(map(str, asked.labels)),
    )
    entry, chosen = _searcher(searcher, registry)
    goal = resolve_variant(registry, "objective", objective)
    term = build_settings(registry.objective(goal.name).entry.objective, goal.settings, goal.name)
    entry = _fitting(entry, asked, dataset, goal, term, constraints=constraints, training=training is not None)
    info = CellInfo("", dataset.name, _MODEL.label, chosen.label, goal.label, constraints, 0)
    cell = Cell(
        info=info,
        dataset=dataset.name,
        model=_MODEL,
        searcher=chosen,
        objective=goal,
        constraints=constraints,
        fold=0,
        query_budget=entry.default_budget if query_budget is None else query_budget,
        time_limit=None,
        respect_steps=respect_steps,
        seed=seed,
        content={},
        points=1,
        repetitions=1,
        searches=1,
    )
    nobody = np.empty(0, dtype=np.int64)
    rows = _training(training, asked, space)
    ground = Ground(dataset, Fold(nobody, nobody), asked, asked, asked.fingerprint(), rows)
    instance: Searcher | None = None
    if isinstance(entry.searcher, type):
        instance = build_settings(entry.searcher, chosen.settings, entry.name)
    row = run_search(SearchTask(cell, 0, 0, 0), ground, entry, instance, term)
    if row["loss"] is None and not row["reason"] and asked.target not in asked.answered:
        answered = ", ".join(repr(asked.labels[code]) for code in sorted(asked.answered))
        row["reason"] = f"no row that was asked is of class {target!r}; the model answered: {answered}"
    return explanation_of(row, cell, space, asked.target, asked.labels, asked.predict, draws=draws)


def _searcher(searcher: str | SearcherEntry, registry: Registry) -> tuple[SearcherEntry, Variant]:
    if isinstance(searcher, SearcherEntry):
        return searcher, make_variant(searcher, {})
    if not isinstance(searcher, str):
        raise StudyError(
            f"searcher is {type(searcher).__name__}; give a registered name, or SearcherEntry(name=..., searcher=...)"
        )
    variant = resolve_variant(registry, "searcher", searcher)
    return registry.searcher(variant.name).entry, variant


def _fitting(
    entry: SearcherEntry,
    model: UserModel,
    dataset: Dataset,
    goal: Variant,
    objective: Objective,
    *,
    constraints: bool,
    training: bool,
) -> SearcherEntry:
    """Return the entry without what it could use and does not get; refuse one that lacks what it needs.

    Raises
    ------
    StudyError
    """
    refusal = obstacle(
        entry,
        ModelEntry(name=_MODEL.name, family=ModelFamily),
        dataset,
        goal.label,
        has_term=has_term(objective, dataset),
        constraints=constraints,
    )
    absent = {Need.MODEL_STRUCTURE}
    if not training:
        absent.add(Need.TRAINING_DATA)
        if Need.TRAINING_DATA in entry.needs:
            refusal = refusal or f"{entry.name} needs training data: give training=(X, y)"
    if not model.has_probabilities:
        absent.add(Need.PROBABILITIES)
        if Need.PROBABILITIES in entry.needs:
            refusal = refusal or f"{entry.name} needs probabilities: give a model that has `predict_proba`"
    if refusal:
        raise StudyError(refusal)
    return replace(entry, can_use=frozenset(entry.can_use) - absent)


def _training(training: tuple[Any, Any] | None, model: UserModel, space: FeatureSpace) -> TrainingFold:
    """Return the training rows; none where none are given, and then no searcher is shown them."""
    if training is None:
        return TrainingFold(np.empty((0, space.d)), np.empty(0, dtype=np.int64))
    X, y = training
    if set(getattr(X, "columns", ())) == set(space.names):
        X = X[list(space.names)]
    X, y = np.array(X, dtype=np.float64), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != space.d or y.shape != (len(X),):
        raise CfbenchError(
            f"training is (X, y) with shapes (n, {space.d}) and (n,), not {X.shape} and {y.shape}; its columns are the "
            "space's features in their order"
        )
    return TrainingFold(X, model.codes(y))
