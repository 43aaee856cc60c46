"""The compiled way from rows to cells, an order in which alike rows are neighbours, and a memo of answered cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled
from cfbench_models.forest.tables import KEY_BITS

EMPTY = -1
"""In the memo: nothing was asked yet whose cells are kept here."""

_LARGEST = float(np.finfo(np.float32).max)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(32)
_DIGIT_BITS = KEY_BITS // 2
_DIGIT = (1 << _DIGIT_BITS) - 1


@compiled
def cell_of_category(cell_of_code: Any, value: float) -> Any:
    """Look up the cell of a code in those of its feature; the last one is for what is no code."""
    if 0 <= value < len(cell_of_code) - 1 and value == np.floor(value):
        return np.int64(cell_of_code[np.int64(value)])
    return np.int64(cell_of_code[-1])


@compiled
def compared(thresholds: Any, value: float) -> Any:
    """Return a value in the number type of the thresholds that it is compared with."""
    return thresholds.dtype.type(value)


@compiled
def cell_of_number(thresholds: Any, before_bin: Any, scale: float, number: Any) -> Any:
    """Count the thresholds of a feature that lie below a number of their type, by their index."""
    along = (np.float64(number) - np.float64(thresholds[0])) * scale
    own = np.int64(min(max(along, 0.0), np.float64(len(before_bin) - 2)))
    low, high = np.int64(before_bin[own]), np.int64(before_bin[own + 1])
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def codes_of(forest: Any, f: int) -> Any:
    """Return the cells of the codes of feature `f`."""
    return forest.cell_of_code[forest.first_code[f] : forest.first_code[f + 1]]


@compiled
def index_of(forest: Any, f: int) -> Any:
    """Return the thresholds of feature `f`, their index, and its scale."""
    thresholds = forest.thresholds[forest.first_slot[f] : forest.first_slot[f + 1] - 1]
    return thresholds, forest.before_bin[forest.first_bin[f] : forest.first_bin[f + 1]], forest.bin_scale[f]


@compiled
def are_single(values: Any) -> bool:
    """Whether all values are within float32; NaN is not."""
    beyond = 0
    for value in values.ravel():  # no branches, so that several values are compared at once
        beyond += not abs(value) <= _LARGEST
    return beyond == 0


@compiled
def find_cells(forest: Any, Z: Any, cells: Any) -> None:
    """Fill in the cells of the rows of `Z`, shape (n, u)."""
    for f in range(len(forest.features)):
        column = forest.features[f]
        if forest.is_coded[f]:
            codes = codes_of(forest, f)
            for i in range(len(Z)):
                cells[i, f] = cell_of_category(codes, Z[i, column])
        else:
            thresholds, before_bin, scale = index_of(forest, f)
            for i in range(len(Z)):
                cells[i, f] = cell_of_number(thresholds, before_bin, scale, compared(thresholds, Z[i, column]))


@compiled
def recall(cells: Any, kept_cells: Any, kept_answers: Any, answers: Any, fresh: Any, places: Any) -> int:
    """Look rows up in the memo, and take those that are not there into it, to be answered.

    Parameters
    ----------
    cells : ndarray of uint16 or uint32, shape (n, u)
    kept_cells : ndarray of uint16 or uint32, shape (size, u)
        The memo, its size a power of two. A row has one place; a newcomer takes it.
    kept_answers : ndarray of int64, shape (size,)
        A class, ``EMPTY``, or ``EMPTY - 1 - k`` for the k-th row to be answered.
    answers : ndarray of int64, shape (n,)
        Filled in the same way.
    fresh, places : ndarray of int64, shape (n,)
        Filled in by k: which row is to be answered, and its place.

    Returns
    -------
    int
        How many rows are to be answered.
    """
    count = 0
    last = np.uint64(len(kept_answers) - 1)
    for i in range(len(cells)):
        hashed = np.uint64(0)
        for f in range(cells.shape[1]):
            hashed = (hashed ^ np.uint64(cells[i, f])) * _FACTOR
            hashed ^= hashed >> _FOLD
        place = hashed & last
        known = kept_answers[place] != EMPTY
        for f in range(cells.shape[1]):
            known &= kept_cells[place, f] == cells[i, f]
        if not known:
            for f in range(cells.shape[1]):  # an assignment of the whole row takes a second to compile
                kept_cells[place, f] = cells[i, f]
            kept_answers[place] = EMPTY - 1 - count
            fresh[count] = i
            places[count] = place
            count += 1
        answers[i] = kept_answers[place]
    return count


@compiled
def remember(winners: Any, places: Any, kept_answers: Any, answers: Any) -> None:
    """Put the answers of the fresh rows into the memo and wherever they were waited for."""
    for k in range(len(winners)):
        if kept_answers[places[k]] == EMPTY - 1 - k:  # it may have lost its place
            kept_answers[places[k]] = winners[k]
    for i in range(len(answers)):
        if answers[i] < EMPTY:
            answers[i] = winners[EMPTY - 1 - answers[i]]


@compiled
def alike_order(cells: Any, rows: Any, levels: Any, first_slot: Any) -> Any:
    """Return an order of `rows` in which neighbours are alike: by coarse cells, the most important features first.

    Parameters
    ----------
    cells : ndarray of uint16 or uint32, shape (n, u)
    rows : ndarray of int64
    levels : ndarray of int64, shape (features, 2)
        See ``ForestTables.levels``.
    first_slot : ndarray of int64, shape (u + 1,)
    """
    keys = np.zeros(len(rows), dtype=np.int64)
    for f, parts in levels:
        width = first_slot[f + 1] - first_slot[f]
        for i in range(len(rows)):
            keys[i] = keys[i] * parts + np.int64(cells[rows[i], f]) * parts // width
    order = np.arange(len(rows))
    for shift in range(0, KEY_BITS, _DIGIT_BITS):
        order = sorted_by_digit(order, keys, shift)
    return order


@compiled
def sorted_by_digit(order: Any, keys: Any, shift: int) -> Any:
    """Sort positions stably by one digit of their keys."""
    starts = np.zeros((1 << _DIGIT_BITS) + 1, dtype=np.int64)
    for i in order:
        starts[((keys[i] >> shift) & _DIGIT) + 1] += 1
    for digit in range(_DIGIT):
        starts[digit + 1] += starts[digit]
    result = np.empty_like(order)
    for i in order:
        digit = (keys[i] >> shift) & _DIGIT
        result[starts[digit]] = i
        starts[digit] += 1
    return result
