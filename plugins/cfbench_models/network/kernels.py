"""The compiled question about a network: rows are told by what sets them apart from one that they resemble.

The rows of a question are alike: a population descends from one factual point. So the hidden layer's sums are made once
for a row of their most common values, and every row adds what its own values change about them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from cfbench.compilation import compiled

SAMPLE = 64
"""Rows that are looked at for the most common values."""

_NOTHING = np.float32(0)
_ONE = np.float32(1)
_TWICE = np.float32(2)

F = TypeVar("F", bound=Callable[..., Any])


def compiled_in_any_order(function: F) -> F:
    """Compile a function whose sums may be taken in any order: bounds of their rounding hold for all."""
    return cast("F", njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})(function))


@compiled
def find_common(Z: Any, common: Any) -> Any:
    """Fill in a value for each feature, shape (d,): that of most rows, if most of a sample agree.

    Returns
    -------
    float
        In how many features a row of the sample has another one.
    """
    n, d = Z.shape
    step = max(1, n // SAMPLE)
    sampled = -(-n // step)
    different = 0
    for f in range(d):
        lead = 0
        for i in range(0, n, step):
            if lead == 0:
                common[f] = Z[i, f]
            lead += 1 if Z[i, f] == common[f] else -1
        for i in range(0, n, step):
            different += Z[i, f] != common[f]
    return different / max(1, sampled)


@compiled
def indicator_of(codes: Any, value: float, none: int) -> Any:
    """Return the input that indicates a category, by the table of its feature; `none` for what is no code."""
    if 0 <= value < len(codes) and value == np.floor(value):
        return codes[np.int64(value)]
    return np.int64(none)


@compiled_in_any_order
def add_input(hidden: Any, i: int, size: Any, sums: Any) -> None:
    """Add an input of some size to the hidden layer's sums."""
    for u in range(len(sums)):
        sums[u] += size * hidden[i, u]


@compiled_in_any_order
def exchange(hidden: Any, before: int, after: int, sums: Any) -> None:
    """Take one input of 1 out of the hidden layer's sums, and add another one."""
    for u in range(len(sums)):
        sums[u] += hidden[after, u] - hidden[before, u]


@compiled_in_any_order
def output_of(output: Any, k: int, sums: Any) -> Any:
    """Return an output, its bias apart, given the hidden layer's sums."""
    result = _NOTHING
    for u in range(len(sums)):
        result += max(sums[u], _NOTHING) * output[k, u]
    return result


@compiled
def winner_of_many(output: Any, bias: Any, sums: Any) -> Any:
    """Return the class with the largest of several outputs, and by how much it leads."""
    first = output_of(output, 0, sums) + bias[0]
    winner, second = np.int64(0), np.float32(-np.inf)
    for k in range(1, len(output)):
        other = output_of(output, k, sums) + bias[k]
        if other > first:
            winner, first, second = np.int64(k), other, first
        else:
            second = max(second, other)
    return winner, first - second


@compiled
def decide(network: Any, sums: Any, bound: Any) -> Any:
    """Return the class, given the hidden layer's sums, and whether rounding cannot matter.

    `bound` is what rounding may amount to in the sums of another row and in what was added to them, of which each may
    be wrong by that much.
    """
    output, bias = network.output, network.output_bias
    if len(output) == 1:
        lead = output_of(output, 0, sums) + bias[0]
        winner = np.int64(lead > 0)
        lead = abs(lead)
    else:
        winner, lead = winner_of_many(output, bias, sums)
    bound *= _TWICE
    return winner, (bound < lead) & (bound < network.most_rounding)


@compiled
def start(network: Any, common: Any, sums: Any, inputs: Any, indicators: Any) -> Any:
    """Fill in the sums of the common row and its inputs; return what their rounding may amount to."""
    hidden, rounding, none = network.hidden, network.rounding, len(network.hidden) - 1
    sums[:] = hidden[none - 1]
    result = rounding[none - 1]
    for f in range(len(common)):
        codes = network.indicator[network.first_code[f] : network.first_code[f + 1]]
        if len(codes) == 0:
            inputs[f] = (common[f] - network.mean[f]) * network.factor[f]
            add_input(hidden, f, inputs[f], sums)
            result += rounding[f] * abs(inputs[f])
            continue
        indicators[f] = indicator_of(codes, common[f], none)
        add_input(hidden, indicators[f], _ONE, sums)
        result += rounding[indicators[f]]
    return result


@compiled
def differing(Z: Any, i: int, common: Any, features: Any, others: Any) -> Any:
    """Fill in which of some features of row `i` are not the common ones; return how many they are.

    There are no branches: which ones differ cannot be foreseen.
    """
    count = 0
    for f in features:
        others[count] = f
        count += Z[i, f] != common[f]
    return count


@compiled
def classes_of_rows(network: Any, Z: Any, most: float) -> Any:
    """Answer the rows of `Z`, shape (n, d), if they resemble each other.

    Parameters
    ----------
    network : NetworkTables
    Z : ndarray of float64, shape (n, d)
    most : float
        In how many features they may differ from a common row.

    Returns
    -------
    resemble : bool
        Whether they do; nothing is answered where not.
    winners : ndarray of int64, shape (n,)
        Positions among the network's classes.
    certain : ndarray of bool, shape (n,)
        False for rows in doubt, whose winners mean nothing.
    """
    n, d = Z.shape
    winners, certain = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    common = np.empty(d)
    if find_common(Z, common) > most:
        return False, winners, certain
    hidden, rounding = network.hidden, network.rounding
    mean, factor, first_code, indicator = network.mean, network.factor, network.first_code, network.indicator
    base, sums = np.empty(hidden.shape[1], dtype=np.float32), np.empty(hidden.shape[1], dtype=np.float32)
    inputs, indicators, none = np.zeros(d, dtype=np.float32), np.zeros(d, dtype=np.int64), len(hidden) - 1
    numbers, coded = np.flatnonzero(first_code[1:] == first_code[:-1]), np.flatnonzero(first_code[1:] > first_code[:-1])
    others = np.empty(d + 1, dtype=np.int64)
    of_common = start(network, common, base, inputs, indicators)
    for i in range(n):
        for u in range(len(sums)):  # an assignment of the whole row takes longer
            sums[u] = base[u]
        bound = of_common
        for k in range(differing(Z, i, common, numbers, others)):
            f = others[k]
            own = np.float32((Z[i, f] - mean[f]) * factor[f])
            add_input(hidden, f, own - inputs[f], sums)
            bound += rounding[f] * (abs(own) + abs(inputs[f]))
        for k in range(differing(Z, i, common, coded, others)):
            f = others[k]
            after = indicator_of(indicator[first_code[f] : first_code[f + 1]], Z[i, f], none)
            exchange(hidden, indicators[f], after, sums)
            bound += rounding[indicators[f]] + rounding[after]
        winners[i], certain[i] = decide(network, sums, bound)
    return True, winners, certain
