"""Metrics: the class that authors subclass, and what its two methods receive.

A metric measures the searches of one cell, or compares the results of a cell with those of a reference. Both get the
searches as arrays (`Found`), which are made once per cell and shared by all metrics, so that they are read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, StudyError
from cfbench.problem.access import Need
from cfbench.problem.oracle import Oracle, checked_oracle, predict_neighbours
from cfbench.registry.contracts import FittedModel, Settings
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.dataset import Dataset
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

A = TypeVar("A", bound="np.ndarray[Any, Any]")

FRAME = (
    *("point", "row_id", "repetition", "status", "reason", "x", "z", "candidates"),
    *("loss", "gower", "l0", "cost", "objective_value"),
    *("search_queries", "robustness_queries", "wall_seconds", "cpu_seconds", "anytime", "figures", "model_fingerprint"),
)
"""Columns of the record that a data frame of searches has."""


@dataclass(frozen=True, eq=False)
class CellContext:
    """What a metric receives in addition to the searches of one cell.

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

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import CellContext, Dataset, FeatureSpace, FeatureSpec, Kind
    >>> space = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),))
    >>> X = np.array([[20.0], [60.0], [90.0]])
    >>> loans = Dataset("loans", X, np.array([0, 1, 1]), space, target=1, class_labels=("refused", "granted"))
    >>> context = CellContext(
    ...     loans, train=np.array([1, 2]), test=np.array([0]), constraints=False, model=lambda: ..., seed=42
    ... )
    >>> context.dataset.X[context.train].mean(axis=0).tolist()  # for example, in a metric
    [75.0]
    """

    dataset: Dataset
    train: IntArray
    test: IntArray
    constraints: bool
    model: Callable[[], FittedModel]
    seed: int
    respect_steps: bool = False
    make_oracle: Callable[[], Oracle] | None = None

    @property
    def space(self) -> FeatureSpace:
        """The data set's features."""
        return self.dataset.space

    @cached_property
    def oracle(self) -> Oracle:
        """The fastest exact oracle; made at its first use."""
        if self.make_oracle is not None:
            return self.make_oracle()
        return checked_oracle(self.model(), self.dataset.space, self.dataset.X[self.train])

    def stream(self, purpose: str, row_id: int) -> int:
        """Return the key, 64 bits, of a factual point's own random stream for a purpose.

        It depends on the study's seed, the data set and the row, so all searchers, objectives and repetitions get the
        same draws.
        """
        name = ["metric", purpose, self.seed, self.dataset.name, row_id]
        return int(digest_of(name), 16) & 0xFFFF_FFFF_FFFF_FFFF

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the classes of the K-neighbours of the rows of `Z`, shape (n, d); int64, shape (n, m)."""
        return predict_neighbours(self.oracle, Z, neighbours)

    def is_valid(self, Z: FloatArray, x: FloatArray) -> BoolArray:
        """Return which rows of `Z`, shape (n, d), are counterfactuals of `x` in this cell: feasible, of the target.

        The oracle answers for the feasible rows.
        """
        valid = self.space.is_feasible(Z, x, constraints=self.constraints, respect_steps=self.respect_steps)
        feasible = np.flatnonzero(valid)
        if len(feasible):
            valid[feasible] = self.oracle.predict(Z[feasible]) == self.dataset.target
        return valid


@dataclass(frozen=True, eq=False)
class ComparisonContext:
    """What a metric receives in addition to the results of two cells. It has no model: boards query none.

    Parameters
    ----------
    load : callable
        Returns the Dataset; raises CfbenchError if it is not at hand, or has changed since the searches.
    constraints : bool
    seed : int
        The study's seed.
    respect_steps : bool
        Whether values off a feature's steps are infeasible.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import ComparisonContext, Dataset, FeatureSpace, FeatureSpec, Kind
    >>> space = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),))
    >>> X, y = np.array([[20.0], [60.0]]), np.array([0, 1])
    >>> loans = Dataset("loans", X, y, space, target=1, class_labels=("refused", "granted"))
    >>> context = ComparisonContext(lambda: loans, constraints=True, seed=42)
    >>> context.space.ranges.tolist()
    [100.0]
    """

    load: Callable[[], Dataset]
    constraints: bool
    seed: int
    respect_steps: bool = False

    @cached_property
    def dataset(self) -> Dataset:
        """The data set, loaded at its first use."""
        return self.load()

    @property
    def space(self) -> FeatureSpace:
        """The data set's features."""
        return self.dataset.space


