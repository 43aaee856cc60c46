"""What each feature can do on a linear model: stay as it is, or change by one of its options.

An option is a category, or a piece of the numbers on one side of `x`. Along a piece the scores and the cost are linear
in the share of the way, so a whole search is a small mixed-integer linear problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cfbench import Problem
from cfbench.linear import LinearStructure
from cfbench.problem import SeparableTerm
from cfbench.space import BoolArray, FloatArray, IntArray
from cfbench_searchers.exact import costs_of_values

_LINEAR = 1e-13
"""A cost that is not further than this from a chord is linear."""

_DEEPEST = 12
"""How often a piece is cut to find where its cost bends. What bends still is bounded by its chord from below."""


class Options(NamedTuple):
    """The options of all features, J in number, feature after feature. R is the number of rival classes.

    Parameters
    ----------
    first : ndarray of int64, shape (d + 1,)
        Where each feature's options start.
    may_stay : ndarray of bool, shape (d,)
        Whether the value of `x` is feasible.
    start, end : ndarray of float64, shape (J,)
        The first and the last value of an option; equal for a category. The start is nearer to `x`.
    gain, gain_span : ndarray of float64, shape (J, R)
        What the target's lead over each rival gains at the start, and how much more at the end.
    cost, cost_span : ndarray of float64, shape (J,)
        What the objective gains at the start, and how much more at the end. The start of a piece that begins at `x`
        has the cost of a change.
    begins_at_x : ndarray of bool, shape (J,)
    spacing : ndarray of float64, shape (J,)
        The share of the way between two feasible values; 0 for a continuum and for a single value.
    """

    first: IntArray
    may_stay: BoolArray
    start: FloatArray
    end: FloatArray
    gain: FloatArray
    gain_span: FloatArray
    cost: FloatArray
    cost_span: FloatArray
    begins_at_x: BoolArray
    spacing: FloatArray


class _Piece(NamedTuple):
    """Values of one feature from `start` to `end`."""

    feature: int
    start: float
    end: float
    spacing: float = 0.0  # in the feature's unit


def options_of(structure: LinearStructure, problem: Problem, place: int) -> Options:
    """List the options of one search; those that no point of least cost needs are left out.

    Parameters
    ----------
    structure : LinearStructure
    problem : Problem
    place : int
        The place of the target among the model's classes.
    """
    term, box, x = problem.separable_term, problem.box, problem.x
    features = np.arange(problem.space.d)
    rivals = np.delete(np.arange(len(structure.classes)), place)
    inside = (box.lower <= x) & (x <= box.upper)
    home = np.isnan(box.arrays.home) & (box.spacing > 0)
    may_stay = inside & ~home
    pieces = np.array([piece for f in features.tolist() for piece in _pieces(problem, f, term)]).reshape(-1, 4)
    owner, values = pieces[:, 0].astype(np.int64), pieces[:, 1:3]
    each = np.repeat(owner, 2)
    gains = _leads(structure, each, values.ravel(), place, rivals) - _leads(structure, features, x, place, rivals)[each]
    gains = gains.reshape(len(pieces), 2, len(rivals))
    costs = _costs(problem, each, values.ravel(), term).reshape(-1, 2)
    of_use = _of_use(owner, gains, costs, may_stay)
    owner, gains, costs = owner[of_use], gains[of_use], costs[of_use]
    start, end, spacing = (pieces[of_use, column] for column in (1, 2, 3))
    return Options(
        first=np.append(0, np.cumsum(np.bincount(owner, minlength=len(features)))),
        may_stay=may_stay,
        start=start,
        end=end,
        gain=gains[:, 0].copy(),
        gain_span=gains[:, 1] - gains[:, 0],
        cost=costs[:, 0].copy(),
        cost_span=costs[:, 1] - costs[:, 0],
        begins_at_x=(start == x[owner]) & (end != start),
        spacing=spacing / np.where(spacing > 0, np.maximum(np.abs(end - start), spacing), 1.0),
    )


def _leads(
    structure: LinearStructure, features: IntArray, values: FloatArray, place: int, rivals: IntArray
) -> FloatArray:
    """Return what values, one of each of the features, add to the target's lead over each rival, shape (n, R)."""
    parts = structure.parts(features, values)
    leads: FloatArray = parts[:, [place]] - parts[:, rivals]
    return leads


