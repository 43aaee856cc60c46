"""Querying a model: the contract of an oracle, the meter that counts every row, and the check of an oracle.

An oracle gives for every row the class that the fitted model's own ``predict`` gives. It may be faster than the model.
Before it is used, its answers are compared with the model's own, most of all on the two sides of the model's
boundaries, one unit in the last place apart.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from cfbench.errors import BudgetExhausted, ModelError, PluginError, UnavailableError
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.space import FeatureSpace, FloatArray, IntArray

_BLOCK = 65_536
"""Rows of neighbours that are drawn at once."""


@runtime_checkable
class Oracle(Protocol):
    """The way to ask a model."""

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes, int64, shape (n,), of the rows of `Z`, float64, shape (n, d)."""
        ...

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities, float64, shape (n, n_classes), columns in the order of the class codes."""
        ...


@runtime_checkable
class NeighbourOracle(Protocol):
    """An oracle with a way of its own to the K-neighbours of many candidates."""

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the class codes of the K-neighbours of the rows of `Z`, float64, shape (n, d); int64, shape (n, m)."""
        ...


def predict_neighbours(oracle: Oracle, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
    """Return the classes of K-neighbours, shape (n, m), by the oracle's own method if it has one, else row by row."""
    if neighbours.m == 0 or len(Z) == 0:
        return np.empty((len(Z), neighbours.m), dtype=np.int64)
    if isinstance(oracle, NeighbourOracle):
        return oracle.predict_neighbours(Z, neighbours)
    classes = np.empty((len(Z), neighbours.m), dtype=np.int64)
    at_once = max(1, _BLOCK // neighbours.m)
    for first in range(0, len(Z), at_once):
        rows = neighbours.draw(Z[first : first + at_once], first)
        classes[first : first + at_once] = oracle.predict(rows.reshape(-1, rows.shape[2])).reshape(rows.shape[:2])
    return classes


class Meter:
    """An oracle that counts rows, each of `d` features, and keeps the query budget.

    Every row counts, by whatever way it is queried, the searcher's and the objective's apart. Decision: the budget
    bounds their sum, because both query the model.
    """

    def __init__(self, oracle: Oracle, d: int, max_queries: int | None = None) -> None:
        self._oracle = oracle
        self._d = d
        self._max_queries = max_queries
        self._closed = ""
        self.search_queries = 0
        self.robustness_queries = 0
        self.gradient_queries = 0
        """Of `search_queries`, those that the fitted model answered itself."""

    def close(self, reason: str) -> None:
        """Refuse all further queries, with an error that gives the reason."""
        self._closed = reason

    @property
    def queries_left(self) -> int | None:
        """Rows that may still be asked; None where there is no budget."""
        if self._max_queries is None:
            return None
        return self._max_queries - self.search_queries - self.robustness_queries

    def require(self, rows: int) -> None:
        """Raise BudgetExhausted if `rows` more rows would exceed the query budget."""
        left = self.queries_left
        if left is not None and rows > left:
            raise BudgetExhausted(
                f"{rows} more would exceed the query budget of {self._max_queries} queries: {left} are left"
            )

    def predict(self, Z: FloatArray) -> IntArray:
        """Return classes, counted for the searcher."""
        self.search_queries += self._admit(Z)
        return self._oracle.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return probabilities, counted for the searcher."""
        self.search_queries += self._admit(Z)
        return self._oracle.predict_proba(Z)

    def admit_gradients(self, Z: FloatArray, rows_each: int) -> None:
        """Count queries for gradients, which the fitted model answers itself; raise BudgetExhausted if too many."""
        rows = self._admit(Z, rows_each)
        self.search_queries += rows
        self.gradient_queries += rows

    def predict_for_objective(self, Z: FloatArray) -> IntArray:
        """Return classes, counted for a robustness objective."""
        self.robustness_queries += self._admit(Z)
        return self._oracle.predict(Z)

    def predict_neighbours_for_objective(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the classes of the K-neighbours of candidates, shape (n, m), counted for a robustness objective."""
        self.robustness_queries += self._admit(Z, rows_each=neighbours.m)
        return predict_neighbours(self._oracle, Z, neighbours)

    def _admit(self, Z: FloatArray, rows_each: int = 1) -> int:
        """Check a query and return how many rows it counts, before any of them is answered."""
        if self._closed:
            raise PluginError(self._closed)
        if not isinstance(Z, np.ndarray) or Z.dtype != np.float64 or Z.ndim != 2 or Z.shape[1] != self._d:
            received = f"{Z.dtype} of shape {Z.shape}" if isinstance(Z, np.ndarray) else type(Z).__name__
            raise ModelError(f"a query is a float64 array of shape (n, {self._d}), not {received}")
        if not np.isfinite(Z).all():
            raise ModelError("a query holds a NaN or an infinity; every value must be finite")
        self.require(len(Z) * rows_each)
        return len(Z) * rows_each


MOST_REMEMBERED = 2**18
"""Rows whose answers a `MemoOracle` keeps; then it starts anew."""

QUERIED_AGAIN = 64
"""Most rows of a search that are classified again at its end, one of each of its last queries."""


class MemoOracle:
    """A model that is expensive to query: it classifies equal rows once, and shows whether its answers change.

    Parameters
    ----------
    model : Oracle
        The model itself.
    tidy : callable
        Returns rows as the model sees them, so that equal ones are recognised.
    probes, classes : ndarray of shape (k, d), (k,)
        Rows whose classes are known from the beginning.
    """

    def __init__(
        self, model: Oracle, tidy: Callable[[FloatArray], FloatArray], probes: FloatArray, classes: IntArray
    ) -> None:
        self._model = model
        self._tidy = tidy
        self._probes, self._classes = probes, classes
        self._known: dict[bytes, int] = {}
        self._queried: deque[FloatArray] = deque(maxlen=QUERIED_AGAIN)

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`, shape (n, d)."""
        Z = np.ascontiguousarray(self._tidy(Z))
        if len(Z) == 0:
            return np.empty(0, dtype=np.int64)
        keys = [z.tobytes() for z in Z]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        if new:
            if len(self._known) + len(new) > MOST_REMEMBERED:
                self._known.clear()
                new = {key: i for i, key in enumerate(keys)}
            self._known.update(zip(new, self._model.predict(Z[list(new.values())]).tolist(), strict=True))
        self._queried.append(Z[-1].copy())
        return np.array([self._known[key] for key in keys], dtype=np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities of the rows of `Z`, shape (n, n_classes)."""
        return self._model.predict_proba(Z)

    def change(self) -> str:
        """Say whether the model now answers otherwise than before; empty if it does not.

        It is queried again with the probes and with rows of the queries since the last call. After a change, nothing is
        remembered.
        """
        rows = np.vstack([self._probes, *self._queried])
        before = np.array([*self._classes, *self.predict(rows[len(self._probes) :])])
        self._queried.clear()
        differ = int((self._model.predict(rows) != before).sum())
        if not differ:
            return ""
        self._known.clear()
        return (
            f"the model has changed its answers: {differ} of {len(rows)} rows that were queried again got another class"
        )


ROWS_OF_A_KIND = 800
"""Training rows, and random rows, that are asked at most."""

PAIRS = 120
"""Pairs of rows between which a boundary is looked for."""

FEW_PAIRS = 24
"""The same for a model that is slow."""

SINGLE_ROWS = 3
"""Rows of a kind that are asked one by one."""

SOME_ROWS = 100
"""How many rows of each kind are used to check probabilities."""

_HALVINGS = 100
_SEED = 20_240_402
_log = logging.getLogger(__name__)


@runtime_checkable
class Memorising(Protocol):
    """A model whose answers are worth remembering if it has no fast oracle."""

    def memo(self) -> MemoOracle:
        """Return the oracle that remembers answers."""
        ...


class AnsweringModel(Oracle, Protocol):
    """A fitted model, as far as it matters here: its own answers, and the oracle that it brings."""

    def oracle(self) -> Oracle:
        """Return the fastest exact way to ask it."""
        ...


def checked_oracle(model: AnsweringModel, space: FeatureSpace, X: FloatArray) -> Oracle:
    """Return a model's oracle if it answers as the model's own methods do; the model itself, with a warning, if not.

    `X` are training rows. The model's ``oracle()`` raises UnavailableError, with the reason, if it has none.
    """
    try:
        oracle = model.oracle()
        if oracle is model or isinstance(oracle, MemoOracle):
            return oracle
        reason = objection(oracle, model, space, X)
    except UnavailableError as error:
        reason = str(error)
    except Exception as error:  # whatever an oracle and its libraries raise: the model itself can answer
        reason = f"it raised {type(error).__name__}: {error}"
    if not reason:
        return oracle
    _log.warning(
        "the fast oracle of this model is not used: %s. The model's own predict answers instead: results are the "
        "same, runs take longer.",
        reason,
    )
    return model.memo() if isinstance(model, Memorising) else model


def objection(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Return where an oracle's answers differ from the model's own; empty if they do not.

    Classifies a few thousand rows: training rows `X`, random ones, rows on and near boundaries, and neighbours of
    candidates.
    """
    looks = (rows_differ, boundaries_differ, single_rows_differ, neighbours_differ, probabilities_differ)
    return next(filter(None, (look(oracle, model, space, X) for look in looks)), "")


def rows_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where answers about training rows and random rows differ, each kind queried at once."""
    return _first_difference(oracle, model, _kinds_of_rows(space, X))


def boundaries_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where answers about rows on both sides of boundaries differ."""
    rng = np.random.default_rng(_SEED)
    # A model that is worth a memory is slow: next to a tie, it may be queried row by row.
    pairs = FEW_PAIRS if isinstance(model, Memorising) else PAIRS
    rows = np.concatenate(list(beside_boundaries(oracle, np.concatenate(_kinds_of_rows(space, X)), space, rng, pairs)))
    return _first_difference(oracle, model, [rows])


def single_rows_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where answers about single rows differ."""
    single = [row[np.newaxis] for rows in _kinds_of_rows(space, X) for row in rows[:SINGLE_ROWS]]
    return _first_difference(oracle, model, single)


def _first_difference(oracle: Oracle, model: Oracle, queries: Iterable[FloatArray]) -> str:
    differences = (_difference(rows, oracle.predict(rows), model.predict(rows)) for rows in queries)
    return next(filter(None, differences), "")


def neighbours_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where answers about K-neighbours differ."""
    rng = np.random.default_rng(_SEED)
    for m, x in zip((64, 100, 5), X[rng.permutation(len(X))[:3]], strict=False):
        kept = rng.random((6, space.d)) < np.linspace(0, 1, 6)[:, np.newaxis]
        Z = np.where(kept, x, random_rows(space, 6, rng))
        neighbours = KNeighbours(space, x, stream=m, m=m, first_evaluation=m)
        drawn = neighbours.draw(Z).reshape(-1, space.d)
        reason = _difference(drawn, predict_neighbours(oracle, Z, neighbours).ravel(), model.predict(drawn))
        if reason:
            return f"asked for K-neighbours, {reason}"
    return ""


def probabilities_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where class probabilities differ, be it in the last bit."""
    for rows in _kinds_of_rows(space, X):
        some = rows[:SOME_ROWS]
        given, wanted = oracle.predict_proba(some), model.predict_proba(some)
        if given.shape != wanted.shape or given.dtype != wanted.dtype:
            form = f"{given.dtype} of shape {given.shape}"
            return f"its probabilities are {form}, not {wanted.dtype} of shape {wanted.shape}"
        wrong = np.flatnonzero((given != wanted).any(axis=1))
        if len(wrong):
            i = wrong[0]
            return f"for the row {some[i].tolist()} its probabilities are {given[i].tolist()}, not {wanted[i].tolist()}"
    return ""


def _kinds_of_rows(space: FeatureSpace, X: FloatArray) -> list[FloatArray]:
    rng = np.random.default_rng(_SEED)
    return [X[rng.permutation(len(X))[:ROWS_OF_A_KIND]], random_rows(space, ROWS_OF_A_KIND, rng)]


def random_rows(space: FeatureSpace, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw rows uniformly from the intervals and the categories, shape (n, d)."""
    numbers = rng.uniform(space.lower, space.upper, (n, space.d))
    codes = rng.integers(0, np.maximum(space.n_categories, 1), (n, space.d))
    return np.where(space.is_categorical, codes, numbers)


def beside_boundaries(
    oracle: Oracle, rows: FloatArray, space: FeatureSpace, rng: np.random.Generator, pairs: int = PAIRS
) -> Iterator[FloatArray]:
    """Yield rows on both sides of boundaries between classes, as close as numbers can be, and rows a little further
    away.

    The boundaries are where `oracle` sees them: if the model sees one elsewhere, it differs on one of the two sides.
    The search for them starts at `rows`.
    """
    before, after, feature = _steps_across(oracle, rows, rng, pairs)
    yield before
    yield after
    crossed = np.flatnonzero(~space.is_categorical[feature])
    if len(crossed) == 0:
        return
    Z, column = before[crossed].copy(), feature[crossed]
    each = np.arange(len(Z))
    here, there = Z[each, column], after[crossed, column]
    own = oracle.predict(Z)
    for _ in range(_HALVINGS):
        middle = here + (there - here) / 2
        if ((middle == here) | (middle == there)).all():
            break
        Z[each, column] = middle
        stays = oracle.predict(Z) == own
        here, there = np.where(stays, middle, here), np.where(stays, there, middle)
    for value in (here, there):
        single = value.astype(np.float32)
        for beside in (
            value,
            np.nextafter(value, -np.inf),
            np.nextafter(value, np.inf),
            single,
            np.nextafter(single, np.float32(-np.inf)),
            np.nextafter(single, np.float32(np.inf)),
        ):
            Z[each, column] = beside
            yield Z.copy()


def _steps_across(
    oracle: Oracle, rows: FloatArray, rng: np.random.Generator, pairs: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Find pairs of rows that differ in one feature and in their class: rows before, rows after, and the feature.

    Rows of different classes are turned into each other feature by feature; the first change of class is taken.
    """
    d = rows.shape[1]
    first = rng.permutation(len(rows))
    second = np.roll(first, 1)
    classes = oracle.predict(rows)
    apart = np.flatnonzero(classes[first] != classes[second])
    apart = apart[: max(1, min(pairs, 10**7 // (d * (d + 1))))]  # bounds the memory for many features
    start, end = rows[first[apart]], rows[second[apart]]
    order = np.argsort(rng.random((len(apart), d)), axis=1)
    turned = np.argsort(order, axis=1)[:, np.newaxis] < np.arange(d + 1)[:, np.newaxis]
    way = np.where(turned, end[:, np.newaxis], start[:, np.newaxis])
    along = oracle.predict(way.reshape(-1, d)).reshape(len(apart), d + 1)
    step = np.argmax(along[:, 1:] != along[:, :-1], axis=1)
    each = np.arange(len(apart))
    return way[each, step], way[each, step + 1], order[each, step]


def _difference(rows: FloatArray, given: IntArray, wanted: IntArray) -> str:
    if given.shape != wanted.shape or given.dtype != np.int64:
        return f"asked for {len(rows)} rows, it answers with {given.dtype} of shape {given.shape}"
    wrong = np.flatnonzero(given != wanted)
    if len(wrong):
        i = wrong[0]
        return (
            f"for the row {rows[i].tolist()} it answers class {given[i]}, the model's own predict class {wanted[i]} "
            f"({len(wrong)} of {len(rows)} rows differ)"
        )
    return ""
