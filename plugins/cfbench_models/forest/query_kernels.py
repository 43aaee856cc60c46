"""Compiled queries: the classes of rows, and the classes' shares of the votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled
from cfbench_models.forest.cell_kernels import alike_order, are_single, find_cells, recall, remember
from cfbench_models.forest.kernels import (
    ALL,
    ROWS,
    room_for_walks,
    set_by_cells,
    sums_in_order,
    unpacked,
    vote,
    winner_of_one,
)

FEW = 2
"""Up to so many rows walk one by one: a set of so few has little in common."""


@compiled
def set_masks(forest: Any, cells: Any, rows: Any, masks: Any) -> None:
    """Set all masks for up to 64 rows of `cells`."""
    own = np.empty(len(rows), dtype=np.uint32)
    for f in range(len(forest.features)):
        low: Any = np.int64(2**32)
        high: Any = np.int64(0)
        for i in range(len(rows)):
            cell = np.int64(cells[rows[i], f])
            own[i] = cell
            low, high = min(low, cell), max(high, cell)
        slots = masks[forest.first_slot[f] : forest.first_slot[f + 1]]
        set_by_cells(forest.is_coded[f], low, high, own, slots)


@compiled
def vote_in_order(forest: Any, largest: int, cells: Any, rows: Any, winners: Any) -> None:
    """Fill in the classes of some rows of `cells`, 64 at a time."""
    masks, room = room_for_walks(forest, largest)
    known, sums = np.zeros(len(forest.shares)), np.empty((len(forest.shares), ROWS))
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        set_masks(forest, cells, some, masks)
        vote(forest, forest.roots, known, masks, room, sums, winners[first : first + ROWS])


@compiled
def vote_one_by_one(forest: Any, cells: Any, rows: Any, winners: Any) -> None:
    """Fill in the classes of a few rows of `cells`."""
    masks, scores = np.zeros(forest.first_slot[-1] + 1, dtype=np.uint64), np.empty(len(forest.shares))
    for i in range(len(rows)):
        set_masks(forest, cells, rows[i : i + 1], masks)
        winners[i] = winner_of_one(forest, masks, scores)


@compiled
def classes_of_rows(parts: Any, levels: Any, Z: Any, kept_cells: Any, kept_answers: Any) -> Any:
    """Answer the rows of `Z`, shape (n, d), those whose cells were answered before from the memo.

    `parts` is a PackedForest.

    Returns
    -------
    ndarray of int64, shape (n,), or None
        Positions among the forest's classes; None where a number is beyond float32.
    """
    if not are_single(Z):
        return None
    forest, largest = unpacked(parts), parts.integers[3]
    cells = np.empty((len(Z), len(forest.features)), dtype=kept_cells.dtype)
    find_cells(forest, Z, cells)
    answers = np.empty(len(Z), dtype=np.int64)
    fresh, places = np.empty(len(Z), dtype=np.int64), np.empty(len(Z), dtype=np.int64)
    count = recall(cells, kept_cells, kept_answers, answers, fresh, places)
    fresh = fresh[:count]
    winners = np.empty(count, dtype=np.int64)
    if count <= FEW:
        vote_one_by_one(forest, cells, fresh, winners)
    elif count <= ROWS:  # they walk together in any order
        vote_in_order(forest, largest, cells, fresh, winners)
    else:
        order, in_order = alike_order(cells, fresh, levels, forest.first_slot), np.empty(count, dtype=np.int64)
        vote_in_order(forest, largest, cells, fresh[order], in_order)
        winners[order] = in_order
    remember(winners, places, kept_answers, answers)
    return answers


@compiled
def shares_of_rows(parts: Any, Z: Any, kept_cells: Any) -> Any:
    """Return the classes' shares of the votes, shape (n, K); None where a number is beyond float32.

    Cells have the number type of `kept_cells`.
    """
    if not are_single(Z):
        return None
    forest = unpacked(parts)
    cells = np.empty((len(Z), len(forest.features)), dtype=kept_cells.dtype)
    find_cells(forest, Z, cells)
    shares = np.empty((len(Z), len(forest.shares)))
    masks, room = room_for_walks(forest, parts.integers[3])
    sums = np.empty((len(forest.shares), ROWS))
    for first in range(0, len(Z), ROWS):
        rows = np.arange(first, min(first + ROWS, len(Z)))
        set_masks(forest, cells, rows, masks)
        sums_in_order(forest, masks, ALL >> np.uint64(ROWS - len(rows)), room, sums)
        for j in range(len(rows)):
            for k in range(len(sums)):
                shares[rows[j], k] = sums[k, j] / forest.rule.divisor
    return shares
