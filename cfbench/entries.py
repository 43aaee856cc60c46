"""The typed entries that plugins register: one dataclass a kind.

An entry declares; the harness believes no declaration that it can check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict

from cfbench.dataset import Dataset
from cfbench.errors import PluginError
from cfbench.oracle import Oracle, predict_neighbours
from cfbench.oracle_check import checked_oracle
from cfbench.outcome import CounterfactualSet
from cfbench.perturbations import KNeighbours
from cfbench.problem import Problem
from cfbench.space import FeatureSpace, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

D = TypeVar("D", bound=StrEnum)

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Settings(BaseModel):
    """Base of every configurable plugin class: its fields are its settings, checked before anything runs.

    Declare bounds with pydantic's ``Field(gt=0)``; the defaults are what the board calls by the bare name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Handles(StrEnum):
    """What a searcher can work with; a cell that asks for more is skipped with the reason shown."""

    CATEGORICAL = "categorical features"
    CONSTRAINTS = "constraints"
    OBJECTIVES = "custom objectives"


class Need(StrEnum):
    """What a searcher asks for beside the model's classes."""

    PROBABILITIES = "probabilities"
    TRAINING_DATA = "training data"
    MODEL_STRUCTURE = "model structure"


class Stage(StrEnum):
    """What a metric is computed from."""

    COUNTERFACTUAL = "counterfactual"
    """The searches of one cell, and its model where the metric asks for it."""
    COMPARISON = "comparison"
    """The rows of several cells; no model."""


class Direction(StrEnum):
    """Which values of a metric are better."""

    LOWER = "lower"
    HIGHER = "higher"
    NEUTRAL = "neutral"


# ------------------------------------------------------------------ what the plugins' callables look like

SearchResult = FloatArray | CounterfactualSet | None
SearchFunction = Callable[[Problem, np.random.Generator], SearchResult]


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
        """The fastest exact way to ask the model in this installation; the model itself where there is no other.

        It is held against `predict` and `predict_proba` before it is used.

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
        The model's own way to the classes of many K-neighbours, counted likewise; None: they are asked row by row.
    """

    x: FloatArray
    target: int
    space: FeatureSpace
    predict: Callable[[FloatArray], IntArray]
    stream: int
    judging: bool = False
    ask_neighbours: Callable[[FloatArray, KNeighbours], IntArray] | None = None

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Ask for the classes of the K-neighbours of candidates; counted as robustness queries, m a candidate.

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
    """What a search minimises beside the base loss."""

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
    """What a metric of the stage ``counterfactual`` gets beside the rows of its cell.

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
        Whether values off a feature's steps are implausible.
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
        """The fastest exact way to ask the model; made when it is first used."""
        if self.make_oracle is not None:
            return self.make_oracle()
        return checked_oracle(self.model(), self.dataset.space, self.dataset.X[self.train])

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Ask for the classes of the K-neighbours of the rows of `Z`, shape (n, d); int64, shape (n, m)."""
        return predict_neighbours(self.oracle, Z, neighbours)


class CounterfactualMetric(Settings):
    """A number about each search of a cell."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return a value a row of `searches` (one a search, the record's schema), with its index.

        NaN means: outside the metric's denominator (not found, not applicable). Infinity is never returned.
        """
        raise NotImplementedError


class ComparisonMetric(Settings):
    """A number about each point of a searcher, seen beside another searcher's result for the same point."""

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
    """A number about each point, seen beside what the same searcher found for it under objective ``none``.

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


# ------------------------------------------------------------------ the entries


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What every entry says of itself.

    Parameters
    ----------
    name : str
        kebab-case, permanent, unique among the entries of its kind.
    version : str
        Raise it whenever results may change: it is in every cell's key.
    summary : str
        One line for listings.

    Raises
    ------
    PluginError
        If the name is not kebab-case or the version is empty.
    """

    name: str
    version: str = "1"
    summary: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise PluginError(
                f"{self.name!r} is no name for an entry; use kebab-case: lower-case letters, digits, single hyphens"
            )
        if not isinstance(self.version, str) or not self.version:
            raise PluginError(f"entry {self.name!r} needs a version, a non-empty string")

    def _require_class(self, field: str, *allowed: type) -> None:
        """Refuse a field that holds anything but a subclass of one of `allowed`."""
        value = getattr(self, field)
        if not (isinstance(value, type) and issubclass(value, allowed)):
            names = " or ".join(f"cfbench.{kind.__name__}" for kind in allowed)
            received = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
            raise PluginError(f"entry {self.name!r}: `{field}` must be a subclass of {names}, not {received}")


