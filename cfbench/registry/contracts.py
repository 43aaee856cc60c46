"""What plugin authors implement: searchers, model families, fitted models and objectives. Metrics: `metrics.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict

from cfbench.errors import ModelError
from cfbench.forests.structure import ForestStructure
from cfbench.linear.structure import LinearStructure
from cfbench.problem.access import Gradients, ModelAccess, Need, TrainingFold
from cfbench.problem.oracle import Oracle
from cfbench.problem.outcome import CounterfactualSet
from cfbench.problem.problem import Problem
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.space import FeatureSpace, FloatArray, IntArray

SearchResult = FloatArray | CounterfactualSet | None
SearchFunction = Callable[[Problem, np.random.Generator], SearchResult]
"""What searches: a function of the problem and a random generator."""


class Settings(BaseModel):
    """Base of every configurable plugin class: its fields are its settings, checked before anything runs.

    Declare bounds with pydantic's ``Field(gt=0)``; the defaults are what the board calls by the bare name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Searcher(Settings):
    """A searcher with settings: subclass it, declare the settings as fields, implement `search`.

    What it learns once per fold, such as the model's classes of all training rows, belongs into `prepare`.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import Searcher
    >>> class RandomRows(Searcher):
    ...     rows: int = 100  # a setting: "random-rows[rows=500]" in a study
    ...
    ...     def search(self, problem, rng):
    ...         lower, upper = problem.bounds()
    ...         Z = rng.uniform(lower, upper, size=(self.rows, problem.space.d))
    ...         values, classes = problem.evaluate(Z)
    ...         best = np.argmin(values)
    ...         return Z[best] if classes[best] == problem.target else None
    >>> RandomRows(rows=500)
    RandomRows(rows=500)
    """

    def prepare(self, context: PrepareContext) -> SearchFunction:  # noqa: ARG002 - the default learns nothing
        """Return the function that searches, ``search(problem, rng)``; by default the searcher's own `search`.

        cfbench calls it once per cell in every worker, before the first search, with the same random numbers each time.
        So it has to give the same function every time, and what that function finds may not depend on which points it
        was called with before. Its seconds and queries are recorded apart from those of the searches.
        """
        return self.search

    def search(self, problem: Problem, rng: np.random.Generator) -> SearchResult:
        """Look for a counterfactual of ``problem.x``.

        Returns
        -------
        ndarray of float64, shape (d,), or None
            Or a CounterfactualSet, where the entry says so.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PrepareContext:
    """What a searcher may use in `Searcher.prepare`, before it is given a point.

    Parameters
    ----------
    space : FeatureSpace
    target : int
        The class wanted.
    access : ModelAccess
        The model and the training fold, as far as the entry declares them.
    rng : Generator
        The preparation's own random numbers, the same in every worker.
    objective : Objective
        What the searches minimise.
    constraints : bool
        Whether the constraints hold.
    respect_steps : bool
        Whether values off a feature's steps are infeasible.

    Examples
    --------
    >>> import numpy as np
    >>> import cfbench
    >>> from cfbench import FeatureSpace, FeatureSpec, Kind, Need, Searcher, SearcherEntry
    >>> class NearestOfTheFold(Searcher):
    ...     def prepare(self, context):
    ...         rows = context.training.X
    ...         rows = rows[context.predict(rows) == context.target]
    ...         return lambda problem, rng: rows[problem.distance(rows).argmin()]
    >>> explanation = cfbench.explain(
    ...     [20],
    ...     model=lambda Z: (Z[:, 0] > 50).astype(int),
    ...     space=FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),)),
    ...     target=1,
    ...     searcher=SearcherEntry(name="nearest", searcher=NearestOfTheFold, needs=[Need.TRAINING_DATA]),
    ...     training=(np.array([[10.0], [60.0], [90.0]]), np.array([0, 1, 1])),
    ... )
    >>> explanation.z.tolist(), explanation.queries, explanation.prepare_queries
    ([60.0], 0, 3)
    """

    space: FeatureSpace
    target: int
    access: ModelAccess
    rng: np.random.Generator
    objective: Objective
    constraints: bool = False
    respect_steps: bool = False

    @property
    def training(self) -> TrainingFold | None:
        """The training fold, as in `Problem.training`."""
        return self.access.training

    @property
    def forest(self) -> ForestStructure:
        """The model's trees, as in `Problem.forest`."""
        return self.access.forest

    @property
    def linear(self) -> LinearStructure:
        """The model's weights, as in `Problem.linear`."""
        return self.access.linear

    @property
    def model(self) -> object:
        """The fitted model, as in `Problem.model`."""
        return self.access.model

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the model's classes of the rows of `Z`, shape (n,), int64; each row is a query of the preparation."""
        return self.access.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return class probabilities, shape (n, n_classes), as in `Problem.predict_proba`."""
        return self.access.predict_proba(Z)

    def gradients(self, Z: FloatArray) -> Gradients:
        """Return gradients of the target's log-odds, as in `Problem.gradients`."""
        return self.access.gradients(Z)


