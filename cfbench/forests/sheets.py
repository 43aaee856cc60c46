"""Bounds on the votes in all cells of two features at once, while all other features are anywhere in a box.

A *sheet* is the grid of the cells of two features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled_or_plain
from cfbench.forests.sweeps import add_up
from cfbench.forests.walks import class_of_cells, side_within


@compiled_or_plain
def spreads_of(forest: Any, target: int) -> Any:
    """Return how much the target's leads differ among the leaves below each node, added up over its rivals."""
    nodes, shares = forest.nodes, forest.shares
    order, waiting, seen = np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes) + 1, dtype=np.int64), 0
    for root in forest.roots:
        waiting[0], count = root, 1
        while count > 0:
            count -= 1
            node = waiting[count]
            order[seen] = node
            seen += 1
            if nodes[node, 0] >= 0:
                waiting[count], waiting[count + 1] = nodes[node, 2], nodes[node, 3]
                count += 2
    n_classes = shares.shape[1]
    lowest, highest = np.full((len(nodes), n_classes), np.inf), np.full((len(nodes), n_classes), -np.inf)
    spread = np.zeros(len(nodes))
    for i in range(seen - 1, -1, -1):
        node = order[i]
        for k in range(n_classes):
            if nodes[node, 0] < 0:
                lead = shares[nodes[node, 2], target] - shares[nodes[node, 2], k]
                lowest[node, k], highest[node, k] = lead, lead
            else:
                left, right = nodes[node, 2], nodes[node, 3]
                lowest[node, k] = min(lowest[left, k], lowest[right, k])
                highest[node, k] = max(highest[left, k], highest[right, k])
            spread[node] += highest[node, k] - lowest[node, k]
    return spread


@compiled_or_plain
def settle_cells(
    forest: Any, target: int, cells: Any, pair: Any, mass: Any, clear: Any, least: Any, most: Any, counted: bool
) -> Any:
    """Add up the probability of the cells of a sheet in which the class is kept for certain, or lost for certain.

    `cells` are the lowest cells of the box, those of the sheet's corner among them; `mass` are the probabilities of the
    sheet's rows and columns. Leads from `clear[0]` on win, those below `clear[1]` do not. `counted` says whether
    nothing beyond the sheet matters, so that cells in between are looked at one by one. Return what is kept and lost,
    and top, bottom, left and right of the rectangle around all cells that are open; bottom is below 0 if there are
    none.
    """
    (n, m), moved, kept, lost = least.shape, cells.copy(), 0.0, 0.0
    top, bottom, left, right = n, -1, m, -1
    for i in range(n):
        of_row, lost_of_row = 0.0, 0.0
        for j in range(m):
            wins, loses = least[i, j] >= clear[0], most[i, j] < clear[1]
            if counted and not (wins or loses):
                if pair[0] >= 0:
                    moved[pair[0]] = cells[pair[0]] + i
                if pair[1] >= 0:
                    moved[pair[1]] = cells[pair[1]] + j
                wins = class_of_cells(forest, moved) == target
                loses = not wins
            if wins:
                of_row += mass[1][j]
            elif loses:
                lost_of_row += mass[1][j]
            elif mass[0][i] * mass[1][j] > 0:
                top, bottom, left, right = min(top, i), i, min(left, j), max(right, j)
        kept += of_row * mass[0][i]
        lost += lost_of_row * mass[0][i]
    return kept, lost, top, bottom, left, right


@compiled_or_plain
def where_to_cut(pull: Any, first: Any, is_coded: Any) -> Any:
    """Return how much there is to gain at each feature, and where: on the average, or where most for a coded one.

    `pull` is given by cell, and `first` says where each feature's cells start.
    """
    gains, places = np.zeros(len(is_coded)), np.zeros(len(is_coded))
    for f in range(len(is_coded)):
        most = 0.0
        for cell in range(first[f + 1] - first[f]):
            gain = pull[first[f] + cell]
            gains[f] += gain
            if not is_coded[f]:
                places[f] += gain * cell
            elif gain > most:
                most, places[f] = gain, cell
        if not is_coded[f] and gains[f] > 0:
            places[f] /= gains[f]
    return gains, places


@compiled_or_plain
def reached_leaves(
    forest: Any, entry: int, box: Any, first: Any, pair: Any, spread: Any, waiting: Any, leaves: Any, pull: Any
) -> Any:
    """Collect the leaves of a tree that a box reaches, each with its rectangle of the sheet.

    The box enters the tree at `entry`; `box` and `first` are those of :func:`cfbench.forests.walks.vote_range`. `pair`
    has the features of the sheet, in order, -1 for none. `waiting`, shape (depth + 2, 6), is where the walk keeps what
    it comes back to. Filled in the first places of `leaves`, shape (leaves, 5): row of `shares`, first and last cell of
    one feature, of the other. Added to `pull`, shape (cells,): how much there is to gain from cutting the box at each
    cell of a feature beyond the sheet; a split counts by its `spread`, half as much with each split above it. Return
    the node that cuts the box or the sheet first, -1 if none does, and how many leaves there are.
    """
    nodes, (low, high, _) = forest.nodes, box
    a, b, c, d = 0, 0, 0, 0
    if pair[0] >= 0:
        a, b = low[pair[0]], high[pair[0]]
    if pair[1] >= 0:
        c, d = low[pair[1]], high[pair[1]]
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3], waiting[0, 4], waiting[0, 5] = entry, a, b, c, d, 0
    waits, count, first_cut = 1, 0, -1
    while waits > 0:
        waits -= 1
        node, a, b = waiting[waits, 0], waiting[waits, 1], waiting[waits, 2]
        c, d, level = waiting[waits, 3], waiting[waits, 4], waiting[waits, 5]
        while nodes[node, 0] >= 0:
            f, cut = nodes[node, 0], nodes[node, 1]
            right_a, right_c = a, c
            if f == pair[0]:
                side = 0 if b <= cut else 1 if a > cut else -1
            elif f == pair[1]:
                side = 0 if d <= cut else 1 if c > cut else -1
            else:
                side = side_within(nodes, node, box, first)
                if side < 0:
                    pull[first[f] + (cut if cut >= 0 else -1 - cut)] += spread[node] * 0.5**level
            if side < 0:
                first_cut = node if first_cut < 0 else first_cut
                level += 1
                waiting[waits, 2], waiting[waits, 4], waiting[waits, 5] = b, d, level
                if f == pair[0]:
                    right_a, b = cut + 1, cut
                elif f == pair[1]:
                    right_c, d = cut + 1, cut
                waiting[waits, 0], waiting[waits, 1], waiting[waits, 3] = nodes[node, 3], right_a, right_c
                waits += 1
            node = nodes[node, 3] if side == 1 else nodes[node, 2]
        leaves[count, 0], leaves[count, 1], leaves[count, 2] = nodes[node, 2], a, b
        leaves[count, 3], leaves[count, 4] = c, d
        count += 1
    return first_cut, count


