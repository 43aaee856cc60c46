"""What plugins implement to measure counterfactuals, and what they get to work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from cfbench.contracts import FittedModel, Settings
from cfbench.dataset import Dataset
from cfbench.oracle import Oracle, predict_neighbours
from cfbench.oracle_check import checked_oracle
from cfbench.perturbations import KNeighbours
from cfbench.space import FeatureSpace, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


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

    looks_into_model: ClassVar[bool] = False
    """Whether it needs the model's structure; it has no values for models that do not show theirs, and that is told."""

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


class ReferenceComparison(Settings):
    """A number about each point, seen beside what one certain searcher found for it and reported of it.

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
