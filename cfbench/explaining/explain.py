"""``cfbench.explain``: a counterfactual for one case of a model of the user's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, DataError, ModelError, StudyError, UnknownNameError
from cfbench.explaining.assumed_space import assumed_space
from cfbench.explaining.explanation import Explanation, explanation_of
from cfbench.explaining.perturbation_effects import DRAWS
from cfbench.models.own_model import Labels, OwnModel, own_model, spelled
from cfbench.problem.access import SHOWN, Need, TrainingFold
from cfbench.problem.oracle import Oracle, checked_oracle, predict_neighbours, random_rows
from cfbench.registry.contracts import FittedElsewhere, ModelFamily, Objective, Searcher
from cfbench.registry.entries import ModelEntry, SearcherEntry
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry, registry_with
from cfbench.robustness.neighbours import KNeighbours
from cfbench.running.preparation import prepared_search
from cfbench.running.search import FittedFold, SearchTask, run_search
from cfbench.space.dataset import Dataset, Fold
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind
from cfbench.study.obstacles import added_by, obstacle
from cfbench.study.plan import Cell
from cfbench.study.variants import Variant, build_settings, make_variant, resolve_variant


def point_of(x: Any, space: FeatureSpace) -> FloatArray:
    """Return a case as a vector of shape (d,).

    Raises DataError if a value is missing, is no number or category, or lies outside its interval. Raises
    UnknownNameError if there is no feature of a given name.
    """
    if isinstance(x, pd.DataFrame):
        if len(x) != 1:
            raise DataError(f"x is a data frame of {len(x)} rows; give the one row of the case")
        x = x.iloc[0]
    by_name = isinstance(x, pd.Series) and all(isinstance(name, str) for name in x.index)
    if by_name or isinstance(x, Mapping):
        named = dict(x)
        for name in named:
            if name not in space.names:
                raise UnknownNameError("feature", str(name), space.names)
        missing = [name for name in space.names if name not in named]
        if missing:
            raise DataError(f"x has no value for {', '.join(missing)}; it needs one for every feature of the space")
        values = [named[name] for name in space.names]
    else:
        values = list(x)
    if len(values) != space.d:
        raise DataError(f"x has {len(values)} values, and the space has {space.d} features: {', '.join(space.names)}")
    point = np.array([_number(value, feature) for value, feature in zip(values, space.features, strict=True)])
    objection = space.objection(point, point, constraints=False)
    if objection:
        raise DataError(f"x is not in the space: {objection}; correct the value, or the feature's annotation")
    return point


def _number(value: Any, feature: FeatureSpec) -> float:
    if feature.kind is Kind.CATEGORICAL and isinstance(value, str):
        if value not in feature.categories:
            raise UnknownNameError(f"category of {feature.name}", value, feature.categories)
        return float(feature.categories.index(value))
    try:
        return float(value)
    except (TypeError, ValueError):
        expected = "a category" if feature.kind is Kind.CATEGORICAL else "a number"
        raise DataError(f"x: {feature.name} = {value!r} is not {expected}") from None


class UserModel:
    """A fitted model with any classes.

    Classes get codes: the positions in ``classes_`` where the model has it; otherwise the target is 0, and every
    other class gets the next code when it first occurs.

    Raises ModelError if it cannot be queried, or was fitted on other features. Raises UnknownNameError if it has no
    such class.
    """

    def __init__(self, model: object, target: object) -> None:
        predict = getattr(model, "predict", model)
        if isinstance(model, type) or not callable(predict):
            raise ModelError(
                f"{model!r:.200} cannot be queried: give a fitted model that has `predict`, or a function from rows to "
                "their classes"
            )
        self.model = model
        self._predict: Callable[[Any], Any] = predict
        self._predict_proba: Callable[[Any], Any] | None = getattr(model, "predict_proba", None)
        self._own: OwnModel | None = None
        classes = getattr(model, "classes_", None)
        target = _plain(target)
        self.labels: list[object] = [target] if classes is None else [_plain(label) for label in classes]  # by code
        if target not in self.labels:
            raise UnknownNameError("class of the model", str(target), map(str, self.labels))
        self.target = self.labels.index(target)
        self.has_probabilities = self._predict_proba is not None

    @property
    def is_estimator(self) -> bool:
        """Whether it says, as scikit-learn's estimators do, what it was fitted on and which classes it knows."""
        fitted_on = hasattr(self.model, "feature_names_in_") or hasattr(self.model, "n_features_in_")
        return fitted_on and hasattr(self.model, "classes_")

    def look_into(
        self, space: FeatureSpace, X: FloatArray, y: IntArray | None, families: Iterable[type[ModelFamily]]
    ) -> None:
        """Find out how an estimator takes rows, and whether its last step is one that cfbench knows.

        `X` are rows like those that it will be queried with, `y` their classes as codes, if known.
        """
        codes = {spelled(label): code for code, label in enumerate(self.labels)}
        labels = Labels(codes, "as the model names them")
        n_classes = len(self.labels)
        self._own = own_model(self.model, space, X, y, lambda *_: labels, n_classes, codes_first=True)
        self._own.adopt(families, X)

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`."""
        if self._own is not None:
            return self._own.predict(Z)
        labels = np.asarray(self._predict(Z))
        if labels.shape != (len(Z),):
            raise ModelError(f"for {len(Z)} rows the model returned shape {labels.shape}, not ({len(Z)},)")
        if labels.dtype.kind == "f" and not np.array_equal(labels, np.floor(labels)):
            raise ModelError(
                f"the model returned {labels[labels != np.floor(labels)][0]!r}, which is not a class; give a "
                "function that returns classes, such as `lambda rows: model.predict(rows) > 0.5`"
            )
        return self.codes(labels)

    def codes(self, labels: Any) -> IntArray:
        """Return the codes of the model's classes; a new class gets the next code."""
        known, position = np.unique(np.asarray(labels), return_inverse=True)
        plain = [_plain(label) for label in known]
        self.labels += [label for label in plain if label not in self.labels]
        codes: IntArray = np.array([self.labels.index(label) for label in plain], dtype=np.int64)[position]
        return codes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities of the rows of `Z`."""
        if self._own is not None:
            return self._own.predict_proba(Z)
        assert self._predict_proba is not None, "searchers that need probabilities are refused before"
        return np.asarray(self._predict_proba(Z), dtype=np.float64)

    def fingerprint(self) -> str:
        """Return one fingerprint for all models: no result is recorded."""
        return digest_of("a user's model")

    def oracle(self) -> Oracle:
        """Return the fast oracle of an estimator that cfbench knows; otherwise itself."""
        return self if self._own is None or self._own.core is None else self._own.oracle()


PATIENCE = 2_000
"""Rows that a user's model answers itself; to look for its fast oracle, and to check it, takes a few thousand rows."""


class GrowingOracle:
    """Answers as a user's model does: at first by the model itself, then by its fast oracle, if it has one.

    `seen` has the class codes of all answers.
    """

    def __init__(self, model: UserModel, space: FeatureSpace, X: FloatArray) -> None:
        self._model, self._space, self._X = model, space, X
        self._rows = 0
        self._fast: Oracle | None = None
        self.seen: set[int] = set()

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`."""
        classes = self._oracle(len(Z)).predict(Z)
        self.seen.update(np.unique(classes).tolist())
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities of the rows of `Z`."""
        return self._model.predict_proba(Z)

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the class codes of the K-neighbours of the rows of `Z`, shape (n, m)."""
        classes = predict_neighbours(self._oracle(len(Z) * neighbours.m), Z, neighbours)
        self.seen.update(np.unique(classes).tolist())
        return classes

    def _oracle(self, rows: int) -> Oracle:
        self._rows += rows
        if self._rows <= PATIENCE:
            return self._model
        if self._fast is None:
            self._fast = checked_oracle(self._model, self._space, self._X)
        return self._fast


def _plain(label: object) -> object:
    """Return a numpy scalar as Python's own."""
    return label.item() if isinstance(label, np.generic) else label