@compiled_or_plain
def add_tree(shares: Any, target: int, leaves: Any, corner: Any, low_changes: Any, high_changes: Any) -> None:
    """Add the bounds on a tree's leads to the difference arrays of a sheet, shape (K, n + 1, m + 1) each.

    `leaves` are as :func:`reached_leaves` left them, and are overwritten; `corner` are the first cells of the sheet.
    """
    rows, columns = np.empty(len(leaves), dtype=np.int64), np.empty(len(leaves), dtype=np.int64)
    n, m = numbered(leaves, 1, rows), numbered(leaves, 3, columns)
    for k in range(shares.shape[1]):
        if k == target:
            continue
        # A border above and to the left saves cases below.
        lowest, highest = np.full((n + 1, m + 1), np.inf), np.full((n + 1, m + 1), -np.inf)
        lowest[0], lowest[:, 0], highest[0], highest[:, 0] = 0.0, 0.0, 0.0, 0.0
        for leaf in range(len(leaves)):
            lead = shares[leaves[leaf, 0], target] - shares[leaves[leaf, 0], k]
            for i in range(leaves[leaf, 1] + 1, leaves[leaf, 2] + 2):
                for j in range(leaves[leaf, 3] + 1, leaves[leaf, 4] + 2):
                    lowest[i, j], highest[i, j] = min(lowest[i, j], lead), max(highest[i, j], lead)
        for i in range(n):
            for j in range(m):
                row, column = rows[i] - corner[0], columns[j] - corner[1]
                low_changes[k, row, column] += lowest[i + 1, j + 1] - lowest[i, j + 1] - lowest[i + 1, j] + lowest[i, j]
                high_changes[k, row, column] += (
                    highest[i + 1, j + 1] - highest[i, j + 1] - highest[i + 1, j] + highest[i, j]
                )


@compiled_or_plain
def numbered(leaves: Any, column: int, starts: Any) -> int:
    """Number the pieces that leaves cut one feature of a sheet into, and return how many there are.

    Every piece starts where some leaf does. In `leaves`, the first and the last cell in this column and the next become
    the first and the last piece. `starts` is filled in its first places with the first cells of the pieces, ascending.
    """
    count = 0
    for leaf in range(len(leaves)):
        start, place = leaves[leaf, column], count
        while place > 0 and starts[place - 1] > start:
            place -= 1
        if place == 0 or starts[place - 1] != start:
            for later in range(count, place, -1):
                starts[later] = starts[later - 1]
            starts[place] = start
            count += 1
    for leaf in range(len(leaves)):
        start, end, piece = leaves[leaf, column], leaves[leaf, column + 1], 0
        while starts[piece] < start:
            piece += 1
        leaves[leaf, column] = piece
        while piece + 1 < count and starts[piece + 1] <= end:
            piece += 1
        leaves[leaf, column + 1] = piece
    return count


@compiled_or_plain
def bound_sheet(
    forest: Any,
    target: int,
    box: Any,
    first: Any,
    pair: Any,
    entries: Any,
    settled: Any,
    spread: Any,
    waiting: Any,
    leaves: Any,
    pull: Any,
    least: Any,
    most: Any,
) -> Any:
    """Bound the target's lead over its strongest rival in every cell of a sheet, all other features within a box.

    The arguments are those of :func:`reached_leaves`, `pull` all 0, and of :func:`cfbench.forests.walks.vote_range`.
    `least` and `most`, shape (n, m), are filled with the bounds, right but for rounding. Return how many trees the box
    or the sheet cuts.
    """
    n_classes, (n, m), n_cut = forest.shares.shape[1], least.shape, 0
    low_changes, high_changes = np.zeros((n_classes, n + 1, m + 1)), np.zeros((n_classes, n + 1, m + 1))
    corner = (box[0][pair[0]] if pair[0] >= 0 else 0, box[0][pair[1]] if pair[1] >= 0 else 0)
    for entry in entries:
        first_cut, count = reached_leaves(forest, entry, box, first, pair, spread, waiting, leaves, pull)
        if first_cut < 0:
            settled += forest.shares[leaves[0, 0]]
            continue
        entries[n_cut] = first_cut
        n_cut += 1
        add_tree(forest.shares, target, leaves[:count], corner, low_changes, high_changes)
    for k in range(n_classes):
        low_changes[k, 0, 0] += settled[target] - settled[k]
        high_changes[k, 0, 0] += settled[target] - settled[k]
    add_up(low_changes, target, least)
    add_up(high_changes, target, most)
    return n_cut
