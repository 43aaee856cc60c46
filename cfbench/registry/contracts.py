"""What plugin authors implement: searchers, model families, fitted models, objectives and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict

from cfbench.problem.oracle import Oracle, checked_oracle, predict_neighbours
from cfbench.problem.outcome import CounterfactualSet
from cfbench.problem.problem import Problem
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.dataset import Dataset
from cfbench.space.space import FeatureSpace, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

SearchResult = FloatArray | CounterfactualSet | None
SearchFunction = Callable[[Problem, np.random.Generator], SearchResult]


class Settings(BaseModel):
    """Base of every configurable plugin class: its fields are its settings, checked before anything runs.

    Declare bounds with pydantic's ``Field(gt=0)``; the defaults are what the board calls by the bare name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Searcher(Settings):
    """A searcher with settings: subclass it, declare the settings as fields, implement `search`."""

    def search(self, problem: Problem, rng: np.random.Generator) -> SearchResult:
        """Look for a counterfactual of ``problem.x``.

        Returns
        -------
        ndarray of float64, shape (d,), or None
            Or a CounterfactualSet, where the entry says so.
        """
        raise NotImplementedError


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
    """

    data_dirs: tuple[Path, ...]
    cache_dir: Path
    download: bool = True


@runtime_checkable
class FittedModel(Protocol):
    """A fitted classifier f. It must be picklable, since fitted models are cached."""

    def predict(self, Z: FloatArray) -> IntArray:
        """The reference answer: class codes, int64, shape (n,), as the underlying library's own predict gives them."""
        ...

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Class probabilities, shape (n, n_classes), columns by class code; a class unseen in training has 0."""
        ...

    def fingerprint(self) -> str:
        """Digest of what the model learned (trees, weights), equal for equal answers everywhere."""
        ...

    def oracle(self) -> Oracle:
        """Return the fastest exact oracle in this installation, or the model itself.

        It is compared with `predict` and `predict_proba` before it is used.

        Raises
        ------
        UnavailableError
            If this model has something that its oracle does not know; the model itself is asked then, with a warning.
        """
        ...


class ModelFamily(Settings):
    """A model with settings: a setting that is None is tuned, any other value is used as it is."""

    def grid(self) -> dict[str, list[Any]]:
        """The hyper-parameters to choose from, given these settings; a list of one where nothing is to choose."""
        raise NotImplementedError

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose the hyper-parameters on a training fold."""
        raise NotImplementedError

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> FittedModel:
        """Fit on a training fold, deterministically."""
        raise NotImplementedError


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
    ask_neighbours : callable or None
        The model's own method for the classes of many K-neighbours, also counted; None: they are queried row by row.
    model : object or None
        The fitted model, for objectives that say so (`Objective.looks_into_model`).
    """

    x: FloatArray
    target: int
    space: FeatureSpace
    predict: Callable[[FloatArray], IntArray]
    stream: int
    judging: bool = False
    ask_neighbours: Callable[[FloatArray, KNeighbours], IntArray] | None = None
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
        if self.ask_neighbours is not None:
            return self.ask_neighbours(Z, neighbours)
        return self.predict(neighbours.draw(Z).reshape(-1, self.space.d)).reshape(len(Z), neighbours.m)


class Objective(Settings):
    """What a search minimises in addition to the base loss."""

    looks_into_model: ClassVar[bool] = False
    """Whether it needs the model's structure; cells of models that do not show theirs are skipped."""

    def bind(self, context: ObjectiveContext) -> Callable[[FloatArray, IntArray], FloatArray] | None:
        """Return the term for one search: candidates (n, d) and their classes (n,) in, values to add (n,) out.

        None means no term: the loss alone is minimised.
        """
        raise NotImplementedError

    def rows_per_candidate(self) -> int:
        """Return how many rows the term asks of the model for each candidate.

        A question whose rows, these included, would pass the query budget is refused as a whole.
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

        It is among the notes of a plan, once a data set.
        """
        return ""