@dataclass(frozen=True, kw_only=True)
class DatasetEntry(Entry):
    """A data set.

    Parameters
    ----------
    load : callable
        DataSource in, Dataset out. Raises UnavailableError where the table cannot be had, DataError where it is unfit.
    folder : Path or None
        The folder that a user named, for data sets without code.
    card : callable or None
        Returns the CARD.md's text.
    """

    load: Callable[[DataSource], Dataset]
    folder: Path | None = None
    card: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.load):
            raise PluginError(f"data set {self.name!r}: `load` must be a function of a DataSource, not {self.load!r}")


@dataclass(frozen=True, kw_only=True)
class ModelEntry(Entry):
    """A model family.

    Parameters
    ----------
    family : type of ModelFamily
    tuned : Path or None
        A committed table of tuned hyper-parameters, so that nobody tunes them again.
    shows_structure : bool
        Whether white boxes find in its fitted models what they need; where not, their cells are skipped.
    """

    family: type[ModelFamily]
    tuned: Path | None = None
    shows_structure: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_class("family", ModelFamily)


@dataclass(frozen=True, kw_only=True)
class SearcherEntry(Entry):
    """A search algorithm.

    Parameters
    ----------
    searcher : type of Searcher, or a function ``search(problem, rng)``
    handles : iterable of Handles
    needs : iterable of Need
        What it cannot do without.
    can_use : iterable of Need
        What it uses where it is there.
    returns_sets : bool
        Whether it returns a CounterfactualSet.
    default_budget : int or None
        Query budget where the study gives none, for algorithms without an end of their own.
    check_settings : mapping
        Settings under which the conformance checks run, for slow searchers.
    unavailable : str
        Why it cannot run in this installation and what installs it; empty where it can. Its cells are skipped.
    known_failures : mapping of str to str
        Conformance checks that a third party's library makes it fail, each with the reason. A declared check that
        passes nevertheless counts as failed.
    """

    searcher: type[Searcher] | SearchFunction
    handles: Iterable[Handles] = frozenset()
    needs: Iterable[Need] = frozenset()
    can_use: Iterable[Need] = frozenset()
    returns_sets: bool = False
    default_budget: int | None = None
    check_settings: Mapping[str, Any] | None = None
    unavailable: str = ""
    known_failures: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "handles", self._declared("handles", Handles))
        object.__setattr__(self, "needs", self._declared("needs", Need))
        object.__setattr__(self, "can_use", self._declared("can_use", Need))
        if isinstance(self.searcher, type):
            self._require_class("searcher", Searcher)
        elif not callable(self.searcher):
            raise PluginError(
                f"searcher {self.name!r}: `searcher` must be a function search(problem, rng) or a subclass of "
                f"Searcher, not {type(self.searcher).__name__}"
            )

    def _declared(self, field: str, kind: type[D]) -> frozenset[D]:
        """Return a declaration as a set of `kind`."""
        items = getattr(self, field)
        try:
            return frozenset(kind(item) for item in ([items] if isinstance(items, str) else items))
        except (TypeError, ValueError) as error:
            allowed = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
            raise PluginError(f"searcher {self.name!r}: `{field}` is {items!r}; it may list {allowed}") from error

    @property
    def is_white_box(self) -> bool:
        """Whether it uses the model's structure; such searchers are never ranked among black-box ones."""
        return Need.MODEL_STRUCTURE in (*self.needs, *self.can_use)


@dataclass(frozen=True, kw_only=True)
class ObjectiveEntry(Entry):
    """An objective."""

    objective: type[Objective]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_class("objective", Objective)


@dataclass(frozen=True, kw_only=True)
class MetricEntry(Entry):
    """A metric.

    Parameters
    ----------
    metric : type of CounterfactualMetric, of ComparisonMetric or of ObjectiveComparison
    direction : Direction
    unit : str
        Of the values, for headers ("s", "rows", "%"); empty for plain numbers.
    denominator : str
        What the values are counted over, in words ("searches that found a counterfactual").
    """

    metric: type[CounterfactualMetric] | type[ComparisonMetric] | type[ObjectiveComparison]
    direction: Direction = Direction.NEUTRAL
    unit: str = ""
    denominator: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_class("metric", CounterfactualMetric, ComparisonMetric, ObjectiveComparison)

    @property
    def stage(self) -> Stage:
        """What the metric is computed from."""
        return Stage.COUNTERFACTUAL if issubclass(self.metric, CounterfactualMetric) else Stage.COMPARISON
