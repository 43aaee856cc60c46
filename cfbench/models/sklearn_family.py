"""Any scikit-learn classifier as a model family: `SklearnFamily` makes the class that an entry registers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from pydantic import create_model

from cfbench.digests import digest_of, digest_of_object
from cfbench.errors import ModelError, PluginError, UnknownNameError
from cfbench.models.encoding import Encoding, fit_encoding
from cfbench.models.scikit_model import RANDOM_STATE, ScikitModel, n_classes_of
from cfbench.registry.contracts import ModelFamily
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray, IntArray

EstimatorFactory = Callable[[int], Any]
"""Returns an unfitted classifier, given the seed of its random numbers."""
SCALARS = (bool, int, float, str)
ROUNDING = 1e-9
"""Scores that differ by less than this share may be ordered differently in a query of other rows."""
SAMPLE, COPIES = 32, 100
"""Training rows, and copies of them in one query, by which it is seen whether scores depend on the query."""


def SklearnFamily(  # noqa: N802 - it returns a class, as collections.namedtuple does
    estimator_factory: EstimatorFactory,
    grid: Mapping[str, list[Any]] = MappingProxyType({}),
    *,
    standardise: bool = False,
) -> type[ModelFamily]:
    """Return a model family that fits a scikit-learn classifier, or one with the same methods.

    The family encodes the features, tunes on the training fold, fits, maps the classes to their codes, and digests the
    fitted estimator as the model's fingerprint.

    Parameters
    ----------
    estimator_factory : callable
        A function at the top level of a module that returns an unfitted classifier. It is called with one argument, the
        seed of the classifier's random numbers. The classifier needs `predict_proba`.
    grid : mapping of str to list
        The parameters to tune, by their names in the classifier (``"svc__C"`` in a pipeline), with the values to choose
        from. The highest accuracy in five-fold cross-validation on the training fold wins. Each parameter is a setting
        of the family, too: with ``my-tree[max_depth=3]`` it has that value. Parameters with one value are not tuned.
    standardise : bool
        Whether numerical features get mean 0 and standard deviation 1. Categorical features with more than two
        categories are one-hot encoded in any case.

    Raises
    ------
    PluginError
        If the factory is no such function, or the grid is not made of lists of values.

    Examples
    --------
    >>> from cfbench import ModelEntry, SklearnFamily
    >>> def tree(seed):
    ...     from sklearn.tree import DecisionTreeClassifier
    ...
    ...     return DecisionTreeClassifier(random_state=seed)
    >>> entry = ModelEntry(name="my-tree", family=SklearnFamily(tree, {"max_depth": [2, 4, 8]}))
    >>> entry.family(max_depth=3).grid()
    {'max_depth': [3]}
    """
    _check_factory(estimator_factory)
    values = _checked_grid(grid)
    fields: dict[str, Any] = {name: (_type_of(listed), None) for name, listed in values.items()}
    family = create_model(
        estimator_factory.__name__, __base__=_EstimatorFamily, __module__=estimator_factory.__module__, **fields
    )
    family.estimator_factory = staticmethod(estimator_factory)
    family.choices = values
    family.standardise = standardise
    return family


class _EstimatorFamily(ModelFamily):
    """A family whose settings are parameters of a classifier; a setting of None is chosen from the grid."""

    estimator_factory: ClassVar[EstimatorFactory]
    choices: ClassVar[Mapping[str, list[Any]]]
    standardise: ClassVar[bool]

    def grid(self) -> dict[str, list[Any]]:
        """Return the values to choose from: a setting that is given leaves one."""
        given = self.model_dump()
        return {name: values if given[name] is None else [given[name]] for name, values in self.choices.items()}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose by five-fold cross-validation on accuracy; each split is encoded on its own training part."""
        from cfbench.models.tuning import best_of_grid  # loads scikit-learn

        n_classes_of(y)
        return best_of_grid(self._estimator(), self.grid(), X, y, space, standardise=self.standardise)

    def fit(
        self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]
    ) -> EstimatorModel:
        """Fit the classifier, on one thread."""
        from cfbench.models.tuning import quiet_training  # loads scikit-learn

        n_classes = n_classes_of(y)
        encoding = fit_encoding(X, space, standardise=self.standardise)
        estimator = self._estimator().set_params(**hyperparameters)
        with quiet_training():
            estimator.fit(encoding.transform(X), y)
        _check_classes(estimator, y)
        return EstimatorModel(encoding, estimator, n_classes, X)

    def _estimator(self) -> Any:
        """Return an unfitted classifier that computes in one thread.

        Raises
        ------
        ModelError
            If the factory returns anything else, or a classifier without probabilities.
        UnknownNameError
            If the grid names something that is no parameter of the classifier.
        """
        factory = type(self).estimator_factory
        estimator = factory(RANDOM_STATE)
        _check_estimator(estimator, factory.__name__)
        parameters = estimator.get_params()
        for name in self.choices:
            if name not in parameters:
                raise UnknownNameError(f"parameter of {type(estimator).__name__}", name, parameters)
        # Workers share the processor already, and sums that several threads add up in any order are not reproducible.
        threads = [name for name, value in parameters.items() if name.split("__")[-1] == "n_jobs" and value is not None]
        return estimator.set_params(**dict.fromkeys(threads, 1))