@dataclass(frozen=True, eq=False)
class CellContext:
    """What a metric of the stage ``counterfactual`` receives in addition to the rows of its cell.

    Parameters
    ----------
    dataset : Dataset
    train, test : ndarray of int64
        Row numbers of the fold.
    constraints : bool
    model : callable
        Returns the cell's FittedModel; fitted or loaded when it is first called.
    seed : int
        The study's seed.
    respect_steps : bool
        Whether values off a feature's steps are infeasible.
    make_oracle : callable or None
        Returns the model's oracle, checked already; None: it is made from `model` and checked.
    """

    dataset: Dataset
    train: IntArray
    test: IntArray
    constraints: bool
    model: Callable[[], FittedModel]
    seed: int
    respect_steps: bool = False
    make_oracle: Callable[[], Oracle] | None = None

    @cached_property
    def oracle(self) -> Oracle:
        """The fastest exact oracle; made at its first use."""
        if self.make_oracle is not None:
            return self.make_oracle()
        return checked_oracle(self.model(), self.dataset.space, self.dataset.X[self.train])

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the classes of the K-neighbours of the rows of `Z`, shape (n, d); int64, shape (n, m)."""
        return predict_neighbours(self.oracle, Z, neighbours)


class CounterfactualMetric(Settings):
    """A number about each search of a cell."""

    looks_into_model: ClassVar[bool] = False
    """Whether it needs the model's structure; it has no values for models that do not show theirs, and that is told."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return one value per row of `searches` (one per search, the record's schema), with its index.

        NaN means: outside the metric's denominator (not found, not applicable). Infinity is never returned.
        """
        raise NotImplementedError


class ComparisonMetric(Settings):
    """A number about each point of a searcher, compared with another searcher's result for the same point."""

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        """Return a value a row of `points`, with its index; NaN where either side has no result.

        Parameters
        ----------
        points, reference : DataFrame
            Best repetition a point, columns `row_id`, `found`, `loss`, `objective_value`, `seconds`, `queries`,
            aligned row by row to the same points.
        """
        raise NotImplementedError


class ObjectiveComparison(Settings):
    """A number about each point, compared with the same searcher's result under objective ``none``.

    Both results are of the same data set, model, fold, constraints, budget and seed.
    """

    def measures(self) -> tuple[str, ...]:
        """Name the metrics of the stage ``counterfactual`` whose values it needs, as ``NAME[setting=value]``."""
        return ()

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:
        """Return a value a row of `points`, with its index; NaN where either side has no result.

        Parameters
        ----------
        points, reference : DataFrame
            Best repetition a point, columns `row_id`, `found`, `loss`, `objective_value`, `seconds`, `queries`, `x`,
            `z` (arrays of shape (d,), None without a result), and one for each of `measures`, by the name that it
            has there; aligned row by row to the same points.
        space : FeatureSpace
        """
        raise NotImplementedError


class ReferenceComparison(Settings):
    """A number about each point, compared with the result and the report of one given searcher.

    Both results are of the same data set, fitted model, objective, fold and constraints.

    Attributes
    ----------
    reference : str
        The registered name of that searcher; each subclass names its own.
    """

    reference: ClassVar[str]

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        """Return a value a row of `points`, with its index; NaN where either side lacks what is needed.

        Parameters
        ----------
        points, reference : DataFrame
            Best repetition a point, columns `row_id`, `found`, `loss`, `objective_value`, `seconds`, `queries`,
            `figures` (what the searcher reported, dicts of numbers by name), aligned row by row to the same points.
        """
        raise NotImplementedError

    def remarks(self, reference: pd.DataFrame) -> Mapping[str, int]:  # noqa: ARG002 - for those that have something to say
        """Say what a reader of the values should know of one of the reference's cells; nothing by default.

        Parameters
        ----------
        reference : DataFrame
            As in `compare`, all of its points.

        Returns
        -------
        mapping of str to int
            Sentences, each with the number of points that it is about; the board adds them up.
        """
        return {}