@dataclass(frozen=True)
class DataSource:
    """Where a data set's entry may look for its table.

    Parameters
    ----------
    data_dirs : tuple of Path
        Folders that the user named (``--data-dir``, ``CFBENCH_DATA_DIR``), searched first.
    cache_dir : Path
        The user's cache, for tables that are downloaded once.
    download : bool
        Whether the entry may use the network.
    points_from : Path or None
        A table of held-out rows whose points are explained (``--points-from``). cfbench reads it, not the entry.

    Examples
    --------
    >>> from pathlib import Path
    >>> from cfbench import DataSource
    >>> def place_of(source):
    ...     given = [folder / "loans.csv" for folder in source.data_dirs if (folder / "loans.csv").is_file()]
    ...     return given[0] if given else source.cache_dir / "loans.csv"
    >>> source = DataSource(data_dirs=(Path("no-such-folder"),), cache_dir=Path("cache"), download=False)
    >>> place_of(source).as_posix()
    'cache/loans.csv'
    """

    data_dirs: tuple[Path, ...]
    cache_dir: Path
    download: bool = True
    points_from: Path | None = None


@runtime_checkable
class FittedModel(Protocol):
    """A fitted classifier f. It must be picklable, since fitted models are cached.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench.registry import FittedModel
    >>> class Above50:
    ...     def predict(self, Z):
    ...         return (Z[:, 0] > 50).astype(np.int64)
    ...
    ...     def predict_proba(self, Z):
    ...         return np.eye(2)[self.predict(Z)]
    ...
    ...     def fingerprint(self):
    ...         return "above 50"
    ...
    ...     def oracle(self):
    ...         return self
    >>> isinstance(Above50(), FittedModel)
    True
    """

    def predict(self, Z: FloatArray) -> IntArray:
        """Return class codes, int64, shape (n,): the reference, as the underlying library's own predict gives them."""
        ...

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return class probabilities, float64, shape (n, n_classes).

        Column i belongs to class code i; the column of a class that the training rows lack holds 0.
        """
        ...

    def fingerprint(self) -> str:
        """Return a digest of what the model learned (trees, weights), equal for equal predictions everywhere."""
        ...

    def oracle(self) -> Oracle:
        """Return the fastest exact oracle in this installation, or the model itself.

        It is compared with `predict` and `predict_proba` before it is used.

        Raises
        ------
        UnavailableError
            If this model has something that its oracle does not know; the model itself is queried then, with a warning.
        """
        ...


class ModelFamily(Settings):
    """A model with settings: a setting that is None is tuned, any other value is used as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import FeatureSpace, FeatureSpec, Kind, ModelFamily
    >>> class Threshold:
    ...     def __init__(self, value):
    ...         self.value = value
    ...
    ...     def predict(self, Z):
    ...         return (Z[:, 0] > self.value).astype(np.int64)
    ...
    ...     def predict_proba(self, Z):
    ...         return np.eye(2)[self.predict(Z)]
    ...
    ...     def fingerprint(self):
    ...         return f"above {self.value}"
    ...
    ...     def oracle(self):
    ...         return self
    >>> class Quantile(ModelFamily):
    ...     share: float | None = None  # None: tuned
    ...
    ...     def grid(self):
    ...         return {"share": [0.25, 0.5, 0.75] if self.share is None else [self.share]}
    ...
    ...     def tune(self, X, y, space):
    ...         def accuracy(share):
    ...             return np.mean(self.fit(X, y, space, {"share": share}).predict(X) == y)
    ...
    ...         return {"share": max(self.grid()["share"], key=accuracy)}
    ...
    ...     def fit(self, X, y, space, hyperparameters):
    ...         return Threshold(np.quantile(X[:, 0], hyperparameters["share"]))
    >>> space = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),))
    >>> Quantile().tune(np.array([[10.0], [20.0], [30.0], [80.0]]), np.array([0, 0, 0, 1]), space)
    {'share': 0.75}
    """

    def grid(self) -> dict[str, list[Any]]:
        """Return the hyper-parameters to choose from, given these settings: lists of values by name.

        A list of one value leaves no choice. By default there are no hyper-parameters, and `tune` is not called.
        """
        return {}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose the hyper-parameters on a training fold: one value of each list of `grid`."""
        raise NotImplementedError("implement tune(X, y, space), because grid lists more than one value")

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> FittedModel:
        """Fit on a training fold, deterministically.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
            Numerical values in raw units, categories as codes.
        y : ndarray of int64, shape (n,)
        space : FeatureSpace
        hyperparameters : mapping of str to object
            One value of each list of `grid`.
        """
        raise NotImplementedError("implement fit(X, y, space, hyperparameters)")

    @classmethod
    def around(cls, encoding: Any, classifier: Any, codes: IntArray, n_classes: int) -> FittedModel | None:  # noqa: ARG003 - the default knows no classifier
        """Return the model of this family around a classifier that was fitted elsewhere, or None if it is not one.

        So a user's own model gets this family's fast oracle. cfbench checks the oracle's classes before it is used.

        Parameters
        ----------
        encoding : cfbench.models.Encoding
            How the classifier's columns follow from the features.
        classifier : classifier
            Fitted; its ``classes_`` may be any labels.
        codes : ndarray of int64, shape (K,)
            The class codes of ``classes_``.
        n_classes : int
            Number of class codes of the data set.
        """
        return None