def _pieces(problem: Problem, f: int, term: SeparableTerm | None) -> Iterator[_Piece]:
    """Yield the categories of a feature, or its numbers on both sides of `x` in pieces with a linear cost."""
    box, x = problem.box, float(problem.x[f])
    lower, upper = float(box.lower[f]), float(box.upper[f])
    if lower > upper:
        return
    if problem.space.is_categorical[f]:
        for code in np.arange(lower, upper + 1):
            if code != x:
                yield _Piece(f, float(code), float(code))
        return
    spacing = float(box.spacing[f])
    for end, way in ((upper, 1.0), (lower, -1.0)):
        if spacing:
            steps = np.floor(way * x / spacing) + 1
            start = way * steps * spacing
            if abs(start - x) < spacing / 2:  # x stands for its own multiple
                start = way * (steps + 1) * spacing
        else:
            start = x
        nearest = lower if way > 0 else upper
        start = max(start, nearest) if way > 0 else min(start, nearest)
        if way * (end - start) > 0 or (way * (end - start) == 0 and start != x):
            yield from _linear_pieces(problem, _Piece(f, start + 0.0, end + 0.0, spacing), term)


def _linear_pieces(problem: Problem, piece: _Piece, term: SeparableTerm | None) -> Iterator[_Piece]:
    """Cut a piece where the objective's term bends."""
    if term is None or piece.start == piece.end:
        yield piece
        return
    low, high = sorted((piece.start, piece.end))
    at = np.unique([low, high, *(b for b in term.breaks[piece.feature] if low < b < high)])
    cuts = at.tolist()
    for a, b in pairwise(at):
        cuts += _bends(problem, piece.feature, float(a), float(b), term, _DEEPEST)
    if piece.spacing:  # both neighbours on the grid of each bend
        places = (np.array(cuts) - piece.start) / piece.spacing
        cuts = [piece.start + piece.spacing * float(k) for p in places for k in (np.floor(p), np.ceil(p))]
        cuts = [min(max(cut, low), high) for cut in cuts]
    ends = np.unique(cuts)
    ends = ends if piece.end > piece.start else ends[::-1]
    for a, b in pairwise(ends):
        yield _Piece(piece.feature, float(a), float(b), piece.spacing)


def _bends(problem: Problem, f: int, a: float, b: float, term: SeparableTerm, deeper: int) -> list[float]:
    """Return where a concave cost bends between `a` and `b`; all places if it is linear in pieces."""
    near = (b - a) * 1e-3
    values = np.array([a, a + near, (a + b) / 2, b - near, b])
    costs = _costs(problem, f, values, term)
    chord = costs[0] + (costs[-1] - costs[0]) * (values - a) / (b - a)
    if deeper == 0 or b - a < 1e-9 * problem.space.ranges[f] or (np.abs(costs - chord) <= _LINEAR).all():
        return []
    left, right = (costs[1] - costs[0]) / near, (costs[-1] - costs[-2]) / near
    middle = (a + b) / 2
    if left - right > 0:  # where the tangents at both ends meet
        meet = (costs[-1] - costs[0] + left * a - right * b) / (left - right)
        middle = meet if a + near < meet < b - near else middle
    return [
        *_bends(problem, f, a, middle, term, deeper - 1),
        middle,
        *_bends(problem, f, middle, b, term, deeper - 1),
    ]


def _of_use(owner: IntArray, gains: FloatArray, costs: FloatArray, may_stay: BoolArray) -> BoolArray:
    """Return which options a point of least cost may need, shape (J,); `owner` has the feature of each option.

    These are the options that no other option of the same feature beats in all respects.
    """
    useful: BoolArray = (gains > 0).any(axis=(1, 2)) | ~may_stay[owner]
    single = useful & (gains[:, 0] == gains[:, 1]).all(axis=1) & (costs[:, 0] == costs[:, 1])
    for f in np.flatnonzero(np.bincount(owner[single]) > 1):
        own = np.flatnonzero(single & (owner == f))
        gain, cost, place = gains[own, 0], costs[own, 0], np.arange(len(own))
        # [i, j]: option j is as good as option i in all respects; of equal options the first one is kept.
        as_good = (gain >= gain[:, np.newaxis]).all(axis=2) & (cost <= cost[:, np.newaxis])
        beats = as_good & (~as_good.T | (place < place[:, np.newaxis]))
        useful[own] = ~beats.any(axis=1)
    return useful


def _costs(problem: Problem, f: int | IntArray, values: FloatArray, term: SeparableTerm | None) -> FloatArray:
    """Return what changed values of feature `f` add to the objective, shape (n,), those that equal `x` included.

    Each value may have a feature of its own.
    """
    return costs_of_values(problem, f, values, np.ones(len(values), dtype=bool), term)