class Found:
    """What the searches of a cell found, as arrays with one place per search. All arrays are read-only.

    `Metric.measure` gets all searches of the cell. `Metric.compare` gets one search per point, the result of the point:
    the successful repetition with the smallest objective value, or the first repetition where none succeeded.

    Parameters
    ----------
    n : int
        How many searches.
    column : callable
        Returns a column of the record by its name, `n` values; each is read when it is first used.
    d : int, optional
        How many features; where it is left out, as many as `x` has.
    measured : callable, optional
        Returns the values of another metric, shape (n,), by its name as in ``NAME[setting=value]``.
    is_valid : callable, optional
        Returns which rows of Z, shape (k, d), are counterfactuals of x, shape (d,).

    Examples
    --------
    >>> from cfbench import Found
    >>> found = Found.of_columns(
    ...     {
    ...         "row_id": [7, 7, 9],
    ...         "status": ["found", "not_found", "found"],
    ...         "loss": [0.25, None, 0.5],
    ...         "x": [[20.0, 1.0], [20.0, 1.0], [30.0, 0.0]],
    ...         "z": [[60.0, 1.0], None, [60.0, 1.0]],
    ...     }
    ... )
    >>> found.is_found.tolist(), found.loss.tolist()
    ([True, False, True], [0.25, nan, 0.5])
    >>> found.z - found.x
    array([[40.,  0.],
           [nan, nan],
           [30.,  1.]])
    >>> found.spread(found.z[found.rows, 0])
    array([60., nan, 60.])
    """

    def __init__(
        self,
        n: int,
        column: Callable[[str], Sequence[Any]],
        *,
        d: int | None = None,
        measured: Callable[[str], FloatArray] | None = None,
        is_valid: Callable[[FloatArray, FloatArray], BoolArray] | None = None,
    ) -> None:
        self._n = n
        self._column = column
        self._d = d
        self._measured = measured
        self._is_valid = is_valid

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]], **more: Any) -> Found:
        """Return searches whose columns are at hand, `row_id` among them; `more` as in the constructor."""
        return cls(len(columns["row_id"]), columns.__getitem__, **more)

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"<Found: {self._n:,} searches>"

    # ---------------------------------------------------------------- which searches

    @cached_property
    def points(self) -> IntArray:
        """Positions of the factual points among the fold's eligible points, shape (n,)."""
        return self._array("point", np.int64)

    @cached_property
    def row_ids(self) -> IntArray:
        """Rows of the data set that hold the factual points, shape (n,)."""
        return self._array("row_id", np.int64)

    @cached_property
    def repetitions(self) -> IntArray:
        """Which repetition of its point each search is, shape (n,)."""
        return self._array("repetition", np.int64)

    # ---------------------------------------------------------------- how they ended

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """How each search ended, as strings of :class:`cfbench.problem.Status`, shape (n,)."""
        return _read_only(np.array([str(one) for one in self._column("status")], dtype=np.str_))

    @cached_property
    def is_found(self) -> BoolArray:
        """Whether each search found a counterfactual, confirmed by the judge, shape (n,).

        A search whose budget ran out has found one if its best row so far is one.
        """
        return _read_only(~np.isnan(self.loss))

    @cached_property
    def rows(self) -> IntArray:
        """The places of the searches that found a counterfactual, shape (m,)."""
        return _read_only(np.flatnonzero(self.is_found).astype(np.int64))

    @cached_property
    def is_answered(self) -> BoolArray:
        """Whether each search returned a vector, valid or not, shape (n,); its `z` is that vector."""
        return _read_only(np.array([_is_vector(z) for z in self._column("z")], dtype=np.bool_))

    @cached_property
    def x(self) -> FloatArray:
        """Factual points, shape (n, d)."""
        return self._matrix("x")

    @cached_property
    def z(self) -> FloatArray:
        """What the searches returned, shape (n, d); rows of NaN for those that returned nothing."""
        return self._matrix("z")

    @cached_property
    def loss(self) -> FloatArray:
        """The base loss (Eq. 9) of each result, shape (n,); NaN without a result, as in all that follows."""
        return self._floats("loss")

    @cached_property
    def gower(self) -> FloatArray:
        """Gower's distance (Eq. 10) of each result from its factual point, shape (n,)."""
        return self._floats("gower")

    @cached_property
    def l0(self) -> FloatArray:
        """How many features each result changes, shape (n,)."""
        return self._floats("l0")

    @cached_property
    def cost(self) -> FloatArray:
        """The cost of each result, the loss without its class term, shape (n,)."""
        return self._floats("cost")

    @cached_property
    def objective_value(self) -> FloatArray:
        """The value of each result under the cell's objective, with the judge's own draws, shape (n,)."""
        return self._floats("objective_value")

    # ---------------------------------------------------------------- what they spent

    @cached_property
    def seconds(self) -> FloatArray:
        """Wall-clock seconds of each search, shape (n,); in comparisons NaN for points without a result."""
        return self._floats("wall_seconds")

    @cached_property
    def cpu_seconds(self) -> FloatArray:
        """CPU seconds of each search, shape (n,)."""
        return self._floats("cpu_seconds")

    @cached_property
    def search_queries(self) -> FloatArray:
        """Queries of each search, without those of the objective, shape (n,)."""
        return self._floats("search_queries")

    @cached_property
    def robustness_queries(self) -> FloatArray:
        """Queries that the objective made in each search, shape (n,)."""
        return self._floats("robustness_queries")

    @cached_property
    def queries(self) -> FloatArray:
        """All queries of each search, shape (n,); in comparisons NaN for points without a result."""
        return _read_only(self.search_queries + self.robustness_queries)

    @cached_property
    def anytime(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """For each search its pairs (queries, best base loss until then), one per improvement."""
        return tuple(tuple((int(queries), float(loss)) for queries, loss in one) for one in self._column("anytime"))

    # ---------------------------------------------------------------- sets, reports, other metrics

    @cached_property
    def candidates(self) -> tuple[FloatArray, ...]:
        """For each search all rows that it returned, valid or not, shape (k, d); one row where it returns no sets."""
        return tuple(
            _read_only(np.reshape(np.array([*rows], dtype=np.float64), (len(rows), -1) if len(rows) else (0, self.d)))
            for rows in self._column("candidates")
        )

    @cached_property
    def sets(self) -> tuple[FloatArray, ...]:
        """For each search the valid rows of what it returned, shape (k, d): feasible and of the target class.

        Each row is checked again, on the cell's oracle. A search that returned one vector has a set of one row. Without
        a result, a set has no rows.

        Raises
        ------
        CfbenchError
            In a comparison, which has no model. There, `Metric.needs` names a metric that measures sets.
        """
        if self._is_valid is None:
            raise CfbenchError(
                "a comparison has no model that says which rows of a set are valid: name a metric that measures sets "
                "in `needs`, and use its values"
            )
        empty = _read_only(np.empty((0, self.d)))
        sets = []
        for returned, z, x, solved in zip(self.candidates, self.z, self.x, self.is_found, strict=True):
            Z = returned if len(returned) else z[np.newaxis]  # a record need not have candidates
            sets.append(_read_only(Z[self._is_valid(Z, x)]) if solved else empty)
        return tuple(sets)

    @cached_property
    def figures(self) -> tuple[Mapping[str, float], ...]:
        """What each search reported with ``problem.report``: numbers by their names."""
        return tuple(MappingProxyType(dict(one)) for one in self._column("figures"))

    def figure(self, name: str) -> FloatArray:
        """Return a figure that the searches reported, shape (n,); NaN where it was not reported."""
        return np.array([one.get(name, np.nan) for one in self.figures], dtype=np.float64)

    def measured(self, name: str) -> FloatArray:
        """Return the values of another metric, shape (n,), NaN outside its denominator.

        Parameters
        ----------
        name : str
            One of those that `Metric.needs` names, written as there.
        """
        if self._measured is None:
            raise CfbenchError(f"the values of metric {name!r} are not here: `needs` must name it")
        values = np.array(self._measured(name), dtype=np.float64)
        return _read_only(values)

    @cached_property
    def model_fingerprints(self) -> tuple[str, ...]:
        """The fitted model that each search queried."""
        return tuple(str(one) for one in self._column("model_fingerprint"))

    # ---------------------------------------------------------------- helpers

    @cached_property
    def d(self) -> int:
        """How many features the data set has; 0 where there are no rows."""
        if self._d is not None:
            return self._d
        return next((len(x) for x in self._column("x")), 0)

    def spread(self, values: FloatArray) -> FloatArray:
        """Return `values` of the searches in `rows`, shape (m,), as shape (n,): NaN where nothing was found."""
        spread = np.full(self._n, np.nan)
        spread[self.rows] = values
        return spread

    def take(self, places: Sequence[int] | IntArray) -> Found:
        """Return the searches at some places, in this order."""
        chosen = [int(place) for place in places]

        def column(name: str) -> Sequence[Any]:
            whole = self._column(name)
            return [whole[place] for place in chosen]

        def measured(name: str) -> FloatArray:
            values: FloatArray = self.measured(name)[chosen]
            return values

        return type(self)(len(chosen), column, d=self._d, measured=measured, is_valid=self._is_valid)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame of all columns of the record, a row per search; it is the caller's own."""
        import pandas as pd  # slow to load

        frame: dict[str, Any] = {name: [*self._column(name)] for name in FRAME}
        frame |= {name: np.array(getattr(self, name)) for name in ("loss", "gower", "l0", "cost", "objective_value")}
        answers = zip(np.array(self.z), self.is_answered, strict=True)
        frame |= {"x": [*np.array(self.x)], "z": [z if is_there else None for z, is_there in answers]}
        return pd.DataFrame(frame | {"candidates": [np.array(rows) for rows in self.candidates]})

    def _array(self, name: str, dtype: type[np.int64]) -> IntArray:
        return _read_only(np.array([*self._column(name)], dtype=dtype))

    def _floats(self, name: str) -> FloatArray:
        return _read_only(np.array([*self._column(name)], dtype=np.float64))

    def _matrix(self, name: str) -> FloatArray:
        found = np.full((self._n, self.d), np.nan)
        for place, vector in enumerate(self._column(name)):
            if not _is_vector(vector):
                continue
            if len(vector) == 0:
                raise CfbenchError(
                    "this record was packed without the rows of the data set, which may not be passed on: x and z are "
                    "in the record that was packed alone"
                )
            if len(vector) != self.d:
                raise CfbenchError(f"a search has {len(vector)} numbers in {name}, the data set {self.d} features")
            found[place] = vector
        return _read_only(found)


def _is_vector(value: object) -> bool:
    """Whether a column holds a vector here; a data frame may have NaN for None."""
    return value is not None and np.ndim(value) == 1  # type: ignore[arg-type, unused-ignore] # whatever is there


def _read_only(array: A) -> A:
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Reference:
    """What a comparison metric compares a cell with: the cell of the same task that differs as said here.

    Parameters
    ----------
    searcher : str or tuple of str
        The registered name of another searcher, on the same task, fold and fitted model. The proven optimum is what a
        searcher that proves it reports (`Found.figure`). Of several names, the first one with results for the task.
    objective : str
        The registered name of another objective: the same searcher's cell with all else equal.

    Without either, the reference is the leaderboard's reference searcher (``--reference``).

    Raises
    ------
    StudyError
        If both are given.

    Examples
    --------
    >>> from cfbench import Reference
    >>> Reference(objective="none")
    Reference(searcher='', objective='none')
    """

    searcher: str | tuple[str, ...] = ""
    objective: str = ""

    def __post_init__(self) -> None:
        if self.searcher and self.objective:
            raise StudyError(
                f"a reference is another searcher or another objective, not both: {self.searcher!r}, {self.objective!r}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the searchers, or of the objective."""
        if self.objective:
            return (self.objective,)
        return (self.searcher,) if isinstance(self.searcher, str) else self.searcher

    @property
    def is_of_board(self) -> bool:
        """Whether it is the leaderboard's reference searcher."""
        return not (self.searcher or self.objective)


class Metric(Settings):
    """A number per search of a cell, or per point of two cells: implement `measure` or `compare`, not both.

    Attributes
    ----------
    needs_one_of : tuple of Need
        The needs of which the model has to show one, such as ``(Need.FOREST, Need.LINEAR)``. The metric has no values
        for other models, and boards say so.
    reference : Reference
        What `compare` compares with; the leaderboard's reference searcher unless a subclass says otherwise.

    Examples
    --------
    >>> from cfbench import Found, Metric, Reference
    >>> class SecondsPerQuery(Metric):
    ...     def measure(self, found, context):
    ...         return found.seconds / found.queries
    >>> class AddedLoss(Metric):
    ...     reference = Reference(objective="none")
    ...
    ...     def compare(self, found, reference, context):
    ...         return found.loss - reference.loss
    >>> searches = {"row_id": [7, 8], "loss": [0.75, 0.5], "wall_seconds": [2.0, 1.0]}
    >>> queries = {"search_queries": [100, 50], "robustness_queries": [0, 50]}
    >>> found = Found.of_columns(searches | queries)
    >>> SecondsPerQuery().measure(found, context=None).tolist()
    [0.02, 0.01]
    >>> plain = Found.of_columns({"row_id": [7, 8], "loss": [0.5, None]})
    >>> AddedLoss().compare(found, plain, context=None).tolist()
    [0.25, nan]
    """

    needs_one_of: ClassVar[tuple[Need, ...]] = ()
    reference: ClassVar[Reference] = Reference()

    def needs(self) -> tuple[str, ...]:
        """Name the metrics of one cell whose values it needs, as ``NAME[setting=value]``; see `Found.measured`."""
        return ()

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return one value per search of a cell, shape (n,).

        NaN means: outside the metric's denominator (not found, not applicable). Infinity is never returned.
        """
        raise NotImplementedError

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        """Return one value per point, shape (n,); NaN where either side lacks what is needed.

        Parameters
        ----------
        found, reference : Found
            The results of two cells at the same points, place by place.
        context : ComparisonContext
        """
        raise NotImplementedError

    def remarks(self, reference: Found) -> Mapping[str, int]:  # noqa: ARG002 - for those that have something to say
        """Say what a reader of the values should know about a cell of the reference; nothing by default.

        Parameters
        ----------
        reference : Found
            As in `compare`, all of its points.

        Returns
        -------
        mapping of str to int
            Sentences, each with the number of points that it is about; the board adds them up.
        """
        return {}


def compares(metric: type[Metric]) -> bool:
    """Return whether a metric compares two cells; otherwise it measures one."""
    return metric.compare is not Metric.compare


def measures(metric: type[Metric]) -> bool:
    """Return whether a metric measures one cell."""
    return metric.measure is not Metric.measure