DRAWN_ROWS = 100
"""Random rows that a model is tried on if there are no training rows."""

_MODEL = Variant("your-model", {}, "your-model")


def explain(
    x: Any,
    *,
    model: Any,
    target: Any,
    space: FeatureSpace | None = None,
    searcher: str | SearcherEntry | None = None,
    constraints: bool = False,
    objective: str = "none",
    training: tuple[Any, Any] | None = None,
    query_budget: int | None = None,
    respect_steps: bool = False,
    seed: int = 42,
    draws: int = DRAWS,
    plugins: Iterable[object] = (),
) -> Explanation:
    """Search for a counterfactual of one case for your own model. The search is counted, seeded and judged as in a
    run. The model must be deterministic.

    Parameters
    ----------
    x : array-like, mapping or Series
        The case: values in the space's feature order or by feature name; categories as codes or labels. A data frame
        of one row will do.
    model : object or callable
        A fitted model with ``predict`` in scikit-learn's way, or a function from rows to classes. Rows are float64,
        shape (n, d), categories as codes; a model that was fitted on a data frame gets one, with categories as codes or
        by their labels. A pipeline whose last step cfbench knows is queried by cfbench's own oracle, with the same
        classes.
    space : FeatureSpace, optional
        What the features may be: intervals, categories, constraints. Without it, intervals and categories are taken
        from the data frame in `training`, and a warning lists what is assumed.
    target : object
        The class wanted, as the model names it.
    searcher : str, SearcherEntry or None
        A registered name, with settings in brackets (``"cogs[population_size=500]"``), or an entry. None: the reference
        of the starting preset, CoGS as installed.
    constraints : bool
        Whether the constraints of the space hold.
    objective : str
        A registered objective, with settings in brackets.
    training : tuple of (X, y), optional
        Rows (n, d) and their classes, for searchers that need training data; in a data frame with the features' names,
        categories may be labels.
    query_budget : int or None
        How many queries the search may make; None: the searcher's own default.
    respect_steps : bool
        Whether values off a feature's step are infeasible.
    seed : int
    draws : int
        Random perturbations that the counterfactual is put to, for each part of the features and for each kept one:
        queries in addition to those of the search, if the space annotates perturbations. 0: none.
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
        If the model cannot be queried, or `x` is of the target class already.
    StudyError
        If the searcher does not support the request.
    UnknownNameError
        If there is no such searcher, objective, setting, feature or class.

    Examples
    --------
    >>> import numpy as np
    >>> import cfbench
    >>> X, y = np.array([[20.0, 1.0], [60.0, 1.0], [90.0, 3.0]]), np.array([0, 1, 1])
    >>> income = cfbench.FeatureSpec("income", cfbench.Kind.NUMERICAL, 0, 100)
    >>> children = cfbench.FeatureSpec("children", cfbench.Kind.NUMERICAL, 0, 10, step=1)
    >>> explanation = cfbench.explain(
    ...     {"income": 20, "children": 1},
    ...     model=lambda Z: (Z[:, 0] > 50).astype(int),
    ...     space=cfbench.FeatureSpace((income, children)),
    ...     target=1,
    ...     searcher="nearest-unlike",
    ...     training=(X, y),
    ... )
    >>> explanation.found, explanation.z.tolist()
    (True, [60.0, 1.0])
    """
    if not isinstance(draws, int) or draws < 0:
        raise CfbenchError(f"draws is {draws!r}; it must be a whole number of at least 0")
    registry = registry_with(plugins)
    for problem in registry.problems:
        warnings.warn(str(problem), stacklevel=2)
    if space is None:
        space = assumed_space(training)
    point = point_of(x, space)
    user_model = UserModel(model, target)
    rows = _training(training, user_model, space)
    drawn = random_rows(space, DRAWN_ROWS, np.random.default_rng(seed))
    like = np.concatenate([point[np.newaxis], drawn]) if rows is None else rows.X
    if user_model.is_estimator:
        user_model.look_into(space, like, None if rows is None else rows.y, registry.families)
    oracle = GrowingOracle(user_model, space, like)
    before = int(user_model.predict(point[np.newaxis])[0])
    if before == user_model.target:
        raise ModelError(f"x is of class {target!r} already, so there is nothing to explain; name another target")
    dataset = Dataset(
        name="the space",
        X=point[np.newaxis],
        y=np.array([before]),
        space=space,
        target=user_model.target,
        class_labels=tuple(map(str, user_model.labels)),
    )
    entry, chosen = _searcher(searcher, registry)
    goal = resolve_variant(registry, "objective", objective)
    term = build_settings(registry.objective(goal.name).entry.objective, goal.settings, goal.name)
    entry = _fitting(entry, user_model, dataset, goal, term, constraints=constraints, training=training is not None)
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
        content={"dataset": {"name": dataset.name}, "model": {"name": _MODEL.name}},
        points=1,
        repetitions=1,
        searches=1,
    )
    no_rows = np.empty(0, dtype=np.int64)
    fitted_fold = FittedFold(dataset, Fold(no_rows, no_rows), user_model, oracle, user_model.fingerprint(), rows)
    instance: Searcher | None = None
    if isinstance(entry.searcher, type):
        instance = build_settings(entry.searcher, chosen.settings, entry.name)
    prepared = prepared_search(cell, fitted_fold, entry, instance, term)
    row = run_search(SearchTask(cell, 0, 0, 0), fitted_fold, entry, prepared.search, term)
    seen = oracle.seen | {before}
    if row["loss"] is None and not row["reason"] and user_model.target not in seen:
        returned = ", ".join(repr(user_model.labels[code]) for code in sorted(seen))
        row["reason"] = f"no queried row is of class {target!r}; the model returned: {returned}"
    return explanation_of(
        row,
        cell,
        space,
        user_model.target,
        user_model.labels,
        oracle.predict,
        draws=draws,
        preparation=prepared.preparation,
    )


