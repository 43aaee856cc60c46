"""DiCE: the genetic method of the library dice-ml, which returns a set."""

from __future__ import annotations

import io
import math
import random
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from cfbench import CounterfactualSet, PrepareContext, Problem, Searcher, TrainingFold
from cfbench.registry import SearchFunction
from cfbench.space import FeasibleBox, FloatArray

if TYPE_CHECKING:
    import pandas as pd

_EXACT_DIGITS = 15
"""Significant digits that a float64 holds whatever its value is: to round to them twice is to round once."""


class DiceTable:
    """A training fold and a point in DiCE's terms.

    Features are columns f0, f1, ..., whatever their names hold. Categories are strings, since the library takes
    anything else for labels to make strings of. Numbers are in raw units; where the study wants steps to be kept, in
    steps, which the library keeps when it is told that they are whole.

    Parameters
    ----------
    training : TrainingFold
    box : FeasibleBox
        The feasible rows of the point.
    x : ndarray of float64, shape (d,)

    Attributes
    ----------
    outcome : str
        The column of the classes.
    names, numerical, free : list of str
        The columns of all features, of the numerical ones, and of those that may change.
    precisions : dict of str to int
        Decimal places of the numerical features. The library would take those of each feature's most frequent values,
        and round all others to them.
    permitted_range : dict of str to list of float
        The feasible interval of each numerical feature.
    """

    outcome = "outcome"

    def __init__(self, training: TrainingFold, box: FeasibleBox, x: FloatArray) -> None:
        is_numerical = ~box.is_categorical
        stepped = is_numerical & (box.spacing > 0)
        self._x, self._classes = x, training.y
        self._is_numerical = is_numerical
        self._is_fixed = box.upper <= box.lower
        self._units = np.where(stepped, box.spacing, 1.0)
        # The library starts from rows of the fold: where steps must be kept, those have to keep them.
        fold = training.X
        self._X = np.where(stepped, np.rint(fold / self._units) * self._units, fold)
        self.names = [f"f{i}" for i in range(len(x))]
        self.numerical = self._columns(is_numerical)
        self.free = self._columns(~self._is_fixed)

        ends = np.stack([box.lower, box.upper])
        known = np.concatenate([self._X, ends, self._x[np.newaxis]]) / self._units
        places = [0 if whole else decimal_places(column) for whole, column in zip(stepped, known.T, strict=True)]
        self.precisions = {self.names[i]: places[i] for i in np.flatnonzero(is_numerical)}
        sides = ends / self._units
        self.permitted_range = {self.names[i]: sides[:, i].tolist() for i in np.flatnonzero(is_numerical)}
        exact = np.concatenate([self._x[np.newaxis], ends, self._X])
        self._known = {i: known_values(exact[:, i], self._units[i], places[i]) for i in np.flatnonzero(is_numerical)}

    def lacks_a_category(self) -> bool:
        """Whether `x` has a category that the fold does not have."""
        return not np.all((self._X == self._x).any(axis=0) | self._is_numerical)

    def training(self) -> pd.DataFrame:
        """Return the training fold, with `x` where that has a category that the fold lacks: DiCE refuses such a one."""
        X, y = self._X, self._classes
        if self.lacks_a_category():
            X, y = np.vstack([X, self._x]), np.append(y, y[:1])  # the class is not used
        frame = self._frame(X)
        frame[self.outcome] = y
        return frame

    def factual(self) -> pd.DataFrame:
        """Return `x` as a frame of one row."""
        return self._frame(self._x[np.newaxis])

    def points(self, frame: pd.DataFrame) -> FloatArray:
        """Return the points, shape (n, d), that the rows of a frame of the library's stand for."""
        values = frame[self.names].to_numpy(dtype=object).astype(np.float64)
        Z: FloatArray = values * self._units
        for i, (keys, exact) in self._known.items():
            nearest = np.minimum(np.searchsorted(keys, values[:, i]), len(keys) - 1)
            Z[:, i] = np.where(keys[nearest] == values[:, i], exact[nearest], Z[:, i])
        Z[:, self._is_fixed] = self._x[self._is_fixed]
        return Z

    def _columns(self, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[str]:
        return [self.names[i] for i in np.flatnonzero(chosen)]

    def _frame(self, X: FloatArray) -> pd.DataFrame:
        import pandas as pd

        columns = zip(self.names, (X / self._units).T, self._is_numerical, strict=True)
        return pd.DataFrame(
            {name: values if numerical else [str(int(code)) for code in values] for name, values, numerical in columns}
        )


class LibraryFold(NamedTuple):
    """The library's object of a training fold, and the precisions that it was given."""

    data: Any
    precisions: dict[str, int]

    def data_of(self, table: DiceTable) -> Any:
        """Return the library's object for a point: the fold's, unless the point has more decimals or another category.

        The library writes nothing but a point's permitted range into it, which every search writes anew.
        """
        fits = table.precisions == self.precisions and not table.lacks_a_category()
        return self.data if fits else library_data(table)


class NoTargetInSightError(Exception):
    """The library has drawn as many points in a row that are not of the target class as the search has patience for."""


class MeteredModel:
    """The model as DiCE queries it: by frames, and for probabilities.

    Parameters
    ----------
    problem : Problem
    table : DiceTable
    n_kept : int
        Rows of the set that is reported for the case that the query budget ends the search.
    patience : int
        Queries of a single row, one directly after the other, that may be of other classes. The library queries single
        rows where it draws points until it has enough of the target class, which is its only unbounded loop.
    """

    def __init__(self, problem: Problem, table: DiceTable, n_kept: int, patience: int) -> None:
        self._problem = problem
        self._table = table
        self._n_kept = n_kept
        self._patience = patience
        self._misses = 0
        self._kept: FloatArray = np.empty((0, len(problem.x)))

    def predict_proba(self, frame: pd.DataFrame) -> FloatArray:
        """Return the class probabilities, shape (n, n_classes).

        Raises
        ------
        NoTargetInSightError
            If patience has run out.
        BudgetExhausted
            If the query would pass the query budget.
        """
        Z = self._table.points(frame)
        probabilities = self._problem.predict_proba(Z)
        is_target = np.argmax(probabilities, axis=1) == self._problem.target
        self._keep(Z[is_target])
        is_miss = len(probabilities) == 1 and not is_target[0]
        self._misses = self._misses + 1 if is_miss else 0
        if self._misses >= self._patience:
            raise NoTargetInSightError
        return probabilities

    def _keep(self, Z: FloatArray) -> None:
        """Report the feasible rows of the target class with the smallest cost so far, each once."""
        Z = np.vstack([self._kept, Z[self._problem.is_feasible(Z)]])
        if len(Z) > len(self._kept):
            first = np.sort(np.unique(Z, axis=0, return_index=True)[1])
            Z = Z[first]
            self._kept = Z[np.argsort(self._problem.distance(Z), kind="stable")[: self._n_kept]]
            self._problem.report_candidates(self._kept)


def known_values(exact: FloatArray, unit: float, places: int) -> tuple[FloatArray, FloatArray]:
    """Return what the library makes of values that it was given, sorted, and the value that each stands for.

    The library keeps the training fold and `x` as float32, and rounds what it returns to `places` decimals: a value of
    the table would come back as another one, a value of `x` as a change, and an end of an interval as one outside.

    Parameters
    ----------
    exact : ndarray of float64, shape (n,)
        Where two come back as the same value, that stands for the first of them.
    unit : float
        The library is given ``exact / unit``.
    places : int
    """
    given = exact / unit
    single = given.astype(np.float32).astype(np.float64)
    seen = np.stack([given, np.round(given, places), single, np.round(single, places)], axis=1)
    keys, first = np.unique(seen, return_index=True)
    return keys, exact[first // seen.shape[1]]


def decimal_places(values: FloatArray) -> int:
    """Return the fewest decimal places that leave all `values` as they are; at most those that a float64 holds."""
    largest = float(np.abs(values).max())
    most = _EXACT_DIGITS - (math.floor(math.log10(largest)) + 1 if largest > 0 else 0)
    exact = (places for places in range(most) if np.array_equal(np.round(values, places), values))
    return next(exact, max(most, 0))


class DiceA(Searcher):
    """Diverse Counterfactual Explanations, the paper's configuration "a": the library's weights, more iterations.

    The library itself (dice-ml 0.12) searches, with its method "genetic", and what it answers is returned as it is. Its
    population is ten times as large as the set. It starts from the rows of the training fold that the model puts into
    the target class, those nearest to `x` in a k-d tree. It stops when the best loss has not improved for five
    generations.

    Decisions: the start is the library's default, the k-d tree, as in the published experiments. Both starts draw
    random points, one row at a time, until they have enough of the target class. The k-d tree does so where the fold
    has too few different rows of that class. The library would draw forever where the model never says the target
    class, so the search gives up (`None`, with the reason) after `patience` drawn points in a row of other classes. A
    search that exhausts its query budget lets that pass: its set is the cheapest rows of the target class that it has
    queried until then, as many as the set has.

    Known of this version: a numerical feature that mutates takes the lower end of its interval, so its other values
    come from the first population alone. Parents are not chosen by their loss. Values of `x` get into the population by
    chance, or where a row of the fold has them. So most features are changed. The k-d tree compares the one-hot columns
    of `x` with those of the fold in another order, and numerical features in raw units. Where the fold has fewer rows
    of the target class than the population has places, a row of zeros joins the population.

    Parameters
    ----------
    n_counterfactuals : int
        Of the set. At least 2, since the library cannot mate what is left of a smaller population.
    n_iterations : int
        Generations at most.
    proximity_weight, sparsity_weight : float
        Of the loss's terms: distance over the numerical features, and share of changed features.
    diversity_weight : float
        Passed on, but the genetic method of this version does not use it.
    patience : int
        Random points in a row that may be of other classes.
    initialization : {"kdtree", "random"}
        Where the population starts: from rows of the training fold, or from random points.

    References
    ----------
    Mothilal, Sharma and Tan, "Explaining machine learning classifiers through diverse counterfactual explanations",
    FAT* 2020. The genetic method: Schleich, Geng, Zhang and Suciu, "GeCo: quality counterfactual explanations in real
    time", VLDB 2021.
    """

    n_counterfactuals: int = Field(default=20, ge=2)
    n_iterations: int = Field(default=500, ge=1)
    proximity_weight: float = Field(default=0.2, ge=0)
    sparsity_weight: float = Field(default=0.2, ge=0)
    diversity_weight: float = Field(default=5.0, ge=0)
    patience: int = Field(default=10_000, ge=1)
    initialization: Literal["kdtree", "random"] = "kdtree"

    def prepare(self, context: PrepareContext) -> SearchFunction:
        """Import the library, and give it the training fold."""
        assert context.training is not None  # the entry needs it
        x = context.training.X[0]
        box = FeasibleBox(context.space, x, constraints=False, respect_steps=context.respect_steps)
        table = DiceTable(context.training, box, x)
        with _generators_kept():
            fold = LibraryFold(library_data(table), table.precisions)
        return partial(self._search, fold)

    def _search(self, fold: LibraryFold, problem: Problem, rng: np.random.Generator) -> CounterfactualSet | None:
        """Return the library's set; None where it finds nothing or nothing may change."""
        assert problem.training is not None  # the entry needs it
        table = DiceTable(problem.training, problem.box, problem.x)
        if not table.free:
            problem.give_reason("no feature may change")
            return None
        with _generators_kept(), _quiet():
            explainer = explainer_of(
                fold.data_of(table), MeteredModel(problem, table, self.n_counterfactuals, self.patience)
            )
            # The library draws from the global generators alone.
            random.seed(int(rng.integers(2**63)))
            np.random.seed(rng.integers(2**32, size=4, dtype=np.uint32))  # noqa: NPY002 - the global one is meant
            try:
                found = self._explain(explainer, table, problem.target)
            except NoTargetInSightError:
                problem.give_reason("the random points of the start, `patience` of them in a row, are of other classes")
                return None
        if found is None:
            problem.give_reason("the best of the library's last generation are of other classes")
            return None
        return CounterfactualSet(table.points(found))

    def _explain(self, explainer: Any, table: DiceTable, target: int) -> pd.DataFrame | None:
        """Let the library search; return its set as a frame, None where it found nothing."""
        import pandas as pd
        from dice_ml.explainer_interfaces.explainer_base import UserConfigValidationException

        try:
            explanations = explainer.generate_counterfactuals(
                table.factual(),
                total_CFs=self.n_counterfactuals,
                desired_class=target,
                initialization=self.initialization,
                features_to_vary=table.free,
                permitted_range=table.permitted_range,
                # The library's distance over no features breaks off; without a weight it is left out.
                proximity_weight=self.proximity_weight if table.numerical else 0,
                sparsity_weight=self.sparsity_weight,
                diversity_weight=self.diversity_weight,
                maxiterations=self.n_iterations,
            )
        except UserConfigValidationException:
            # Raised for an empty answer, but also for wrong arguments; those leave no (empty) answer behind.
            if getattr(explainer, "final_cfs", None) != []:
                raise
            return None
        except ValueError:
            # A population that is one point over and over has no two parents, and the library breaks off.
            population = np.unique(explainer.cfs, axis=0)
            if len(population) != 1:
                raise
            return pd.DataFrame(explainer.label_decode(population))
        return pd.DataFrame(explanations.cf_examples_list[0].final_cfs_df)


class DiceB(DiceA):
    """DiCE in the paper's configuration "b", set up like CoGS: a larger set, fewer iterations, no diversity.

    All else is as in `DiceA`.
    """

    n_counterfactuals: int = Field(default=100, ge=2)
    n_iterations: int = Field(default=100, ge=1)
    proximity_weight: float = Field(default=0.5, ge=0)
    sparsity_weight: float = Field(default=0.5, ge=0)
    diversity_weight: float = Field(default=0.0, ge=0)


def library_data(table: DiceTable) -> Any:
    """Return the library's object of a table."""
    import dice_ml

    return dice_ml.Data(
        dataframe=table.training(),
        continuous_features=table.numerical,
        outcome_name=table.outcome,
        continuous_features_precision=table.precisions,
    )


def explainer_of(data: Any, model: MeteredModel) -> Any:
    """Return the library's explainer, which decodes whole columns.

    The library decodes its population value by value, each through the checks of scikit-learn's label encoder. That
    took two thirds of a search.
    """
    import dice_ml
    import pandas as pd
    from dice_ml.explainer_interfaces.dice_genetic import DiceGenetic

    class ColumnDecoder(DiceGenetic):  # type: ignore[misc]  # the library has no types
        def label_decode(self, labelled_input: FloatArray) -> pd.DataFrame:
            rows = np.atleast_2d(labelled_input)
            columns = dict(zip(self.data_interface.feature_names, rows.T, strict=True))
            for name, encoder in self.labelencoder.items():
                columns[name] = encoder.classes_[columns[name].astype(np.int32)]
            return pd.DataFrame(columns)

    return ColumnDecoder(data, dice_ml.Model(model=model, backend="sklearn", model_type="classifier"))


@contextmanager
def _generators_kept() -> Iterator[None]:
    """Restore the global generators of Python and numpy afterwards; importing the library draws from them, too."""
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - the global one is meant
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002 - as above


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the library's progress bar and warnings.

    No argument of the library turns off its bar, which runs over one point. The bar's lock is one of threads here: one
    between processes would be left behind by a worker that is killed. The warnings are of divisions by zero, for
    features without a spread and where all weights of a distance round to zero. The answer is judged as it is.
    """
    from dice_ml.explainer_interfaces import explainer_base

    explainer_base.tqdm.set_lock(threading.RLock())
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.filterwarnings("ignore", "(divide by zero|invalid value)", RuntimeWarning, r"dice_ml\b")
        yield