class FittedElsewhere(ModelFamily):
    """The family of a model that cfbench does not fit: one that a user brings."""

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> FittedModel:  # noqa: ARG002 - the contract's parameters
        """Raise ModelError."""
        raise ModelError("this model was fitted elsewhere; cfbench cannot fit it again")


@dataclass(frozen=True)
class ObjectiveContext:
    """What an objective gets to work with in one search.

    Parameters
    ----------
    x : ndarray of float64, shape (d,)
    target : int
    space : FeatureSpace
    predict : callable
        Rows (n, d) in, class codes (n,) out; counted as robustness queries.
    stream : int
        The key of this search's own random stream, never the searcher's; combine it with the evaluation number.
    judging : bool
        Whether the term is the judge's: it takes the draws that rank results, more than a search can afford, the same
        for every candidate; its `stream` is the same for all searchers and repetitions.
    query_neighbours : callable or None
        The model's own method for the classes of many K-neighbours, also counted; None: they are queried row by row.
    model : object or None
        The fitted model, for objectives that say so (`Objective.needs_one_of`).

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import FeatureSpace, FeatureSpec, Kind, ObjectiveContext
    >>> context = ObjectiveContext(
    ...     x=np.array([20.0]),
    ...     target=1,
    ...     space=FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),)),
    ...     predict=lambda Z: (Z[:, 0] > 50).astype(int),
    ...     stream=0,
    ... )
    >>> def term(Z, classes):  # 0.5 if the candidate loses the target class when its values fall by 2
    ...     return 0.5 * (context.predict(Z - 2) != context.target)
    >>> term(np.array([[51.0], [53.0]]), np.array([1, 1])).tolist()
    [0.5, 0.0]
    """

    x: FloatArray
    target: int
    space: FeatureSpace
    predict: Callable[[FloatArray], IntArray]
    stream: int
    judging: bool = False
    query_neighbours: Callable[[FloatArray, KNeighbours], IntArray] | None = None
    model: object | None = None

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the classes of the K-neighbours of candidates; counted as robustness queries, m per candidate.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        neighbours : KNeighbours

        Returns
        -------
        ndarray of int64, shape (n, m)
        """
        if self.query_neighbours is not None:
            return self.query_neighbours(Z, neighbours)
        return self.predict(neighbours.draw(Z).reshape(-1, self.space.d)).reshape(len(Z), neighbours.m)


class Objective(Settings):
    """What a search minimises in addition to the base loss.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import FeatureSpace, FeatureSpec, Kind, Objective, ObjectiveContext
    >>> class PricePerChange(Objective):
    ...     price: float = 0.1
    ...
    ...     def bind(self, context):
    ...         return lambda Z, classes: self.price * (Z != context.x).sum(axis=1)
    ...
    ...     def draws_per_candidate(self):
    ...         return 0
    >>> space = FeatureSpace(tuple(FeatureSpec(name, Kind.NUMERICAL, 0, 100) for name in ("income", "debt")))
    >>> context = ObjectiveContext(np.array([20.0, 50.0]), 1, space, predict=lambda Z: np.ones(len(Z), int), stream=0)
    >>> term = PricePerChange(price=0.25).bind(context)
    >>> term(np.array([[60.0, 50.0], [40.0, 30.0]]), np.array([1, 1])).tolist()
    [0.25, 0.5]
    """

    needs_one_of: ClassVar[tuple[Need, ...]] = ()
    """The needs of which the model has to show one, such as ``(Need.FOREST, Need.LINEAR)``; other cells are skipped."""

    def bind(self, context: ObjectiveContext) -> Callable[[FloatArray, IntArray], FloatArray] | None:
        """Return the term for one search: candidates (n, d) and their classes (n,) in, values to add (n,) out.

        None means no term: the loss alone is minimised.
        """
        raise NotImplementedError

    def rows_per_candidate(self) -> int:
        """Return how many rows the term queries the model with for each candidate.

        A query whose rows, these included, would exceed the budget is refused as a whole.
        """
        return 0

    def draws_per_candidate(self) -> int | None:
        """Return how many random draws one evaluation of a candidate rests on; 0 if it rests on none.

        With draws, equal candidates have different values, so that searchers re-evaluate what they return
        (`cfbench.Best`) until about 1,024 draws are averaged. The default, None, means that the number is not known:
        the term is treated as if it had draws. An objective without draws should return 0, which saves these
        evaluations. Not used where `bind` returns None or a `SeparableTerm`.
        """
        return None

    def amounts_to(self) -> str:
        """Name the simpler objective (settings in brackets) that these settings make it; empty: none.

        A cell is planned with that one instead, so that equal searches have one key.
        """
        return ""

    def remark(self, space: FeatureSpace) -> str:  # noqa: ARG002 - for those that have something to say
        """Say what a user should know before cells of this objective run on a data set; empty: nothing.

        It is among the notes of a plan, once per data set.
        """
        return ""