def _searcher(searcher: str | SearcherEntry | None, registry: Registry) -> tuple[SearcherEntry, Variant]:
    if isinstance(searcher, SearcherEntry):
        return searcher, make_variant(searcher, {})
    if searcher is None:
        searcher = default_searcher(registry)
    if not isinstance(searcher, str):
        raise StudyError(
            f"searcher is {type(searcher).__name__}; give a registered name, or SearcherEntry(name=..., searcher=...)"
        )
    variant = resolve_variant(registry, "searcher", searcher)
    return registry.searcher(variant.name).entry, variant


def default_searcher(registry: Registry) -> str:
    """Return the searcher that explains where none is named: the reference of the starting preset.

    Raises StudyError if no plugin registers such a preset.
    """
    if not registry.reference:
        raise StudyError("no plugin registers a preset with a reference searcher; name the searcher that is to explain")
    return registry.reference


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
    """Return the entry without optional needs that are unavailable; raise StudyError if a required one is."""
    user_entry = ModelEntry(name=_MODEL.name, family=FittedElsewhere)
    refusal = obstacle(entry, user_entry, dataset, goal.label, added_by(objective, dataset), constraints=constraints)
    absent = {*SHOWN}
    if not training and Need.TRAINING_DATA in entry.needs:
        refusal = refusal or f"{entry.name} needs training data: give training=(X, y)"
    if not model.has_probabilities:
        absent.add(Need.PROBABILITIES)
        if Need.PROBABILITIES in entry.needs:
            refusal = refusal or f"{entry.name} needs probabilities: give a model that has `predict_proba`"
    if refusal:
        raise StudyError(refusal)
    return replace(entry, can_use=frozenset(entry.can_use) - absent)


def _training(training: tuple[Any, Any] | None, model: UserModel, space: FeatureSpace) -> TrainingFold | None:
    """Return the training rows; None if none are given."""
    if training is None:
        return None
    X, y = training
    columns = getattr(X, "columns", None)
    if columns is not None and all(isinstance(name, str) for name in columns):
        missing = [name for name in space.names if name not in columns]
        if missing:
            raise DataError(f"the training rows have no column {', '.join(missing)}; they need one for every feature")
        codes = [[_number(value, feature) for value in X[feature.name]] for feature in space.features]
        X = np.array(codes, dtype=np.float64).T.reshape(len(X), space.d)
    try:
        X, y = np.array(X, dtype=np.float64), np.asarray(y)
    except (TypeError, ValueError) as error:
        raise DataError(f"the training rows are no numbers ({error}); give labels of categories in a frame") from None
    if X.ndim != 2 or X.shape[1] != space.d or y.shape != (len(X),):
        raise CfbenchError(
            f"training is (X, y) with shapes (n, {space.d}) and (n,), not {X.shape} and {y.shape}; its columns are the "
            "space's features in their order"
        )
    return TrainingFold(X, model.codes(y))