class EstimatorModel(ScikitModel):
    """A fitted scikit-learn classifier of any kind; `X` are its training rows.

    Many classifiers compute a row's scores with other last bits if other rows are in the query. Decision: the class of
    a row is the one that the classifier returns for that row alone.
    """

    def __init__(self, encoding: Encoding, classifier: Any, n_classes: int, X: FloatArray) -> None:
        super().__init__(encoding, classifier, n_classes)
        self._state = digest_of_object(classifier)  # first: some classifiers, such as neighbours', count their queries
        self._near_ties_alone = depends_on_the_query(self._scores, X)

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes, int64, shape (n,).

        If the scores depend on the other rows of the query, rows whose two highest scores differ by no more than
        rounding are queried alone.
        """
        classes = super().predict(Z).reshape(-1)
        if self._near_ties_alone and len(Z) > 1:
            doubtful = near_a_tie(self._scores(Z))
            classes[doubtful] = [super(EstimatorModel, self).predict(z[np.newaxis]).item() for z in Z[doubtful]]
        return classes

    def _scores(self, Z: FloatArray) -> FloatArray:
        """Return what the classes of rows are decided by, shape (n, k)."""
        decide = getattr(self.classifier, "decision_function", self.classifier.predict_proba)
        return np.asarray(decide(self.encoding.transform(Z)), dtype=np.float64).reshape(len(Z), -1)

    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield the digest of all that the fitted classifier holds."""
        yield np.frombuffer(self._state.encode("ascii"), dtype=np.uint8)


def depends_on_the_query(scores: Callable[[FloatArray], FloatArray], X: FloatArray) -> bool:
    """Return whether the scores of rows differ, be it in the last bit, if other rows are in the query."""
    some = X[:SAMPLE]
    alone = np.concatenate([scores(x[np.newaxis]) for x in some])
    together = scores(np.tile(some, (COPIES, 1)))
    return bool((together != np.tile(alone, (COPIES, 1))).any())


def near_a_tie(scores: FloatArray) -> BoolArray:
    """Return the rows, shape (n,), whose two highest scores differ by no more than rounding."""
    if scores.shape[1] == 1:  # of the second of two classes; the first has the negative
        margin = np.abs(scores[:, 0])
    else:
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        margin = first - second
    near: BoolArray = margin <= ROUNDING * (1 + np.abs(scores).max(axis=1))
    return near


# ---------------------------------------------------------------- what an author may give


