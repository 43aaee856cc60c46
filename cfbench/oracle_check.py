"""No oracle is believed: before it is used, its answers are held against the model's own.

Most of all where oracles go wrong: on the two sides of the model's boundaries, one unit in the last place apart.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from cfbench.errors import UnavailableError
from cfbench.oracle import Oracle, predict_neighbours
from cfbench.perturbations import KNeighbours
from cfbench.space import FeatureSpace, FloatArray, IntArray

ROWS_OF_A_KIND = 800
"""Training rows, and random rows, that are asked at most."""

PAIRS = 120
"""Pairs of rows between which a boundary is looked for."""

SINGLE_ROWS = 3
"""Rows of a kind that are asked one by one."""

SOME_ROWS = 100
"""Rows of a kind that are asked for probabilities."""

_HALVINGS = 100
_SEED = 20_240_402
_log = logging.getLogger(__name__)


class AnsweringModel(Oracle, Protocol):
    """A fitted model, as far as it matters here: its own answers, and the oracle that it brings."""

    def oracle(self) -> Oracle:
        """Return the fastest exact way to ask it."""
        ...


def checked_oracle(model: AnsweringModel, space: FeatureSpace, X: FloatArray) -> Oracle:
    """Return a model's oracle if it answers as the model's own methods do; the model itself, with a warning, if not.

    Parameters
    ----------
    model : AnsweringModel
        Its ``oracle()`` raises UnavailableError, with the reason, where it has none.
    space : FeatureSpace
    X : ndarray of float64, shape (n, d)
        Training rows.
    """
    try:
        oracle = model.oracle()
        if oracle is model:
            return model
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
    return model


def objection(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where an oracle's answers differ from the model's own; empty where they do not.

    Asks the model about a few thousand rows: training rows, random ones, rows on boundaries and beside them, and
    neighbours of candidates.

    Parameters
    ----------
    oracle, model : Oracle
    space : FeatureSpace
    X : ndarray of float64, shape (n, d)
        Training rows.
    """
    looks = (rows_differ, boundaries_differ, single_rows_differ, neighbours_differ, probabilities_differ)
    return next(filter(None, (look(oracle, model, space, X) for look in looks)), "")


def rows_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where answers about training rows and random rows differ, each kind asked at once."""
    for rows in _kinds_of_rows(space, X):
        reason = _difference(rows, oracle.predict(rows), model.predict(rows))
        if reason:
            return reason
    return ""


def boundaries_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where answers about rows on both sides of boundaries differ."""
    rng = np.random.default_rng(_SEED)
    rows = np.concatenate(list(beside_boundaries(oracle, np.concatenate(_kinds_of_rows(space, X)), space, rng)))
    return _difference(rows, oracle.predict(rows), model.predict(rows))


def single_rows_differ(oracle: Oracle, model: Oracle, space: FeatureSpace, X: FloatArray) -> str:
    """Say where answers about single rows differ."""
    for row in np.concatenate([rows[:SINGLE_ROWS] for rows in _kinds_of_rows(space, X)]):
        asked = row[np.newaxis]
        reason = _difference(asked, oracle.predict(asked), model.predict(asked))
        if reason:
            return reason
    return ""


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
    oracle: Oracle, rows: FloatArray, space: FeatureSpace, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield rows on both sides of boundaries between classes, as close as numbers can be, and a little beside them.

    The boundaries are where `oracle` sees them: if the model sees one elsewhere, it differs on one of the two sides.

    Parameters
    ----------
    oracle : Oracle
    rows : ndarray of float64, shape (n, d)
        Where the search for boundaries starts.
    space : FeatureSpace
    rng : Generator
    """
    before, after, feature = _steps_across(oracle, rows, rng)
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
    oracle: Oracle, rows: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Find pairs of rows that differ in one feature and in their class.

    Rows of different classes are turned into each other feature by feature; the first change of class is taken.

    Returns
    -------
    before, after : ndarray of float64, shape (pairs, d)
    feature : ndarray of int64, shape (pairs,)
        Where they differ.
    """
    d = rows.shape[1]
    first = rng.permutation(len(rows))
    second = np.roll(first, 1)
    classes = oracle.predict(rows)
    apart = np.flatnonzero(classes[first] != classes[second])
    apart = apart[: max(1, min(PAIRS, 10**7 // (d * (d + 1))))]  # bounds the memory for many features
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