def _check_factory(factory: Any) -> None:
    advice = "write `def make(seed): return SomeClassifier(random_state=seed)` in the module, and give `make`"
    if isinstance(factory, type) or not inspect.isfunction(factory):
        received = f"the class {factory.__name__}" if isinstance(factory, type) else repr(factory)
        raise PluginError(f"estimator_factory must be a function, not {received:.200}: {advice}")
    if "<" in factory.__qualname__:
        what = "a lambda" if factory.__name__ == "<lambda>" else f"{factory.__name__!r}, a function inside a function"
        raise PluginError(
            f"estimator_factory must be a function at the top level of a module, not {what}: worker processes and the "
            f"cache of fitted models know it by its name; {advice}"
        )
    try:
        inspect.signature(factory).bind(RANDOM_STATE)
    except TypeError as error:
        raise PluginError(
            f"estimator_factory {factory.__name__!r} must take one argument, the seed ({error}): {advice}"
        ) from error


def _checked_grid(grid: Any) -> dict[str, list[Any]]:
    """Return the grid with values as JSON holds them: tuned values are kept in files."""
    example = 'write it as {"max_depth": [2, 4, 8]}'
    if not isinstance(grid, Mapping):
        raise PluginError(f"grid must be a table of lists by parameter, not {grid!r:.200}: {example}")
    checked: dict[str, list[Any]] = {}
    for name, values in grid.items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or hasattr(ModelFamily, name):
            raise PluginError(f"grid has the parameter {name!r}, which cannot be the name of a setting: {example}")
        if not isinstance(values, (list, tuple)) or not values:
            raise PluginError(f"grid gives the parameter {name!r} {values!r:.200}, not a list of values: {example}")
        for value in values:
            try:
                digest_of(value)
            except TypeError as error:
                raise PluginError(
                    f"grid gives the parameter {name!r} the value {value!r:.200} ({error}); values are numbers, "
                    "strings, booleans, None and lists of them: set anything else in the factory, and write a numpy "
                    "array's values with `.tolist()`"
                ) from error
        checked[name] = [list(value) if isinstance(value, tuple) else value for value in values]
    return checked


def _type_of(values: list[Any]) -> Any:
    """Return the type of a setting: one value in place of these, or None for tuning."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds or not kinds <= set(SCALARS):
        return Any
    return reduce(or_, kinds, None)


def _check_estimator(estimator: Any, factory: str) -> None:
    advice = "return an unfitted classifier, as in `return SomeClassifier(random_state=seed)`"
    if isinstance(estimator, type):
        raise ModelError(f"the factory {factory!r} returned the class {estimator.__name__}, not an instance: {advice}")
    methods = ("fit", "predict", "get_params", "set_params")
    missing = [name for name in methods if not callable(getattr(estimator, name, None))]
    if missing:
        received = "None" if estimator is None else f"a {type(estimator).__name__} without {' and '.join(missing)}"
        raise ModelError(f"the factory {factory!r} returned {received}: {advice}")
    if not callable(getattr(estimator, "predict_proba", None)):
        raise ModelError(
            f"the factory {factory!r} returned a {type(estimator).__name__} without predict_proba: wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or choose another classifier"
        )


def _check_classes(estimator: Any, y: IntArray) -> None:
    """Raise ModelError if the classes of a fitted classifier are not the class codes that it was fitted on."""
    codes = np.unique(y)
    classes = getattr(estimator, "classes_", None)
    try:
        known = np.asarray(classes).astype(np.int64)
    except (TypeError, ValueError):
        known = None
    if known is None or known.shape != codes.shape or (np.sort(known) != codes).any():
        received = "has no classes_" if classes is None else f"has the classes_ {np.asarray(classes).tolist()!r:.200}"
        raise ModelError(
            f"the fitted {type(estimator).__name__} {received}; it was fitted on the class codes {codes.tolist()}, and "
            "its classes_ must be these codes, as numbers or as text"
        )
